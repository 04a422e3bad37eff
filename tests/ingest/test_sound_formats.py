"""Recordings as recorders and programs write them: every format, whole and in parts, intact and cut off."""

import struct
import sys
from fractions import Fraction

import av
import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import media
from bagwise.ingest.segmenters import sound_windows
from bagwise.ingest.sound import containers
from bagwise.ingest.sound.chunks import announced_frames, chunks_of
from bagwise.ingest.sound.decoding import open_sound, read_part, sound_info, sound_remark
from bagwise.ingest.sound.recordings import stretches
from bagwise.ingest.worker import Task, segment_one

SECONDS = 4.0


def sweep(rate, seconds=SECONDS):
    """A rising tone over a little noise: every moment sounds different."""
    time = np.arange(round(rate * seconds)) / rate
    tone = 0.5 * np.sin(2 * np.pi * rate * (0.02 * time + 0.01 * time**2))
    return (tone + np.random.default_rng(0).normal(0, 0.001, len(time))).astype(np.float32)


def encode(path, codec, samples, rate, container=None, **options):
    """Write a file with PyAV; samples are (channels, n)."""
    samples = np.atleast_2d(samples)
    layout = {1: "mono", 2: "stereo"}[len(samples)]
    with av.open(str(path), "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate, options=options)
        stream.layout, stream.bit_rate = layout, 96_000
        frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout=layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        resampler = av.AudioResampler(format=stream.codec_context.format.name, layout=layout, rate=rate)
        for one in [*resampler.resample(frame), *resampler.resample(None), None]:
            file.mux(stream.encode(one))
    return path


def without_length(path):
    """Take the first block with the number of blocks away from an MP3 file, as simple encoders write it."""
    data = path.read_bytes()
    mark = max(data.find(b"Xing"), data.find(b"Info"))
    path.write_bytes(data[data.find(b"\xff\xfb", mark) :])
    return path


def sound(path, samples, rate, **options):
    soundfile.write(path, samples, rate, **options)
    return path


FORMATS = {
    "16 bits": lambda path, x: sound(path / "a.wav", x, 44100, subtype="PCM_16"),
    "24 bits": lambda path, x: sound(path / "a.wav", x, 44100, subtype="PCM_24"),
    "32 bits": lambda path, x: sound(path / "a.wav", x, 44100, subtype="PCM_32"),
    "float": lambda path, x: sound(path / "a.wav", x, 44100, subtype="FLOAT"),
    "double": lambda path, x: sound(path / "a.wav", x, 44100, subtype="DOUBLE"),
    "ADPCM": lambda path, x: sound(path / "a.wav", x, 44100, subtype="IMA_ADPCM"),
    "extensible": lambda path, x: sound(path / "a.wav", x, 44100, format="WAVEX", subtype="PCM_24"),
    "RF64": lambda path, x: sound(path / "a.wav", x, 44100, format="RF64"),
    "W64": lambda path, x: sound(path / "a.w64", x, 44100, format="W64"),
    "AIFF": lambda path, x: sound(path / "a.aif", x, 44100, format="AIFF", subtype="PCM_24"),
    "FLAC": lambda path, x: sound(path / "a.flac", x, 44100),
    "Ogg": lambda path, x: sound(path / "a.ogg", x, 44100),
    "Opus": lambda path, x: sound(path / "a.opus", x, 48000, format="OGG", subtype="OPUS"),
    "MP3": lambda path, x: sound(path / "a.mp3", x, 44100),
    "MP3 without length": lambda path, x: without_length(sound(path / "a.mp3", x, 44100)),
    "M4A": lambda path, x: encode(path / "a.m4a", "aac", x, 44100, aac_pns="0"),
    "ALAC": lambda path, x: encode(path / "a.m4a", "alac", x, 44100, "ipod"),
    "AAC": lambda path, x: encode(path / "a.aac", "aac", x, 44100, "adts", aac_pns="0"),
    "WMA": lambda path, x: encode(path / "a.wma", "wmav2", x, 44100, "asf"),
    "WMA 1": lambda path, x: encode(path / "a.wma", "wmav1", x, 44100, "asf"),
}
LOSSLESS = {"16 bits", "24 bits", "32 bits", "float", "double", "extensible", "RF64", "W64", "AIFF", "FLAC", "ALAC"}
DELAYS = {"MP3 without length": 576, "AAC": 1024, "WMA": -2048, "WMA 1": -2048}
"""Samples that a decoder adds before the sound, or drops of it, where the file does not say how many there are."""


@pytest.fixture(scope="module", params=FORMATS)
def recorded(request, tmp_path_factory):
    """A file of every format, its samples as read at once, and the samples that were written."""
    samples = sweep(44100)
    path = FORMATS[request.param](tmp_path_factory.mktemp("sound"), samples)
    with open_sound(path) as opened:
        whole = opened.read(10**9)
    return request.param, path, whole, samples


def test_every_format_is_read_to_its_end(recorded):
    name, path, whole, samples = recorded
    info = sound_info(path)
    assert (info.rate, info.channels) == ((48000 if name == "Opus" else 44100), 1)
    assert info.seconds * info.rate == len(whole)
    assert len(whole) == pytest.approx(len(samples), abs=0 if name in LOSSLESS else 4000)
    delay = DELAYS.get(name, 0)
    inside = slice(5000, len(samples) - 5000)
    error = whole[inside.start + delay : inside.stop + delay] - samples[inside]
    assert np.abs(error).max() < (1e-4 if name in LOSSLESS else 0.1)
    assert sound_remark(path) == ""


@given(place=st.floats(0, 1), seconds=st.floats(0.001, 1.5))
@settings(max_examples=8, deadline=None)
def test_a_part_is_the_part_of_the_whole(recorded, place, seconds):
    _, path, whole, _ = recorded
    info = sound_info(path)
    start = place * info.seconds
    part, rate = read_part(path, start, start + seconds)
    first, last = round(start * rate), round((start + seconds) * rate)
    assert part.dtype == np.float32
    np.testing.assert_allclose(part, whole[first:last], atol=1e-6)


def test_parts_can_be_read_in_any_order_of_one_open_file(recorded):
    _, path, whole, _ = recorded
    with open_sound(path) as opened:
        for start in (2.0, 0.5, 3.2, 0.0, 1.1):
            opened.seek(start)
            first = round(start * opened.rate)
            for _ in range(3):
                part = opened.read(3000)
                np.testing.assert_allclose(part, whole[first : first + 3000], atol=1e-6)
                first += len(part)


def test_a_part_beyond_the_end_is_empty(recorded):
    _, path, whole, _ = recorded
    assert len(read_part(path, 100.0, 110.0)[0]) == 0
    assert np.array_equal(read_part(path, -5.0, 0.5)[0], whole[: round(0.5 * sound_info(path).rate)])


def test_its_type_is_known_and_its_header_is_what_its_suffix_says(recorded):
    _, path, _, _ = recorded
    assert media.medium_of(path.suffix) == "sound"
    media.validate_media_file(path)


@pytest.mark.parametrize("rate", [2000, 8000, 22050, 96000, 192000, 250000, 256000, 384000, 500000])
def test_any_rate(rate, tmp_path):
    samples = sweep(rate, 1.0)
    for suffix in ("wav", "flac", "aiff"):
        path = sound(tmp_path / f"a.{suffix}", samples, rate)
        assert sound_info(path).rate == rate
        np.testing.assert_allclose(read_part(path, 0.25, 0.5)[0], samples[rate // 4 : rate // 2], atol=1e-4)


@pytest.mark.parametrize("channels", [2, 4, 8])
def test_channels_are_averaged(channels, tmp_path):
    samples = np.random.default_rng(0).normal(0, 0.1, (8000, channels)).astype(np.float32)
    path = sound(tmp_path / "a.wav", samples, 8000, subtype="FLOAT", format="WAVEX")
    assert sound_info(path).channels == channels
    np.testing.assert_allclose(read_part(path, 0, 1)[0], samples.mean(axis=1), atol=1e-6)


def test_stereo_of_containers_is_averaged(tmp_path):
    left = sweep(44100, 1.0)
    path = encode(tmp_path / "a.m4a", "alac", np.stack([left, 0 * left]), 44100, "ipod")
    assert sound_info(path).channels == 2
    np.testing.assert_allclose(read_part(path, 0, 1)[0], left / 2, atol=1e-3)


# WAV files as recorders write them, byte by byte.


def chunk(name, content, pad=True):
    return name + struct.pack("<I", len(content)) + content + (b"\0" if pad and len(content) % 2 else b"")


def wav(samples, rate, before=b"", after=b"", announced=None, name=b"RIFF"):
    data = (samples * 32767).astype("<i2").tobytes()
    layout = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16))
    size = len(data) if announced is None else announced
    body = b"WAVE" + layout + before + b"data" + struct.pack("<I", size) + data + after
    return name + struct.pack("<I", min(len(body), 0xFFFFFFFF)) + body


AUDIOMOTH = chunk(
    b"LIST",
    b"INFO"
    + chunk(
        b"ICMT",
        b"Recorded at 03:13:00 03/05/2025 (UTC) by AudioMoth 242A2604603691DD at medium gain.".ljust(384, b"\0"),
    )
    + chunk(b"IART", b"AudioMoth 242A2604603691DD".ljust(32, b"\0")),
)
GUANO = chunk(b"guan", b"GUANO|Version: 1.0\nTimestamp: 2025-05-03T03:13:00Z\n\xc3\xa4")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (AUDIOMOTH, GUANO),
        (b"", chunk(b"wamd", b"\0\0\2\0\0\0\1\0") + GUANO),
        (chunk(b"junk", b"abc"), b""),
        (chunk(b"junk", b"abc", pad=False), b""),
        (chunk(b"bext", bytes(603)) + AUDIOMOTH, chunk(b"id3 ", b"ID3\4\0\0\0")),
    ],
    ids=["AudioMoth", "Song Meter", "odd", "odd without padding", "broadcast"],
)
def test_chunks_around_the_sound_do_not_matter(before, after, tmp_path):
    samples = sweep(16000, 1.0)
    (tmp_path / "a.wav").write_bytes(wav(samples, 16000, before, after))
    np.testing.assert_allclose(read_part(tmp_path / "a.wav", 0, 9)[0], samples, atol=1e-4)
    assert announced_frames(tmp_path / "a.wav") == 16000
    assert sound_remark(tmp_path / "a.wav") == ""
    names = [one.name for one in chunks_of(tmp_path / "a.wav")]
    assert names[0] == b"fmt "
    assert b"data" in names
    assert (b"guan" in names) == (b"guan" in after)


