"""Rewrites the tables between <!-- name --> and <!-- end --> in a page."""

import re


def with_tables(text, tables):
    """Return the page with each named table replaced; `tables` has their texts, or functions that return them."""
    for name, table in tables.items():
        content = table() if callable(table) else table
        marked = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(marked, lambda found, content=content: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL)
    return text


def rewrite(page, tables):
    page.write_text(with_tables(page.read_text(), tables))


def table(head, rows):
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))
