"""What the parts of an answer and the next question take, each beside its floor: the same work done bare.

The floor of what the database does are the same SQL statements with the same parameters, executed by Python's `sqlite3`
on a copy of the project; that of evidence is one product of NumPy and a softmax; that of building a question are its
numbers as a list, and its models made from plain values and encoded by pydantic.
"""

import asyncio
import gc
import sqlite3
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from pydantic import TypeAdapter
from scipy.special import softmax
from sqlalchemy import event, insert
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from bagwise.project import Invitations, LeaseRequest, Project, Submission
from bagwise.project.access.invitations import Shown
from bagwise.project.storage import queries, schema
from bagwise.server.api.questions import QuestionOut, event_out, questions_json
from bagwise.server.batcher import Batch, Traffic
from bagwise.server.run import GARBAGE_THRESHOLDS

BATCH, BATCHES = 14, 50
"""How many answers the server saves together, flat out, and how many such batches are measured."""
SIGN_IN, SAVING, RESPONSE = "sign-in for both requests", "transaction of the answers", "response to the answer"
CHOOSING, BUILDING = "choosing and leasing the question", "building and encoding the question"
HAND_OVER = "hand-over to a thread and back, twice"


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


class Statements:
    """Everything that a project asks of its database, so that it can be executed again without SQLAlchemy."""

    def __init__(self, database):
        self.recorded = []
        event.listen(database.engine, "before_cursor_execute", self._statement)
        event.listen(database.engine, "commit", lambda _: self.recorded.append(("COMMIT", (), False)))
        event.listen(database.engine, "rollback", lambda _: self.recorded.append(("ROLLBACK", (), False)))

    def _statement(self, _connection, _cursor, statement, parameters, _context, executemany):
        self.recorded.append((statement, parameters, executemany))

    def taken(self):
        """What was recorded since the last time."""
        found, self.recorded[:] = list(self.recorded), []
        return found


def execute_bare(connection, statements):
    """The same by `sqlite3` alone, which keeps compiled statements too."""
    for statement, parameters, several in statements:
        if several:
            connection.executemany(statement, parameters)
        else:
            connection.execute(statement, parameters).fetchall()


def parts(folder, tokens, truth):
    """What the parts take, in batches, outside a server, their floors, rows of answers, and a question as JSON.

    Nothing is learned meanwhile, as flat out hardly anything is: the questions are those of one stored ranking.
    """
    # As the server: or one part takes the time to look through old objects.
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    took, floor, people = Parts(), Parts(), [f"person {i}" for i in range(BATCH)]
    adapter = TypeAdapter(list[QuestionOut])
    with Project.open(folder) as project:
        project.load()
        project.ask(people[0])
    with Project.open(folder, apart=True) as project:
        signed_in = Invitations(project.database).who
        shown, requests = [Shown(token) for token in tokens[:BATCH]], [LeaseRequest(name) for name in people]
        asked = [one for (one,) in project.lease(requests)]
        model = project.online_model()
        project.database.copy_to(folder.with_name("copy.db"))
        bare = sqlite3.connect(folder.with_name("copy.db"), isolation_level=None)
        bare.execute("PRAGMA journal_mode=WAL")
        statements = Statements(project.database)
        for _ in range(BATCHES):
            submissions = [
                Submission(one.key, one.annotator, ("present" if truth[one.pair] else "absent",)) for one in asked
            ]
            took(SIGN_IN, signed_in, [*shown, *shown])
            floor(SIGN_IN, execute_bare, bare, statements.taken())
            saved = took(SAVING, project.submit_all, submissions)
            floor(SAVING, execute_bare, bare, statements.taken())
            for (one,) in saved:
                took(RESPONSE, event_out, project, one)
            leases = took(CHOOSING, project.lease, requests)
            asked = [one for (one,) in leases]
            floor(CHOOSING, execute_bare, bare, statements.taken())
            x = project.bags.select([one.bag for one in asked]).instances
            floor(CHOOSING, lambda x=x: softmax(x @ model.coef_.T + model.intercept_, axis=1).argmax(axis=0))
            questions = took(BUILDING, questions_json, project, asked)
            floor(BUILDING, execute_bare, bare, statements.taken())
            for one in map(QuestionOut.model_validate_json, questions):
                shown_instances = len(one.bag.instances) + sum(len(example.instances) for example in one.examples)
                floor(BUILDING, x[:shown_instances].tolist)
                floor(BUILDING, adapter.validate_python, [one.model_dump()])
                floor(BUILDING, adapter.dump_json, [one])
        bare.close()
        rows = [queries._event_row(event) for event in project.events[-BATCH * BATCHES :]]
    asyncio.run(hand_over(took))
    answers = BATCH * BATCHES
    return took.per_answer(answers), floor.per_answer(answers), rows, b"[%b]" % questions[0]


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
