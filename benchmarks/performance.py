"""Write the tables of docs/performance.md from what `bagwise bench` left in benchmarks/results.

bagwise bench kernels learner --out benchmarks/results     (likewise scale, train, peers, gpu)
python benchmarks/gpu.py                                    (on a machine with a card)
python benchmarks/serve_start.py --before SRC               (SRC: the `src` folder of an older checkout)
python -m benchmarks.load
python benchmarks/performance.py
"""

import json

from marked import rewrite, table, with_tables
from readme import RESULTS, ROOT

from bagwise.research.bench import Document
from bagwise.research.bench.display import markdown

PAGE = ROOT / "docs" / "performance.md"
FILES = ("kernels-learner", "scale", "train", "peers", "gpu")
ALONE, FLAT_OUT, SAVING = "alone, not waiting", "flat out", "saving the answers"
FLOORS = {
    "sign-in for both requests": ("sqlite3", ()),
    SAVING: ("sqlite3", ()),
    "choosing and leasing the question": ("sqlite3, NumPy", ("candidates compared", "evidence")),
    "building and encoding the question": ("sqlite3, orjson", ()),
}
"""By what the floor of a part is made, and what belongs to it besides its statements."""
IN_HTTP = ("response to the answer",)
"""Parts that the applications beside do as well."""


def tables():
    found = {}
    for name in FILES:
        document = Document.read(RESULTS / f"{name}.json")
        for suite, report in document.reports.items():
            notes = "".join(f"\n\n{note}" for note in report.notes)
            machine = f"{document.machine['processor']}, {document.machine['cores']} cores"
            found[suite] = f"{report.size}. {machine}.\n\n{markdown(report)}{notes}"
    return found | card() | serve_start() | load()


def serve_start():
    """What `benchmarks/serve_start.py` found."""
    found = json.loads((RESULTS / "serve_start.json").read_text())
    rows = ["| | page | first question | processor |", "| --- " * 4 + "|"]
    for version, kinds in found["seconds"].items():
        for kind, one in kinds.items():
            rows.append(f"| {version}, {kind} | {one['page']:.1f} s | {one['question']:.1f} s | {one['cpu']:.1f} s |")
    size = f"{found['bags']:,} bags and {found['answers']:,} answers, {found['cores']} cores, beside other work."
    return {"serve_start": "\n\n".join([size, "\n".join(rows)])}


def load():
    """What `benchmarks/load.py` found: beside bare servers and databases, by part, and what bounds it."""
    found = json.loads((RESULTS / "load.json").read_text())
    phases, people = found["milliseconds"], found["people"]
    alone = phases[ALONE]["median"]
    rows = [_served(f"Bagwise, {name}", one, alone) for name, one in phases.items()]
    for what, key in (("Bagwise with nothing behind it", "checked"), ("bare FastAPI", "echo")):
        rows += [_served(f"{what}, {name}", one, alone) for name, one in found[key].items()]
    for together, one in found["bare SQLite"].items():
        processor = one["insert"]["processor"] + one["commit"]["processor"]
        each = f"bare SQLite, {together} answer{'' if together == '1' else 's'} each"
        rows.append([each, f"{one['answers_per_second']:,.0f}", "", "", f"{processor:.2f}", "", ""])
    head = ["", "answers/s", "median / one alone", "p99 / one alone", "server", "training", "clients"]
    size = (
        f"{found['bags']:,} bags, {found['classes']} classes, {people} people, {found['cores']} cores. One alone who "
        f"does not wait: {alone:.1f} ms. The last three columns are milliseconds of the processor for an answer and "
        f"the next question, which has {found['question_bytes'] / 1000:.0f} kB."
    )
    return {
        "load": f"{size}\n\n{table(head, rows)}",
        "load_parts": _parts_of_an_answer(found),
        "load_bound": _bound(found),
    }


def _served(name, one, alone):
    processor = [f"{value:.2f}" for value in one["processor"].values()]
    times = [f"{one[key] / alone:.1f}" for key in ("median", "p99")]
    return [name, f"{one['answers_per_second']:,.0f}", *times, *processor]


