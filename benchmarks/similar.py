"""Find more like this, and the map: seconds of processor and memory, for a million small and many large instances.

    python benchmarks/similar.py [--out FILE]

Instances are drawn at random, ten per bag, float32, in a mapped file; each size has a process of its own. Memory is
what the process allocates beyond what it had before (`RssAnon`): pages of the mapped file are the system's.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from bagwise import Bags
from bagwise.model.features import fit_transformer
from bagwise.project.search.nearest import nearest
from bagwise.project.search.plane import MOST_POINTS, directions, neighbours

SIZES = [(1_000_000, 128), (100_000, 1024)]
PER_BAG = 10
AT_A_TIME = 10_000
SEARCHED = (1, PER_BAG)


def allocated():
    found = re.search(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024 * int(found[1])


class Peak:
    """The most that was allocated while it was open."""

    def __enter__(self):
        self.before = self.most = allocated()
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.done.wait(0.005):
            self.most = max(self.most, allocated())

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def drawn(folder, instances, features):
    """Instances around twenty middles, in a file."""
    rng = np.random.default_rng(0)
    middles = rng.normal(0, 2, (20, features))
    rows = np.memmap(folder / "instances.bin", np.float32, "w+", shape=(instances, features))
    for first in range(0, instances, AT_A_TIME):
        rows[first : first + AT_A_TIME] = middles[rng.integers(0, 20, AT_A_TIME)]
        rows[first : first + AT_A_TIME] += rng.standard_normal((AT_A_TIME, features), np.float32)
    rows.flush()
    stored = np.memmap(folder / "instances.bin", np.float32, "r", shape=(instances, features))
    return Bags.trusted(stored, np.arange(0, instances + 1, PER_BAG), np.arange(instances // PER_BAG))


def measured(work):
    with Peak() as peak:
        wall, processor = time.perf_counter(), time.process_time()
        work()
        found = {"seconds": time.perf_counter() - wall, "processor_seconds": time.process_time() - processor}
    return {**found, "megabytes": (peak.most - peak.before) / 1e6}


def measure(instances, features):
    with tempfile.TemporaryDirectory() as folder:
        bags = drawn(Path(folder), instances, features)
        fitted = fit_transformer("standardise", bags)
        everything = np.arange(len(bags))
        nearest(bags.select(everything[:1]), fitted, bags[0][:1], everything[:1])  # Kernels are loaded now.
        rows = np.arange(MOST_POINTS) * instances // MOST_POINTS
        found = {f"search {q}": measured(lambda q=q: nearest(bags, fitted, bags[7][:q], everything)) for q in SEARCHED}
        along = []
        found["directions"] = measured(lambda: along.append(directions(bags, fitted, rows)))
        found["neighbours"] = measured(lambda: neighbours(along[0]))
    return {"instances": instances, "features": features, **found}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/similar.json"))
    parser.add_argument("--size", type=int, nargs=2)
    given = parser.parse_args()
    if given.size:
        print(json.dumps(measure(*given.size)))
        return
    commands = [[sys.executable, __file__, "--size", *map(str, size)] for size in SIZES]
    rows = [json.loads(subprocess.run(one, check=True, capture_output=True, text=True).stdout) for one in commands]
    machine = {"processor": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0))}
    given.out.write_text(json.dumps({**machine, "sizes": rows}, indent=1) + "\n")
    for row in rows:
        print(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
