"""Do the forecast's intervals hold what comes? Simulated projects, forecast early and then answered on.

    python benchmarks/forecasts.py [--projects 24] [--out benchmarks/results/forecasts.json]

The projects are those of `coverage.py`. After 50, 75, 112 and 168 answers the quality is estimated, and from these
estimates the bag accuracy after 284 and after 400 answers is forecast, and how many answers it takes to the level that
the model truly has after 284. The truth is the refitted model's value on 1,500 new bags, made to never fall.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bagwise import ActiveLearner, MIMLClassifier, evaluation
from bagwise.data import metrics
from bagwise.evaluation.forecast import Point, curves_through, forecast
from bagwise.kernels.arithmetic.blocks import use_one_thread
from benchmarks.coverage import NEW_BAGS, UNLIMITED

SEED = 5000
ESTIMATED = (50, 75, 112, 168)
LATER = (226, 284, 342, 400)
AHEAD = (284, 400)
POOL = 200
LEAST_GAIN = 0.005


def simulate(source, seed):
    """What was forecast after the last estimate, and what came."""
    rng = np.random.default_rng([SEED + seed, list(UNLIMITED).index(source)])
    drawn = UNLIMITED[source](rng, POOL + NEW_BAGS)
    bags, new = drawn.bags.select(np.arange(POOL)), drawn.bags.select(np.arange(POOL, POOL + NEW_BAGS))
    known, held_out = drawn.truth[:POOL], drawn.truth[POOL:]
    names = [str(c) for c in range(known.shape[1])]
    model = MIMLClassifier(transformer=drawn.transformer, tol=1e-4)
    learner = ActiveLearner(bags, names, model=model, update="replay", random_state=seed)
    audit, points, truth = np.zeros(known.shape, bool), [], []
    for answers in (*ESTIMATED, *LATER):
        while len(learner.answers) < answers and not learner.exhausted:
            question = learner.ask()
            pair = question.bag, question.classes[0]
            audit[pair] = question.audit
            learner.tell(question, bool(known[pair]))
        model = model.fit(bags, learner.labels)
        truth.append(metrics.bag_accuracy(held_out, model.predict_proba(new)))
        if answers in ESTIMATED:
            out_of_fold = evaluation.crossfit(model, bags, learner.labels)
            found = evaluation.estimate(out_of_fold, learner.labels, audit)
            points.append(Point(answers, found.metrics["bag_accuracy"]))
    return judged(source, points, np.maximum.accumulate(truth))


def judged(source, points, truth):
    """Rows (what, the interval, the truth)."""
    at = np.array([*ESTIMATED, *LATER], float)
    curves = curves_through(points)
    for answers in AHEAD:
        low, middle, high = np.quantile(curves.at(answers), [0.025, 0.5, 0.975])
        so = float(np.interp(answers, at, truth))
        yield {"source": source, "what": f"after {answers}", "low": low, "middle": middle, "high": high, "truth": so}
    now, target = (float(np.interp(answers, at, truth)) for answers in (ESTIMATED[-1], AHEAD[0]))
    if target > now + LEAST_GAIN:
        needed = float(np.interp(target, truth, at)) - ESTIMATED[-1]
        said = [np.inf if one is None else one for one in vars(forecast(points, target)).values()]
        middle, low, high = map(float, said)
        yield {"source": source, "what": "needed", "low": low, "middle": middle, "high": high, "truth": needed}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=24)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "forecasts.json")
    options = parser.parse_args()
    use_one_thread()
    of_source = options.projects // len(UNLIMITED)
    plan = [(source, seed) for seed in range(of_source) for source in UNLIMITED]
    rows = [row for source, seed in track(plan, "Projects") for row in simulate(source, seed)]
    kept = [{key: None if value == np.inf else value for key, value in row.items()} for row in rows]
    options.out.write_text(json.dumps(kept, indent=1) + "\n")
    table = Table("what", "source", "forecasts", "held", "truth above", "truth below")
    for what in dict.fromkeys(row["what"] for row in rows):
        for source in ("all", *UNLIMITED):
            here = [row for row in rows if row["what"] == what and source in ("all", row["source"])]
            above = [row["truth"] > row["high"] for row in here]
            below = [row["truth"] < row["low"] for row in here]
            shares = (1 - np.mean(above) - np.mean(below), np.mean(above), np.mean(below)) if here else (np.nan,) * 3
            table.add_row(what, source, str(len(here)), *(f"{share:.0%}" for share in shares))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
