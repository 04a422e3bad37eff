"""What the rows of an experiment measure: the metrics that declare it, and what only experiments know."""

from collections.abc import Collection

from bagwise.data import metrics
from bagwise.data.metrics import Metric

OF_EXPERIMENTS = {
    "log_likelihood": "log-likelihood per label",
    "scratch_accuracy": "bag accuracy of a fit from scratch",
    "objective_value": "objective",
}
"""More is better, but of the objective."""
REPORTED: tuple[Metric, ...] = tuple(
    metric for metric in metrics.available().values() if metric.takes == "bags" and metric.in_experiments
)
OF_INSTANCES: tuple[Metric, ...] = tuple(
    metric for metric in metrics.available().values() if metric.takes == "instances" and metric.in_experiments
)


def measured(columns: Collection[str]) -> list[str]:
    """The names of the reported metrics among the columns; runs finished before a metric was added do not have it."""
    return [metric.name for metric in REPORTED if metric.name in columns]


def title(name: str) -> str:
    """The title of a measure in tables and figures."""
    return OF_EXPERIMENTS[name] if name in OF_EXPERIMENTS else metrics.get(name).title


def is_loss(name: str) -> bool:
    """Whether less of a measure is better."""
    return name == "objective_value" if name in OF_EXPERIMENTS else not metrics.get(name).more_is_better
