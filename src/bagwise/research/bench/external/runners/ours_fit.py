"""`MIMLClassifier.fit` on all labels, to compare with classifiers of other libraries."""

import sys
import time

import numpy as np

from bagwise import Bags, MIMLClassifier


def main() -> None:
    """Fit `rounds` times, with at most the iterations given as a word, and predict after each."""
    with np.load(sys.argv[1], allow_pickle=False) as task:
        bags, held_out = Bags(task["x"], task["offsets"]), Bags(task["held_out_x"], task["held_out_offsets"])
        truth, rounds = task["truth"], int(task["rounds"])
    iterations = int(sys.argv[3]) if len(sys.argv) > 3 else None
    MIMLClassifier(max_iter=2).fit(bags, truth).predict_proba(held_out)  # loads compiled code before the measurement
    seconds, until_predicted = [], []
    for _ in range(rounds):
        start = time.process_time()
        model = MIMLClassifier(max_iter=iterations).fit(bags, truth)
        seconds.append(time.process_time() - start)
        predicted = model.predict_proba(held_out)
        until_predicted.append(time.process_time() - start)
    np.savez(sys.argv[2], seconds=np.array(seconds), until_predicted=np.array(until_predicted), predicted=predicted)


if __name__ == "__main__":
    main()
