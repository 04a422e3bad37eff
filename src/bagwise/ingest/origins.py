"""Where and when a file was recorded: from what the recorder wrote into it, its name, and the folder it is in.

In this order, for each thing that is known:

1. GUANO, the metadata of bat recorders (chunk `guan` of WAV; guano-md.org): time, position, make, model, serial number;
2. the metadata of Song Meters (chunk `wamd`);
3. the comment of an AudioMoth: `Recorded at 04:00:00 24/05/2020 (UTC) by AudioMoth 24E144085F256F0E ...`;
4. the name of the file: AudioMoth (`20200524_040000.WAV`, or the seconds since 1970 in hexadecimal, `5E9A1B3C.WAV`),
   Song Meter (`WALDEN_20240601_140505.wav`), SoundTrap (`6712.200524040000.wav`), Swift (`2020-05-24_04-00-00`), BAR
   (`20200524T040000+0200_REC [-27.3889+152.8808].flac`), and whatever has a prefix before or a suffix after these;
5. the folder, for the site: the first one that is not a date, nor one that recorders make (`Data`).

FLAC files have 1 to 3 in their comments or as the chunks of the WAV file they were made of. A date or a position that
does not exist is none, and a date without a time of day is left out: it would be taken for midnight.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path, PurePosixPath

from bagwise.ingest.sound.metadata import metadata_of

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
TIMESTAMP = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?"
    r" ?(?P<zone>Z|[+-][\d:]+)?",
    re.IGNORECASE | re.ASCII,
)
OFFSET = re.compile(r"[+-](?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?", re.ASCII)
AUDIOMOTH = re.compile(
    r"Recorded at (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.\d+)? "
    r"(?P<day>\d\d)/(?P<month>\d\d)/(?P<year>\d{4})"
    r"(?P<zone> \(UTC(?P<offset>[+-][\d:]+)?\))?",
    re.ASCII,
)
AUDIOMOTH_DEVICE = re.compile(r"AudioMoth [0-9A-F]{16}")
SITE_KEYS = ("site", "site name", "station", "prefix")
"""Keys of GUANO, after the name of a maker, that name the place; a Song Meter calls it the prefix."""

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

POSITION = re.compile(r"\[([+-]\d{1,2}\.\d+)[ ,]?([+-]\d{1,3}\.\d+)\]", re.ASCII)
"""As BAR write it; without signs it is not used, since they wrote none in the south and the west for some time."""

FOLDER_DATE = re.compile(r"(?:19|20)\d\d[-_. ]?\d\d[-_. ]?\d\d[-_. ]+", re.ASCII)
FOLDER_POSITION = re.compile(r"[-_. ]*\[[^\]]*\]$")
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


def origin_of(path: Path, name: str) -> Origin:
    """Return where and when a file was recorded; the file itself counts more than its name, and that more than folders.

    Parameters
    ----------
    path : Path
        The file; its metadata are read, not its sound. A file that cannot be read still has a name.
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
    metadata = metadata_of(path)
    inside = _first_known(
        [
            of_guano(metadata.get("guan", b"").decode("utf-8", "replace")),
            of_wamd(metadata.get("wamd", b"")),
            of_comment(*(metadata.get(key, b"").decode("utf-8", "replace") for key in ("ICMT", "IART"))),
        ]
    )
    return _first_known([inside, of_name(name, inside.device)])


def of_name(name: str, device: str = "") -> Origin:
    """Return what the name of a file and its folders say.

    Parameters
    ----------
    name : str
        The path of the file in the folder, with `/` between.
    device : str
        The recorder, if it is known otherwise.

    Returns
    -------
    Origin
        A prefix that is the serial number of a recorder, or its end, is not the site.

    Examples
    --------
    >>> origin = of_name("ridge/S4A01234_20200524_040000.wav")
    >>> origin.site, origin.recorded_at, origin.device
    ('ridge', '2020-05-24T04:00:00', 'Song Meter S4A01234')
    """
    *folders, file = PurePosixPath(name).parts or ("",)
    stem = PurePosixPath(file).stem
    prefix, moment = _prefix_and_moment(stem)
    prefix = CHANNEL.sub("", prefix).strip("_-. ")
    is_device = bool(device) and device.endswith(prefix)
    device = _device(prefix)
    places = [FOLDER_POSITION.sub("", FOLDER_DATE.sub("", folder)) for folder in folders]
    sites = [one for one in ("" if device or is_device else prefix, *places) if not NO_SITE.fullmatch(one)]
    found = POSITION.search(stem)
    latitude, longitude = _position(*found.groups()) if found else (None, None)
    return Origin(next(iter(sites), ""), moment.isoformat() if moment else "", latitude, longitude, device)


def of_guano(text: str) -> Origin:
    r"""Return what GUANO metadata say.

    Parameters
    ----------
    text : str
        Lines of a key, a colon and a value.

    Returns
    -------
    Origin

    Examples
    --------
    >>> origin = of_guano("Model: SM Mini\nTimestamp: 2020-10-17 13:05:00+1:00\nLoc Position: 54.75656 -1.59106")
    >>> origin.recorded_at, origin.latitude
    ('2020-10-17T13:05:00+01:00', 54.75656)
    """
    lines = (line.partition(":") for line in text.split("\n"))
    values = {key.strip().lower(): value.strip(" \t\r\0") for key, _, value in lines}
    named = (value for key, value in values.items() if key.rpartition("|")[2] in SITE_KEYS and value)
    latitude, longitude = _position(*re.split(r"[\s,]+", values.get("loc position", "")))
    device = " ".join(filter(None, (values.get("model") or values.get("make", ""), values.get("serial", ""))))
    site = next((one for one in named if not _device(one)), "")
    return Origin(site, _timestamp(values.get("timestamp", "")), latitude, longitude, device)


