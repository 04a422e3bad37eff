"""Every command by name: the module that defines it, the summary that `bagwise --help` shows, the extra it needs.

The top-level help is made of this table alone, so that it is fast; a test compares the table with the docstrings.
"""

from typing import NamedTuple


class Entry(NamedTuple):
    """The module of a command, its summary, and the extra that it needs."""

    module: str
    summary: str
    extra: str = "app"


COMMANDS = {
    "demo": Entry(
        "demo",
        "Label strips of handwritten digits, *is 7 in this strip?*, on a page; or let it answer by itself.",
        "",
    ),
    "init": Entry(
        "projects",
        "Make a labelling project from a file of instances, or from a folder of recordings, pictures or documents.",
    ),
    "import": Entry(
        "projects",
        "Add bags, labels, classes, scores, or what is seen of the bags, to a project; of a folder, what is new in it.",
    ),
    "serve": Entry("labelling", "Answer questions on a page in the browser."),
    "answer": Entry("labelling", "Answer questions in the terminal, one key each."),
    "status": Entry(
        "projects",
        "How far a project is: answers by person and class, what is known, estimated quality, disk use.",
    ),
    "invite": Entry("people", "Invite a person to answer: prints, once, the link and the token they sign in with."),
    "annotator": Entry("labelling", "Show a person's role in this project, or change it with an option."),
    "correct": Entry(
        "labelling",
        "Correct an answer, or an imported label; both are kept. Others' answers take an adjudicator or the owner.",
    ),
    "classes": Entry(
        "classes", "List the classes of a project, or change one: add, rename, describe, merge, split, retire, restore."
    ),
    "notes": Entry("classes", "List what people noted about bags and questions, or note something."),
    "disagreements": Entry(
        "labelling", "List the pairs about which, or about whose instances, people disagree, and the answer of each."
    ),
    "adjudicate": Entry("labelling", "Decide a pair about which, or about whose instances, people disagree."),
    "doubtful": Entry(
        "doubtful",
        "List the answers that are most probably wrong, to be settled with `correct` or `adjudicate`.",
    ),
    "similar": Entry(
        "finding", "List the bags with the instances nearest to an instance, to a whole bag, or to a file."
    ),
    "map": Entry("finding", "Put the instances of a project on a plane: a table of coordinates, and a figure of them."),
    "export": Entry(
        "results", "Write labels, predictions, detections with their times, all answers or the model to a file."
    ),
    "report": Entry(
        "report",
        "Write what was found by site, class and period: intervals, detection histories, figures, a page to print.",
    ),
    "train": Entry(
        "results",
        "Fit a model from scratch to everything known and store it: predictions come from it until more is known.",
    ),
    "predict": Entry(
        "results",
        "Predict the classes of new bags or raw files, with the instance that carries each prediction.",
    ),
    "tune": Entry(
        "tuning",
        "Choose prior, background and instance map by held-out labels and write them to the project's settings.",
    ),
    "remove": Entry(
        "projects",
        "Remove bags: they are not asked about, learned from or exported any more; their answers stay in the record.",
    ),
    "rename-file": Entry("projects", "Say what the file of a bag is called now, so that the page shows it."),
    "backup": Entry("projects", "Copy the whole project while it is in use; the copy is a project of its own."),
    "check": Entry(
        "projects",
        "Verify a project: the database, the answers, the features, and that the model equals a fresh replay.",
    ),
    "embeddings": Entry(
        "embeddings",
        "List what can be typed after --embed, the licences of the models, and what is missing to use them.",
    ),
    "datasets": Entry(
        "datasets", "List the data sets, their sizes, and what is missing for those that cannot be loaded.", ""
    ),
    "simulate": Entry("experiments", "Label a data set by itself and draw how fast each strategy learns.", "figures"),
    "compare": Entry(
        "compare",
        "Compare strategies run by run: who is better than random, by how much, and how sure that is.",
        "figures",
    ),
    "reproduce": Entry(
        "experiments",
        "Run the paper's experiments: figures 3 to 12, tables, and a verdict on each of its claims.",
        "figures",
    ),
    "bench": Entry(
        "bench",
        "Measure how fast Bagwise is here: every figure is a ratio to a floor measured beside it.",
        "figures",
    ),
}
