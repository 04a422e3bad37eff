"""The command line. An error is one sentence; a traceback comes only with --debug."""

import sys
from importlib.util import find_spec

from bagwise.cli import bench, compare, experiments, without_projects
from bagwise.cli._app import app, errors, printable
from bagwise.errors import BagwiseError

__all__ = ["app", "bench", "compare", "experiments", "main"]

if all(find_spec(module) for module in ("sqlalchemy", "alembic", "fastapi", "uvicorn")):
    from bagwise.cli import doubtful, labelling, people, projects, results, tuning  # noqa: F401
else:
    without_projects.register(app)

INTERRUPTED = 130


def main() -> None:
    """Run the command line."""
    debug = "--debug" in sys.argv
    try:
        app([word for word in sys.argv[1:] if word != "--debug"])
    except (BagwiseError, OSError) as error:
        if debug:
            raise
        errors.print("[red]Error:[/]", printable(str(error)), soft_wrap=True, markup=True)
        sys.exit(error.exit_code if isinstance(error, BagwiseError) else 1)
    except SystemExit as end:
        if end.code == INTERRUPTED:
            errors.print("Interrupted. What was saved stays saved.")
        raise
