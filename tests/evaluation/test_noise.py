"""Rates of wrong answers: recovered from agreement and from belief, and what follows from them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from bagwise import ActiveLearner, BagwiseError, Labels, MIMLClassifier, datasets
from bagwise.evaluation.noise import PRIOR_RATE, Answers, Rate, after_answer, estimate, flip_of, worth_asking
from bagwise.evaluation.noise.rates import _Posterior
from bagwise.model import out_of_fold
from bagwise.research.experiments.noisy_learner import RECONSIDER_EVERY, NoisyLearner
from bagwise.research.experiments.simulation import Simulation


def said_with(rng, truth, people, rates, times=1):
    """(pair, person, present) of `times` different people for every pair, each wrong at their rate."""
    return Answers.of(
        [
            (pair, person, bool(present) != (rng.random() < rates[person]))
            for pair, present in enumerate(truth)
            for person in rng.choice(people, times, replace=False)
        ]
    )


def world(rng, pairs, overconfident=1.0):
    evidence = 3 * rng.normal(size=pairs) - 1
    truth = rng.random(pairs) < 1 / (1 + np.exp(-evidence))
    return truth, 1 / (1 + np.exp(-overconfident * evidence))


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("overconfident", [1.0, 1.6])
def test_one_persons_rate_is_recovered_from_the_models_belief(rate, overconfident):
    inside, found = 0, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        truth, belief = world(rng, 800, overconfident)
        (one,) = estimate(said_with(rng, truth, 1, [rate]), belief, 800, 1).rates
        inside += one.low <= rate <= one.high
        found.append(one.rate)
    assert inside >= 17, "a 95 % interval misses in 4 of 20 less than once in sixty times"
    assert np.mean(found) == pytest.approx(rate, abs=0.02)


def test_rates_are_recovered_from_agreement_alone():
    rng = np.random.default_rng(5)
    truth = rng.random(900) < 0.3
    rates = [0.0, 0.05, 0.1, 0.2]
    found = estimate(said_with(rng, truth, 4, rates, times=3), None, 900, 4)
    for rate, one in zip(rates, found.rates, strict=True):
        assert one.low <= rate <= one.high
        assert one.rate == pytest.approx(rate, abs=0.03)
    assert np.mean((found.present > 0.5) == truth) > 0.97


def test_a_person_with_few_answers_has_a_sensible_rate():
    rng = np.random.default_rng(1)
    truth, belief = world(rng, 500)
    answers = said_with(rng, truth, 1, [0.1])
    newcomer = Answers.of([*zip(answers.pair, answers.person, answers.present, strict=True), (3, 1, not truth[3])])
    one, new, without = estimate(newcomer, belief, 500, 3).rates
    assert (one.answers, new.answers, without.answers) == (500, 1, 0)
    assert new.rate < 0.12
    assert without.rate == pytest.approx(PRIOR_RATE, abs=1e-4)
    assert without.low == 0 < without.high == pytest.approx(Rate().high, abs=2e-3)


def test_no_answers_no_estimate():
    found = estimate(Answers.of([]), None, 0, 0)
    assert found.rates == []
    assert len(found.present) == 0


def test_the_gradient_of_the_posterior():
    rng = np.random.default_rng(2)
    truth, belief = world(rng, 60)
    answers = said_with(rng, truth, 3, [0.1, 0.2, 0.3], times=2)
    posterior = _Posterior(answers, np.log(belief / (1 - belief)), 3)
    point = rng.normal(size=5)
    assert check_grad(lambda p: posterior(p)[0], lambda p: posterior(p)[1], point) < 1e-4


def test_wrong_answers_are_the_doubtful_ones():
    rng = np.random.default_rng(3)
    truth, belief = world(rng, 600)
    answers = said_with(rng, truth, 1, [0.1])
    wrong = answers.present != truth
    doubt = estimate(answers, belief, 600, 1).wrong(answers)
    first = np.argsort(-doubt)[: wrong.sum()]
    assert wrong[first].mean() > 3 * wrong.mean()
    assert doubt.sum() == pytest.approx(wrong.sum(), rel=0.35)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.floats(0.01, 0.45)), min_size=1, max_size=6),
    st.floats(0.001, 0.999),
    st.booleans(),
)
def test_one_label_with_a_rate_is_worth_all_the_answers(answers, present, counts):
    """P(answers) is proportional to (1 - f) P(counts) + f P(opposite), whatever the model says."""

    def likelihood(truth):
        return np.prod([1 - rate if answer == truth else rate for answer, rate in answers])

    exact = likelihood(not counts) / (likelihood(True) + likelihood(False))
    flip = flip_of(counts, answers)
    assert flip == pytest.approx(min(exact, 0.499))
    if exact < 0.499:
        prior = present if counts else 1 - present
        one_by_one = present
        for answer, rate in answers:
            one_by_one = after_answer(one_by_one, rate, answer)
        together = prior * (1 - flip) / (prior * (1 - flip) + (1 - prior) * flip)
        assert together == pytest.approx(one_by_one if counts else 1 - one_by_one, abs=1e-9)


@given(st.floats(0, 0.49), st.booleans())
def test_the_rate_of_a_single_answer_is_that_of_its_person(rate, answer):
    assert flip_of(answer, [(answer, rate)]) == rate


def test_a_person_who_is_never_wrong_decides():
    assert flip_of(True, [(True, 0.0), (False, 0.1)]) == 0
    assert flip_of(True, [(True, 0.1), (False, 0.1)]) == pytest.approx(0.499)


@given(st.floats(0, 1), st.floats(0, 0.49))
def test_an_answer_never_makes_it_worse(present, rate):
    worth = float(worth_asking(present, rate))
    assert -1e-12 <= worth <= min(present, 1 - present) + 1e-12
    assert worth_asking(0.5, rate) == pytest.approx(0.5 - rate)


def test_beliefs_are_out_of_fold(small):
    """Turning a bag's labels round changes what is believed of other bags, never of the bag itself."""
    bags, labels = small
    labels = Labels(labels.value, np.ones_like(labels.known))
    belief = out_of_fold(MIMLClassifier(), bags, labels)
    assert np.isfinite(belief).all()
    for bag in range(len(bags)):
        value = labels.value.copy()
        value[bag] ^= True
        turned = out_of_fold(MIMLClassifier(), bags, Labels(value, labels.known))
        np.testing.assert_array_equal(turned[bag], belief[bag])
        assert not np.array_equal(turned, belief)


