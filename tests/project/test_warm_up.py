"""Kernels are compiled before the first answer."""

import numpy as np

from bagwise.project import Project
from bagwise.project.training.warm_up import warm
from tests.conftest import source_of


def test_warming_up_changes_nothing(project):
    before = project.learner.snapshot()
    warm(project)
    assert project.events == []
    for name, value in project.learner.snapshot().items():
        assert np.array_equal(value, before[name])


def test_the_smallest_project_can_be_warmed_up(tmp_path, synthetic):
    with Project.create(tmp_path / "one", source_of(synthetic.select(np.arange(1))), classes=["only"]) as project:
        warm(project)
