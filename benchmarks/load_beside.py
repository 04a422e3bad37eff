"""Fifty people flat out, and one alone, on the server of this checkout and of another one, in turns.

    git worktree add ../before COMMIT
    python -m benchmarks.load_beside ../before [--turns 2] [--seconds 15]

Clients, project and machine are the same for both, so that only the servers differ. The first answers of each server,
in which the other one compiles its kernels, are not measured.
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.load import Crowd, make, phase, serving

HERE = Path(__file__).parents[1]


def measure(checkout, folder, people, seconds, bags=10_000):
    """Milliseconds of one alone, and of all, on the server of a checkout."""
    os.environ["PYTHONPATH"] = str(checkout / "src")
    truth, tokens = make(folder, bags, people)
    crowd = Crowd(truth)
    with serving(folder, waiting=False) as served:
        crowd.work(served, tokens[:1], seconds / 2, 0)
        alone = phase(served, crowd, tokens[:1], seconds)
    with serving(folder) as served:
        # Until the training process is there: fifty who come before that use up the stored ranking in two seconds.
        crowd.work(served, tokens[:1], seconds / 2, 0)
        crowd.work(served, tokens, seconds / 4, 0)
        return alone, phase(served, crowd, tokens, seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("before", type=Path)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=15)
    options = parser.parse_args()
    for _ in range(options.turns):
        for name, checkout in (("before", options.before.resolve()), ("now", HERE)):
            with tempfile.TemporaryDirectory() as place:
                alone, all_of_them = measure(checkout, Path(place) / "project", options.people, options.seconds)
            processor = ", ".join(f"{part} {value:.2f}" for part, value in all_of_them["processor"].items())
            print(
                f"{name}: one alone {alone['median']:.2f} ms; {options.people} flat out "
                f"{all_of_them['answers_per_second']:,.0f} answers/s, p99 {all_of_them['p99']:.0f} ms ({processor} ms)"
            )


if __name__ == "__main__":
    main()
