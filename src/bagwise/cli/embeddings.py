"""`bagwise embeddings`."""

import json
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli._app import app, show_table
from bagwise.ingest import embedders


@app.command(name="embeddings")
def list_embeddings(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """List what can be typed after --embed, the licences of the models, and what is missing to use them."""
    described = embedders.described()
    if as_json:
        print(json.dumps(described, indent=2))
        return
    table = Table("--embed", "what it is", "for", "licence of the model", "missing")
    for one in described:
        cells = (one["typed"], one["description"], one["medium"] or "any", one["licence"], one["missing"])
        table.add_row(*(escape(cell) for cell in cells))
    show_table(table, "--embed")
