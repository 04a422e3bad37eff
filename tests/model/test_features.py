"""Many features, as embeddings have them, are scaled together."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, MIMLClassifier
from bagwise.model.features import MANY_FEATURES, TOTAL_VARIANCE, fit_transformer


@pytest.fixture
def embedded(rng):
    """Bags of features with different deviations around different means."""
    rows = rng.normal(3, 0.1 + rng.random(MANY_FEATURES), (60, MANY_FEATURES))
    return Bags(rows.astype(np.float32), np.arange(0, 61, 3))


def seen(model, bags):
    return model.instances(bags).transformed(0, len(bags.instances))[:, : bags.n_features]


def test_variances_add_up_whatever_the_number_and_the_unit_of_features(embedded):
    for bags in (embedded, Bags(embedded.instances * np.float32(1000), embedded.offsets)):
        rows = seen(MIMLClassifier().prepare(bags, 2), bags)
        assert rows.var(axis=0).sum() == pytest.approx(TOTAL_VARIANCE, rel=1e-4)
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-4)
        share = rows.std(axis=0) / bags.instances.std(axis=0)
        np.testing.assert_allclose(share, share[0], rtol=1e-3)


def test_features_of_other_units_each_have_their_own_scale(embedded):
    rows = embedded.instances.copy()
    rows[:, 7] *= 10_000
    bags = Bags(rows, embedded.offsets)
    variances = seen(MIMLClassifier().prepare(bags, 2), bags).var(axis=0)
    np.testing.assert_allclose(variances, TOTAL_VARIANCE / MANY_FEATURES, rtol=1e-3)


def test_fewer_features_and_a_scaler_that_is_given_are_standardised(embedded):
    fewer = Bags(np.ascontiguousarray(embedded.instances[:, 1:]), embedded.offsets)
    for bags, transformer in ((fewer, "standardise"), (embedded, StandardScaler())):
        scaler = fit_transformer(transformer, bags)
        np.testing.assert_allclose(scaler.scale_, bags.instances.std(axis=0), rtol=1e-5)


def test_features_that_do_not_vary_are_left_alone():
    bags = Bags(np.ones((4, MANY_FEATURES)), [0, 2, 4])
    np.testing.assert_array_equal(seen(MIMLClassifier().prepare(bags, 2), bags), 0)


def test_a_model_of_many_features_is_saved_as_it_is(embedded, tmp_path, rng):
    labels = (rng.random((20, 3)) < 0.5).astype(float)
    model = MIMLClassifier().fit(embedded, labels)
    model.save(tmp_path / "model.npz")
    found = MIMLClassifier.load(tmp_path / "model.npz").predict_proba(embedded)
    np.testing.assert_array_equal(found, model.predict_proba(embedded))
