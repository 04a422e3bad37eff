"""A graphics card end to end: the same questions and weights as the CPU, `tell` + `ask` by parts, and what bounds it.

    PYTHONPATH=src python benchmarks/gpu.py --out FOLDER             # under 8 minutes on an H200 with 16 cores
    PYTHONPATH=src python benchmarks/gpu.py --quick --out FOLDER     # the same parts, small; runs on torch's CPU too

It needs numpy, scipy, scikit-learn, numba, threadpoolctl, filelock, torch and triton; only the part `project` needs
`bagwise[app]`. Each part is measured by itself and written to `card.json` when it is done; one that fails is reported,
and the others go on. `--only sweep` tries other tiles for the kernels. Without a card and without `--quick` nothing is
worth measuring.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
from contextlib import contextmanager
from dataclasses import fields
from itertools import pairwise, product
from pathlib import Path

if "--quick" in sys.argv and "TRITON_INTERPRET" not in os.environ:
    import torch

    if not torch.cuda.is_available():
        os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch

from bagwise import ActiveLearner, Bags, MIMLClassifier
from bagwise.data.label_store import LabelStore
from bagwise.kernels import gpu
from bagwise.kernels.gpu import fused
from bagwise.learning import criteria, top_k_gpu
from bagwise.learning.cold_start import ColdStart
from bagwise.learning.pool import LocalPool
from bagwise.learning.top_k_gpu import GpuTopK
from bagwise.model.objective import Objective
from bagwise.model.solvers import Settings, lbfgs
from bagwise.research.bench.pools import AskTellLoop, PoolSize, RandomPool

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STARTED = time.perf_counter()
FOUND: dict = {}


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds(job, rounds):
    """Median seconds of a job, after two that warm up."""
    times = []
    for number in range(rounds + 2):
        wait()
        start = time.perf_counter()
        job()
        wait()
        if number > 1:
            times.append(time.perf_counter() - start)
    return float(np.median(times))


def say(name, **values):
    FOUND.setdefault(name.split(":")[0], {})[name] = values
    shown = ", ".join(
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in values.items()
    )
    print(f"[{time.perf_counter() - STARTED:5.0f} s] {name}: {shown}", flush=True)


# (a) The same questions


def a_small_pool(seed=0, bags=400, features=16, classes=6):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, bags)
    x = rng.normal(size=(sizes.sum(), features)).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    weights = rng.normal(size=(classes, features))
    truth = np.array([(x[a:b] @ weights.T).max(axis=0) > 5 for a, b in pairwise(offsets)])
    return Bags(x, offsets), truth, [str(c) for c in range(classes)]


def same_questions(quick):
    """Ask both after every answer, until one thousand answers or the time is up."""
    bags, truth, classes = a_small_pool(bags=60 if quick else 400)
    limit, answers = (20, 4) if quick else (150, 1000)
    runs = [(name, "replay", "pair") for name in criteria.available()]
    runs += [("widening_uncertainty", "lbfgs", "pair"), ("uncertainty", "bag_sgd", "pair")]
    for criterion, update, granularity in runs:
        options = {"criterion": criterion, "update": update, "granularity": granularity, "random_state": 1}
        here = ActiveLearner(bags, classes, cold_start=ColdStart(4, 8), **options)
        there = ActiveLearner(
            classes=classes, pool=LocalPool(bags, GpuTopK(DEVICE)), cold_start=ColdStart(4, 8), **options
        )
        asked = equal = rankings = 0
        began = time.perf_counter()
        while asked < answers and time.perf_counter() - began < limit:
            question = here.ask()
            equal += question == there.ask()
            asked += 1
            if asked % 50 == 1:
                rankings += here.rank(500) == there.rank(500)
            present = bool(truth[question.bag, question.classes[0]])
            for learner in (here, there):
                learner.tell(question, present)
        same = bool(np.array_equal(here.model.weights_, there.model.weights_))
        say(
            f"questions: {criterion}, {update}", answers=asked, equal=equal, rankings_of_500=rankings,
            of=-(-asked // 50), same_weights=same, ms_both=1000 * (time.perf_counter() - began) / max(asked, 1),
        )  # fmt: skip


# A project, in this process and served


def projects(quick):
    """A project answered on the CPU and one on the card, which the CPU replays to the same model; and a real server."""
    from bagwise.formats import Source
    from bagwise.project import Project, check

    bags, truth, classes = a_small_pool(bags=200 if quick else 100_000, features=64, classes=16)
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / "made"
        source = Source.of_bags(Path("random.npz"), list(bags), [f"bag {number}" for number in range(len(bags))])
        Project.create(made, source, classes=classes).close()
        for device in ("cpu", "cuda" if DEVICE == "cuda" else "auto"):
            place = Path(temporary) / device
            shutil.copytree(made, place)
            with Project.open(place, device=device) as project:
                times = answered(project, truth, 10 if quick else 150)
                weights = project.online_model().weights_
            with Project.open(place, device="cpu") as project:
                same, found = bool(np.array_equal(project.online_model().weights_, weights)), check(project)
            say(
                f"project: {len(bags):,} bags, in process, {device}",
                answer_to_next_ms=1000 * float(np.median(times)), slowest_ms=1000 * max(times),
                same_weights_on_cpu=same, checked=str([one.wrong for one in found if one.wrong] or "all is well"),
            )  # fmt: skip
        if DEVICE == "cuda":
            serve(Path(temporary) / "cuda", truth)


def answered(project, truth, count):
    times = []
    (question,) = project.ask("ann")
    for _ in range(count):
        start = time.perf_counter()
        project.answer(question.key, "ann", "present" if truth[question.bag, question.label_class] else "absent")
        (question,) = project.ask("ann")
        times.append(time.perf_counter() - start)
    return times


def serve(folder, truth):
    """`bagwise serve --device cuda`: the first question, answers over HTTP, and memory of the card in its processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started, at = time.perf_counter(), f"http://127.0.0.1:{port}/api"
    command = [sys.executable, "-m", "bagwise", "serve", folder, "--device", "cuda", "--no-browser", "--port", port]
    process = subprocess.Popen(list(map(str, command)))
    try:
        while True:
            try:
                question = sent(f"{at}/questions/next")[0]
                break
            except OSError:
                if process.poll() is not None or time.perf_counter() - started > 120:
                    raise
                time.sleep(0.1)
        say("project: served, first question", seconds=time.perf_counter() - started)
        times = []
        for _ in range(100):
            start = time.perf_counter()
            pair = int(question["bag"]["id"].split()[1]), int(question["class_name"])
            answer = "present" if truth[pair] else "absent"
            sent(f"{at}/answers", {"key": question["key"], "answer": answer})
            question = sent(f"{at}/questions/next")[0]
            times.append(time.perf_counter() - start)
        used = subprocess.run(
            ["nvidia-smi", "--query-compute-apps=used_memory", "--format=csv,noheader"], capture_output=True, text=True
        ).stdout.split("\n")
        say("project: served, answers", answer_to_next_ms=1000 * float(np.median(times)), on_card=str(used[:-1]))
    finally:
        process.terminate()
        process.wait(60)