def test_a_file_over_four_gigabytes(tmp_path):
    """Written with holes, so that it takes no space; its last second is not silent."""
    rate, hours = 250_000, 2.5
    frames = round(rate * 3600 * hours)
    size = 2 * frames
    assert size > 2**32
    last = sweep(rate, 1.0)
    sizes = chunk(b"ds64", struct.pack("<QQQI", size + 72, size, frames, 0))
    layout = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, rate, 2 * rate, 2, 16))
    for name in (b"RF64", b"BW64"):
        path = tmp_path / f"{name.decode()}.wav"
        with path.open("wb") as file:
            file.write(name + b"\xff\xff\xff\xffWAVE" + sizes + layout + b"data\xff\xff\xff\xff")
            file.seek(file.tell() + size - 2 * rate)
            file.write((last * 32767).astype("<i2").tobytes())
        assert sound_info(path).seconds == 3600 * hours
        np.testing.assert_allclose(read_part(path, 3600 * hours - 1, 1e9)[0], last, atol=1e-4)
        assert sound_remark(path) == ""
        path.unlink()


# What goes wrong.


@pytest.mark.parametrize("name", ["16 bits", "float", "RF64", "W64", "AIFF", "FLAC", "MP3", "WMA"])
def test_a_recording_that_was_cut_off_is_used_as_far_as_it_goes(name, tmp_path):
    path = FORMATS[name](tmp_path, sweep(44100, 8.0))
    whole = read_part(path, 0, 9)[0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    info = sound_info(path)
    assert info.seconds == pytest.approx(4.0, abs=0.7)
    with open_sound(path) as opened:
        part = opened.read(10**9)
    assert len(part) == round(info.seconds * 44100)
    # The last block lacks the next one, which it overlaps with.
    same = len(part) - (4096 if name in ("MP3", "WMA") else 0)
    np.testing.assert_allclose(part[:same], whole[:same], atol=1e-6)
    assert sound_remark(path) == f"ends after {info.seconds:.0f} of 8 seconds: used as far as it goes"
    assert list(stretches(path))[-1].end == pytest.approx(info.seconds, abs=1e-3)


def test_a_remark_counts_minutes_where_a_recording_is_long(tmp_path):
    samples = np.zeros(31 * 60 * 2000)
    (tmp_path / "a.wav").write_bytes(wav(samples, 2000, announced=60 * 60 * 2000 * 2))
    assert sound_remark(tmp_path / "a.wav") == "ends after 31 of 60 minutes: used as far as it goes"
    (tmp_path / "b.wav").write_bytes(wav(samples, 2000, announced=(31 * 60 + 1) * 2000 * 2))
    assert sound_remark(tmp_path / "b.wav") == "ends after 31.00 of 31.02 minutes: used as far as it goes"


@pytest.mark.parametrize("announced", [0xFFFFFFFF, 0xFFFFFFFE])
def test_a_header_that_was_never_finished_is_no_promise(announced, tmp_path):
    """Programs that write to a pipe announce as much as fits; that is read, and nothing is missing."""
    (tmp_path / "a.wav").write_bytes(wav(sweep(8000, 2.0), 8000, announced=announced))
    assert sound_info(tmp_path / "a.wav").seconds == 2.0
    assert sound_remark(tmp_path / "a.wav") == ""


def test_a_recorder_that_lost_power_left_sizes_of_zero(tmp_path):
    data = bytearray(wav(sweep(8000, 2.0), 8000, announced=0))
    data[4:8] = struct.pack("<I", 0)
    (tmp_path / "a.wav").write_bytes(data)
    assert sound_info(tmp_path / "a.wav").seconds == 2.0
    assert read_part(tmp_path / "a.wav", 0, 9)[0].std() > 0.1


def test_flac_that_does_not_know_its_length(tmp_path):
    """As a recorder writes it that was switched off: the number of samples in the header is 0."""
    path = sound(tmp_path / "a.flac", sweep(44100), 44100)
    data = bytearray(path.read_bytes())
    (packed,) = struct.unpack(">Q", data[18:26])
    data[18:26] = struct.pack(">Q", packed & ~(2**36 - 1))
    path.write_bytes(data)
    assert sound_info(path).seconds == pytest.approx(SECONDS, abs=1e-4)
    assert len(read_part(path, 0, 99)[0]) == pytest.approx(SECONDS * 44100, abs=1)
    assert sound_remark(path) == ""


def test_mp3_of_variable_bit_rate_without_length_is_read_to_its_end(tmp_path):
    """libsndfile takes the length from the bit rate of the first block, here silence, and stops long before the end."""
    samples = np.concatenate([np.zeros(44100, np.float32), sweep(44100, 6.0)])
    path = without_length(sound(tmp_path / "a.mp3", samples, 44100))
    assert abs(soundfile.info(path).frames - len(samples)) > 44100
    assert sound_info(path).seconds == pytest.approx(7.0, abs=0.06)


def test_sound_from_another_place_in_a_container_is_not_shifted_by_damage(tmp_path):
    """A damaged block is silence: what follows it stays where it was."""
    path = encode(tmp_path / "a.m4a", "aac", sweep(44100), 44100, aac_pns="0")
    whole = read_part(path, 0, 9)[0]
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 300] = bytes(300)
    path.write_bytes(data)
    damaged = read_part(path, 0, 9)[0]
    assert len(damaged) == len(whole)
    np.testing.assert_allclose(damaged[-44100:], whole[-44100:], atol=1e-5)


