"""What the parts of an answer and the next question take, each beside its floor: the same work done bare.

The statements of sign-in, transaction and leases are executed three times: by Bagwise in the course of its work, by
Bagwise's storage alone on a copy of the database, and by Python's `sqlite3` on another copy, which is the floor. What a
part takes besides its statements are the rules of a project: what is valid, what counts, what may be asked of whom.
The floor of choosing is to compare sixty candidates with all that is asked by NumPy; that of evidence is one product of
NumPy and a softmax; that of building a question is to encode it from plain values by orjson.
"""

import asyncio
import gc
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import orjson
from scipy.special import softmax
from sqlalchemy import insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.project import Invitations, LeaseRequest, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.queue.granting import SPARE_CANDIDATES
from bagwise.project.storage import queries, schema
from bagwise.project.storage.database import Database
from bagwise.project.storage.statements import Statement
from bagwise.server.api.questions import event_out
from bagwise.server.batcher import Batch, Traffic
from bagwise.server.question_encoder import QuestionEncoder, QuestionOut
from bagwise.server.run import GARBAGE_THRESHOLDS

BATCH, BATCHES = 20, 40
"""How many answers the server saves together, flat out, and how many such batches are measured."""
SIGN_IN, SAVING, RESPONSE = "sign-in for both requests", "saving the answers", "response to the answer"
CHOOSING, BUILDING = "choosing and leasing the question", "building and encoding the question"
CANDIDATES, EVIDENCE = "candidates compared", "evidence"
HAND_OVER = "hand-over to a thread and back, twice"
BEGINNING = {
    "reading": ("BEGIN",),
    "writing": ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE"),
    "leasing": ("PRAGMA synchronous=NORMAL", "BEGIN IMMEDIATE"),
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


class Transactions:
    """Every transaction of Bagwise with its statements, so that they can be executed again; `kind` is how it began."""

    def __init__(self):
        self.recorded = []
        for kind in BEGINNING:
            setattr(Database, kind, self._beginning(kind, getattr(Database, kind)))
        Statement._executed = self._recording(Statement._executed, "_executed")
        Statement.run_many = self._recording(Statement.run_many, "run_many")

    def _beginning(self, kind, begin):
        @contextmanager
        def recorded(database):
            if self.recorded is not None:
                self.recorded.append((kind, []))
            with begin(database) as connection:
                yield connection

        return recorded

    def _recording(self, execute, how):
        def recorded(statement, connection, parameters=None):
            if self.recorded is not None:
                self.recorded[-1][1].append((statement, how, parameters))
            return execute(statement, connection, parameters)

        return recorded

    def taken(self):
        """What was recorded since the last time."""
        found, self.recorded = self.recorded, []
        return found

    def execute(self, database, transactions):
        """The same by Bagwise's storage."""
        self.recorded = None
        for kind, statements in transactions:
            with getattr(database, kind)() as connection:
                for statement, how, parameters in statements:
                    found = getattr(statement, how)(connection, parameters)
                    if how == "_executed":
                        found.fetchall()
        self.recorded = []


def as_bare(database, transactions):
    """The texts of the transactions and their parameters, as the driver gets them."""
    found = []
    with database.engine.connect() as connection:
        for kind, statements in transactions:
            found += [(text, (), False) for text in BEGINNING[kind]]
            for statement, how, given in statements:
                several = how == "run_many"
                lists = {} if several else {name: one for name, one in (given or {}).items() if isinstance(one, list)}
                encoded = {name: orjson.dumps(one).decode() for name, one in lists.items()}
                found.append((statement.sql(connection), given if several else {**(given or {}), **encoded}, several))
            found.append(("COMMIT", (), False))
    return found


def execute_bare(connection, statements):
    """The same by `sqlite3` alone, which keeps compiled statements too."""
    for statement, parameters, several in statements:
        if several:
            connection.executemany(statement, parameters)
        else:
            connection.execute(statement, parameters).fetchall()


class Measured:
    """A project that is served outside a server, and copies of its database for the storage alone and for `sqlite3`."""

    def __init__(self, project, folder):
        self.project = project
        self.took, self.of_storage, self.floor = Parts(), Parts(), Parts()
        self.transactions = Transactions()
        copies = [folder.with_name(f"{name}.db") for name in ("storage", "bare")]
        for copy in copies:
            project.database.copy_to(copy)
        self.storage, self.bare = Database.in_file(copies[0]), sqlite3.connect(copies[1], isolation_level=None)
        self.bare.execute("PRAGMA journal_mode=WAL")
        self.transactions.taken()

    def __call__(self, name, work, *arguments):
        """What `work` returns; its statements are executed again in both other ways."""
        found = self.took(name, work, *arguments)
        transactions = self.transactions.taken()
        if transactions:
            self.of_storage(name, self.transactions.execute, self.storage, transactions)
            self.floor(name, execute_bare, self.bare, as_bare(self.storage, transactions))
        return found

    def close(self):
        self.storage.close()
        self.bare.close()


def compare(candidates, asked, taken):
    """The candidate that has least in common with what is asked, for as many as are taken."""
    bags, classes = candidates
    overlap = np.zeros(len(bags), np.int64)
    for bag, label_class in asked:
        overlap += (bags == bag) != (classes == label_class)
    for _ in range(taken):
        best = overlap.argmin()
        overlap += (bags == bags[best]) != (classes == classes[best])


def parts(folder, tokens, truth):
    """What the parts take, in batches, outside a server, of it their statements, their floors, rows and a question.

    Nothing is learned meanwhile, as flat out hardly anything is: the questions are those of one stored ranking.
    """
    # As the server: or one part takes the time to look through old objects.
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    people = [f"person {i}" for i in range(len(tokens))]
    with Project.open(folder) as project:
        project.load()
        project.ask(people[0])
    with Project.open(folder, apart=True) as project, single_threaded_blas():
        signed_in = Invitations(project.database).who
        shown, requests = [Shown(token) for token in tokens[:BATCH]], [LeaseRequest(name) for name in people]
        # All are asked something, and some of them answer at a time.
        asked = [one for (one,) in project.lease(requests)]
        model = project.online_model()
        ranked = [question.pairs[0] for question in project.rank(SPARE_CANDIDATES).questions]
        bags, classes = np.array(ranked[:SPARE_CANDIDATES]).T
        measured = Measured(project, folder)
        floor, encode = measured.floor, QuestionEncoder()
        for _ in range(BATCHES):
            some, others = asked[:BATCH], asked[BATCH:]
            submissions = [
                Submission(one.key, one.annotator, ("present" if truth[one.pair] else "absent",)) for one in some
            ]
            measured(SIGN_IN, signed_in, [*shown, *shown])
            saved = measured(SAVING, project.submit_all, submissions)
            for (one,) in saved:
                measured(RESPONSE, event_out, project, one)
            again = [LeaseRequest(one.annotator) for one in some]
            leases = [one for (one,) in measured(CHOOSING, project.lease, again)]
            floor(CANDIDATES, compare, (bags, classes), [one.pair for one in others], BATCH)
            x = project.bags.select([one.bag for one in leases]).instances
            floor(EVIDENCE, lambda x=x: softmax(x @ model.coef_.T + model.intercept_, axis=1).argmax(axis=0))
            questions = measured(BUILDING, encode, project, leases)
            for one in map(QuestionOut.model_validate_json, questions):
                plain = one.model_dump()
                for shown_bag in (plain["bag"], *plain["examples"]):
                    shown_bag["instances"] = np.array(shown_bag["instances"], np.float32)
                floor(BUILDING, lambda plain=plain: orjson.dumps(plain, option=orjson.OPT_SERIALIZE_NUMPY))
            asked = others + leases
        measured.close()
        rows = [queries._event_row(event) for event in project.events[-BATCH * BATCHES :]]
    asyncio.run(hand_over(measured.took))
    answers = BATCH * BATCHES
    found = [one.per_answer(answers) for one in (measured.took, measured.of_storage, floor)]
    return *found, rows, b"[%b]" % questions[0]


async def hand_over(took):
    """What it takes to do nothing in the thread that saves and leases, for as many people at once."""
    thread = ThreadPoolExecutor(1)
    batch = Batch(thread, lambda requests: [enumerate(requests)], Traffic())

    async def one():
        await batch("answer")
        await batch("question")

    clock, processor = time.perf_counter(), time.process_time()
    for _ in range(BATCHES):
        await asyncio.gather(*(one() for _ in range(BATCH)))
    took.processor[HAND_OVER] += (time.process_time() - processor) * 1000
    took.clock[HAND_OVER] += (time.perf_counter() - clock) * 1000
    thread.shutdown()


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
