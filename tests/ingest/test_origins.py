"""Where and when: what recorders write, as their manuals and their files have it."""

import struct
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from bagwise.ingest.origins import Origin, of_comment, of_guano, of_name, of_wamd, origin_of

NAMES = {
    # AudioMoth: by time, split or triggered, with its number, in folders of days, and of early firmware.
    "20200524_040000.WAV": ("", "2020-05-24T04:00:00", ""),
    "20200524_040000T.WAV": ("", "2020-05-24T04:00:00", ""),
    "20200524_040000_001.WAV": ("", "2020-05-24T04:00:00", ""),
    "20200524/20200524_040000.WAV": ("", "2020-05-24T04:00:00", ""),
    "marsh/20200524/20200524_040000.WAV": ("marsh", "2020-05-24T04:00:00", ""),
    "242A2604603691DD_20250503_031300.WAV": ("", "2025-05-03T03:13:00", "AudioMoth 242A2604603691DD"),
    "5E9A1B3C.WAV": ("", "2020-04-17T21:10:20+00:00", ""),
    "pond_5E9A1B3C.WAV": ("pond", "2020-04-17T21:10:20+00:00", ""),
    # Song Meters: the name of the recorder, its serial number, channels, clock of GPS.
    "WALDEN_20240601_140505.wav": ("WALDEN", "2024-06-01T14:05:05", ""),
    "ridge/Data/S4A01234_20200524_040000.wav": ("ridge", "2020-05-24T04:00:00", "Song Meter S4A01234"),
    "SM4 S4A01234_20200524_040000.wav": ("", "2020-05-24T04:00:00", "Song Meter S4A01234"),
    "2MA04827_20250227_073902.wav": ("", "2025-02-27T07:39:02", "Song Meter 2MA04827"),
    "SMU06612_20250302_205009_001.wav": ("", "2025-03-02T20:50:09", "Song Meter SMU06612"),
    "1_20250302_205009.wav": ("1", "2025-03-02T20:50:09", ""),
    "HILL_0+1_20161023_195550.wav": ("HILL", "2016-10-23T19:55:50", ""),
    "HILL__0__20161023_195550.wav": ("HILL", "2016-10-23T19:55:50", ""),
    "ARIZONA-1_20161023$195550.wav": ("ARIZONA-1", "2016-10-23T19:55:50", ""),
    # Others.
    "CHE_02_20190101_183410.wav": ("CHE_02", "2019-01-01T18:34:10", ""),
    "SITE-2020-05-24T04:00:00Z.wav": ("SITE", "2020-05-24T04:00:00+00:00", ""),
    "2020-05-24_04-00-00.wav": ("", "2020-05-24T04:00:00", ""),
    "2020-04-06-04-00-00-UTC.wav": ("", "2020-04-06T04:00:00+00:00", ""),
    "20200524T040000+0200.flac": ("", "2020-05-24T04:00:00+02:00", ""),
    "20200524T040000-0330_REC.flac": ("", "2020-05-24T04:00:00-03:30", ""),
    "20190309_AAO [19.2052 152.8719]/20190309T020000+1000_REC [19.2052 152.8719].flac": (
        "AAO",
        "2019-03-09T02:00:00+10:00",
        "",
    ),
    "6712.200524040000.wav": ("", "2020-05-24T04:00:00", "SoundTrap 6712"),
    "20260111 135431-096B2196.m4a": ("", "2026-01-11T13:54:31", ""),
    "лес/20200524_040000.WAV": ("лес", "2020-05-24T04:00:00", ""),
    "site_20200524040000.wav": ("site", "2020-05-24T04:00:00", ""),
    "site_20200524_040000_20200524_050000.wav": ("site", "2020-05-24T04:00:00", ""),
    # What is not a date, or is one without a time.
    "north/tree 7/a.wav": ("north", "", ""),
    "a.wav": ("", "", ""),
    "20200230_040000.WAV": ("", "", ""),
    "20201301_040000.WAV": ("", "", ""),
    "20200524_250000.WAV": ("", "", ""),
    "20200524.WAV": ("", "", ""),
    "17991231_235959.wav": ("", "", ""),
    "120200524_0400001.wav": ("", "", ""),
    "XC663885.wav": ("", "", ""),
    "10040001.wav": ("", "", ""),
    "DEADBEEF.wav": ("", "", ""),
    "58201234.wav": ("", "", ""),
    "site_20200524_040000-0001.wav": ("site", "2020-05-24T04:00:00", ""),
    "": ("", "", ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_and_folders(name):
    found = of_name(name)
    assert (found.site, found.recorded_at, found.device) == NAMES[name]
    assert (found.latitude, found.longitude) == (None, None)


def test_a_prefix_that_ends_the_serial_number_is_not_the_site():
    assert of_name("pond/0166_20240531_223911.wav").site == "0166"
    assert of_name("pond/0166_20240531_223911.wav", "S2 22060166").site == "pond"
    assert of_name("HILL_20240531_223911.wav", "S2 22060166").site == "HILL"


def test_a_position_in_a_name_counts_where_it_has_signs():
    found = of_name("20210427T102809+1000_REC [-27.3889+152.8808].flac")
    assert (found.latitude, found.longitude) == (-27.3889, 152.8808)
    assert of_name("20210427T102809+1000_REC [-97.3889+152.8808].flac").latitude is None


@given(
    moment=st.datetimes(datetime(1980, 1, 1), datetime(2099, 12, 31)),
    pattern=st.sampled_from(
        ["%Y%m%d_%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d_%H-%M-%S", "%Y%m%d%H%M%S", "%Y%m%dT%H%M%S"]
    ),
    site=st.from_regex(r"[A-Za-z][A-Za-z]{2,6}( |-)?[A-Za-z]", fullmatch=True).filter(lambda text: len(text) > 4),
    suffix=st.sampled_from(["", "_000", "T", "_left", "-2"]),
)
def test_every_moment_is_read_as_it_was_written(moment, pattern, site, suffix):
    moment = moment.replace(microsecond=0)
    for prefix, folder in ((f"{site}_", "folder/"), ("", f"{site}/")):
        found = of_name(f"{folder}{prefix}{moment.strftime(pattern)}{suffix}.wav")
        assert found.recorded_at == moment.isoformat()
        assert found.site == site


@given(seconds=st.integers(1_420_070_400, 2_524_607_999))
def test_seconds_in_hexadecimal(seconds):
    name = f"{seconds:08X}"
    found = of_name(f"{name}.WAV").recorded_at
    assert (datetime.fromisoformat(found).timestamp() == seconds) if found else name.isdigit()


@given(name=st.text(), content=st.binary())
def test_nothing_makes_it_fail(name, content):
    for found in (of_name(name), of_guano(name), of_comment(name, name), of_wamd(content)):
        assert isinstance(found, Origin)
        if found.recorded_at:
            datetime.fromisoformat(found.recorded_at)


# GUANO, as in its specification and in files of recorders.


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2012-03-29T03:58:01+04:00", "2012-03-29T03:58:01+04:00"),
        ("2015-12-31T23:59:59.123456Z", "2015-12-31T23:59:59+00:00"),
        ("2015-12-31T23:59:59", "2015-12-31T23:59:59"),
        ("2015-12-31T23:59", "2015-12-31T23:59:00"),
        ("2020-10-17 13:05:00+1:00", "2020-10-17T13:05:00+01:00"),
        ("2025-03-02 20:50:09+13:00", "2025-03-02T20:50:09+13:00"),
        ("2014-04-02 22:59:14-0500", "2014-04-02T22:59:14-05:00"),
        ("2014-04-02 22:59:14+05:45", "2014-04-02T22:59:14+05:45"),
        ("2015-02-29T12:00:00", ""),
        ("2015-12-31", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_times_of_guano(written, read):
    assert of_guano(f"GUANO|Version: 1.0\nTimestamp: {written}\n").recorded_at == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("37.1878016 -86.1057312", (37.1878016, -86.1057312)),
        ("-37.00403, 174.57577", (-37.00403, 174.57577)),
        ("0.0 0.0", (None, None)),
        ("91 10", (None, None)),
        ("10 181", (None, None)),
        ("nan nan", (None, None)),
        ("somewhere", (None, None)),
        ("", (None, None)),
    ],
)
def test_positions_of_guano(written, read):
    found = of_guano(f"Loc Position: {written}")
    assert (found.latitude, found.longitude) == read


SONG_METER = """GUANO|Version:1.0
Firmware Version:4.6
Make:Wildlife Acoustics, Inc.
Model:Song Meter Mini Bat
Serial:SMU06612
WA|Song Meter|Prefix:{prefix}
WA|Song Meter|Audio settings:[{{"rate":256000,"gain":12}}]
Original Filename:1_20250302_205009.wav
Timestamp:2025-03-02 20:50:09+13:00
Loc Position:-37.00403 174.57577
"""


def test_guano_of_a_song_meter():
    found = of_guano(SONG_METER.format(prefix="HADES"))
    device = "Song Meter Mini Bat SMU06612"
    assert found == Origin("HADES", "2025-03-02T20:50:09+13:00", -37.00403, 174.57577, device)
    assert of_guano(SONG_METER.format(prefix="SMU06612")).site == ""


# AudioMoth, of every firmware.


@pytest.mark.parametrize(
    ("comment", "at", "device"),
    [
        ("Recorded at 04:00:00 24/05/2020 by AudioMoth 24E144085F256F0E at gain setting 2", "", "24E144085F256F0E"),
        ("Recorded at 04:00:00 24/05/2020 (UTC) by AudioMoth 24E144085F256F0E at", "+00:00", "24E144085F256F0E"),
        ("Recorded at 04:00:00 24/05/2020 (UTC+1) by AudioMoth 24E144085F256F0E", "+01:00", "24E144085F256F0E"),
        (
            "Recorded at 04:00:00 24/05/2020 (UTC-3:30) during deployment 0123456789ABCDEF at",
            "-03:30",
            "24F3190361DA3578",
        ),
        (
            "Recorded at 04:00:00.123 24/05/2020 (UTC+5:45) during deployment 0123456789ABCDEF",
            "+05:45",
            "24F3190361DA3578",
        ),
    ],
)
def test_comments_of_audiomoth(comment, at, device):
    found = of_comment(comment, "AudioMoth 24F3190361DA3578")
    assert found == Origin(recorded_at=f"2020-05-24T04:00:00{at}", device=f"AudioMoth {device}")


def test_a_comment_of_another_kind_says_nothing():
    assert of_comment("Recorded at the pond", "A. Person") == Origin()
    assert of_comment("Recorded at 04:00:00 31/02/2020 (UTC) by AudioMoth 24E144085F256F0E").recorded_at == ""


# Song Meters of the third and fourth generation.


def wamd(**values):
    keys = {"version": 0, "model": 1, "serial": 2, "prefix": 4, "time": 5, "position": 6, "notes": 10}
    return b"".join(struct.pack("<HI", keys[key], len(value)) + value for key, value in values.items())


@pytest.mark.parametrize(
    ("position", "read"),
    [
        (b"WGS84, 42.36, N, 71.06, W, 12", (42.36, -71.06)),
        (b"WGS84, 33.86, S, 151.21, E", (-33.86, 151.21)),
        (b"WGS84,42.36,-71.06,(null)", (42.36, -71.06)),
        (b"WGS84", (None, None)),
        (b"", (None, None)),
    ],
)
def test_wamd(position, read):
    content = wamd(
        version=b"\1\0", model=b"SM4BAT-FS", serial=b"S4U01234", prefix=b"WALDEN", time=b"2014-04-02 22:59:14-05:00"
    )
    found = of_wamd(content + wamd(position=position, notes=b"\xff\xfe"))
    assert found == Origin("WALDEN", "2014-04-02T22:59:14-05:00", *read, "SM4BAT-FS S4U01234")
    assert of_wamd(content[:-3]).recorded_at == ""
    assert of_wamd(wamd(prefix=b"S4U01234")).site == ""


# Files.


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


INFO = chunk(
    b"LIST",
    b"INFO"
    + chunk(
        b"ICMT",
        b"Recorded at 03:13:00 03/05/2025 (UTC) by AudioMoth 242A2604603691DD at medium gain.".ljust(384, b"\0"),
    )
    + chunk(b"IART", b"AudioMoth 242A2604603691DD\0"),
)
GUANO = chunk(b"guan", b"GUANO|Version: 1.0\nTimestamp: 2025-05-03T05:13:00+02:00\nLoc Position: 52.146196 4.474776\n")


def wav(path, *chunks):
    """A recording with chunks after the sound, as most recorders write them, and one of odd size between."""
    soundfile.write(path, np.zeros(1001), 48_000, subtype="PCM_U8")
    path.write_bytes(path.read_bytes() + b"".join((chunk(b"junk", b"abc"), *chunks)))
    return path


def test_the_file_counts_more_than_its_name_and_that_more_than_its_folder(tmp_path):
    name = "pond/site_20010101_000000.wav"
    assert origin_of(wav(tmp_path / "a.wav"), name) == Origin("site", "2001-01-01T00:00:00")
    moth = Origin("site", "2025-05-03T03:13:00+00:00", device="AudioMoth 242A2604603691DD")
    assert origin_of(wav(tmp_path / "b.wav", INFO), name) == moth
    found = origin_of(wav(tmp_path / "c.wav", INFO, GUANO), name)
    assert found == Origin("site", "2025-05-03T05:13:00+02:00", 52.146196, 4.474776, "AudioMoth 242A2604603691DD")
    old = chunk(b"wamd", wamd(prefix=b"HILL", time=b"2014-04-02 22:59:14"))
    assert origin_of(wav(tmp_path / "d.wav", old, INFO), name).recorded_at == "2014-04-02T22:59:14"
    assert origin_of(wav(tmp_path / "d.wav", old, GUANO), name).recorded_at == "2025-05-03T05:13:00+02:00"
    assert origin_of(wav(tmp_path / "d.wav", old, GUANO), name).site == "HILL"


@pytest.mark.parametrize(
    "content", [b"", b"RIFF", b"RIFF\0\0\0\0WAVEguan\xff\xff\xff\x7fTime", b"fLaC\x84", b"\0" * 99]
)
def test_a_broken_file_still_has_a_name(content, tmp_path):
    (tmp_path / "a.wav").write_bytes(content)
    for path in (tmp_path / "a.wav", tmp_path / "missing.wav"):
        assert origin_of(path, "pond/20200524_040000.WAV") == Origin("pond", "2020-05-24T04:00:00")


def flac(path, *blocks):
    """A FLAC file with further blocks of metadata after the first."""
    soundfile.write(path, np.zeros(1000), 48_000)
    data = path.read_bytes()
    more = b"".join(bytes([kind]) + len(content).to_bytes(3, "big") + content for kind, content in blocks)
    path.write_bytes(data[:4] + bytes([data[4] & 0x7F]) + data[5:42] + more + bytes([0x81, 0, 0, 8]) + bytes(8))
    return path


def comments(*texts):
    return bytes(4) + struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(one)) + one for one in texts)


