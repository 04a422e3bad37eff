import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from bagwise import Bags, BagwiseError, Labels, MIMLClassifier, datasets
from bagwise.data import metrics


def test_scikit_learn_conventions(small):
    model = MIMLClassifier(solver="gd", prior=2.0, max_iter=3)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(prior=3.0).prior == 3.0
    assert repr(model) == "MIMLClassifier(max_iter=3, prior=3.0, solver='gd')"
    with pytest.raises(NotFittedError):
        model.predict(small[0])
    with pytest.raises(NotFittedError):
        _ = model.coef_
    assert model.fit(*small) is model


def test_shapes(small):
    bags, labels = small
    model = MIMLClassifier().fit(bags, labels)
    assert model.coef_.shape == (5, 3)
    assert model.intercept_.shape == (5,)
    assert model.predict_proba(bags).shape == (12, 4)
    assert set(np.unique(model.predict(bags))) <= {0, 1}
    assert model.predict_instance_proba(bags).shape == (len(bags.instances), 4)
    assert (model.predict_instance_proba(bags).sum(axis=1) < 1).all()
    without = MIMLClassifier(background=False).fit(bags, labels)
    assert without.coef_.shape == (4, 3)
    np.testing.assert_allclose(without.predict_instance_proba(bags).sum(axis=1), 1)


def test_a_plain_array_with_nan_and_a_list_of_bags_will_do(small):
    bags, labels = small
    expected = MIMLClassifier().fit(bags, labels)
    given = MIMLClassifier().fit(list(bags), labels.to_array())
    np.testing.assert_array_equal(given.weights_, expected.weights_)


@pytest.mark.parametrize("transformer", [StandardScaler(), make_pipeline(StandardScaler(), PCA(2, random_state=0))])
def test_any_transformer(small, transformer):
    bags, labels = small
    model = MIMLClassifier(transformer=transformer).fit(bags, labels)
    seen = clone(transformer).fit(bags.instances)
    by_hand = MIMLClassifier(transformer=None).fit(Bags(seen.transform(bags.instances), bags.offsets), labels)
    np.testing.assert_allclose(model.weights_, by_hand.weights_, atol=1e-4)
    assert not hasattr(transformer, "n_features_in_")


def test_features_of_very_different_scale_do_not_matter(small):
    bags, labels = small
    stretched = Bags(bags.instances * [1e-4, 1.0, 1e4] + [1.0, 0.0, -1e3], bags.offsets)
    first, second = (MIMLClassifier().fit(b, labels).predict_proba(b) for b in (bags, stretched))
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_float32_is_close_to_float64(small):
    bags, labels = small
    single = Bags(bags.instances.astype(np.float32), bags.offsets)
    probability = MIMLClassifier().fit(single, labels).predict_proba(single)
    assert probability.dtype == np.float32
    np.testing.assert_allclose(probability, MIMLClassifier().fit(bags, labels).predict_proba(bags), atol=1e-3)


@pytest.mark.parametrize("mean", [0.0, 1e2, 1e4])
def test_float32_features_far_from_zero(small, mean):
    bags, labels = small
    single = Bags((bags.instances + mean).astype(np.float32), bags.offsets)
    double = Bags(single.instances.astype(float), bags.offsets)
    model = MIMLClassifier().fit(double, labels)
    np.testing.assert_allclose(model.predict_proba(single), model.predict_proba(double), rtol=1e-4)
    fitted = MIMLClassifier().fit(single, labels)
    np.testing.assert_allclose(fitted.predict_proba(single), model.predict_proba(double), atol=5e-3)


def test_prior_and_penalty_are_two_words_for_one_thing(small):
    bags, labels = small
    by_prior = MIMLClassifier(prior=2.0).fit(bags, labels)
    by_penalty = MIMLClassifier(penalty=2.0 / labels.n_known).fit(bags, labels)
    np.testing.assert_allclose(by_prior.weights_, by_penalty.weights_, atol=1e-6)


@pytest.mark.parametrize(
    "transformer", ["standardise", None, make_pipeline(StandardScaler(), Nystroem(n_components=4))]
)
def test_save_and_load(small, tmp_path, transformer):
    bags, labels = small
    model = MIMLClassifier(transformer=transformer, random_state=3).fit(bags, labels)
    model.save(tmp_path / "model.npz")
    loaded = MIMLClassifier.load(tmp_path / "model.npz")
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.predict_proba(bags), model.predict_proba(bags))
    np.testing.assert_array_equal(loaded.log_likelihood_, model.log_likelihood_)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(bags), model.predict_proba(bags))


def test_what_cannot_be_saved_or_loaded_says_so(small, tmp_path):
    strange = MIMLClassifier(transformer=FunctionTransformer(np.abs)).fit(*small)
    with pytest.raises(BagwiseError, match="cannot be saved"):
        strange.save(tmp_path / "model.npz")
    with pytest.raises(BagwiseError, match="there is no model"):
        MIMLClassifier.load(tmp_path / "nowhere.npz")
    np.save(tmp_path / "array.npy", np.eye(2))
    np.savez(tmp_path / "arrays.npz", x=np.eye(2))
    (tmp_path / "other.npz").write_bytes(b"not a model")
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("array.npy", "arrays.npz", "other.npz", "empty.npz"):
        with pytest.raises(BagwiseError, match="not a Bagwise model"):
            MIMLClassifier.load(tmp_path / name)


