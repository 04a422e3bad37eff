"""What all commands share: the application, two consoles, and one look for progress."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

app = typer.Typer(
    help="Active learning on bags with several labels, some of them unknown.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(emoji=False)
errors = Console(stderr=True, emoji=False)


def say(sentence: str, end: str = "\n") -> None:
    """One line, however long: the terminal may wrap it, a path in it stays whole."""
    console.print(sentence, soft_wrap=True, highlight=False, end=end)


def printable(sentence: str) -> str:
    """With control characters spelled out, so that a name in a file cannot steer the terminal."""
    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence))


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


@app.callback()
def _options(debug: Debug = False) -> None:
    """Options for every command."""


@contextmanager
def progress_bar(
    description: str, total: int, unit: str, done: int = 0, quiet: bool = False
) -> Iterator[Callable[[int], None]]:
    """A bar with the time left on stderr; yields what advances it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors, disable=quiet) as bar:
        task = bar.add_task(description, total=total, completed=done)
        yield lambda steps: bar.advance(task, steps)
        bar.update(task, completed=total)
