"""How long `bagwise serve` takes to show its page and the first question, of a project with many answers.

    python benchmarks/serve_start.py [--bags 10000] [--answers 10000] [--runs 5] [--before SRC] [--out FILE]

Bags of 10 instances x 128 features and 50 classes; the answers are added as events and learned once. Then the server
is started as from a terminal: *compiled*, after a start before; *killed*, after a server that was killed when it had
shown a question; *not compiled*, with no compiled kernels on the machine. `--before` names the `src` folder of another
checkout, started in alternation with this one, under the same load. Beside the seconds by the clock stand those of the
processor, of both processes, which depend less on what else the machine does.
"""

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from projects import project_with_answers

RESULT = Path(__file__).parent / "results" / "serve_start.json"
SOURCE = Path(__file__).parents[1] / "src"
LONGEST, PAUSE = 300.0, 0.01


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--out", type=Path, default=RESULT)
    chosen = parser.parse_args()
    sources = {"before": chosen.before, "now": SOURCE} if chosen.before else {"now": SOURCE}
    found = {name: {"compiled": [], "killed": [], "not compiled": []} for name in sources}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project, _ = project_with_answers(folder / "project", chosen.bags, chosen.answers)
        project.load()
        project.close()
        for run in range(chosen.runs + 1):
            for version, source in sources.items():
                compiled = folder / f"compiled-{version}"
                for kind, end in (("killed", signal.SIGINT), ("compiled", signal.SIGKILL)):
                    # The start before the first compiles; the one before `killed` was killed.
                    started = start(folder / "project", source, compiled, end)
                    if run:
                        found[version][kind].append(started)
                if run == 1:
                    nothing = folder / f"nothing-{version}"
                    found[version]["not compiled"].append(start(folder / "project", source, nothing, signal.SIGINT))
    result = {
        "bags": chosen.bags,
        "answers": chosen.answers,
        "cores": len(os.sched_getaffinity(0)),
        "seconds": {
            version: {kind: summary(starts) for kind, starts in kinds.items()} for version, kinds in found.items()
        },
    }
    chosen.out.write_text(json.dumps(result, indent=2) + "\n")
    print("| | page | first question | processor |")
    print("| --- | --- | --- | --- |")
    for version, kinds in result["seconds"].items():
        for kind, of in kinds.items():
            print(f"| {version}, {kind} | {of['page']:.1f} s | {of['question']:.1f} s | {of['cpu']:.1f} s |")


def start(project, source, compiled, end):
    """Seconds until the page and until the first question, and those of the processor until then."""
    port = free_port()
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(compiled)}
    command = [sys.executable, "-m", "bagwise", "serve", str(project), "--port", str(port), "--no-browser"]
    began = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(process, f"http://127.0.0.1:{port}/")
        page = time.perf_counter() - began
        wait_for(process, f"http://127.0.0.1:{port}/api/questions/next")
        question = time.perf_counter() - began
        cpu = cpu_seconds(process.pid)
    finally:
        if end is signal.SIGKILL:
            os.killpg(process.pid, end)
        else:
            process.send_signal(end)
        process.wait()
    return {"page": page, "question": question, "cpu": cpu}


def wait_for(process, address):
    """Ask until it answers."""
    until = time.perf_counter() + LONGEST
    while time.perf_counter() < until:
        if process.poll() is not None:
            sys.exit(f"The server ended with status {process.returncode}.")
        try:
            with urllib.request.urlopen(address, timeout=LONGEST) as reply:
                reply.read()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(PAUSE)
    sys.exit(f"No answer from {address} within {LONGEST:.0f} s.")


def cpu_seconds(pid):
    """Of a process and those that it started."""
    ticks = os.sysconf("SC_CLK_TCK")
    children = [
        int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
    ]
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / ticks + sum(map(cpu_seconds, children))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def summary(starts):
    return {name: statistics.median(one[name] for one in starts) for name in starts[0]}


if __name__ == "__main__":
    main()
