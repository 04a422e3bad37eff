"""An answer may say which instances are of the class and which are not: JSON lists of their positions in the bag.

`marked` is the instance that was marked with the question.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Answers so far point at nothing."""
    op.add_column("events", sa.Column("instances_where", sa.Text))
    op.add_column("events", sa.Column("instances_elsewhere", sa.Text))
    op.add_column("events", sa.Column("marked", sa.Integer))
