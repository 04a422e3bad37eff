"""Start-up time: wall and CPU time of a process, the median of several runs, and the modules it imports.

    python benchmarks/startup.py [--runs 9] [--python .venv/bin/python] [--before SRC]

`--before` names the `src` folder of another checkout, measured in alternation with this one, under the same load.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
JOBS = {
    "python -c pass": ["-c", "pass"],
    "bagwise --help": ["-m", "bagwise", "--help"],
    "bagwise status --help": ["-m", "bagwise", "status", "--help"],
    "bagwise serve --help": ["-m", "bagwise", "serve", "--help"],
    "bagwise simulate --help": ["-m", "bagwise", "simulate", "--help"],
    "import bagwise": ["-c", "import bagwise"],
    "from bagwise import Bags, Labels": ["-c", "from bagwise import Bags, Labels"],
    "from bagwise import ActiveLearner": ["-c", "from bagwise import ActiveLearner"],
}
COUNT = """
import runpy, sys
sys.argv[1:] = {words!r}
try:
    {code}
except SystemExit:
    pass
print(" ", len(sys.modules))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--before", type=Path)
    arguments = parser.parse_args()
    sources = {"before": arguments.before, "now": SOURCE} if arguments.before else {"now": SOURCE}
    print("| start |", " | ".join(f"{name}: wall s | CPU s | modules" for name in sources), "|")
    print("| --- |" + " --- | --- | --- |" * len(sources))
    for title, words in JOBS.items():
        timed = {name: [] for name in sources}
        # The first start after a change writes byte code: it is not counted.
        for run in range(arguments.runs + 1):
            for name, source in sources.items():
                found = start([arguments.python, *words], source)
                if run:
                    timed[name].append(found)
        cells = []
        for name, source in sources.items():
            wall, cpu = (statistics.median(column) for column in zip(*timed[name], strict=True))
            cells.append(f"{wall:.2f} | {cpu:.2f} | {modules(arguments.python, words, source)}")
        print(f"| `{title}` | {' | '.join(cells)} |", flush=True)


def start(command, source):
    """Wall and CPU seconds of one process; the CPU's hardly depend on who else uses the machine."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - clock, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def modules(python, words, source):
    """How many modules it has imported in the end."""
    kind, code, *rest = words
    run = code if kind == "-c" else f"runpy.run_module({code!r}, run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [python, "-c", COUNT.format(words=rest, code=run)],
        env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return int(done.stdout.rsplit(maxsplit=1)[-1])


if __name__ == "__main__":
    main()
