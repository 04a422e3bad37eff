"""ALiPy's AUDI on bag means: label ranking with a threshold label, trained again for every question.

ALiPy 1.2.5 uses names that NumPy and Python have dropped; they are restored before it is imported.
"""

import collections
import collections.abc

import numpy as np

vars(collections)["Iterable"] = collections.abc.Iterable
vars(np)["NINF"] = -np.inf

from alipy.index import MultiLabelIndexCollection  # noqa: E402
from alipy.query_strategy.multi_label import QueryMultiLabelAUDI  # noqa: E402

from .loop import Array, Task, run  # noqa: E402


class Audi:
    """AUDI with the known and open pairs as ALiPy stores them; its labels are 1 and -1."""

    def __init__(self, task: Task) -> None:
        np.random.seed(0)  # noqa: NPY002
        x, self.held_out = task.bag_means
        self.strategy = QueryMultiLabelAUDI(x, np.where(task.truth, 1, -1))
        classes = task.truth.shape[1]
        pairs = [[(int(b), int(c)) for b, c in np.argwhere(which)] for which in (task.known, ~task.known)]
        self.known, self.open = (MultiLabelIndexCollection(some, label_size=classes) for some in pairs)

    def ask(self) -> tuple[int, int]:
        """Train on everything known, then select."""
        ((bag, label_class),) = self.strategy.select(self.known, self.open)
        return int(bag), int(label_class)

    def tell(self, bag: int, label_class: int, present: bool) -> None:  # noqa: ARG002
        """Mark the pair as known; the strategy's matrix has its label already."""
        self.known.update((bag, label_class))
        self.open.difference_update((bag, label_class))

    def predict(self) -> Array:
        """Return whether a label ranks above the threshold label."""
        return np.asarray(self.strategy._lr_model.predict(self.held_out)[1] == 1)


if __name__ == "__main__":
    run(Audi)
