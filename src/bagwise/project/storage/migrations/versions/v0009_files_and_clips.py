"""A bag knows the raw file that it is, or is a clip of; files know where and when they were recorded."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Of the files of existing bags nothing is known yet."""
    op.create_table(
        "files",
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("seconds", sa.Float),
        sa.Column("rate", sa.Integer),
        sa.Column("site", sa.Text, nullable=False),
        sa.Column("recorded_at", sa.String(40), nullable=False),
        sa.Column("latitude", sa.Float),
        sa.Column("longitude", sa.Float),
        sa.Column("device", sa.Text, nullable=False),
    )
    op.add_column("bags", sa.Column("file", sa.Integer))
    op.add_column("bags", sa.Column("clip_start", sa.Float))
    op.add_column("bags", sa.Column("clip_end", sa.Float))
