"""Fifty people flat out, and one alone, on the server of this checkout and of another one, in turns.

    git worktree add ../before COMMIT
    python -m benchmarks.load_beside ../before [--turns 2] [--seconds 15]

Clients and machine are the same for both, and each makes the same project, so that only Bagwise differs. One alone is
served as people are: where a ranking takes little time, he waits for it. The first answers of each server, in which the
other one compiles its kernels, are not measured.
"""

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.load import Crowd, phase, serving
from benchmarks.load_project import make_elsewhere

HERE = Path(__file__).parents[1]


def measure(checkout, folder, people, seconds, bags=10_000):
    """Milliseconds of one alone, and of all, on the server of a checkout."""
    os.environ["PYTHONPATH"] = str(checkout / "src")
    truth, tokens = make_elsewhere(folder, bags, people)
    crowd = Crowd(truth)
    with serving(folder) as served:
        crowd.work(served, tokens[:1], seconds / 2, 0)
        alone = phase(served, crowd, tokens[:1], seconds)
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
        of_both = {}
        for name, checkout in (("before", options.before.resolve()), ("now", HERE)):
            with tempfile.TemporaryDirectory() as place:
                found = measure(checkout, Path(place) / "project", options.people, options.seconds)
            alone, together = of_both[name] = found
            processor = ", ".join(f"{part} {value:.2f}" for part, value in together["processor"].items())
            print(
                f"{name}: one alone {alone['median']:.2f} ms (p99 {alone['p99']:.1f}); {options.people} flat out "
                f"{together['answers_per_second']:,.0f} answers/s, p99 {together['p99']:.0f} ms, "
                f"{together['p99'] / alone['median']:.1f} times one alone ({processor} ms)"
            )
        (before, _), (_, now) = of_both["before"], of_both["now"]
        print(f"{options.people} now: {now['p99'] / before['median']:.1f} times one alone before")


if __name__ == "__main__":
    main()
