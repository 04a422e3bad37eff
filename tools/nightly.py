"""Run the tests as other processors, with other numbers of cores, and on a busy machine; print a table.

    python tools/nightly.py                                   # everything, three times each: hours
    python tools/nightly.py --runs 1 --only "older BLAS" -- tests/kernels tests/project

Every setting first replays the recorded project (`tests/recorded`) and prints by how much its weights differ, then runs
the tests named after `--`, or all of them. Ends with status 1 if anything failed. A processor is imitated by limiting
what BLAS, NumPy, the C library and the compiler of the kernels may use; cores are limited by affinity.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SPIN = "while True: pass"
Environment = dict[str, str]


def _without_dispatch() -> Environment:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    found = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(found)}


PROCESSORS: dict[str, Callable[[], Environment]] = {
    "as it is": dict,
    "older BLAS": lambda: {"OPENBLAS_CORETYPE": "Prescott"},
    "BLAS for Nehalem": lambda: {"OPENBLAS_CORETYPE": "Nehalem"},
    "BLAS for Haswell": lambda: {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS for Zen": lambda: {"OPENBLAS_CORETYPE": "Zen"},
    "older NumPy": _without_dispatch,
    "older C library": lambda: {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
    "kernels for any x86-64": lambda: {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "kernels for Haswell": lambda: {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
    "one thread": lambda: {"BAGWISE_THREADS": "1"},
    "four threads": lambda: {"BAGWISE_THREADS": "4"},
}
CORES = {"1 core": 1, "2 cores": 2, "4 cores": 4}
BUSY = "busy"


@contextmanager
def busy_loops() -> Iterator[None]:
    """Run a busy loop on every core."""
    loops = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(name: str, tests: list[str]) -> tuple[str, str, bool]:
    """Run the recorded project and the tests under one setting; return both results and whether they passed."""
    environment = os.environ | PROCESSORS.get(name, dict)()
    cores, workers = CORES.get(name), "auto"
    if cores:
        available = sorted(os.sched_getaffinity(0))
        if cores > len(available):
            return f"this machine has {len(available)} cores", "not run", True
        os.sched_setaffinity(0, available[:cores])
        workers = str(cores)
    try:
        replayed = _output(environment, "tests.recorded", "--compare")
        passed = _output(environment, "pytest", "-p", "no:cacheprovider", "-n", workers, "--dist", "loadfile", *tests)
    finally:
        if cores:
            os.sched_setaffinity(0, available)
    differences = [float(found) for found in re.findall(r"weights by (\S+) at most", replayed.stdout)]
    last = passed.stdout.strip().splitlines()[-1:] or [passed.stderr.strip()[-200:]]
    if passed.returncode:
        print(passed.stdout[-20000:], passed.stderr[-2000:], sep="\n")
    largest = f"{max(differences):.3g}" if differences else replayed.stderr.strip()[-200:]
    return largest, last[0], replayed.returncode == 0 and passed.returncode == 0


def _output(environment: Environment, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def main() -> int:
    """Run every setting `--runs` times and print a table."""
    names = [*PROCESSORS, *CORES, BUSY]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each setting is run")
    parser.add_argument("--only", action="append", choices=names, help="this setting only; may be given again")
    parser.add_argument("tests", nargs="*", help="files and folders of tests (default: all)")
    chosen = parser.parse_args()
    rows, all_passed = (
        ["| setting | run | largest difference of weights | tests | minutes |", "| --- | --- | --- | --- | --- |"],
        True,
    )
    for name in chosen.only or names:
        for number in range(1, chosen.runs + 1):
            began = time.monotonic()
            if name == BUSY:
                with busy_loops():
                    largest, tests, passed = run(name, chosen.tests)
            else:
                largest, tests, passed = run(name, chosen.tests)
            all_passed = all_passed and passed
            rows.append(f"| {name} | {number} | {largest} | {tests} | {(time.monotonic() - began) / 60:.1f} |")
            print(rows[-1], flush=True)
    print("\n".join(["", *rows]))
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