def test_too_few_bags_for_folds(small):
    bags, _ = small
    labels = Labels.unknown(len(bags), 4)
    assert np.isnan(out_of_fold(MIMLClassifier(), bags, labels)).all()
    labels.record(3, 1, True)
    assert np.isnan(out_of_fold(MIMLClassifier(), bags, labels)).all()


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, "estimate"])
def test_careful_simulations_are_repeatable(noise):
    specification = Simulation(
        "synthetic", queries=RECONSIDER_EVERY + 30, evaluate_every=RECONSIDER_EVERY, update="bag_sgd", folds=5
    )
    plain = specification.run()
    wrong = Simulation(**{**vars(specification), "wrong": 0.2}).run()
    careful = Simulation(**{**vars(specification), "wrong": 0.2, "noise": noise, "again": noise == "estimate"})
    assert careful.run() == careful.run()
    assert [row["bag_accuracy"] for row in plain] != [row["bag_accuracy"] for row in wrong]
    assert {"wrong", "noise", "again"}.isdisjoint(plain[0]), "rows of runs without wrong answers stay as they were"
    assert wrong[0]["wrong"] == 0.2


def test_the_key_of_a_run_without_wrong_answers_is_what_it_was():
    assert Simulation("digits").key == "a6fb2fe030df8fe5840b"
    assert len({Simulation("digits", wrong=w, noise=n).key for w in (0.0, 0.1) for n in (0.0, 0.1, "estimate")}) == 6


@pytest.mark.parametrize("fields", [{"wrong": 0.5}, {"noise": -0.1}, {"noise": "magic"}, {"again": True}])
def test_invalid_noise_is_an_error(fields):
    with pytest.raises(BagwiseError, match=r"wrong answers|must be a rate"):
        Simulation("digits", **fields)


def test_a_careful_learner_asks_again_and_keeps_the_majority(monkeypatch):
    data = datasets.load("synthetic").select(range(40))
    first = data.labels.hide(np.arange(8, 40))
    given = (data.bags, data.classes, first, MIMLClassifier(), "balanced_uncertainty", "pair", "replay", 0.1, 0)
    careful = NoisyLearner(*given, noise=0.2, again=True)
    question = careful.ask()
    careful.tell(question, True)
    pair = question.bag, question.classes[0]
    assert careful.labels.flip[pair] == 0.2
    careful._believed = {pair: 0.5}
    again = ActiveLearner.ask(careful)
    assert (again.bag, again.classes[0]) == pair
    careful.tell(again, False)
    assert careful.labels.flip[pair] == pytest.approx(0.499), "nothing is learned from two opposite answers"
    careful.tell(again, False)
    assert not careful.labels.value[pair]
    assert careful.labels.flip[pair] == pytest.approx(0.2)
