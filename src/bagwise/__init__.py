"""Bagwise: active learning on bags with several labels, some of them unknown.

What it offers is imported when it is first used: `import bagwise` costs neither scikit-learn nor the compiled kernels.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bagwise import criteria, datasets, metrics
    from bagwise.asking import Answer, NothingToAsk, Question
    from bagwise.bags import Bags
    from bagwise.errors import BagwiseError
    from bagwise.labels import Labels
    from bagwise.learner import ActiveLearner
    from bagwise.model import MIMLClassifier, Pool

__all__ = [
    "ActiveLearner",
    "Answer",
    "Bags",
    "BagwiseError",
    "Labels",
    "MIMLClassifier",
    "NothingToAsk",
    "Pool",
    "Question",
    "criteria",
    "datasets",
    "metrics",
]

_MODULES = ("criteria", "datasets", "metrics")
_MODULE_OF = {
    "ActiveLearner": "learner",
    "Answer": "asking",
    "Bags": "bags",
    "BagwiseError": "errors",
    "Labels": "labels",
    "MIMLClassifier": "model",
    "NothingToAsk": "asking",
    "Pool": "model",
    "Question": "asking",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
