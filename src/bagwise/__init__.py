"""Bagwise: active learning on bags with several labels, some of them unknown.

What it offers is imported when it is first used: `import bagwise` costs neither scikit-learn nor the compiled kernels.
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagwise import datasets
    from bagwise.core.errors import BagwiseError
    from bagwise.data import metrics
    from bagwise.data.bags import Bags
    from bagwise.data.instance_labels import InstanceLabel, InstanceLabels
    from bagwise.data.labels import Labels
    from bagwise.data.scores import Scores
    from bagwise.learning import criteria
    from bagwise.learning.base import NothingToAsk
    from bagwise.learning.learner import ActiveLearner
    from bagwise.learning.questions import Answer, Question
    from bagwise.model import MIMLClassifier, ScoredPool

__all__ = [
    "ActiveLearner",
    "Answer",
    "Bags",
    "BagwiseError",
    "InstanceLabel",
    "InstanceLabels",
    "Labels",
    "MIMLClassifier",
    "NothingToAsk",
    "Question",
    "ScoredPool",
    "Scores",
    "criteria",
    "datasets",
    "metrics",
]

# Nothing is shown unless a program configures logging.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_MODULE_OF = {
    "ActiveLearner": "learning.learner",
    "Answer": "learning.questions",
    "Bags": "data.bags",
    "BagwiseError": "core.errors",
    "InstanceLabel": "data.instance_labels",
    "InstanceLabels": "data.instance_labels",
    "Labels": "data.labels",
    "MIMLClassifier": "model",
    "NothingToAsk": "learning.base",
    "ScoredPool": "model",
    "Scores": "data.scores",
    "Question": "learning.questions",
}
_PACKAGE_OF = {"criteria": "learning.criteria", "datasets": "datasets", "metrics": "data.metrics"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGE_OF:
        value = import_module(f"{__name__}.{_PACKAGE_OF[name]}")
    elif name in _MODULE_OF:
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
