"""What all commands share: the Typer application, two consoles, and the progress bar."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from typer.core import TyperCommand, TyperGroup

from bagwise.cli._commands import COMMANDS, Entry
from bagwise.core import extras
from bagwise.core.loading import load


class Deferred(TyperCommand):
    """A command of the table: its module is imported when the command or its help is run."""

    def __init__(self, name: str, entry: Entry) -> None:
        installed = not entry.extra or extras.is_installed(entry.extra)
        needed = escape(f"Needs `pip install 'bagwise[{entry.extra}]'`.")
        super().__init__(name, help=entry.summary if installed else needed)
        self.entry = entry

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the command itself, which replaces this one."""
        if self.entry.extra:
            extras.require(self.entry.extra, PURPOSES[self.entry.extra])
        load(f"bagwise.cli.{self.entry.module}")
        group = typer.main.get_command(app)
        assert isinstance(group, Commands)
        assert self.name is not None
        return group.loaded[self.name].make_context(info_name, args, parent, **extra)


PURPOSES = {"app": "Projects", "figures": "Experiments and their figures"}


class Commands(TyperGroup):
    """The commands of the table; `loaded` are those whose modules have been imported."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.loaded = self.commands
        self.commands = {name: Deferred(name, entry) for name, entry in COMMANDS.items()}


app = typer.Typer(
    cls=Commands,
    help="Active learning on bags with several labels, some of them unknown.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
WIDEST = 2000
console = Console(emoji=False)
errors = Console(stderr=True, emoji=False)


def say(sentence: str, end: str = "\n") -> None:
    """Print one line, however long: the terminal may wrap it, a path in it stays whole."""
    console.print(sentence, soft_wrap=True, highlight=False, end=end)


def show_table(table: Table, *whole: str) -> None:
    """Print a table that shortens nothing: it breaks lines, but never in the columns whose names other commands need.

    Parameters
    ----------
    table : Table
        The table; where it needs more width than the window has, it is wider than that.
    *whole : str
        The headers of the columns that stay on one line.
    """
    unlimited = console.options.update(max_width=WIDEST)
    for column in table.columns:
        column.overflow = "fold"
        if column.header in whole:
            cells = (column.header, *column.cells)
            column.no_wrap = True
            column.min_width = max(Measurement.get(console, unlimited, cell).maximum for cell in cells)
    needed = Measurement.get(console, unlimited, table).minimum
    Console(emoji=False, width=max(console.width, needed)).print(table)


def printable(sentence: str) -> str:
    """Escape control characters and markup, so that a name in a file cannot control the terminal."""
    return escape("".join(c if c.isprintable() else repr(c)[1:-1] for c in sentence))


Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error, with its causes.")]


@app.callback()
def _options(debug: Debug = False) -> None:
    """Options for every command."""


@contextmanager
def progress_bar(
    description: str, total: int, unit: str, done: int = 0, quiet: bool = False
) -> Iterator[Callable[[float], None]]:
    """Show a progress bar with the remaining time on stderr; yield the function that advances it."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

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
