"""The tables of a project. Events are only ever added, never changed.

`changes` has one row: locking it serialises all writers, so that events are numbered in the order in
which they become visible, on SQLite and on PostgreSQL alike. `after` is the number of the last event before something
was added, so that it is known which pairs there were when a question was drawn.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

VERSION = "0011"

metadata = MetaData()

identity = Table(
    "identity",
    metadata,
    Column("project", String(36), primary_key=True),
    Column("features", Integer, nullable=False),
    Column("dtype", String(10), nullable=False),
)

features = Table(
    "features",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
)

changes = Table(
    "changes",
    metadata,
    Column("only", Integer, primary_key=True),
    Column("last_event", Integer, nullable=False),
    Column("contents", Integer, nullable=False),
    Column("contents_after", Integer, nullable=False),
)

classes = Table(
    "classes",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("after", Integer, nullable=False, server_default="0"),
)

imports = Table(
    "imports",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("file", Text, nullable=False),
    Column("bags", Integer, nullable=False),
    Column("instances", Integer, nullable=False),
    Column("labels", Integer, nullable=False),
    Column("checksum", BigInteger, nullable=False),
    Column("after", Integer, nullable=False, server_default="0"),
)

bags = Table(
    "bags",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("instances", Integer, nullable=False),
    Column("import", Integer, ForeignKey("imports.number"), nullable=False),
    # The position of a row of `files`. Without a constraint: SQLite cannot add one to the table of an older project.
    Column("file", Integer),
    Column("clip_start", Float),
    Column("clip_end", Float),
)

files = Table(
    "files",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False, unique=True),
    Column("seconds", Float),
    Column("rate", Integer),
    Column("site", Text, nullable=False),
    Column("recorded_at", String(40), nullable=False),
    Column("latitude", Float),
    Column("longitude", Float),
    Column("device", Text, nullable=False),
)

given_labels = Table(
    "given_labels",
    metadata,
    Column("bag", Integer, ForeignKey("bags.position"), primary_key=True),
    Column("class", Integer, ForeignKey("classes.position"), primary_key=True),
    Column("present", Boolean, nullable=False),
    Column("import", Integer, ForeignKey("imports.number"), nullable=False),
)

instance_labels = Table(
    "instance_labels",
    metadata,
    Column("bag", Integer, ForeignKey("bags.position"), primary_key=True),
    Column("instance", Integer, primary_key=True, autoincrement=False),
    Column("class", Integer, ForeignKey("classes.position"), primary_key=True),
    Column("present", Boolean, nullable=False),
    Column("import", Integer, ForeignKey("imports.number"), nullable=False),
)

annotators = Table(
    "annotators",
    metadata,
    Column("name", String(200), primary_key=True),
    Column("role", String(20), nullable=False, server_default="annotator"),
    Column("since", String(32), nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(64), nullable=False, unique=True),
    Column("kind", String(12), nullable=False),
    Column("annotator", String(200), ForeignKey("annotators.name"), nullable=False),
    Column("at", String(32), nullable=False),
    Column("bag", Integer, ForeignKey("bags.position"), nullable=False),
    Column("class", Integer, ForeignKey("classes.position"), nullable=False),
    Column("answer", String(10), nullable=False),
    Column("seconds", Float),
    Column("audit", Boolean, nullable=False),
    Column("score", Float),
    Column("belief", Float),
    Column("asked_after", Integer),
    Column("replaces", Integer, ForeignKey("events.number")),
    Column("shown", Text),
    Column("instances_where", Text),
    Column("instances_elsewhere", Text),
    Column("marked", Integer),
    Column("instance", Integer),
    Column("probability", Float),
    UniqueConstraint("replaces", name="replaced_once"),
)

removals = Table(
    "removals",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("annotator", String(200), ForeignKey("annotators.name"), nullable=False),
    Column("bag", Integer, ForeignKey("bags.position"), nullable=False),
    Column("removed", Boolean, nullable=False),
)

class_changes = Table(
    "class_changes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", String(32), nullable=False),
    Column("annotator", String(200), ForeignKey("annotators.name"), nullable=False),
    Column("class", Integer, ForeignKey("classes.position"), nullable=False),
    Column("kind", String(12), nullable=False),
    Column("value", Text, nullable=False),
    Column("after", Integer, nullable=False),
)

notes = Table(
    "notes",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", String(64), nullable=False, unique=True),
    Column("at", String(32), nullable=False),
    Column("annotator", String(200), ForeignKey("annotators.name"), nullable=False),
    Column("bag", Integer, ForeignKey("bags.position"), nullable=False),
    Column("class", Integer, ForeignKey("classes.position")),
    Column("text", Text, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("bag", Integer, nullable=False),
    Column("class", Integer, nullable=False),
    Column("annotator", String(200), nullable=False),
    Column("until", Float, nullable=False),
    Column("audit", Boolean, nullable=False),
    Column("score", Float),
    Column("belief", Float),
    Column("evidence", Integer),
    Column("asked_after", Integer, nullable=False),
    Column("others", Text),
    Column("instance", Integer),
    Column("probability", Float),
    UniqueConstraint("bag", "class", "annotator", name="asked_once"),
    Index("lease_of", "annotator"),
)

invitations = Table(
    "invitations",
    metadata,
    Column("name", String(200), ForeignKey("annotators.name"), primary_key=True),
    Column("hash", String(64), nullable=False, unique=True),
    Column("at", String(32), nullable=False),
    Column("until", Float, nullable=False),
    Column("revoked", Boolean, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("name", String(200), ForeignKey("invitations.name"), nullable=False),
    Column("at", String(32), nullable=False),
    Column("until", Float, nullable=False),
)
