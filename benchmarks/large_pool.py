"""A pool of a million bags in a file, scored and selected from: time against the product alone, and peak memory.

    python benchmarks/large_pool.py [--bags 1000000] [--half] [--quick] [--out FILE] [--folder /tmp]

The features are 5.1 GB in single precision, 2.6 GB with --half. Limits: twice the product over the same blocks (read
from the same file, in the same threads), memory 1.2 times the features. The file is removed in the end.
"""

import argparse
import json
import multiprocessing
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bagwise import Bags, Labels, MIMLClassifier
from bagwise.kernels.arithmetic.blocks import ahead, each_block
from bagwise.kernels.arithmetic.product import precise
from bagwise.learning.top_k import PAIRS_AT_A_TIME, scan
from bagwise.research.bench.memory import peak
from bagwise.research.bench.pools import STANDARD

LIMITS = {"uncertainty / product": 2.0, "memory / features": 1.2}
ROWS_AT_A_TIME = 1 << 18
INSTANCES, FEATURES, CLASSES = STANDARD.instances, STANDARD.features, STANDARD.classes


def write(path, rows, dtype):
    mapped = np.lib.format.open_memmap(path, "w+", dtype, (rows, FEATURES))
    rng = np.random.default_rng(0)
    block = rng.standard_normal((ROWS_AT_A_TIME, FEATURES), dtype=np.float32)
    for start in range(0, rows, ROWS_AT_A_TIME):
        # Fresh numbers for every row would take longer than all the rest: a block is turned and shifted instead.
        part = mapped[start : start + ROWS_AT_A_TIME]
        part[:] = np.roll(block, start // ROWS_AT_A_TIME, axis=1)[: len(part)] + rng.normal(scale=0.1, size=FEATURES)
    mapped.flush()


def product_alone(instances, weights):
    """The same rows, parts, blocks and threads, with nothing but BLAS done to them."""
    step = PAIRS_AT_A_TIME // CLASSES
    for first, last in ahead(instances.x, instances.offsets, range(0, len(instances.offsets) - 1, step)):
        part = instances.between(first, last)

        def block(a, b, part=part):
            precise(part.x[part.offsets[a] : part.offsets[b]]) @ weights.T

        each_block(part.offsets, CLASSES, block)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(count=1_000_000, half=False, rounds=3, folder=None):
    """Times in seconds, ratios and peak memory over the features."""
    dtype = np.float16 if half else np.float32
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "features.npy"
        # In a process of its own: pages that were written count as memory of the process that wrote them.
        writing = multiprocessing.get_context("spawn").Process(target=write, args=(path, count * INSTANCES, dtype))
        writing.start()
        writing.join()
        x = np.load(path, mmap_mode="r")
        few = Bags.trusted(np.array(x[:1000]), np.arange(0, 1001, INSTANCES), np.arange(100))
        scan(MIMLClassifier.from_weights(np.zeros((CLASSES, FEATURES))).pool(few), "balanced_uncertainty", 1)
        before = peak()
        bags = Bags.trusted(np.asarray(x), np.arange(0, len(x) + 1, INSTANCES), np.arange(count))
        weights = np.random.default_rng(1).standard_normal((CLASSES, FEATURES)) / np.sqrt(FEATURES)
        model = MIMLClassifier.from_weights(weights)
        labels = Labels.unknown(count, CLASSES)
        pool = model.pool(bags, labels)
        folded = pool.scorer.folded[0]
        times = {"product": [], "uncertainty": [], "balanced_uncertainty": []}
        for _ in range(rounds):
            times["product"].append(seconds(lambda: product_alone(pool.scorer.instances, folded)))
            for name in ("uncertainty", "balanced_uncertainty"):
                times[name].append(seconds(lambda name=name: scan(model.pool(bags, labels), name, 1)))
        best = {name: min(values) for name, values in times.items()}
        features = x.nbytes
        return {
            "size": f"{count} bags x {INSTANCES} instances x {FEATURES} features x {CLASSES} classes, {x.dtype}",
            "seconds": {name: round(value, 3) for name, value in best.items()},
            "uncertainty / product": round(best["uncertainty"] / best["product"], 3),
            "balanced_uncertainty / product": round(best["balanced_uncertainty"] / best["product"], 3),
            "memory / features": round((peak() - before) / features, 3),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bags", type=int, default=1_000_000)
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--quick", action="store_true", help="100,000 bags, once")
    parser.add_argument("--folder", help="where the file is made, which is removed in the end")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/large_pool.json"))
    options = parser.parse_args()
    found = measure(100_000 if options.quick else options.bags, options.half, 1 if options.quick else 3, options.folder)
    found["machine"] = f"{platform.machine()}, {os.cpu_count()} cores"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    table = Table("ratio", "measured", "limit", title=found["size"])
    for name, limit in LIMITS.items():
        table.add_row(name, f"{'[red]' if found[name] > limit else ''}{found[name]:.2f}", f"at most {limit}")
    Console().print(table)


if __name__ == "__main__":
    main()
