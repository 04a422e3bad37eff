"""Load test: scripted annotators against a real `bagwise serve`, relative to one annotator alone in the same run.

    python -m benchmarks.load [--people 50] [--seconds 60] [--bags 10000] [--folder DIR] [--out FILE]

Every annotator signs in with a token and repeats: send the answer, fetch the next question. First one of them alone,
who waits for the next question until the model has learned the answer where that takes less than a tenth of a second,
and one who never waits for it; then all without a pause (`flat out`), then all with a pause of about a second before
each answer, as fast people have (`paced`). Afterwards what the server acknowledged is compared with the database, and
`bagwise check` replays it. The figure of merit is the 99th percentile of answer + next question over the median of one
alone: below 10 in both. Beside it stands the 99th percentile over that of one alone. Flat out it is a matter of
throughput: fifty who never pause have the cores busy all the time. So the same run measures what bounds it: the
processor's time of an answer and its question, by process and by part (`load_parts.py`), beside a bare FastAPI
application that gets the same requests, Bagwise's own application with nothing behind it (`echo.py`), and bare SQLite.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2 as httpx
import numpy as np
import orjson
from rich.console import Console

from bagwise.project import Project
from benchmarks import load_parts
from benchmarks.load_project import BAG_WITH_FILE, CLASSES, FILE_BYTES, make

PAUSE = 1.0
LIMIT = 10.0
ALONE, NOT_WAITING, FLAT_OUT, PACED = "alone", "alone, not waiting", "flat out", "paced"
SERVE_WITHOUT_WAITING = """
from bagwise.project.queue import ranking
ranking.TIMEOUT = 0.0
from bagwise.cli import main
main()
"""


class Served:
    """A server in a process of its own; `command` is what starts it, without the port."""

    def __init__(self, *command):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        command = [sys.executable, *command, str(port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONWARNINGS": "ignore"}
        )

    def __enter__(self):
        for _ in range(600):
            try:
                httpx.get(f"{self.address}/api/openapi.json", timeout=5)
            except httpx.TransportError:
                time.sleep(0.1)
            else:
                return self
        raise RuntimeError("The server did not start.")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)

    def processor_seconds(self):
        """What it took so far: the server, its training process, and the clients, which are in this process."""
        server = self.process.pid
        processes = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
        training = [pid for pid in processes if _parent(pid) == server]
        return {"server": _seconds(server), "training": sum(map(_seconds, training)), "clients": time.process_time()}


def _stat(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["", "0", *["0"] * 20]


def _parent(pid):
    return int(_stat(pid)[1])


def _seconds(pid):
    user, system = _stat(pid)[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def serving(folder, waiting=True):
    """`bagwise serve`, or the same whose questions never wait until the model has learned the last answer."""
    command = ["-m", "bagwise"] if waiting else ["-c", SERVE_WITHOUT_WAITING]
    return Served(*command, "serve", str(folder), "--no-browser", "--port")


def echoing(questions, folder, project=None):
    """The bare application, or with a project Bagwise's own with nothing behind it, which sends this question."""
    (folder / "question.json").write_bytes(questions)
    of_project = [] if project is None else ["--project", str(project)]
    return Served(str(Path(__file__).with_name("echo.py")), *of_project, str(folder / "question.json"))


class Connection:
    """Just enough of HTTP: a library's client would take more of the two cores than the server does."""

    def __init__(self, address, token):
        self._host, self._port = address.removeprefix("http://").split(":")
        self._head = f" HTTP/1.1\r\nHost: {self._host}:{self._port}\r\nAuthorization: Bearer {token}\r\n"

    async def __aenter__(self):
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        await self._writer.wait_closed()

    async def send(self, request, body=None):
        """The status and what came with it."""
        content = b"" if body is None else json.dumps(body).encode()
        kind = f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n" if content else ""
        self._writer.write(f"{request}{self._head}{kind}\r\n".encode() + content)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head.split()[1]), orjson.loads(await self._reader.readexactly(length))


class Crowd:
    """Annotators who answer what is true; `acknowledged` has what the server said it saved, `handed` what it asked."""

    def __init__(self, truth):
        self.truth = truth
        self.acknowledged, self.handed, self.faults = [], [], []

    def work(self, served, tokens, seconds, pause):
        """Seconds of every answer + next question, when all of these work at once."""
        return asyncio.run(self._all(served.address, tokens, seconds, pause))

    async def _all(self, address, tokens, seconds, pause):
        until = time.monotonic() + seconds
        people = (Connection(address, token) for token in tokens)
        found = await asyncio.gather(*(self._one(one, until, pause, number) for number, one in enumerate(people)))
        return np.array([one for times in found for one in times])

    async def _one(self, connection, until, pause, number):
        times, draw = [], random.Random(number)
        async with connection as client:
            question = await self._next(client)
            while question is not None and time.monotonic() < until:
                await asyncio.sleep(pause * draw.uniform(0.5, 1.5))
                start = time.perf_counter()
                if not await self._answer(client, question):
                    break
                question = await self._next(client)
                times.append(time.perf_counter() - start)
        return times

    async def _next(self, client):
        status, questions = await client.send("GET /api/questions/next")
        if status != 200 or not questions:
            self.faults.append(questions)
            return None
        return questions[0]

    async def _answer(self, client, question):
        pair = int(question["bag"]["id"]), int(question["class_name"].split()[1])
        self.handed.append(pair)
        body = {"key": question["key"], "answer": "present" if self.truth[pair] else "absent", "seconds": 1.0}
        status, event = await client.send("POST /api/answers", body)
        if status != 200:
            self.faults.append(event)
            return False
        self.acknowledged.append((question["key"], *pair, event["number"]))
        return True


