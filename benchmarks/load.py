"""Load test: scripted annotators against a real `bagwise serve`, relative to one annotator alone in the same run.

    python benchmarks/load.py [--people 50] [--seconds 60] [--bags 10000] [--folder DIR] [--out FILE]

Every annotator signs in with a token and repeats: send the answer, fetch the next question. First
one of them alone, then all without a pause (`flat out`), then all with a pause of about a second before each answer, as
fast people have (`paced`). Afterwards what the server acknowledged is compared with the database, and `bagwise check`
replays it. The figure of merit is the 99th percentile of answer + next question over the median of one alone: below 10
in both. Flat out it is a matter of throughput: fifty who never pause have the cores busy all the time. So the same run
measures what bounds it: the processor's time of an answer and its question, by process and by part, beside a bare
FastAPI application that gets the same requests (`echo.py`) and bare SQLite transactions with the same rows.
"""

import argparse
import asyncio
import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import httpx2 as httpx
import numpy as np
from pydantic import TypeAdapter
from rich.console import Console
from sqlalchemy import insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from bagwise.formats import Source
from bagwise.project import Invitations, LeaseRequest, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.storage import queries, schema
from bagwise.server.api.questions import QuestionOut, event_out, questions_out

CLASSES, PER_BAG, FEATURES = 50, 10, 64
PAUSE = 1.0
LIMIT = 10.0
BATCH, BATCHES = 6, 50
"""How many answers the server saves together, flat out, and how many such batches are measured by part."""


