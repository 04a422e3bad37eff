"""The command line. An error is one sentence; a traceback comes only with --debug."""

import sys

from bagwise.cli._app import app, errors, printable
from bagwise.core.errors import BagwiseError

__all__ = ["app", "main"]

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
