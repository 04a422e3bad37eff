"""Bags that were removed, and when they were brought back."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """No bag was removed so far."""
    op.create_table(
        "removals",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("annotator", sa.String(200), sa.ForeignKey("annotators.name"), nullable=False),
        sa.Column("bag", sa.Integer, sa.ForeignKey("bags.position"), nullable=False),
        sa.Column("removed", sa.Boolean, nullable=False),
    )
