"""A partitioned project whose questions are searched for on a cluster: in the library and on the page."""

import json
import urllib.request

import numpy as np
import polars as pl
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.project import Project, in_processes
from tests.project.test_commands import bagwise
from tests.server.conftest import Served

pytestmark = pytest.mark.usefixtures("one_process")


@pytest.fixture
def partitioned(make_project):
    """A plain project, and the same partitioned."""
    plain, other = make_project("plain"), make_project("partitioned")
    other.partition(3, None, in_processes)
    return plain, other


@pytest.mark.slow
def test_the_same_questions_as_in_one_process_and_what_was_learned_is_restored(partitioned, say):
    plain, other = partitioned
    other.close()
    with Project.open(other.folder, cluster="auto") as shared:
        for _ in range(25):
            asked, also = plain.ask("ann")[0], shared.ask("ann")[0]
            assert (asked.bag, asked.label_class, asked.question.evidence[0]) == (
                also.bag,
                also.label_class,
                also.question.evidence[0],
            )
            assert asked.question.belief[0] == pytest.approx(also.question.belief[0], rel=1e-6)
            plain.answer(asked.key, "ann", say(asked))
            shared.answer(also.key, "ann", say(also))
        here, there = plain.snapshot(), shared.snapshot()
        assert all(np.array_equal(value, there[name]) for name, value in here.items())
    with Project.open(other.folder) as again:
        assert again.ask("bob")[0].bag == plain.ask("bob")[0].bag
        assert all(np.array_equal(value, again.snapshot()[name]) for name, value in plain.snapshot().items())


@pytest.mark.slow
def test_a_project_in_one_file_is_refused(make_project):
    with pytest.raises(BagwiseError, match="import DIR --partition N"):
        Project.open(make_project().folder, cluster="auto")


@pytest.mark.slow
def test_the_page_asks_from_the_cluster(partitioned, cluster):
    plain, other = partitioned
    other.close()
    server = Served(other.folder, "--cluster", cluster)
    try:
        expected = plain.ask("ann")[0]
        asked = []
        for _ in range(4):
            question = json.load(urllib.request.urlopen(f"{server.address}/api/questions/next"))[0]
            asked.append((question["bag"]["id"], question["class_name"]))
            body = json.dumps({"key": question["key"], "answer": "absent"}).encode()
            headers = {"Content-Type": "application/json", "Origin": server.address}
            request = urllib.request.Request(f"{server.address}/api/answers", body, headers)
            assert urllib.request.urlopen(request).status == 200
        assert asked[0] == (plain.contents.ids[expected.bag], plain.classes[expected.label_class])
        assert len(set(asked)) == 4
    finally:
        server.stop()
    with Project.open(other.folder) as again:
        assert len(again.events) == 4


@pytest.mark.slow
def test_a_simulation_has_the_same_rows_on_a_cluster(tmp_path, cluster):
    options = ["digits", "--queries", 12, "--folds", 4, "--runs", 1, "--criterion", "uncertainty", "--every", 6]
    for name, more in (("here", []), ("there", ["--cluster", cluster])):
        code, _, err = bagwise("simulate", *options, *more, "--out", tmp_path / name)
        assert code == 0, err
    here, there = (pl.read_parquet(tmp_path / name / "rows.parquet") for name in ("here", "there"))
    assert here.equals(there)
