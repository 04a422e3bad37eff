"""Classes can be added, renamed, described, merged and retired; a question can have notes."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """No class was changed so far, and there are no notes."""
    op.create_table(
        "class_changes",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("annotator", sa.String(200), sa.ForeignKey("annotators.name"), nullable=False),
        sa.Column("class", sa.Integer, sa.ForeignKey("classes.position"), nullable=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("after", sa.Integer, nullable=False),
    )
    op.create_table(
        "notes",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("annotator", sa.String(200), sa.ForeignKey("annotators.name"), nullable=False),
        sa.Column("bag", sa.Integer, sa.ForeignKey("bags.position"), nullable=False),
        sa.Column("class", sa.Integer, sa.ForeignKey("classes.position")),
        sa.Column("text", sa.Text, nullable=False),
    )