def test_files_that_hold_no_sound_say_why(tmp_path):
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "text.mp3").write_text("not a recording")
    (tmp_path / "a folder.wav").mkdir()
    (tmp_path / "broken.m4a").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(500))
    (tmp_path / "broken.wma").write_bytes(b"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + bytes(500))
    (tmp_path / "header.wav").write_bytes(wav(np.zeros(0), 8000)[:30])
    for name, words in {
        "empty.wav": "is empty",
        "text.mp3": "damaged",
        "a folder.wav": "cannot be read: Is a directory",
        "missing.wav": "cannot be read: No such file",
        "broken.m4a": "damaged",
        "broken.wma": "damaged",
        "header.wav": "damaged",
    }.items():
        with pytest.raises(FileError, match=words):
            sound_info(tmp_path / name)
        assert sound_remark(tmp_path / name) == ""


def test_in_a_folder_each_bad_file_has_its_reason_and_nothing_else_is_lost(tmp_path):
    """As `bagwise init` reads them: by the worker that segments one file."""
    samples = sweep(16000, 1.0)
    sound(tmp_path / "good.wav", samples, 16000)
    sound(tmp_path / "silent.wav", 0 * samples, 16000)
    sound(tmp_path / "nan.wav", np.nan * samples, 16000, subtype="FLOAT")
    sound(tmp_path / "no samples.wav", samples[:0], 16000)
    sound(tmp_path / "blink.wav", samples[:100], 16000)
    (tmp_path / "empty.wav").write_bytes(b"")
    (tmp_path / "named wrongly.flac").write_bytes((tmp_path / "good.wav").read_bytes())
    (tmp_path / "text.aif").write_text("not a recording")
    cut = encode(tmp_path / "cut.m4a", "aac", sweep(44100), 44100)
    cut.write_bytes(cut.read_bytes()[:5000])
    encode(tmp_path / "good.wma", "wmav2", sweep(44100), 44100, "asf")
    sound(tmp_path / "夜鶯.aiff", samples, 16000)
    reasons = {
        path.name: segment_one(Task(path), "sound", lambda: sound_windows.segment).reason
        for path in sorted(tmp_path.iterdir())
    }
    unreadable = "cannot be read as sound: it is damaged or in an unknown format. Convert it to FLAC, or leave it out."
    assert reasons == {
        "good.wav": "",
        "silent.wav": "",
        "nan.wav": "",
        "good.wma": "",
        "夜鶯.aiff": "",
        "no samples.wav": "holds no sound.",
        "blink.wav": "is shorter than 0.05 seconds: leave it out.",
        "empty.wav": "is empty.",
        "named wrongly.flac": "is not what its name says (audio/flac): convert it, or leave it out.",
        "text.aif": "is not what its name says (audio/aiff): convert it, or leave it out.",
        "cut.m4a": unreadable,
    }


def test_a_file_that_may_not_be_read_says_so(monkeypatch, tmp_path):
    path = sound(tmp_path / "a.wav", np.zeros(100), 8000)

    def refused(self, *arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refused)
    with pytest.raises(FileError, match="cannot be read: Permission denied"):
        sound_info(path)


@pytest.mark.parametrize("name", ["Käuzchen", "夜鶯", "соловей", "بلبل", "wren 🐦 (1)", "a%20b#c&d"])
def test_a_name_in_any_script(name, tmp_path):
    samples = sweep(44100, 1.0)
    for kind in ("16 bits", "FLAC", "M4A"):
        path = FORMATS[kind](tmp_path, samples)
        moved = path.rename(path.with_name(f"{name}{path.suffix}"))
        assert sound_info(moved).seconds == pytest.approx(1.0, abs=0.03)


def test_without_av_it_says_what_to_install(monkeypatch, tmp_path):
    path = encode(tmp_path / "a.m4a", "aac", sweep(44100, 1.0), 44100)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(BagwiseError, match=r"av is missing: .*bagwise\[audio\]"):
        sound_info(path)
    assert sound_info(sound(tmp_path / "a.flac", np.zeros(100), 8000)).rate == 8000


def test_a_video_without_sound_is_refused(tmp_path):
    path = tmp_path / "a.m4a"
    with av.open(str(path), "w", format="mp4") as file:
        stream = file.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        frame = av.VideoFrame.from_ndarray(np.zeros((32, 32, 3), np.uint8), format="rgb24")
        for one in (frame, None):
            file.mux(stream.encode(one))
    with pytest.raises(FileError, match="damaged or in an unknown format"):
        sound_info(path)
    with pytest.raises(containers.ContainerError, match="no sound"):
        containers.ContainerFile(path)
