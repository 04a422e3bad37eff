"""Imported labels of single instances: the instance at this position of a bag is of a class, or is not."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Imports so far brought labels of bags only."""
    op.create_table(
        "instance_labels",
        sa.Column("bag", sa.Integer, sa.ForeignKey("bags.position"), primary_key=True),
        sa.Column("instance", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("class", sa.Integer, sa.ForeignKey("classes.position"), primary_key=True),
        sa.Column("present", sa.Boolean, nullable=False),
        sa.Column("import", sa.Integer, sa.ForeignKey("imports.number"), nullable=False),
    )
