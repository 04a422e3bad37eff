"""Our L-BFGS on all labels: the objective against the time, over several rounds."""

import sys
import time

import numpy as np

from bagwise import Bags, Labels, MIMLClassifier
from bagwise.kernels.arithmetic.blocks import single_threaded_blas
from bagwise.model.solvers import lbfgs

from .loop import Array


def main() -> None:
    """Fit `rounds` times; each trace is (seconds since the start, value)."""
    with np.load(sys.argv[1], allow_pickle=False) as task:
        bags, labels = Bags(task["x"], task["offsets"]), Labels.of(task["truth"].astype(float), len(task["truth"]))
        rounds, probe = int(task["rounds"]), task["probe"]
    model = MIMLClassifier().prepare(bags, labels.n_classes)
    objective = model.objective_of(model.instances(bags), labels)
    MIMLClassifier(max_iter=20).fit(bags, labels)  # loads compiled code before the measurement
    found: dict[str, Array] = {"at_probe": np.array(objective(probe)[0])}
    for number in range(rounds):
        trace: list[tuple[float, float]] = []
        start = time.process_time()

        def record(
            _: Array, value: float | None, trace: list[tuple[float, float]] = trace, start: float = start
        ) -> None:
            trace.append((time.process_time() - start, float(value or 0)))

        with single_threaded_blas():
            lbfgs.fit(objective, objective.start, model.settings(), record)
        found[f"trace{number}"] = np.array(trace)
    np.savez(sys.argv[2], **found)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
