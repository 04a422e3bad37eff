"""The command that tunes the settings of a project."""

from rich.markup import escape

from bagwise.cli._app import app, console, say
from bagwise.cli._projects import Folder
from bagwise.cli.results import show_trials
from bagwise.project import Project, tune


@app.command("tune")
def tune_settings(folder: Folder) -> None:
    """Choose prior, background and instance map by held-out labels and write them to the project's settings."""
    with Project.open(folder) as project, console.status("Trying settings on held-out labels"):
        tuned = tune(project)
    show_trials(tuned.trials)
    for name, (before, after) in tuned.changed.items():
        say(f"{name}: {escape(str(before))} becomes {escape(str(after))}, from the next start on.")
    if tuned.trials and not tuned.changed:
        say("Nothing is clearly better than the present settings: they stay.")
