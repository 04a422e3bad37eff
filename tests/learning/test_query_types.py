"""Every kind of query of the paper's figure 1 is data x criterion x granularity."""

import numpy as np
import pytest

from bagwise import ActiveLearner, Bags, datasets
from bagwise.learning import criteria

DATA = datasets.load("synthetic", bags=30, classes=3, features=4)


def one_each(instances):
    return Bags(instances, np.arange(len(instances) + 1))


def answer(learner, truth, count):
    for _ in range(count):
        question = learner.ask()
        learner.tell(question, [bool(truth[question.bag, c]) for c in question.classes])
    return learner


CRITERIA = pytest.mark.parametrize("criterion", criteria.available())


@CRITERIA
def test_single_instances(criterion):
    """Bags of one: the model is multinomial logistic regression, a query asks whether an instance has a class."""
    bags = one_each(DATA.bags.instances[:60])
    truth = DATA.instance_labels[:60, None] == np.arange(3)
    learner = answer(ActiveLearner(bags, DATA.classes, criterion=criterion, audit=0), truth, 60)
    question = learner.ask()
    assert len(question.classes) == 1
    assert question.evidence == (0,)
    right = learner.model.predict_instance_proba(bags).argmax(axis=1) == DATA.instance_labels[:60]
    assert right.mean() > 0.5


@CRITERIA
def test_bags_with_one_class(criterion):
    """Multi-instance learning: the background is the other class."""
    truth = DATA.labels.value[:, :1]
    learner = answer(ActiveLearner(DATA.bags, ["it"], criterion=criterion, audit=0), truth, 25)
    assert learner.ask().classes == (0,)
    assert learner.model.score(DATA.bags, truth.astype(float)) > 0.5


@CRITERIA
def test_instances_of_positive_bags(criterion):
    """Only instances of bags known to have the class are worth asking one by one."""
    positive = np.flatnonzero(DATA.labels.value[:, 0])[:8]
    inside = DATA.select(positive)
    truth = (inside.instance_labels == 0)[:, None]
    learner = ActiveLearner(one_each(inside.bags.instances), ["it"], criterion=criterion, audit=0)
    answer(learner, truth, 15)
    assert learner.labels.n_known == 15


@CRITERIA
def test_whole_bags(criterion):
    learner = ActiveLearner(DATA.bags, DATA.classes, criterion=criterion, granularity="bag", audit=0)
    question = answer(learner, DATA.labels.value, 5).ask()
    assert question.classes == (0, 1, 2)
    assert learner.labels.n_known == 15


@CRITERIA
@pytest.mark.parametrize("granularity", ["pair", "bag_then_class"])
def test_pairs_and_bag_then_class(criterion, granularity):
    learner = ActiveLearner(DATA.bags, DATA.classes, criterion=criterion, granularity=granularity, audit=0)
    question = answer(learner, DATA.labels.value, 15).ask()
    assert len(question.classes) == 1
    assert learner.labels.n_known == 15
