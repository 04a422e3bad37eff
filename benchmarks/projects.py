"""Large projects: import relative to a plain copy of the same bytes, and opening with very many answers.

    python benchmarks/projects.py [--instances 10000000] [--answers 100000] [--folder DIR] [--out FILE]

Import: a Parquet file of instances x 128 features, float32, ten per bag; `bagwise init` in a new process, its
peak memory, its time relative to copying the feature bytes to another file with the same synchronisation. Opening:
10,000 bags x 10 instances x 128 features, 50 classes; the answers are added as events, the model is learned once, and
the project is opened again. Then questions are answered one after the other, between refits: the time from an answer to
the next question, which knows the answer, beside that of making as many bytes durable on the same disk (fsync).
`--instances 0` leaves the import out and keeps its figures.
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
import polars as pl
from rich.console import Console

from bagwise.formats import Source
from bagwise.project import Event, Project
from bagwise.project.storage import queries

FEATURES, PER_BAG, CLASSES, BAGS = 128, 10, 50, 10_000
LIMIT_MB = 1500
ANSWERED, PAGE = 24, 4096
AT = "2026-01-01T00:00:00.000+00:00"
ROWS_AT_ONCE = 500_000
# The peak is read by the process itself: what a parent is told of its child includes what it had before it became one.
MEASURED = """
import sys
from bagwise.cli import main
sys.argv[0] = "bagwise"
try:
    main()
finally:
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def write_parquet(path, instances):
    """In parts, so that the benchmark itself needs little memory."""
    rng = np.random.default_rng(0)
    names = [f"f{i}" for i in range(FEATURES)]
    parts = path.with_suffix(".parts")
    parts.mkdir()
    for start in range(0, instances, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, instances - start)
        frame = pl.DataFrame(rng.standard_normal((rows, FEATURES), dtype=np.float32), schema=names)
        bag = pl.Series("bag", np.arange(start, start + rows) // PER_BAG)
        frame.with_columns(bag).write_parquet(parts / f"{start:012}.parquet", compression="uncompressed")
    pl.scan_parquet(parts / "*.parquet").sink_parquet(path, compression="uncompressed")
    shutil.rmtree(parts)


def plain_copy(source, target):
    start = time.perf_counter()
    with source.open("rb") as given, target.open("wb") as copy:
        shutil.copyfileobj(given, copy, 1 << 24)
        copy.flush()
        os.fsync(copy.fileno())
    return time.perf_counter() - start


def importing(folder, instances):
    path = folder / "instances.parquet"
    write_parquet(path, instances)
    (folder / "classes.txt").write_text("\n".join(f"class {c}" for c in range(CLASSES)))
    project = folder / "imported"
    command = ["init", str(project), "--from", str(path), "--classes", str(folder / "classes.txt")]
    start = time.perf_counter()
    said = subprocess.run([sys.executable, "-c", MEASURED, *command], check=True, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    peak = int(said.stdout.split()[-1]) / 1024
    copy = plain_copy(project / "instances.bin", folder / "copy.bin")
    (folder / "copy.bin").unlink()
    size = (project / "instances.bin").stat().st_size
    shutil.rmtree(project)
    path.unlink()
    return {
        "instances": instances,
        "gigabytes": size / 1e9,
        "seconds": seconds,
        "copy_seconds": copy,
        "ratio": seconds / copy,
        "peak_mb": peak,
    }


def project_with_answers(place, bags, answers):
    """An open project whose answers are not learned yet, and the truth about its pairs."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((bags * PER_BAG, FEATURES), dtype=np.float32)
    source = Source.of_bags(Path("drawn"), np.split(x, bags), [str(b) for b in range(bags)])
    weights = rng.standard_normal((CLASSES, FEATURES)) / 4
    truth = (x @ weights.T).reshape(bags, PER_BAG, CLASSES).max(axis=1) > 5
    project = Project.create(place, source, classes=[f"class {c}" for c in range(CLASSES)])
    chosen = rng.permutation(bags * CLASSES)[:answers]
    with project.database.writing() as connection:
        queries.ensure_annotator(connection, "ann")
        events = (_answer(number, *divmod(int(pair), CLASSES), truth) for number, pair in enumerate(chosen, 1))
        queries.add_events(connection, list(events))
    return project, truth


def opening(folder, answers):
    place = folder / "opened"
    project, truth = project_with_answers(place, BAGS, answers)
    start = time.perf_counter()
    project.load()
    learned = time.perf_counter() - start
    project.close()
    start = time.perf_counter()
    again = Project.open(place)
    again.load()
    opened = time.perf_counter() - start
    start = time.perf_counter()
    (asked,) = again.ask("ann")
    first = time.perf_counter() - start
    times = []
    for _ in range(ANSWERED):
        start = time.perf_counter()
        again.answer(asked.key, "ann", "present" if truth[asked.question.bag, asked.question.classes[0]] else "absent")
        (asked,) = again.ask("ann")
        times.append(time.perf_counter() - start)
    synchronised = fsync_seconds(folder)
    again.close()
    return {
        "answers": answers,
        "bags": BAGS,
        "seconds_to_learn_once": learned,
        "seconds_to_open": opened,
        "seconds_to_first_question": first,
        "seconds_of_answer_and_next_question": float(np.median(times)),
        "longest_of_them": max(times),
        "seconds_of_fsync": synchronised,
    }


def _answer(number, bag, label_class, truth):
    answer = "present" if truth[bag, label_class] else "absent"
    return Event(number, f"{number:032x}", "answer", "ann", AT, bag, label_class, answer, seconds=1.0)


def fsync_seconds(folder):
    """The median time to append a page to a file and make it durable."""
    times = []
    with (folder / "page").open("wb") as file:
        for _ in range(ANSWERED):
            start = time.perf_counter()
            file.write(bytes(PAGE))
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--instances", type=int, default=10_000_000)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "projects.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        imported = (
            importing(folder, options.instances) if options.instances else json.loads(options.out.read_text())["import"]
        )
        found = {"import": imported, "opening": opening(folder, options.answers)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    Console().print_json(data=found)
    if found["import"]["peak_mb"] > LIMIT_MB:
        sys.exit(f"Importing took {found['import']['peak_mb']:.0f} MB, more than {LIMIT_MB}.")


if __name__ == "__main__":
    main()
