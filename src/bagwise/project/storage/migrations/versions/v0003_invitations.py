"""Who may sign in, and who has; of both only hashes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nobody was invited so far."""
    op.create_table(
        "invitations",
        sa.Column("name", sa.String(200), sa.ForeignKey("annotators.name"), primary_key=True),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("revoked", sa.Boolean, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(200), sa.ForeignKey("invitations.name"), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("until", sa.Float, nullable=False),
    )