def compare(folder, crowd):
    """How what was acknowledged and what is in the database differ, and what `bagwise check` says."""
    with Project.open(folder) as project:
        saved = Counter((event.key, event.bag, event.label_class, event.number) for event in project.events)
    acknowledged = Counter(crowd.acknowledged)
    with subprocess.Popen([sys.executable, "-m", "bagwise", "check", str(folder)], stdout=subprocess.PIPE) as checking:
        said = checking.stdout.read()
    return {
        "errors": len(crowd.faults),
        "lost": (acknowledged - saved).total(),
        "doubled_or_not_acknowledged": (saved - acknowledged).total(),
        "pairs_handed_out_twice": sum(count > 1 for count in Counter(crowd.handed).values()),
        "check": "all is well" if checking.returncode == 0 else said.decode(),
    }


def phase(served, crowd, tokens, seconds, pause=0):
    """Times of answer + next question, and what of the processor each took, in milliseconds."""
    before = served.processor_seconds()
    times = crowd.work(served, tokens, seconds, pause)
    after = served.processor_seconds()
    processor = {name: (after[name] - before[name]) * 1000 / len(times) for name in before}
    return milliseconds(times, seconds) | {"processor": processor}


def file_seconds(served, token, meanwhile):
    """Median of the seconds of a file that is sent again and again while something else is done."""
    times, done = [], threading.Event()

    def get():
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=600) as client:
            while not done.is_set():
                start = time.perf_counter()
                client.get(f"{served.address}/media/{BAG_WITH_FILE}").raise_for_status()
                times.append(time.perf_counter() - start)
                done.wait(0.2)

    getting = threading.Thread(target=get)
    getting.start()
    meanwhile()
    done.set()
    getting.join()
    return float(np.median(times))


def milliseconds(times, seconds):
    return {
        "answers": len(times),
        "answers_per_second": len(times) / seconds,
        **{name: float(np.quantile(times, q) * 1000) for name, q in (("median", 0.5), ("p99", 0.99), ("largest", 1))},
    }


def echo(folder, questions, people, seconds, alone, project=None):
    """What the bare application makes of the same clients, or with a project Bagwise's own with nothing behind it."""
    found = json.loads(questions)[0]
    truth = {(int(found["bag"]["id"]), int(found["class_name"].split()[1])): False}
    with echoing(questions, folder, project) as served:
        crowd = Crowd(truth)
        crowd.work(served, [""], alone / 4, 0)
        return {
            ALONE: phase(served, crowd, [""], alone),
            FLAT_OUT: phase(served, crowd, [""] * people, seconds),
        }


def measure(folder, bags=10_000, people=50, seconds=60.0, alone=20.0):
    """Everything, as one dictionary."""
    truth, tokens = make(folder, bags, people)
    crowd, phases = Crowd(truth), {}
    with serving(folder, waiting=False) as served:
        crowd.work(served, tokens[:1], alone / 4, 0)
        phases[NOT_WAITING] = phase(served, crowd, tokens[:1], alone)
    with serving(folder) as served:
        crowd.work(served, tokens[:1], alone / 4, 0)
        phases[ALONE] = phase(served, crowd, tokens[:1], alone)
        phases[FLAT_OUT] = phase(served, crowd, tokens, seconds)
        phases[PACED] = phase(served, crowd, tokens, seconds, PAUSE)
        of_file = {
            ALONE: file_seconds(served, tokens[0], lambda: time.sleep(alone / 4)),
            FLAT_OUT: file_seconds(served, tokens[0], lambda: crowd.work(served, tokens[1:], seconds / 4, 0)),
        }
    afterwards = compare(folder, crowd)
    of_parts, of_storage, floors, rows, question = load_parts.parts(folder, tokens, truth)
    short = people, seconds / 4, alone / 4
    sizes = sorted({1, load_parts.BATCH, people})
    return {
        "bags": bags,
        "classes": CLASSES,
        "people": people,
        "seconds": seconds,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "milliseconds": phases,
        "p99 / median alone": {
            alone: {name: phases[name]["p99"] / phases[alone]["median"] for name in (FLAT_OUT, PACED)}
            for alone in (ALONE, NOT_WAITING)
        },
        "p99 / p99 alone": {
            alone: {name: phases[name]["p99"] / phases[alone]["p99"] for name in (FLAT_OUT, PACED)}
            for alone in (ALONE, NOT_WAITING)
        },
        "file_bytes": FILE_BYTES,
        "file_seconds": of_file,
        "parts": of_parts,
        "statements": of_storage,
        "floors": floors,
        "batch": load_parts.BATCH,
        "question_bytes": len(question),
        "echo": echo(folder.parent, question, *short),
        "checked": echo(folder.parent, question, *short, folder),
        "bare SQLite": {str(size): load_parts.bare_sqlite(folder.parent, rows, size) for size in sizes},
        "afterwards": afterwards,
    }


def in_order(found):
    """Whether nothing was lost, doubled or refused."""
    after = dict(found["afterwards"])
    return after.pop("check") == "all is well" and not any(after.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "load.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        found = measure(Path(name) / "project", options.bags, options.people, options.seconds)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    Console().print_json(data=found)
    if not in_order(found) or max(found["p99 / median alone"][NOT_WAITING].values()) >= LIMIT:
        sys.exit("Something was lost, doubled or refused, or the 99th percentile is too high.")


if __name__ == "__main__":
    main()
