"""A question about one class in the terminal: one key, which may also say which instance it is."""

from collections.abc import Iterator

from rich.markup import escape

from bagwise.cli._app import say
from bagwise.cli._keyed_answer import QUIT, UNDO, KeyedAnswer
from bagwise.project import Lease, Project

YES, ELSEWHERE, SOMEWHERE = "y", "e", "p"
ANSWERS = {"n": "absent", "u": "unsure", "s": "skipped"}
DIGITS = "0123456789"
SHOWN_FEATURES = 8
OTHER_KEYS = "\\[n]o  \\[u]nsure  \\[s]kip  \\[z] undo  \\[q]uit"
INSTANCE_HELP = f"\\[y]es, the marked instance  {OTHER_KEYS}"
PLAIN_HELP = f"\\[y]es  {OTHER_KEYS}"
POINTING_HELP = (
    "\\[y]es, the marked instance  \\[e] yes, elsewhere  \\[0-9] yes, that instance  "
    f"\\[p]resent, I cannot say where  {OTHER_KEYS}"
)


def show_source(project: Project, bag: int) -> None:
    """Print where and when a bag was recorded, where more than its name is known."""
    source = project.source_of(bag)
    if source is not None and source.words != project.contents.ids[bag]:
        say(f"[dim]{escape(source.words)}[/]", end="  ")


def show_one(project: Project, lease: Lease) -> None:
    """Print the question and the marked instance."""
    instances, evidence = project.bags[lease.bag], lease.question.evidence[0]
    class_name, bag_id = project.classes[lease.label_class], str(project.contents.ids[lease.bag])
    values = ", ".join(f"{value:.3g}" for value in instances[evidence][:SHOWN_FEATURES])
    more = ", ..." if instances.shape[1] > SHOWN_FEATURES else ""
    if lease.question.instance is None:
        say(f"Is [bold]{escape(class_name)}[/] in bag [bold]{escape(bag_id)}[/]?", end="  ")
    else:
        say(f"Is the marked instance of bag [bold]{escape(bag_id)}[/] [bold]{escape(class_name)}[/]?", end="  ")
    show_source(project, lease.bag)
    say(f"[dim]instance {evidence} (of {len(instances)}, from 0): {values}{more}[/]")
    opinion = None if lease.question.audit else project.opinion(lease.pair, lease.question.instance)
    if opinion is not None:
        say(f"[dim]{escape(opinion.source)} thinks: {opinion.probability:.0%}.[/]")


def keys_of(lease: Lease, instances: int, pointing: bool) -> dict[str, KeyedAnswer]:
    """Return what each key says.

    Parameters
    ----------
    lease : Lease
        The question; its evidence is the marked instance.
    instances : int
        Number of instances of the bag.
    pointing : bool
        Whether they are shown, so that a person can say which it is.
    """
    others = {key: KeyedAnswer((answer,)) for key, answer in ANSWERS.items()}
    plain = KeyedAnswer(("present",))
    if not pointing or lease.question.instance is not None:
        return {YES: plain, **others}
    marked = lease.question.evidence[:1]
    yes = {
        YES: KeyedAnswer(("present",), where=(marked,)),
        ELSEWHERE: KeyedAnswer(("present",), elsewhere=(marked,)),
        SOMEWHERE: plain,
    }
    shown = range(min(instances, len(DIGITS)))
    return {**yes, **{DIGITS[one]: KeyedAnswer(("present",), where=((one,),)) for one in shown}, **others}


def answered_by_key(meanings: dict[str, KeyedAnswer], pressed: Iterator[str]) -> KeyedAnswer | str:
    """Return what the next key with a meaning says; the key itself to undo or to quit."""
    key = next((key for key in pressed if key in meanings or key in (UNDO, QUIT)), QUIT)
    return meanings.get(key, key)
