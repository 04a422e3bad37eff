"""Run the tests as other processors, with other numbers of cores, and on a busy machine; print a table.

    python tools/nightly.py --combined --runs 1 --full        # all tests under every setting, in a few runs
    python tools/nightly.py --runs 1 --only "older BLAS" -- tests/kernels tests/project
    python tools/nightly.py                                   # every setting by itself, three times each: hours

Every setting first replays the recorded project (`tests/recorded`) and prints by how much its weights differ, then
runs the tests named after `--`, or those of `make test`, or with `--full` all; what they print is in `build/nightly`,
a file for each run that can be followed. Ends with status 1 if anything failed. A processor is imitated by limiting
what BLAS, NumPy, the C library and the compiler of the kernels may use; cores are limited by affinity. Settings that
do not exclude each other can be in force together: `COMBINED` has every one of them once. What fails there is run
again with `--only` and one of its settings. Numba keeps the kernels of every processor apart.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "nightly"
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
SETTINGS = {name: (name,) for name in (*PROCESSORS, *CORES, BUSY)}
# Kernels for any x86-64 call the C library for fused multiply-adds: an older one needs hours for them.
COMBINED = {
    "oldest processor": ("older BLAS", "older NumPy", "kernels for any x86-64", "1 core"),
    "Nehalem, one thread": ("BLAS for Nehalem", "older C library", "one thread"),
    "Haswell, four threads on 2 cores": ("BLAS for Haswell", "kernels for Haswell", "four threads", "2 cores"),
    "Zen, busy": ("BLAS for Zen", BUSY),
    "as it is on 4 cores": ("as it is", "4 cores"),
}


@contextmanager
def limited_to(cores: int) -> Iterator[None]:
    """Keep this process and those that it starts on some cores."""
    available = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(available)[:cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, available)


@contextmanager
def busy_loops() -> Iterator[None]:
    """Keep every core busy with a loop while the tests run."""
    loops = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run(settings: Collection[str], arguments: list[str], log: Path) -> tuple[str, str, bool]:
    """Run under settings; return the difference of weights, the summary of the tests, and whether both passed."""
    environment, workers = dict(os.environ), "auto"
    available = len(os.sched_getaffinity(0))
    with ExitStack() as in_force:
        for name in settings:
            environment |= PROCESSORS.get(name, dict)()
            if name in CORES:
                if CORES[name] > available:
                    return f"this machine has {available} cores", "not run", True
                in_force.enter_context(limited_to(CORES[name]))
                workers = str(CORES[name])
        if BUSY in settings:
            in_force.enter_context(busy_loops())
        same, replayed = _output(environment, log, "tests.recorded", "--compare")
        passed, tested = _output(
            environment, log, "pytest", "-p", "no:cacheprovider", "-n", workers, "--dist", "loadfile", *arguments
        )
    differences = [float(found) for found in re.findall(r"weights by (\S+) at most", replayed)]
    if not passed:
        print(tested[-20000:])
    largest = f"{max(differences):.3g}" if differences else replayed.strip()[-200:]
    return largest, (tested.strip().splitlines() or ["no output"])[-1], same and passed


def _output(environment: Environment, log: Path, module: str, *arguments: str) -> tuple[bool, str]:
    """Run a module; return whether it passed and what it printed, which is in the log while it runs."""
    command = [sys.executable, "-m", module, *arguments]
    with log.open("a") as file:
        began = file.tell()
        status = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=file, check=False).returncode
    return status == 0, log.read_bytes()[began:].decode(errors="replace")


def main() -> int:
    """Run every chosen setting as often as requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each setting is run")
    known = SETTINGS | COMBINED
    parser.add_argument("--combined", action="store_true", help="every setting, several of them together in each run")
    parser.add_argument("--only", action="append", choices=known, help="this setting only; may be given again")
    parser.add_argument("--full", action="store_true", help="slow tests and every variant, too")
    parser.add_argument("tests", nargs="*", help="files and folders of tests (default: all)")
    chosen = parser.parse_args()
    arguments = [*["--full"][: chosen.full], *chosen.tests]
    LOGS.mkdir(parents=True, exist_ok=True)
    rows, all_passed = (
        ["| setting | run | largest difference of weights | tests | minutes |", "| --- | --- | --- | --- | --- |"],
        True,
    )
    for name in chosen.only or (COMBINED if chosen.combined else SETTINGS):
        for number in range(1, chosen.runs + 1):
            began = time.monotonic()
            log = LOGS / f"{name.replace(' ', '-').replace(',', '')}-{number}.log"
            log.unlink(missing_ok=True)
            largest, tests, passed = run(known[name], arguments, log)
            all_passed = all_passed and passed
            rows.append(f"| {name} | {number} | {largest} | {tests} | {(time.monotonic() - began) / 60:.1f} |")
            print(rows[-1], flush=True)
    print("\n".join(["", *rows]))
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
