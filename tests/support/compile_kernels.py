"""Compile what most tests need, once: else every process of a first run compiles it at the same time as the others."""

import numpy as np

from bagwise import ActiveLearner, Bags

UPDATES = ("bag_sgd", "replay")
CRITERIA = ("uncertainty", "expected_gradient_length")


def main():
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        bags = Bags.from_list([rng.normal(size=(3, 5)).astype(dtype) for _ in range(60)])
        for update in UPDATES:
            for criterion in CRITERIA:
                learner = ActiveLearner(bags, list("abc"), update=update, criterion=criterion, cold_start=False)
                for number in range(4):
                    learner.tell(learner.ask(), number % 2 == 0)


if __name__ == "__main__":
    main()
