"""Adjudicators beside annotators; what the annotator was shown with a question."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Everybody so far is an annotator, and what was shown is not known."""
    with op.batch_alter_table("annotators") as table:
        table.add_column(sa.Column("role", sa.String(20), nullable=False, server_default="annotator"))
    with op.batch_alter_table("events") as table:
        table.add_column(sa.Column("shown", sa.Text))
