"""A question, and so its answer, has the probability with which it was drawn, and bags and classes when they came."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Audits so far were drawn with the same probability from all that was open, whatever that was: it is not stored.

    Imports came after the answers that were saved before them; classes after the last answer before they were added, or
    with the project.
    """
    op.add_column("events", sa.Column("probability", sa.Float))
    op.add_column("leases", sa.Column("probability", sa.Float))
    for name in ("imports", "classes"):
        op.add_column(name, sa.Column("after", sa.Integer, nullable=False, server_default="0"))
    events = sa.table("events", sa.column("at"))
    imports = sa.table("imports", sa.column("at"), sa.column("after"))
    before = sa.select(sa.func.count()).select_from(events).where(events.c.at < imports.c.at)
    op.execute(imports.update().values(after=before.scalar_subquery()))
    classes = sa.table("classes", sa.column("position"), sa.column("after"))
    changes = sa.table("class_changes", sa.column("class"), sa.column("kind"), sa.column("after"))
    added = sa.select(sa.func.coalesce(sa.func.min(changes.c.after), 0)).where(
        changes.c["class"] == classes.c.position, changes.c.kind == "added"
    )
    op.execute(classes.update().values(after=added.scalar_subquery()))
