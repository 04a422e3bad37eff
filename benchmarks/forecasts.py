"""Do forecasts hold what comes, and how often is there one? Simulated projects, forecast and then answered on.

    python benchmarks/forecasts.py [--projects 6] [--seed 7000] [--out benchmarks/results/forecasts.json]

The projects are drawn as those of `coverage.py`, so many of each of its eight sources, with 200 bags. After 50, 75,
112, 168, 226, 284, 342 and 400 answers the bag accuracy is estimated, and the truth is what the same out-of-fold
predictions are worth on all bags. After 168 and after 284 answers it is forecast how many more are needed

    to a level that the model reaches after 226, 284 or 400 answers, and to 0.6, 0.75 and 0.9.

The number that was truly needed is where the truth, made to never fall, first reaches the target. Where it does not
within 400 answers, a forecast is wrong that says so many or fewer. *Plain* is the forecast of every curve, *given* what
a project says: nothing where the interval is not informative (`evaluation/forecast.py`).
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
from bagwise.evaluation import Interval
from bagwise.evaluation.forecast import Point, curves_through, forecast, needed_answers
from bagwise.kernels.arithmetic.blocks import use_one_thread
from benchmarks.coverage import SOURCES

SEED = 7000
AT = (50, 75, 112, 168, 226, 284, 342, 400)
MADE_AFTER = (168, 284)
LEVELS_OF = (226, 284, 400)
TARGETS = (0.6, 0.75, 0.9)
AHEAD = (284, 400)
POOL = 200
KINDS = ("a level it reaches", "a fixed target")
WORDS = ("too early", "reached", "within a factor of two", "at least twice as many", "far away")


def simulate(source, seed):
    """Estimates and truth of one project on its way."""
    rng = np.random.default_rng([seed, list(SOURCES).index(source)])
    drawn = SOURCES[source](rng, POOL)
    bags, known = drawn.bags, drawn.truth[:, drawn.truth.any(axis=0)]
    names = [str(c) for c in range(known.shape[1])]
    model = MIMLClassifier(transformer=drawn.transformer, tol=1e-4)
    learner = ActiveLearner(bags, names, model=model, update="replay", random_state=seed)
    audit, belief = np.zeros(known.shape, bool), np.full(known.shape, np.nan)
    estimates, truth = [], []
    for answers in AT:
        while len(learner.answers) < answers and not learner.exhausted:
            question = learner.ask()
            pair = question.bag, question.classes[0]
            audit[pair], belief[pair] = question.audit, question.belief[0]
            learner.tell(question, bool(known[pair]))
        fitted = MIMLClassifier(transformer=drawn.transformer, tol=1e-4).fit(bags, learner.labels)
        out_of_fold = evaluation.crossfit(fitted, bags, learner.labels)
        before = np.where(learner.labels.known, belief, fitted.predict_proba(bags))
        found = evaluation.estimate(out_of_fold, learner.labels, audit, belief=before).metrics["bag_accuracy"]
        estimates.append([found.value, found.low, found.high])
        truth.append(metrics.bag_accuracy(known, out_of_fold))
    return {"source": source, "seed": seed, "estimates": np.round(estimates, 4).tolist(), "truth": truth}


def points_of(project, made_after):
    """The estimates that a forecast after so many answers knows."""
    pairs = zip(AT, project["estimates"], strict=True)
    return [Point(answers, Interval(*estimate)) for answers, estimate in pairs if answers <= made_after]


def truly_needed(project, made_after, target):
    """How many more answers the target took; infinite where it was not reached."""
    reached = np.maximum.accumulate(project["truth"])
    if reached[-1] < target:
        return np.inf
    first = int(np.argmax(reached >= target))
    if first == 0:
        return 0.0
    between = np.interp(target, reached[first - 1 : first + 1], AT[first - 1 : first + 1])
    return max(0.0, float(between) - made_after)


def judged(project):
    """Rows (what, forecast, truth) of every forecast of one project."""
    reached = np.maximum.accumulate(project["truth"])
    for made_after in MADE_AFTER:
        points = points_of(project, made_after)
        levels = [float(reached[AT.index(answers)]) for answers in LEVELS_OF if answers > made_after]
        for target in (*levels, *TARGETS):
            kind = KINDS[target in TARGETS]
            truth = truly_needed(project, made_after, target)
            plain, given = needed_answers(points, target), forecast(points, target)
            for which, found in (("plain", plain), ("given", given)):
                yield {"which": which, "after": made_after, "kind": kind, "said": found, "truth": truth}


def held(row):
    """Whether what came is not outside of the interval."""
    low, high = (np.inf if one is None else one for one in (row["said"].low, row["said"].high))
    most_seen = AT[-1] - row["after"]
    if np.isinf(row["truth"]):
        return high > most_seen
    # An interval that begins behind what was seen says that the target is not reached there, and it was.
    return low <= np.ceil(row["truth"]) and high >= np.floor(row["truth"])


def summary(projects):
    """How many forecasts held, and what those said that were given, by when they were made."""
    rows = [row for project in projects for row in judged(project)]
    found = []
    for after in MADE_AFTER:
        for kind in KINDS:
            here = [row for row in rows if row["after"] == after and row["kind"] == kind]
            plain, given = ([row for row in here if row["which"] == which] for which in ("plain", "given"))
            said = [in_a_word(row["said"]) for row in given]
            found.append(
                {
                    "after": after,
                    "kind": kind,
                    "forecasts": len(plain),
                    "plain_held": _mean([held(row) for row in plain]),
                    "plain_from_0_to_never": sum(row["said"].low == 0 and row["said"].high is None for row in plain),
                    **{word: said.count(word) for word in WORDS},
                    "given_wrong": sum(row["said"] is not None and not held(row) for row in given),
                }
            )
    return found


def in_a_word(said):
    """Which of `WORDS` a forecast is."""
    if said is None:
        return "too early"
    if said.high is None:
        return "far away" if said.low is None else "at least twice as many"
    return "reached" if said.high == 0 else "within a factor of two"


def ahead(projects):
    """Coverage and width of the bag accuracy that is forecast after 168 answers for later."""
    for answers in AHEAD:
        quantiles = np.array(
            [np.quantile(curves_through(points_of(one, 168)).at(answers), [0.025, 0.5, 0.975]) for one in projects]
        )
        truth = np.array([one["truth"][AT.index(answers)] for one in projects])
        inside = (quantiles[:, 0] <= truth) & (truth <= quantiles[:, 2])
        yield {
            "at": answers,
            "held": _mean(inside),
            "median_width": round(float(np.median(quantiles[:, 2] - quantiles[:, 0])), 3),
            "median_width_of_the_estimate": round(float(np.median([_width_at(one, 168) for one in projects])), 3),
            "mean_error": round(float(np.mean(quantiles[:, 1] - truth)), 3),
        }


def _width_at(project, answers):
    _, low, high = project["estimates"][AT.index(answers)]
    return high - low


def _mean(values):
    return round(float(np.mean(values)), 3) if len(values) else None


def report_of(projects, seed):
    return {
        "projects": len(projects),
        "seed": seed,
        "needed": summary(projects),
        "ahead": list(ahead(projects)),
        "runs": projects,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=int, default=6, help="of each source")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--again", action="store_true", help="judge the projects of the file again, simulate none")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "forecasts.json")
    options = parser.parse_args()
    use_one_thread()
    if options.again:
        stored = json.loads(options.out.read_text())
        projects, options.seed = stored["runs"], stored["seed"]
    else:
        plan = [(source, options.seed + number) for number in range(options.projects) for source in SOURCES]
        projects = []
        for source, seed in track(plan, "Projects"):
            projects.append(simulate(source, seed))
            options.out.write_text(json.dumps({"seed": options.seed, "runs": projects}) + "\n")
    report = report_of(projects, options.seed)
    options.out.write_text(json.dumps(report) + "\n")
    table = Table(*(name.replace("_", " ") for name in report["needed"][0]), title=f"{len(projects)} projects")
    for row in report["needed"]:
        table.add_row(*(str(value) for value in row.values()))
    Console(width=170).print(table)
    for row in report["ahead"]:
        Console(width=120).print(row)


if __name__ == "__main__":
    main()