def test_loading_makes_nothing_but_scikit_learn_objects(tmp_path):
    from bagwise.model import persistence

    persistence.write(tmp_path / "m.npz", {"transformer": StandardScaler()})
    text = np.load(tmp_path / "m.npz")["description"].item()
    forged = text.replace("sklearn.preprocessing._data", "subprocess").replace("StandardScaler", "Popen")
    np.savez(tmp_path / "m.npz", description=np.array(forged))
    with pytest.raises(BagwiseError, match="not trusted"):
        persistence.read(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda b, y: MIMLClassifier(prior=1.0, penalty=1.0).fit(b, y), "`prior` and `penalty` are both given"),
        (lambda b, y: MIMLClassifier(solver="magic").fit(b, y), "no solver 'magic': choose one of bag_sgd, gd, lbfgs"),
        (lambda b, y: MIMLClassifier(prior=-1.0).fit(b, y), "prior=-1.0"),
        (lambda b, y: MIMLClassifier(prior=np.inf).fit(b, y), "prior=inf"),
        (lambda b, y: MIMLClassifier(prior="1").fit(b, y), "prior='1'"),
        (lambda b, y: MIMLClassifier(max_iter=0).fit(b, y), "max_iter=0"),
        (lambda b, y: MIMLClassifier(random_state=-1).fit(b, y), "random_state=-1"),
        (lambda b, y: MIMLClassifier(transformer=FunctionTransformer(bad_log)).fit(b, y), "missing or infinite"),
        (lambda b, y: MIMLClassifier.from_weights([[1e308] * 3, [0] * 3]).predict([[[5.0] * 3]]), "too large"),
        (lambda b, y: MIMLClassifier(transformer="whiten").fit(b, y), "transformer='whiten'"),
        (lambda b, y: MIMLClassifier(background=False).fit(b, y.value[:, :1].astype(float)), "single class"),
        (lambda b, y: MIMLClassifier().fit(b, Labels.unknown(12, 4)), "No label is known"),
        (lambda b, y: MIMLClassifier().fit(b, Labels.unknown(11, 4)), "labels for 11 bags but 12"),
        (lambda b, y: MIMLClassifier().fit(b, y).predict([[[1.0]]]), "1 features but the model was fitted with 3"),
        (
            lambda b, y: MIMLClassifier().fit(b, y).partial_fit(b, Labels.unknown(12, 5)),
            "5 classes but the",
        ),
        (lambda b, y: MIMLClassifier().fit(b, y).score(b, y), "some are unknown"),
    ],
)
def test_mistakes_get_one_clear_sentence(small, act, words):
    with pytest.raises(BagwiseError, match=words):
        act(*small)


def bad_log(x):
    with np.errstate(all="ignore"):
        return np.log(x)


@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_no_more_iterations_than_allowed(small, max_iter):
    assert len(MIMLClassifier(max_iter=max_iter, tol=0.0).fit(*small).log_likelihood_) == max_iter + 1


def test_steps_taken_count_when_learning_goes_on(small):
    model = MIMLClassifier("bag_sgd", max_iter=5).fit(*small)
    labelled = int(small[1].known.any(axis=1).sum())
    assert model.n_steps_ == 5 * labelled
    assert model.partial_fit(*small).n_steps_ == 6 * labelled


def test_parameters_set_after_fitting_do_not_change_predictions(small):
    model = MIMLClassifier().fit(*small)
    before = model.predict_proba(small[0])
    np.testing.assert_array_equal(model.set_params(fit_intercept=False).predict_proba(small[0]), before)


def test_one_class_with_background(rng):
    bags = Bags.from_list([rng.normal(2 * (b % 2), 0.3, size=(3, 1)) for b in range(20)])
    model = MIMLClassifier().fit(bags, [[b % 2] for b in range(20)])
    assert model.score(bags, [[b % 2] for b in range(20)]) == 1


def test_weights_given_by_hand_act_on_raw_features(rng):
    weights = rng.normal(size=(3, 2))
    model = MIMLClassifier.from_weights(weights)
    bags = Bags.from_list([rng.normal(size=(2, 2)), rng.normal(size=(1, 2))])
    p = np.exp(bags.instances @ weights.T)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_instance_proba(bags), p)
    np.testing.assert_allclose(model.predict_proba(bags)[0], 1 - (1 - p[0]) * (1 - p[1]))
    np.testing.assert_array_equal(model.coef_, weights)


@given(st.integers(0, 10**6), st.floats(1e-4, 10), st.booleans(), st.integers(2, 5), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_the_minimiser_is_in_the_papers_ball(seed, penalty, background, classes, largest):
    """||W*|| <= tau for any data."""
    rng = np.random.default_rng(seed)
    bags = Bags.from_list([rng.normal(size=(rng.integers(1, largest + 1), 2)) for _ in range(6)])
    labels = Labels(rng.random((6, classes)) < 0.5, rng.random((6, classes)) < 0.7)
    if labels.n_known == 0:
        labels.record(0, 0, True)
    model = MIMLClassifier(penalty=penalty, background=background).fit(bags, labels)
    radius = model.objective_of(model.instances(bags), labels).radius
    assert np.linalg.norm(model.weights_) <= radius * (1 + 1e-9)


def test_it_learns_what_it_should_on_bags_drawn_from_the_model():
    data = datasets.load("synthetic", bags=400)
    train, test = np.arange(300), np.arange(300, 400)
    model = MIMLClassifier(background=False).fit(data.bags.select(train), data.labels.select(train))
    probability = model.predict_proba(data.bags.select(test))
    truth = data.labels.value[test]
    frequency = np.tile(data.labels.value[train].mean(axis=0), (100, 1))
    assert metrics.average_precision(truth, probability) > metrics.average_precision(truth, frequency) + 0.15
