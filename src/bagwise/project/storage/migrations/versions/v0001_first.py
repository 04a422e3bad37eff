"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table(
        "identity",
        sa.Column("project", sa.String(36), primary_key=True),
        sa.Column("features", sa.Integer, nullable=False),
        sa.Column("dtype", sa.String(10), nullable=False),
    )
    op.create_table(
        "features",
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "changes",
        sa.Column("only", sa.Integer, primary_key=True),
        sa.Column("last_event", sa.Integer, nullable=False),
        sa.Column("contents", sa.Integer, nullable=False),
        sa.Column("contents_after", sa.Integer, nullable=False),
    )
    op.create_table(
        "classes",
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "imports",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("file", sa.Text, nullable=False),
        sa.Column("bags", sa.Integer, nullable=False),
        sa.Column("instances", sa.Integer, nullable=False),
        sa.Column("labels", sa.Integer, nullable=False),
        sa.Column("checksum", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "bags",
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("instances", sa.Integer, nullable=False),
        sa.Column("import", sa.Integer, sa.ForeignKey("imports.number"), nullable=False),
    )
    op.create_table(
        "given_labels",
        sa.Column("bag", sa.Integer, sa.ForeignKey("bags.position"), primary_key=True),
        sa.Column("class", sa.Integer, sa.ForeignKey("classes.position"), primary_key=True),
        sa.Column("present", sa.Boolean, nullable=False),
        sa.Column("import", sa.Integer, sa.ForeignKey("imports.number"), nullable=False),
    )
    op.create_table(
        "annotators",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("since", sa.String(32), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("annotator", sa.String(200), sa.ForeignKey("annotators.name"), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("bag", sa.Integer, sa.ForeignKey("bags.position"), nullable=False),
        sa.Column("class", sa.Integer, sa.ForeignKey("classes.position"), nullable=False),
        sa.Column("answer", sa.String(10), nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("audit", sa.Boolean, nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("belief", sa.Float),
        sa.Column("asked_after", sa.Integer),
        sa.Column("replaces", sa.Integer, sa.ForeignKey("events.number")),
        sa.UniqueConstraint("replaces", name="replaced_once"),
    )
    op.create_table(
        "leases",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("bag", sa.Integer, nullable=False),
        sa.Column("class", sa.Integer, nullable=False),
        sa.Column("annotator", sa.String(200), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("audit", sa.Boolean, nullable=False),
        sa.Column("score", sa.Float),
        sa.Column("belief", sa.Float),
        sa.Column("evidence", sa.Integer),
        sa.Column("asked_after", sa.Integer, nullable=False),
        sa.UniqueConstraint("bag", "class", "annotator", name="asked_once"),
    )
    op.create_index("lease_of", "leases", ["annotator"])