def sent(address, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


# (b) 64 million pairs


@contextmanager
def timed(parts, owner, *names):
    """Add up the seconds of some functions of a class or module, waiting for the device before and after each."""
    before = {name: getattr(owner, name) for name in names}

    def counted(name, function):
        def call(*given, **options):
            wait()
            start = time.perf_counter()
            result = function(*given, **options)
            wait()
            parts[name] = parts.get(name, 0.0) + time.perf_counter() - start
            return result

        return call

    for name in names:
        setattr(owner, name, counted(name, before[name]))
    try:
        yield
    finally:
        for name in names:
            setattr(owner, name, before[name])


def large_pool(quick):
    return RandomPool(PoolSize(2_000 if quick else 1_000_000, 8, 128 if not quick else 16, 64 if not quick else 16))


def ask_and_tell(learner, truth):
    question = learner.ask()
    learner.tell(question, bool(truth[question.bag, question.classes[0]]))


def tell_and_ask(pool, quick):
    began = time.perf_counter()
    learner = ActiveLearner(
        classes=pool.classes, pool=LocalPool(pool.bags, GpuTopK(DEVICE)), labels=pool.labels(),
        model=MIMLClassifier(max_iter=3), audit=0.0,
    )  # fmt: skip
    learner.ask()
    wait()
    say("tell + ask: preparing", seconds=time.perf_counter() - began)
    # A card that was idle takes a while to reach its clock.
    for _ in range(2 if quick else 50):
        ask_and_tell(learner, pool.truth)
    names = ("widening_uncertainty", "uncertainty", "expected_gradient_length")
    for criterion in names:
        learner.criterion = criterion
        # 24 steps of replay between two refits; a refit is measured by itself.
        times = []
        for _ in range(2 if quick else 23):
            wait()
            start = time.perf_counter()
            ask_and_tell(learner, pool.truth)
            wait()
            times.append(time.perf_counter() - start)
        parts: dict = {}
        rounds = 1 if quick else 8
        with (
            timed(parts, GpuTopK, "_at_best", "_upper_bounds", "_exact_scores", "best"),
            timed(parts, top_k_gpu, "best_pairs"),
            timed(parts, ActiveLearner, "_explained"),
            timed(parts, ActiveLearner, "tell"),
        ):
            for _ in range(rounds):
                ask_and_tell(learner, pool.truth)
        ms = {name: 1000 * value / rounds for name, value in parts.items()}
        say(
            f"tell + ask: {criterion}", median_ms=1000 * float(np.median(times)), slowest_ms=1000 * max(times),
            scoring_ms=ms["_at_best"], bounds_ms=ms["_upper_bounds"] - ms["_at_best"],
            contest_ms=ms["best"] - ms["_upper_bounds"], exact_scores_ms=ms.get("_exact_scores", 0.0),
            ties_ms=ms.get("best_pairs", 0.0), evidence_ms=ms["_explained"], tell_ms=ms["tell"],
            share_contested=float(learner.statistics.looked_at[-1]),
        )  # fmt: skip
    learner.criterion = names[0]
    rounds = 1 if quick else 4
    say("tell + ask: ranking of 2,000", ms=1000 * seconds(lambda: learner.rank(2000), rounds))
    learner.audit = 1.0
    say("tell + ask: an audit", ms=1000 * seconds(learner.ask, rounds))
    learner.audit, learner.cold_start = 0.0, ColdStart(discovered=0, completed=10**6, searches=False)
    say("tell + ask: bag completion", ms=1000 * seconds(learner.ask, rounds))
    learner.cold_start = False
    learner.candidates = np.random.default_rng(0).random(len(pool.bags)) < 0.5
    say("tell + ask: half of the bags are candidates", ms=1000 * seconds(learner.ask, rounds))
    learner.candidates = None
    return learner


# (c) Learning


def learning(pool, learner, quick):
    """F over many labelled bags, and L-BFGS on it, on the card and on the CPU: the same bits."""
    for bags in (200,) if quick else (10_000, 100_000):
        learned_alike(pool, learner, bags, quick)


def learned_alike(pool, learner, bags, quick):
    labels = pool.labels()
    labels.known[:bags] |= np.random.default_rng(1).random((bags, len(pool.classes))) < 0.1
    labels.value[:bags] = pool.truth[:bags] & labels.known[:bags]
    on_card, _ = learner._pool.objective(learner.model, LabelStore(labels), np.empty(0, int))
    on_cpu = Objective(**{one.name: getattr(on_card, one.name) for one in fields(Objective)})
    weights, settings = learner.model.weights_.copy(), Settings(max_iter=3 if quick else 30)
    (value, slope), (other, other_slope) = on_card(weights), on_cpu(weights)
    say(
        f"learning: F and its gradient, {bags} labelled bags",
        card_ms=1000 * seconds(lambda: on_card(weights), 1 if quick else 5),
        cpu_ms=1000 * seconds(lambda: on_cpu(weights), 1 if quick else 2),
        equal=value == other and bool(np.array_equal(slope, other_slope)),
        on_card=on_card._likelihood is not None,
    )
    found, spent = [], []
    for objective in (on_card, on_cpu) if bags <= 10_000 else (on_card,):
        start = time.perf_counter()
        found.append(lbfgs.minimise(objective, weights, settings))
        spent.append(time.perf_counter() - start)
    compared = {"cpu_s": spent[1], "equal": bool(np.array_equal(*found))} if len(found) > 1 else {}
    say(f"learning: 30 iterations of L-BFGS, {bags} labelled bags", card_s=spent[0], **compared)


# (d) 10,000 bags


def small_default(quick):
    pool = RandomPool(PoolSize(300 if quick else 10_000))
    for criterion in ("widening_uncertainty", "uncertainty", "expected_gradient_length"):
        found = {}
        for device in ("cpu", DEVICE):
            found[device] = 1000 * seconds(AskTellLoop(pool, criterion, "replay", device), 3 if quick else 48)
        say(f"10,000 bags: tell + ask, replay, {criterion}", **{f"{name}_ms": value for name, value in found.items()})


# (e) Bounds and tiles


def copied(x, rounds):
    target = torch.empty_like(x)
    return seconds(lambda: target.copy_(x), rounds)


def bounds(pool, quick):
    instances = MIMLClassifier.from_weights(pool.weights).instances(pool.bags)
    resident = gpu.Resident.of(instances, DEVICE, stream=False)
    x, w, weights = resident.x, torch.as_tensor(pool.weights, device=DEVICE), pool.weights.astype(float)
    rounds = 1 if quick else 9
    copy = copied(x, rounds)
    say("bounds: reading the features once", ms=1000 * copy / 2, tb_per_second=2 * x.nbytes / copy / 1e12)
    flops = 2 * len(x) * x.shape[1] * len(w)
    for tf32 in (False, True):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        spent = seconds(lambda: x @ w.T, rounds)
        say(f"bounds: product X @ W.T, {'TF32' if tf32 else 'float32'}", ms=1000 * spent, tflops=flops / spent / 1e12)
    torch.backends.cuda.matmul.allow_tf32 = False
    factors = torch.full((len(w),), 2.0, device=DEVICE)
    jobs = {"uncertainty": gpu.label_variances, "EGL": gpu.expected_lengths}
    for (name, job), tf32 in product(jobs.items(), (False, True)):
        kind = "TF32" if tf32 else "float32"
        spent = seconds(lambda job=job, tf32=tf32: job(resident, weights, factors, tf32=tf32), rounds)
        say(f"scoring: {name}, {kind}", ms=1000 * spent)
    return resident, weights, factors


def sweep(resident, weights, factors):
    """Other tiles for the kernels: the fastest few of each."""
    tiles = [
        fused.Tile(numbers, warps, features, stages, registers)
        for numbers, warps, features, stages, registers in product(
            (1024, 2048, 4096, 8192), (1, 2, 4, 8), (32, 64, 128), (1, 2, 3), (None, 128, 168)
        )
    ]
    for name, job, table, choice in (
        (
            "uncertainty",
            gpu.label_variances,
            fused.PRESENCE_TILES,
            [one for one in tiles if one.numbers >= 2048 and one.warps >= 4 and one.registers is None],
        ),
        (
            "EGL",
            gpu.expected_lengths,
            fused.LENGTH_TILES,
            [one for one in tiles if one.numbers == 2048],
        ),
    ):
        for tf32 in (True, False):
            kept, found, began = table[tf32], [], time.perf_counter()
            for tile in sorted(choice, key=lambda one: (one.stages, one.features != 64, one.numbers)):
                if time.perf_counter() - began > 12:
                    break
                table[tf32] = tile
                try:
                    spent = seconds(lambda job=job, tf32=tf32: job(resident, weights, factors, tf32=tf32), 3)
                    found.append((1000 * spent, tile))
                except Exception:  # a tile that does not fit the card
                    found.append((float("inf"), tile))
            table[tf32] = kept
            found.sort(key=lambda one: one[0])
            best = "; ".join(
                f"{ms:.2f} ms {tile.numbers}/{tile.warps}w/{tile.features}f/{tile.stages}s/{tile.registers}r"
                for ms, tile in found[:4]
            )
            say(f"sweep: {name}, {'TF32' if tf32 else 'float32'}", tried=len(found), best=best)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", help="of: small questions large learning bounds project sweep")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "torch on the CPU"
    FOUND["machine"] = {"device": name, "torch": torch.__version__, "cores": os.cpu_count()}
    print(FOUND["machine"], flush=True)
    held: dict = {}

    def large():
        held["pool"] = large_pool(given.quick)
        say("tell + ask: pool", made_s=time.perf_counter() - STARTED)
        held["learner"] = tell_and_ask(held["pool"], given.quick)

    def bounds_of_large():
        held.pop("learner", None)
        return bounds(held["pool"] if "pool" in held else large_pool(given.quick), given.quick)

    parts = {
        "small": lambda: small_default(given.quick),
        "questions": lambda: same_questions(given.quick),
        "large": large,
        "learning": lambda: learning(held["pool"], held["learner"], given.quick),
        "bounds": bounds_of_large,
        "project": lambda: projects(given.quick),
        "sweep": lambda: sweep(*bounds_of_large()),
    }
    for part in given.only or [name for name in parts if name != "sweep"]:
        run = parts[part]
        try:
            run()
        except Exception:
            FOUND.setdefault("failed", {})[part] = traceback.format_exc()
            traceback.print_exc()
        (given.out / "card.json").write_text(json.dumps(FOUND, indent=1, default=str))
    print(f"{time.perf_counter() - STARTED:.0f} s in all; failed: {list(FOUND.get('failed', {}))}")


if __name__ == "__main__":
    main()
