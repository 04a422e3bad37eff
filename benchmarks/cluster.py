"""A pool on a Ray cluster of this machine: the same questions, the extra cost of a question, and the bytes sent.

    python benchmarks/cluster.py [--quick] [--out FILE] [--write]

The script starts Ray; each shard has one processor. `--write` writes the tables to docs/cluster.md.
"""

import argparse
import json
import logging
import os
import platform
import time
from pathlib import Path

import numpy as np
import ray
from marked import rewrite
from rich.console import Console

from bagwise import ActiveLearner, Bags, Labels, MIMLClassifier
from bagwise.cluster import RayPool
from bagwise.cluster.shard import Shard
from bagwise.research.bench.pools import STANDARD, PoolSize, RandomPool

LIMIT_MS = 5.0
DOCS = Path(__file__).parents[1] / "docs" / "cluster.md"
WARM = 10


class Delayed(Shard):
    """A shard that is some milliseconds away, there and back."""

    delay = 0.0

    def be_away(self, seconds):
        self.delay = seconds

    def rss(self):
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024

    def call(self, head, body):
        time.sleep(self.delay)
        reply = super().call(head, body)
        time.sleep(self.delay)
        return reply


class DelayedPool(RayPool):
    shard = Delayed


def learners(made, shards, criterion="uncertainty", update="bag_sgd"):
    """The same learner here and on a cluster, and its pool."""
    bags, labels = made
    classes = [str(c) for c in range(labels.n_classes)]
    options = {"criterion": criterion, "update": update, "audit": 0, "cold_start": False}
    pool = DelayedPool.of(bags, shards, cpus=1 if isinstance(shards, int) and shards <= os.cpu_count() else 0.3)
    here = ActiveLearner(bags, classes, labels, MIMLClassifier(max_iter=5), **options)
    return here, ActiveLearner(None, classes, labels, MIMLClassifier(max_iter=5), pool=pool, **options), pool


def a_pool(size):
    pool = RandomPool(size)
    return pool.bags, pool.labels()


def truth_of(bag, label_class):
    return bool((bag * 2654435761 + label_class * 40503) >> 7 & 1)


def step(learner):
    """Seconds of an ask and a tell."""
    start = time.perf_counter()
    question = learner.ask()
    learner.tell(question, truth_of(question.bag, question.classes[0]))
    return time.perf_counter() - start, question


def timed(learner, steps):
    found = [step(learner)[0] for _ in range(steps + WARM)][WARM:]
    return 1e3 * float(np.median(found))


def sequences(answers):
    """Question by question: for uncertainty and EGL, with 1, 2 and 5 shards of uneven size."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, 2000)
    x = rng.standard_normal((sizes.sum(), 32), dtype=np.float32)
    bags = Bags(x, np.concatenate([[0], np.cumsum(sizes)]))
    labels = Labels(rng.random((2000, 10)) < 0.3, (np.arange(2000) < 20)[:, None] * np.ones(10))
    rows = []
    for criterion in ("uncertainty", "expected_gradient_length"):
        for shards in ([2000], [300, 1700], [1, 700, 99, 1000, 200]):
            here, there, pool = learners((bags, labels), shards, criterion)
            same = 0
            for _ in range(answers):
                (_, asked), (_, also) = step(here), step(there)
                if asked != also:
                    break
                same += 1
            pool.close()
            rows.append({"criterion": criterion, "shards": len(shards), "answers": answers, "same questions": same})
    return rows


def overheads(steps):
    """What a question and its answer take here (two threads) and with two shards (one thread each)."""
    rows = []
    for size in (PoolSize(200, 10, 128, 50), STANDARD):
        for criterion in ("uncertainty", "expected_gradient_length"):
            here, there, pool = learners(a_pool(size), 2, criterion)
            in_process, on_cluster = timed(here, steps), timed(there, steps)
            pool.close()
            rows.append(
                {
                    "bags": size.bags,
                    "criterion": criterion,
                    "in one process (ms)": in_process,
                    "two shards (ms)": on_cluster,
                    "difference (ms)": on_cluster - in_process,
                }
            )
    return rows


def scaling(steps):
    """Weak scaling: twice the bags on twice the shards."""
    rows = []
    for shards in range(1, os.cpu_count() + 1):
        _, there, pool = learners(a_pool(PoolSize(10_000 * shards, 10, 128, 50)), shards)
        rows.append({"shards": shards, "bags": 10_000 * shards, "question and answer (ms)": timed(there, steps)})
        pool.close()
    return rows


def traffic(steps):
    """Bytes over the wire for a question and its answer, and the memory of a shard, for pools of growing size."""
    rows = []
    for bags in (1_000, 10_000, 50_000):
        _, there, pool = learners(a_pool(PoolSize(bags, 10, 128, 50)), 2)
        timed(there, 1)
        before = pool.messages.bytes_out, pool.messages.bytes_in, pool.messages.messages
        for _ in range(steps):
            step(there)
        out, back, messages = (
            after - first
            for after, first in zip(
                (pool.messages.bytes_out, pool.messages.bytes_in, pool.messages.messages), before, strict=True
            )
        )
        resident = max(pool.messages.everywhere("rss").values())
        rows.append(
            {
                "bags": bags,
                "bytes out a shard": out / steps / 2,
                "bytes back a shard": back / steps / 2,
                "messages a shard": messages / steps / 2,
                "memory of a shard (MB)": resident / 1e6,
                "its features (MB)": bags / 2 * 10 * 128 * 4 / 1e6,
            }
        )
        pool.close()
    return rows


def delays(steps):
    """With shards some milliseconds away each way: a question takes one round trip, an answer none."""
    _, there, pool = learners(a_pool(PoolSize(2_000, 10, 128, 50)), 2)
    rows = []
    for delay in (0.0, 1.0, 20.0):
        pool.messages.each("be_away", dict.fromkeys(range(2), (delay / 1000.0,)))
        took = timed(there, steps)
        rows.append({"delay each way (ms)": delay, "question and answer (ms)": took})
    for row in rows:
        row["round trips"] = (
            (row["question and answer (ms)"] - rows[0]["question and answer (ms)"]) / (2 * row["delay each way (ms)"])
            if row["delay each way (ms)"]
            else None
        )
    pool.close()
    return rows


def as_table(rows):
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(shown(row[head]) for head in heads) + " |" for row in rows)])


def shown(value):
    if value is None:
        return ""
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few steps, to see that it runs")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/cluster.md")
    options = parser.parse_args()
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    answers, steps = (20, 10) if options.quick else (500, 60)
    console = Console()
    found = {"machine": f"{os.cpu_count()} cores, {platform.machine()}, Ray {ray.__version__}"}
    for name, measured in (
        ("sequences", lambda: sequences(answers)),
        ("overheads", lambda: overheads(steps)),
        ("scaling", lambda: scaling(steps)),
        ("traffic", lambda: traffic(steps)),
        ("delays", lambda: delays(steps)),
    ):
        with console.status(name):
            found[name] = measured()
        console.print(f"\n{name}\n{as_table(found[name])}")
    worst = max(row["difference (ms)"] for row in found["overheads"])
    alike = all(row["same questions"] == row["answers"] for row in found["sequences"])
    console.print(f"\nmore a question: {worst:.1f} ms at most (limit {LIMIT_MS:g}); all questions alike: {alike}")
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    if options.write:
        rewrite(DOCS, {name: as_table(rows) for name, rows in found.items() if name != "machine"})
    raise SystemExit(not (alike and worst < LIMIT_MS))


if __name__ == "__main__":
    main()
