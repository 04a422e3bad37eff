"""Write the tables of docs/performance.md from what `bagwise bench` left in benchmarks/results.

bagwise bench kernels learner --out benchmarks/results     (likewise scale, train, peers, gpu)
python benchmarks/gpu.py                                    (on a machine with a card)
python benchmarks/serve_start.py --before SRC               (SRC: the `src` folder of an older checkout)
python benchmarks/performance.py
"""

import json

from marked import rewrite, with_tables
from readme import RESULTS, ROOT

from bagwise.research.bench import Document
from bagwise.research.bench.display import markdown

PAGE = ROOT / "docs" / "performance.md"
FILES = ("kernels-learner", "scale", "train", "peers", "gpu")


def tables():
    found = {}
    for name in FILES:
        document = Document.read(RESULTS / f"{name}.json")
        for suite, report in document.reports.items():
            notes = "".join(f"\n\n{note}" for note in report.notes)
            machine = f"{document.machine['processor']}, {document.machine['cores']} cores"
            found[suite] = f"{report.size}. {machine}.\n\n{markdown(report)}{notes}"
    return found | card() | serve_start()


def serve_start():
    """What `benchmarks/serve_start.py` found."""
    found = json.loads((RESULTS / "serve_start.json").read_text())
    rows = ["| | page | first question | processor |", "| --- " * 4 + "|"]
    for version, kinds in found["seconds"].items():
        for kind, one in kinds.items():
            rows.append(f"| {version}, {kind} | {one['page']:.1f} s | {one['question']:.1f} s | {one['cpu']:.1f} s |")
    size = f"{found['bags']:,} bags and {found['answers']:,} answers, {found['cores']} cores, beside other work."
    return {"serve_start": "\n\n".join([size, "\n".join(rows)])}


def card():
    """What `benchmarks/gpu.py` found: the questions of the CPU, and milliseconds from end to end."""
    parts = json.loads((RESULTS / "card.json").read_text())
    rows = ["| criterion, update | answers | same question | rankings of 500 | same weights |", "| --- " * 5 + "|"]
    for name, one in parts["questions"].items():
        rankings = f"{one['rankings_of_500']} of {one['of']}"
        rows.append(
            f"| {_of(name)} | {one['answers']:,} | {one['equal']:,} | {rankings} | {_yes(one['same_weights'])} |"
        )
    questions = "\n".join(rows)
    columns = {
        "median_ms": "`tell` + `ask`", "scoring_ms": "bounds of all pairs", "bounds_ms": "criterion, best of each bag",
        "contest_ms": "exact contest", "evidence_ms": "evidence", "share_contested": "bags in the contest",
    }  # fmt: skip
    asked = {name: one for name, one in parts["tell + ask"].items() if "median_ms" in one}
    rows = [f"| ms | {' | '.join(columns.values())} |", "| --- " * (len(columns) + 1) + "|"]
    for name, one in asked.items():
        values = [f"{one[key]:.2%}" if key == "share_contested" else f"{one[key]:.1f}" for key in columns]
        rows.append(f"| {_of(name)} | {' | '.join(values)} |")
    end_to_end = "\n".join(rows)
    others = [
        *((_of(name), f"{one['ms']:.1f} ms") for name, one in parts["tell + ask"].items() if "ms" in one),
        *((_of(name), f"{one['ms']:.2f} ms") for name, one in (parts["bounds"] | parts["scoring"]).items()),
        *((f"10,000 bags: {_of(name)}", _both(one)) for name, one in parts["10,000 bags"].items()),
        *((_of(name), _both(one)) for name, one in parts["learning"].items()),
        *((_of(name), _project(one)) for name, one in parts["project"].items()),
    ]
    lines = "\n".join(["| what | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in others)])
    machine = f"{parts['machine']['device']}, {parts['machine']['cores']} cores, torch {parts['machine']['torch']}."
    return {"card": "\n\n".join([machine, questions, end_to_end, lines])}


def _of(name):
    return name.partition(": ")[2]


def _yes(value):
    return "yes" if value else "no"


def _both(one):
    unit = "ms" if "cpu_ms" in one or "card_ms" in one else "s"
    here, there = one.get(f"cpu_{unit}"), one.get(f"cuda_{unit}", one.get(f"card_{unit}"))
    figures = f"{there:.3g} {unit}" + ("" if here is None else f" (CPU: {here:.3g} {unit})")
    return figures + (f", same bits: {_yes(one['equal'])}" if "equal" in one else "")


def _project(one):
    if "seconds" in one:
        return f"{one['seconds']:.1f} s"
    same = f", replayed on the CPU to the same weights: {_yes(one['same_weights_on_cpu'])}" if "checked" in one else ""
    return f"{one['answer_to_next_ms']:.1f} ms from an answer to the next question{same}"


def with_figures(text):
    return with_tables(text, tables())


if __name__ == "__main__":
    rewrite(PAGE, tables())
