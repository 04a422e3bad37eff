"""Compiles the kernels, which happens at their first use on a machine, before the first answer instead of during it."""

from bagwise.data.labels import Labels
from bagwise.project.answers import replay
from bagwise.project.project import Project

BAGS = 8
ANSWERS = 3


def warm(project: Project) -> None:
    """Let a learner with the project's settings ask, learn and undo a few questions; the project does not change."""
    bags = project.bags.select(range(min(BAGS, len(project.bags))))
    unknown = Labels.unknown(len(bags), len(project.classes))
    learner = replay.learner_of(bags, project.classes, unknown, project.settings, None, from_nothing=True)
    for number in range(min(ANSWERS, len(bags) * len(project.classes) - 1)):
        question = learner.ask(2)[0]
        learner.tell(question, [number % 2 == 0] * len(question.classes))
    if learner.answers:
        learner.undo()
    learner.model.predict_instance_proba(bags)
    learner.predict_proba(bags)