def test_flac_has_it_in_comments_or_as_chunks(tmp_path):
    moth = Origin("pond", "2025-05-03T03:13:00+00:00", device="AudioMoth 242A2604603691DD")
    text = b"Recorded at 03:13:00 03/05/2025 (UTC) by AudioMoth 242A2604603691DD at medium gain."
    assert origin_of(flac(tmp_path / "a.flac", (4, comments(b"title=x", b"comment=" + text))), "pond/a.flac") == moth
    assert origin_of(flac(tmp_path / "b.flac", (2, b"riff" + INFO)), "pond/b.flac") == moth
    found = origin_of(flac(tmp_path / "c.flac", (4, comments(b"GUANO=" + GUANO[8:]))), "pond/c.flac")
    assert (found.recorded_at, found.latitude) == ("2025-05-03T05:13:00+02:00", 52.146196)


def test_metadata_of_large_files_are_read_without_their_sound(tmp_path):
    """The sound is skipped: a file of 3 GB with holes takes no time."""
    path = tmp_path / "a.wav"
    size = 3 * 2**30
    with path.open("wb") as file:
        file.write(b"RIFF\0\0\0\0WAVE" + chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 256000, 512000, 2, 16)))
        file.write(b"data" + struct.pack("<I", size))
        file.seek(size, 1)
        file.write(GUANO)
    assert origin_of(Path(path), "a.wav").latitude == 52.146196
