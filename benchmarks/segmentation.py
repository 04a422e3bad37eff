"""Segmentation of folders of pictures: files per second, and peak memory by the number of files.

    python benchmarks/segmentation.py [--sizes 200 1000]

Scenes of 640 x 480 pixels, segmented into superpixels by `bagwise init`. Memory is that of the command and all its
processes together, each counted by its share (PSS).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

RESULTS = Path(__file__).parent / "results" / "cutting.json"


def make(folder, count):
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(count):
        small = rng.integers(0, 255, (12, 16, 3), np.uint8)
        Image.fromarray(small).resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{number:05}.jpg")


def memory_of_session(leader):
    total = 0
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            if os.getsid(int(place.name)) == leader:
                rollup = (place / "smaps_rollup").read_text()
                total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    return total / 1024


def measure(folder, count):
    make(folder / f"pictures-{count}", count)
    (folder / "classes.txt").write_text("a\nb\n")
    words = ["init", f"project-{count}", "--from", f"pictures-{count}", "--classes", "classes.txt"]
    began, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(
        [sys.executable, "-m", "bagwise", *words],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None:
        peak = max(peak, memory_of_session(process.pid))
        time.sleep(0.2)
    assert process.returncode == 0
    seconds = time.perf_counter() - began
    return {"files": count, "seconds": seconds, "files_per_second": count / seconds, "peak_megabytes": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 1000])
    folder = Path(tempfile.mkdtemp(prefix="bagwise-segmentation-"))
    try:
        rows = [measure(folder, count) for count in parser.parse_args().sizes]
    finally:
        shutil.rmtree(folder)
    for row in rows:
        print("{files} files: {seconds:.0f} s, {files_per_second:.1f} files/s, {peak_megabytes:.0f} MB".format(**row))
    RESULTS.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
