"""Partitioned instances: time to write and read them, relative to a plain copy of the same bytes.

    python benchmarks/partitions.py [--instances 2000000] [--parts 8] [--folder DIR] [--out FILE]

A project of instances x 64 features, float32, twenty per bag, drawn at random (so hardly anything can be compressed);
`Project.partition` with all cores, then single bags, selections, a pass through everything, one partition.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path

import numpy as np
from projects import plain_copy

from bagwise.formats import Source
from bagwise.partitions import partitions_of
from bagwise.project import Project

FEATURES, PER_BAG, BLOCKS = 64, 20, 50


def drawn(instances):
    rng = np.random.default_rng(0)
    bags = instances // PER_BAG
    codes = np.repeat(np.arange(bags), PER_BAG)
    sizes = np.diff(np.linspace(0, len(codes), BLOCKS + 1).astype(int))
    blocks = lambda: (rng.standard_normal((size, FEATURES), dtype=np.float32) for size in sizes)  # noqa: E731
    return Source(Path("drawn"), [f"{b:08}" for b in range(bags)], codes, FEATURES, np.dtype(np.float32), blocks)


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(folder, instances, parts):
    rng = np.random.default_rng(1)
    with Project.create(folder / "project", drawn(instances), classes=["a"]) as project:
        size = (folder / "project" / "instances.bin").stat().st_size
        copy = plain_copy(folder / "project" / "instances.bin", folder / "copy.bin")
        (folder / "copy.bin").unlink()
        partitioning = seconds(lambda: project.partition(parts))
        bags = project.bags
        single = [seconds(lambda b=int(b): bags[b]) for b in rng.permutation(len(bags))[:50]]
        some = rng.permutation(len(bags))[:1000]
        return {
            "instances": instances,
            "gigabytes": size / 1e9,
            "parts": parts,
            "cores": len(os.sched_getaffinity(0)),
            "processor": platform.processor() or platform.machine(),
            "size": partitions_of(bags).n_bytes / size,
            "copy_seconds": copy,
            "partition_seconds": partitioning,
            "bag_milliseconds": 1e3 * float(np.median(single)),
            "thousand_bags_seconds": seconds(lambda: bags.select(some)),
            "pass_seconds": seconds(lambda: [None for _ in bags.chunks()]),
            "part_seconds": float(np.median([seconds(lambda n=n: partitions_of(bags).read(n)) for n in range(parts)])),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "parts.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        found = measure(Path(place), options.instances, options.parts)
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found, indent=2))