def make(folder, bags, people):
    """A project with random instances, and a token for everybody."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((bags * PER_BAG, FEATURES), dtype=np.float32)
    source = Source.of_bags(Path("drawn"), np.split(x, bags), [str(b) for b in range(bags)])
    weights = rng.standard_normal((CLASSES, FEATURES)) / 4
    truth = (x @ weights.T).reshape(bags, PER_BAG, CLASSES).max(axis=1) > 4
    with Project.create(folder, source, classes=[f"class {c}" for c in range(CLASSES)]) as project:
        invited = Invitations(project.database)
        return truth, [invited.invite(f"person {i}") for i in range(people)]


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


def serving(folder):
    """`bagwise serve`."""
    return Served("-m", "bagwise", "serve", str(folder), "--no-browser", "--port")


def echoing(questions, folder):
    """The bare application, which sends this question."""
    (folder / "question.json").write_bytes(questions)
    return Served(str(Path(__file__).with_name("echo.py")), str(folder / "question.json"))


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
        return int(head.split()[1]), json.loads(await self._reader.readexactly(length))


class Crowd:
    """Annotators who answer what is true; `acknowledged` has what the server said it saved, `handed` what it asked."""

    def __init__(self, address, truth):
        self.address, self.truth = address, truth
        self.acknowledged, self.handed, self.faults = [], [], []

    def work(self, tokens, seconds, pause):
        """Seconds of every answer + next question, when all of these work at once."""
        return asyncio.run(self._all(tokens, seconds, pause))

    async def _all(self, tokens, seconds, pause):
        until = time.monotonic() + seconds
        found = await asyncio.gather(*(self._one(token, until, pause, number) for number, token in enumerate(tokens)))
        return np.array([one for times in found for one in times])

    async def _one(self, token, until, pause, number):
        times, draw = [], random.Random(number)
        async with Connection(self.address, token) as client:
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
    times = crowd.work(tokens, seconds, pause)
    after = served.processor_seconds()
    processor = {name: (after[name] - before[name]) * 1000 / len(times) for name in before}
    return milliseconds(times, seconds) | {"processor": processor}


def milliseconds(times, seconds):
    return {
        "answers": len(times),
        "answers_per_second": len(times) / seconds,
        **{name: float(np.quantile(times, q) * 1000) for name, q in (("median", 0.5), ("p99", 0.99), ("largest", 1))},
    }


def echo(folder, questions, people, seconds, alone):
    """What the bare application makes of the same clients."""
    found = json.loads(questions)[0]
    truth = {(int(found["bag"]["id"]), int(found["class_name"].split()[1])): False}
    with echoing(questions, folder) as served:
        crowd = Crowd(served.address, truth)
        crowd.work([""], alone / 4, 0)
        return {
            "alone": phase(served, crowd, [""], alone),
            "flat out": phase(served, crowd, [""] * people, seconds),
        }


class Parts:
    """Milliseconds of the processor, and by the clock, of named parts of the work."""

    def __init__(self):
        self.processor, self.clock = Counter(), Counter()

    def __call__(self, name, work, *arguments):
        """What `work` returns."""
        clock, processor = time.perf_counter(), time.thread_time()
        found = work(*arguments)
        self.processor[name] += (time.thread_time() - processor) * 1000
        self.clock[name] += (time.perf_counter() - clock) * 1000
        return found

    def per_answer(self, answers):
        return {
            name: {"processor": self.processor[name] / answers, "clock": self.clock[name] / answers}
            for name in self.processor
        }


def parts(folder, tokens, truth):
    """What the parts of an answer and the next question take, in batches, outside a server; and a question as JSON.

    Nothing is learned meanwhile, as flat out hardly anything is: the questions are those of one stored ranking.
    """
    took, people = Parts(), [f"person {i}" for i in range(BATCH)]
    encode = TypeAdapter(list[QuestionOut]).dump_json
    with Project.open(folder) as project:
        project.ask(people[0])
    with Project.open(folder, apart=True) as project:
        signed_in = Invitations(project.database).who
        shown, requests = [Shown(token) for token in tokens[:BATCH]], [LeaseRequest(name) for name in people]
        asked = [one for (one,) in project.lease(requests)]
        for _ in range(BATCHES):
            submissions = [
                Submission(one.key, one.annotator, ("present" if truth[one.pair] else "absent",)) for one in asked
            ]
            took("sign-in, twice", lambda: (signed_in(shown), signed_in(shown)))
            saved = took("transaction of the answers", project.submit_all, submissions)
            for (event,) in saved:
                took("response to the answer", event_out, project, event)
            leases = took("choosing and leasing the question", project.lease, requests)
            asked = [one for (one,) in leases]
            questions = took("building the question", questions_out, project, asked)
            for one in questions:
                encoded = took("encoding the question", encode, [one])
        rows = [queries._event_row(event) for event in project.events[-BATCH * BATCHES :]]
    return took.per_answer(BATCH * BATCHES), rows, encoded


def bare_sqlite(folder, rows, together):
    """A transaction with a file of its own for so many of the same rows each, on the disk before the next."""
    connection = sqlite3.connect(folder / f"bare-{together}.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(str(CreateTable(schema.events).compile(dialect=sqlite.dialect())))
    statement = str(insert(schema.events).compile(dialect=sqlite.dialect(paramstyle="named")))
    took = Parts()
    for first in range(0, len(rows) - together + 1, together):
        some = rows[first : first + together]
        took("insert", lambda some=some: (connection.execute("BEGIN"), connection.executemany(statement, some)))
        took("commit", connection.execute, "COMMIT")
    connection.close()
    saved = len(rows) // together * together
    return {"answers_per_second": 1000 * saved / sum(took.clock.values())} | took.per_answer(saved)


def measure(folder, bags=10_000, people=50, seconds=60.0, alone=20.0):
    """Everything, as one dictionary."""
    truth, tokens = make(folder, bags, people)
    with serving(folder) as served:
        crowd = Crowd(served.address, truth)
        crowd.work(tokens[:1], alone / 4, 0)
        phases = {
            "alone": phase(served, crowd, tokens[:1], alone),
            "flat out": phase(served, crowd, tokens, seconds),
            "paced": phase(served, crowd, tokens, seconds, PAUSE),
        }
    median = phases["alone"]["median"]
    afterwards = compare(folder, crowd)
    of_parts, rows, question = parts(folder, tokens, truth)
    bare = echo(folder.parent, question, people, seconds / 4, alone / 4)
    sizes = sorted({1, BATCH, people})
    return {
        "bags": bags,
        "classes": CLASSES,
        "people": people,
        "seconds": seconds,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "milliseconds": phases,
        "p99 / median alone": {name: phases[name]["p99"] / median for name in ("flat out", "paced")},
        "parts": of_parts,
        "batch": BATCH,
        "question_bytes": len(question),
        "echo": bare,
        "bare SQLite": {str(size): bare_sqlite(folder.parent, rows, size) for size in sizes},
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
    if not in_order(found) or max(found["p99 / median alone"].values()) >= LIMIT:
        sys.exit("Something was lost, doubled or refused, or the 99th percentile is too high.")


if __name__ == "__main__":
    main()
