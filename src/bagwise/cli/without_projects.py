"""The project commands where what they need is not installed: each says so."""

import typer

from bagwise.errors import BagwiseError

NAMES = (
    "init", "import", "status", "answer", "export", "train", "predict", "backup", "check", "annotator", "disagreements",
    "adjudicate", "serve", "correct", "doubtful", "invite", "tune", "remove",
    "rename-file",
)  # fmt: skip
ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


def missing(_: typer.Context) -> None:
    """Needs `pip install 'bagwise[app]'`."""
    raise BagwiseError("Projects need a database: install it with `pip install 'bagwise[app]'`.")


def register(app: typer.Typer) -> None:
    """Put a placeholder where every project command would be."""
    for name in NAMES:
        app.command(name, context_settings=ANYTHING)(missing)