def _parts_of_an_answer(found):
    """What each part of an answer takes of the server's processor, beside its floor."""
    parts, floors = found["parts"], found["floors"]
    flat_out, checked, http = (
        one["flat out"]["processor"]["server"] for one in (found["milliseconds"], found["checked"], found["echo"])
    )
    inside = {name: one["processor"] for name, one in parts.items() if name not in IN_HTTP}
    rows = [
        [
            "HTTP, parsing, validation, checks of the request",
            f"{checked:.2f}",
            "",
            f"{http:.2f}: the bare FastAPI application, without checks",
            f"{checked / http:.1f}",
        ],
    ]
    for name, taken in inside.items():
        beside = ["", "", ""]
        if name in FLOORS:
            made_by, others = FLOORS[name]
            floor = sum(floors[one]["processor"] for one in (name, *others))
            statements = found["statements"][name]["processor"]
            beside = [f"{statements:.3f}", f"{floor:.3f}: {made_by}", f"{taken / floor:.1f}"]
        rows.append([name, f"{taken:.2f}", *beside])
    rest = flat_out - checked - sum(inside.values())
    rows.append(["the rest: rankings received, caches that training and clients share", f"{rest:.2f}", "", "", ""])
    of_floors = http + sum(one["processor"] for one in floors.values())
    of_statements = sum(one["processor"] for one in found["statements"].values())
    beside = [f"{of_statements:.3f}", f"{of_floors:.2f}: all of these", f"{flat_out / of_floors:.1f}"]
    rows.append(["together, flat out", f"{flat_out:.2f}", *beside])
    waited, at_least = (one[SAVING]["clock"] - one[SAVING]["processor"] for one in (parts, floors))
    rows.append(
        [
            "waiting for the disk, by the clock",
            f"{waited:.2f}",
            "",
            f"{at_least:.3f}: sqlite3",
            f"{waited / at_least:.1f}",
        ]
    )
    return table(["part", "ms for each answer", "its statements", "floor", "ratio"], rows)


def _bound(found):
    """What the goal of ten times one alone would take."""
    people, alone = found["people"], found["milliseconds"][ALONE]["median"]
    flat_out, paced = (found["milliseconds"][name] for name in ("flat out", "paced"))
    bare, checked = (found[name]["flat out"] for name in ("echo", "checked"))
    spread = flat_out["p99"] / flat_out["median"]
    needed = spread * people * 1000 / (10 * alone)
    taken, bare_taken = (sum(one["processor"].values()) for one in (flat_out, bare))
    of_parts = sum(one["processor"] for one in found["floors"].values())
    floors, at_floors = bare_taken + of_parts, bare["processor"]["server"] + of_parts
    return (
        f"It is {flat_out['p99'] / alone:.1f} times the median of one alone flat out, and {paced['p99'] / alone:.1f} "
        f"times with pauses. Like with like, the slowest hundredth of fifty is "
        f"{found['p99 / p99 alone'][ALONE]['flat out']:.1f} times the slowest hundredth of one alone. "
        f"{people} people who never pause share what the server can do: their mean time is {people} divided by the "
        f"answers per second, and the slowest hundredth takes {spread:.1f} times as long. For ten times one alone "
        f"({alone:.1f} ms) it takes {needed:,.0f} answers per second, {1000 * found['cores'] / needed:.1f} ms of both "
        f"cores for each, of which the server, one interpreter, has {1000 / needed:.2f}. Bagwise takes {taken:.2f} ms "
        f"with training and clients, {flat_out['processor']['server']:.2f} of them in the server. The bare application "
        f"takes {bare_taken:.2f} ms with its clients; with the floors of the parts above it is {floors:.2f} ms, "
        f"without any learning. With every part at its floor, a server that is never idle and learns nothing would "
        f"come to {spread * people * at_floors / alone:.1f} times. Of these ten times the bare application takes "
        f"{bare['p99'] / alone:.1f}, and Bagwise's "
        f"own with nothing behind it, that neither signs in, saves, chooses nor learns, {checked['p99'] / alone:.1f}."
        f" A file of {found['file_bytes'] / 1e6:.0f} MB, which another person gets meanwhile, takes "
        f"{found['file_seconds'][FLAT_OUT] * 1000:.0f} ms instead of {found['file_seconds']['alone'] * 1000:.0f}."
    )


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
