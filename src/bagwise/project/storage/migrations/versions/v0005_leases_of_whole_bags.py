"""A lease of a whole-bag question knows all its classes: JSON rows of (class, evidence, belief) beside the first."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Leases so far are about one class each."""
    op.add_column("leases", sa.Column("others", sa.Text))
