"""`bagwise datasets`."""

import json
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise import datasets
from bagwise.cli._app import app, console, show_table
from bagwise.core.errors import BagwiseError


@app.command(name="datasets")
def list_datasets(as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False) -> None:
    """List the data sets, their sizes, and what is missing for those that cannot be loaded."""
    described = [_describe(name) for name in datasets.available()]
    if as_json:
        print(json.dumps(described, indent=2))
        return
    table = Table("data set", "what it is", "bags", "instances", "features", "classes", "per bag")
    for one in described:
        if "bags" in one:
            sizes = [str(one[column]) for column in ("bags", "instances", "features", "classes")]
            table.add_row(one["name"], one["description"], *sizes, f"{one['classes_per_bag']:.2f}")
    show_table(table, "data set")
    for one in described:
        if "bags" not in one:
            reason = escape(one.get("missing", "it is built when it is first used, which takes minutes."))
            console.print(f"[yellow]{one['name']}[/] ({one['description']}): {reason}")


def _describe(name: str) -> dict[str, Any]:
    member = datasets.available()[name]
    description = {"name": name, "description": member.DESCRIPTION}
    try:
        if not getattr(member, "is_built", lambda: True)():
            return {**description, "built": False}
        data = datasets.load(name)
    except BagwiseError as missing:
        return {**description, "missing": str(missing)}
    return {
        **description,
        "bags": len(data.bags),
        "instances": len(data.bags.instances),
        "features": data.bags.n_features,
        "classes": len(data.classes),
        "classes_per_bag": float(data.labels.value.sum(axis=1).mean()),
    }
