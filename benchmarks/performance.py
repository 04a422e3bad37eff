"""Write the tables of docs/performance.md from what `bagwise bench` left in benchmarks/results.

bagwise bench kernels learner --out benchmarks/results     (likewise scale, train, peers, gpu)
python benchmarks/performance.py
"""

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
    return found


def with_figures(text):
    return with_tables(text, tables())


if __name__ == "__main__":
    rewrite(PAGE, tables())
