"""`bagwise demo`: a labelling page, or a simulation that answers by itself."""

from pathlib import Path
from typing import Annotated

import typer

from bagwise.cli._app import app, console
from bagwise.core import extras

DEMO_FOLDS = 4
DEMO_INITIAL = 3
DEMO_LEVEL = 0.92


@app.command()
def demo(
    simulate: Annotated[
        int | None, typer.Option(min=25, help="Simulate this many answers instead of showing the page.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs to average.")] = 4,
    out: Annotated[Path, typer.Option(help="Folder for the project, or for rows and figures.")] = Path("results/demo"),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the page.")] = 8765,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Label strips of handwritten digits, *is 7 in this strip?*, on a page; or let it answer by itself."""
    if simulate is None:
        extras.require("app", "The page and its project")
        from bagwise.cli.labelling import demo_page

        demo_page(out / "digits", port, browser)
    else:
        extras.require("figures", "The learning curves of the demo")
        _simulate(simulate, seeds, out)


def _simulate(answers: int, seeds: int, out: Path) -> None:
    from bagwise.cli._runs import run
    from bagwise.research.experiments import curves, statistics, tables
    from bagwise.research.experiments.simulation import Simulation

    console.print(
        f"Strips of handwritten digits, {DEMO_INITIAL} of them labelled. "
        f"Each question is one yes/no about one strip and one digit; {answers} answers, {seeds} runs."
    )
    simulations = [
        Simulation(
            "digits",
            criterion,
            update="replay",
            audit=0.0 if criterion == "random" else 0.1,
            queries=answers,
            initial=DEMO_INITIAL,
            folds=DEMO_FOLDS,
            seed=seed,
        )
        for criterion in ("widening_uncertainty", "random")
        for seed in range(seeds)
    ]
    rows = run(simulations, out)
    figures = curves.save_figure(curves.figure(rows, title="Strips of digits, held-out bags"), out / "learning-curve")
    console.print(tables.curve_table(rows, max(25, answers // 10 // 25 * 25)))
    for strategy, asked in statistics.queries_to(rows, "bag_accuracy", DEMO_LEVEL).items():
        when = f"after {asked} answers" if asked is not None else f"not within {answers} answers"
        console.print(f"{DEMO_LEVEL} bag accuracy with {strategy}: {when}")
    console.print(f"Figure: {figures[1]}   in the browser: {figures[2]}")
