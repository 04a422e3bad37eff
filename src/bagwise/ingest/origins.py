"""Where and when a file was recorded: from its name and the folder it is in.

File names are those that recorders write: AudioMoth (`20200524_040000.WAV`, or the seconds since 1970 in hexadecimal,
`5E9A1B3C.WAV`), Song Meter (`S4A01234_20200524_040000.wav`), SoundTrap (`6712.200524040000.wav`), Swift
(`2020-05-24_04-00-00`), BAR (`20200524T040000+0200`), and whatever has a prefix before or a suffix after these.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

FIRST_YEAR, LAST_YEAR = 1980, 2099
HEXADECIMAL = re.compile(r"(?:(?P<prefix>.+)[_\- ])?(?P<seconds>(?=[0-9]*[A-F])[0-9A-F]{8})")
HEXADECIMAL_YEARS = range(2015, 2050)
"""Names of eight digits and letters mean seconds in these years only; without a letter, they are some other number."""

MOMENT = re.compile(
    r"""(?<!\d)
    (?P<year>(?:19|20)\d\d)(?P<between>[-_.]?)(?P<month>\d\d)(?P=between)(?P<day>\d\d)
    (?P<separator>[T$_\-. ]?)
    (?P<hour>\d\d)(?P<colon>[-:_.]?)(?P<minute>\d\d)(?P=colon)(?P<second>\d\d)(?!\d)
    (?P<offset>Z(?![a-z])|[ _-]?UTC(?![a-z\d+-])|[+-]\d\d:?\d\d(?!\d))?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
SOUNDTRAP = re.compile(
    r"(?P<serial>\d+)\.(?P<year>\d\d)(?P<month>\d\d)(?P<day>\d\d)(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)",
    re.ASCII,
)
CHANNEL = re.compile(r"_(?:_[01]_|[01]\+[01])_$")
"""What SM2 and SM3 write between the prefix and the date."""

SERIAL_NUMBERS = {
    "AudioMoth": re.compile(r"[0-9A-F]{16}", re.IGNORECASE),
    "SoundTrap": re.compile(r"SoundTrap (\d+)"),
    "Song Meter": re.compile(r"(?:SM\w* )?((?:S[34][A-Z]|SM[A-Z]|2M[A-Z])\d{5})", re.IGNORECASE),
}
"""Recorders put their serial number where no name of a site was typed."""

NO_SITE = re.compile(r"data|rec|recordings?|audio|sounds?|wavs?|(?:19|20)\d\d(?:[-_. ]?\d\d){0,2}|", re.IGNORECASE)
"""Folders and prefixes that recorders make on their own, and those that are a date."""


@dataclass(frozen=True)
class Origin:
    """Where and when a file was recorded; what is not known is empty.

    Parameters
    ----------
    site : str
        The name of the place.
    recorded_at : str
        When the recording begins: ISO 8601, in local time; with an offset from UTC only where it is known.
    latitude, longitude : float, optional
        In degrees, WGS 84.
    device : str
        The recorder, with its serial number where it is known.

    Examples
    --------
    >>> Origin("Walden", "2024-06-01T14:05:05").latitude is None
    True
    """

    site: str = ""
    recorded_at: str = ""
    latitude: float | None = None
    longitude: float | None = None
    device: str = ""


def origin_of(path: Path, name: str) -> Origin:  # noqa: ARG001 (its metadata come next)
    """Return where and when a file was recorded; the file itself counts more than the folder it is in.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Its path in the folder, with `/` between.

    Returns
    -------
    Origin

    Examples
    --------
    >>> origin = origin_of(Path("WALDEN_20240601_140505.wav"), "pond/WALDEN_20240601_140505.wav")
    >>> origin.site, origin.recorded_at
    ('WALDEN', '2024-06-01T14:05:05')
    >>> origin_of(Path("20240601_140505.WAV"), "pond/20240601_140505.WAV").site
    'pond'
    """
    return of_name(name)


def of_name(name: str) -> Origin:
    """Return what the name of a file and its folders say.

    Parameters
    ----------
    name : str
        The path of the file in the folder, with `/` between.

    Returns
    -------
    Origin

    Examples
    --------
    >>> origin = of_name("ridge/S4A01234_20200524_040000.wav")
    >>> origin.site, origin.recorded_at, origin.device
    ('ridge', '2020-05-24T04:00:00', 'Song Meter S4A01234')
    """
    *folders, file = PurePosixPath(name).parts
    prefix, moment = _prefix_and_moment(PurePosixPath(file).stem)
    prefix = CHANNEL.sub("", prefix).strip("_-. ")
    device = _device(prefix)
    sites = [one for one in ("" if device else prefix, *folders) if not NO_SITE.fullmatch(one)]
    # A recorder without a name stands for its site.
    return Origin(next(iter(sites), device), moment.isoformat() if moment else "", device=device)


def _device(prefix: str) -> str:
    for kind, serial_number in SERIAL_NUMBERS.items():
        if found := serial_number.fullmatch(prefix):
            return f"{kind} {found[found.lastindex or 0].upper()}"
    return ""


def _prefix_and_moment(stem: str) -> tuple[str, datetime | None]:
    """Return what stands before the date and time, and those; a date that does not exist is not one."""
    found = MOMENT.search(stem)
    while found:
        if moment := _moment(found):
            return stem[: found.start()], moment
        found = MOMENT.search(stem, found.start() + 1)
    if (short := SOUNDTRAP.fullmatch(stem)) and (moment := _moment(short, century=2000)):
        return f"SoundTrap {short['serial']}", moment
    if hexadecimal := HEXADECIMAL.fullmatch(stem):
        moment = datetime.fromtimestamp(int(hexadecimal["seconds"], 16), UTC)
        if moment.year in HEXADECIMAL_YEARS:
            return hexadecimal["prefix"] or "", moment
    return "", None


def _moment(found: re.Match[str], century: int = 0) -> datetime | None:
    groups = found.groupdict()
    year, *rest = (int(groups[part]) for part in ("year", "month", "day", "hour", "minute", "second"))
    if not FIRST_YEAR <= century + year <= LAST_YEAR:
        return None
    try:
        moment = datetime(century + year, *rest)  # type: ignore[arg-type]
    except ValueError:
        return None
    return moment.replace(tzinfo=_offset(groups.get("offset") or "", groups.get("separator", "")))


def _offset(text: str, separator: str) -> timezone | None:
    """Return the offset from UTC; a number after a dash is one only after a time as ISO 8601 writes it."""
    if text.upper().endswith(("Z", "UTC")):
        return UTC
    if not text or (text[0] == "-" and separator.upper() != "T"):
        return None
    hours, minutes = int(text[1:3]), int(text[-2:])
    if hours > 14 or minutes % 15:
        return None
    return timezone((1 if text[0] == "+" else -1) * timedelta(hours=hours, minutes=minutes))