def of_wamd(content: bytes) -> Origin:
    """Return what the metadata of a Song Meter or an Echo Meter say.

    Parameters
    ----------
    content : bytes
        The chunk `wamd`: fields of a number (2 bytes), a size (4 bytes) and a value.

    Returns
    -------
    Origin

    Examples
    --------
    >>> fields = {1: b"SM4BAT-FS", 2: b"S4U01234", 4: b"WALDEN", 5: b"2020-05-24 04:00:00-05:00"}
    >>> origin = of_wamd(b"".join(struct.pack("<HI", key, len(value)) + value for key, value in fields.items()))
    >>> origin.site, origin.recorded_at, origin.device
    ('WALDEN', '2020-05-24T04:00:00-05:00', 'SM4BAT-FS S4U01234')
    """
    values, start = dict[int, str](), 0
    while start + 6 <= len(content):
        key, size = struct.unpack_from("<HI", content, start)
        value = content[start + 6 : start + 6 + size]
        # A value that is cut off may be another one.
        if len(value) == size:
            values[key] = value.decode("utf-8", "replace").strip(" \0")
        start += 6 + size
    prefix = values.get(4, "")
    position = [part.strip() for part in values.get(6, "").split(",")[1:]]
    if len(position) >= 4 and position[1] in "NS" and position[3] in "EW":
        position = [_signed(position[0], position[1] == "S"), _signed(position[2], position[3] == "W")]
    latitude, longitude = _position(*position[:2])
    device = " ".join(filter(None, (values.get(1, ""), values.get(2, ""))))
    return Origin("" if _device(prefix) else prefix, _timestamp(values.get(5, "")), latitude, longitude, device)


def of_comment(comment: str, artist: str = "") -> Origin:
    """Return what the comment of an AudioMoth says.

    Parameters
    ----------
    comment : str
        The comment of the file.
    artist : str
        Its artist, which is the recorder.

    Returns
    -------
    Origin

    Examples
    --------
    >>> of_comment("Recorded at 04:00:00 24/05/2020 (UTC+1) by AudioMoth 24E144085F256F0E at medium gain").recorded_at
    '2020-05-24T04:00:00+01:00'
    """
    found = AUDIOMOTH.search(comment)
    if not found:
        return Origin()
    moment = _moment(found)
    zone = _zone(found["offset"] or "+0") if found["zone"] else None
    device = next((one[0] for text in (comment, artist) if (one := AUDIOMOTH_DEVICE.search(text))), "")
    return Origin(recorded_at=moment.replace(tzinfo=zone).isoformat() if moment else "", device=device)


def _first_known(origins: Sequence[Origin]) -> Origin:
    """Return the first that is known of each thing; latitude and longitude go together."""
    placed = next((one for one in origins if one.latitude is not None), Origin())
    return Origin(
        next((one.site for one in origins if one.site), ""),
        next((one.recorded_at for one in origins if one.recorded_at), ""),
        placed.latitude,
        placed.longitude,
        next((one.device for one in origins if one.device), ""),
    )


def _signed(degrees: str, is_negative: bool) -> str:
    return f"-{degrees}" if is_negative else degrees


def _position(latitude: str = "", longitude: str = "", *_: str) -> tuple[float, float] | tuple[None, None]:
    """Return latitude and longitude; none beyond the earth, and none at 0, 0, which receivers write without a fix."""
    try:
        found = float(latitude), float(longitude)
    except ValueError:
        return None, None
    is_on_earth = abs(found[0]) <= 90 and abs(found[1]) <= 180
    return found if is_on_earth and found != (0, 0) else (None, None)


def _timestamp(text: str) -> str:
    """Return a time as GUANO and Song Meters write it in ISO 8601; empty if it is none."""
    found = TIMESTAMP.fullmatch(text.strip())
    moment = _moment(found) if found else None
    if not found or moment is None:
        return ""
    zone = UTC if (found["zone"] or "") in "zZ" and found["zone"] else _zone(found["zone"] or "")
    return moment.replace(tzinfo=zone).isoformat()


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
    year, *rest = (int(groups[part] or 0) for part in ("year", "month", "day", "hour", "minute", "second"))
    if not FIRST_YEAR <= century + year <= LAST_YEAR:
        return None
    try:
        moment = datetime(century + year, *rest)  # type: ignore[arg-type]
    except ValueError:
        return None
    if "separator" not in groups:
        return moment
    offset, separator = groups["offset"] or "", groups["separator"]
    if offset.upper().endswith(("Z", "UTC")):
        return moment.replace(tzinfo=UTC)
    # A number after a dash is an offset only where a time is written as in ISO 8601.
    return moment.replace(tzinfo=_zone(offset)) if offset[:1] == "+" or separator.upper() == "T" else moment


def _zone(offset: str) -> timezone | None:
    """Return an offset from UTC such as `+1`, `-0330` or `+05:45`; none that no place on earth has."""
    found = OFFSET.fullmatch(offset)
    if not found:
        return None
    hours, minutes = int(found["hours"]), int(found["minutes"] or 0)
    if hours > 14 or minutes % 15 or minutes >= 60:
        return None
    return timezone((-1 if offset[0] == "-" else 1) * timedelta(hours=hours, minutes=minutes))
