"""Settings that choose themselves: those that predict held-out labels better, reproducibly, and only with reason."""

import numpy as np
import pytest

from bagwise import Bags, Labels, MIMLClassifier
from bagwise.model import choose_settings


def rings(rng, count):
    """Two classes that no plane separates: near the origin, and around it."""
    bags, truth = [], []
    for _ in range(count):
        inner, outer = rng.integers(0, 2, size=2)
        angle = rng.uniform(0, 2 * np.pi, size=2)
        circle = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
        parts = [rng.normal(scale=0.3, size=(2, 2))] * inner + [circle] * outer
        bags.append(np.vstack(parts or [rng.normal(loc=8, scale=0.1, size=(1, 2))]))
        truth.append([inner, outer])
    return Bags.from_list(bags), Labels.from_array(np.array(truth, float))


def test_what_no_plane_separates_gets_the_curved_map(rng):
    bags, labels = rings(rng, 120)
    chosen, trials = choose_settings(MIMLClassifier(), bags, labels)
    assert chosen.transformer == "nystroem"
    fresh = rings(rng, 100)
    straight = MIMLClassifier().fit(bags, labels).score(*fresh)
    assert chosen.fit(bags, labels).score(*fresh) > straight + 0.1
    for setting in ("background", "transformer", "prior"):
        assert sum(trial.chosen for trial in trials if trial.setting == setting) == 1


def test_the_same_labels_give_the_same_choice_and_the_model_is_not_changed(rng):
    bags, labels = rings(rng, 60)
    model = MIMLClassifier()
    assert choose_settings(model, bags, labels)[1] == choose_settings(model, bags, labels)[1]
    assert not hasattr(model, "weights_")
    assert model.transformer == "standardise"


def test_few_labels_change_nothing(rng):
    bags, labels = rings(rng, 40)
    assert choose_settings(MIMLClassifier(prior=2.0), bags, labels)[0].prior == 2.0


def test_a_penalty_and_a_transformer_given_by_hand_are_left_alone(rng):
    bags, labels = rings(rng, 60)
    chosen, trials = choose_settings(MIMLClassifier(penalty=1e-3, transformer=None), bags, labels)
    assert {trial.setting for trial in trials} == {"background"}
    assert (chosen.penalty, chosen.transformer) == (1e-3, None)


@pytest.mark.parametrize("prior", [0.1, 1.0])
def test_a_curved_model_can_be_kept(rng, tmp_path, prior):
    bags, labels = rings(rng, 60)
    model = MIMLClassifier(transformer="nystroem", prior=prior).fit(bags, labels)
    model.save(tmp_path / "model.npz")
    again = MIMLClassifier.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict_proba(bags), model.predict_proba(bags))
