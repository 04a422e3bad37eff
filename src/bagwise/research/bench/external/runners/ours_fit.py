"""`MIMLClassifier.fit` on all labels, to compare with classifiers of other libraries."""

import sys
import time

import numpy as np

from bagwise import Bags, MIMLClassifier


def main() -> None:
    """Fit `rounds` times and predict once."""
    with np.load(sys.argv[1], allow_pickle=False) as task:
        bags, held_out = Bags(task["x"], task["offsets"]), Bags(task["held_out_x"], task["held_out_offsets"])
        truth, rounds = task["truth"], int(task["rounds"])
    MIMLClassifier(max_iter=2).fit(bags, truth)  # loads compiled code before the measurement
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        model = MIMLClassifier().fit(bags, truth)
        seconds.append(time.process_time() - start)
    np.savez(sys.argv[2], seconds=np.array(seconds), predicted=model.predict_proba(held_out))


if __name__ == "__main__":
    main()
