"""A question, and so its answer, may be about one instance of a bag: its position."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Questions so far are about bags."""
    op.add_column("events", sa.Column("instance", sa.Integer))
    op.add_column("leases", sa.Column("instance", sa.Integer))
