"""What Alembic runs: the steps, in one transaction, on the connection it is given."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
