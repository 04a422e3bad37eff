"""What is sent of a question: all of its model, its numbers exactly, each encoded once."""

import json
from dataclasses import replace

import numpy as np
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bagwise.server import application
from bagwise.server.bags import shortened
from bagwise.server.question_encoder import QuestionEncoder, QuestionOut


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url="http://127.0.0.1:8765") as client:
        yield client


def test_all_of_a_question_is_sent_and_the_numbers_of_its_bags(client, project, say):
    for _ in range(12):
        (lease,) = project.ask("ann")
        project.answer(lease.key, "ann", say(lease))
    received = client.get("/api/questions/next", params={"count": 8}).json()
    assert [QuestionOut.model_validate(one).model_dump(mode="json") for one in received] == received
    shown = [bag for one in received for bag in (one["bag"], *one["examples"])]
    assert len(shown) > len(received), "some class was found in a bag"
    positions = {str(name): place for place, name in enumerate(project.contents.ids)}
    for bag in shown:
        x = project.bags[positions[bag["id"]]]
        assert np.array_equal(np.array(bag["instances"], x.dtype), x)


@given(arrays(np.float32, (3, 4), elements=st.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_numbers_are_sent_with_the_digits_that_their_type_needs(x):
    for kind in (np.float32, np.float16, np.float64):
        with np.errstate(over="ignore"):
            values = np.nan_to_num(x.astype(kind), posinf=1.0, neginf=1.0)
        assert np.array_equal(np.array(shortened(values)).astype(kind), values)
    digits = len(repr(shortened(np.float32([[1 / 3]]))[0][0]).removeprefix("0."))
    assert digits <= 9


def test_what_is_known_is_not_sent_again(client):
    first, second, third = client.get("/api/questions/next?count=3").json()
    known = f"{first['key']},{third['key']},of somebody else"
    assert client.get("/api/questions/next", params={"count": 3, "known": known}).json() == [second]
    *rest, new = client.get("/api/questions/next", params={"count": 4, "known": known}).json()
    assert rest == [second]
    assert new["key"] not in (first["key"], second["key"], third["key"])
    every = ",".join(one["key"] for one in (first, second, third, new))
    assert client.get("/api/questions/next", params={"count": 4, "known": every}).json() == []


def test_an_example_is_as_it_is_now(client, project):
    """What is encoded once is what would be encoded now: also after somebody has said where."""
    (lease,) = project.ask("ann")
    project.answer(lease.key, "ann", "present")
    (asked,) = project.ask("bea")
    about = [replace(asked, question=replace(asked.question, classes=(lease.label_class,)))]
    encoder = QuestionEncoder()

    def example():
        (question,) = map(json.loads, encoder(project, about))
        (found,) = [one for one in question["examples"] if one["id"] == str(project.contents.ids[lease.bag])]
        return found

    first = example()
    assert first == example()
    assert first["known"] == []
    project.correct(1, "ann", "present", where=[0])
    assert [one["instance"] for one in example()["known"]] == [0]
