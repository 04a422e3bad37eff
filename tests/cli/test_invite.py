"""The link of an invitation is one that the other person can open, and it says when it is not."""

import json

import pytest

from bagwise import server
from bagwise.cli import labelling
from bagwise.project.access import address
from tests.project.test_commands import bagwise, files, started

__all__ = ["files", "started"]
HERE = "192.0.2.7"


@pytest.fixture(autouse=True)
def network(monkeypatch):
    """A machine with this address in its network."""
    monkeypatch.setattr(address, "network_address", lambda: HERE)


@pytest.fixture
def serve(monkeypatch, started):
    """Serves, as far as that the server would start."""
    monkeypatch.setattr(server, "serve", lambda *_: None)
    monkeypatch.setattr(server, "validate_port", lambda *_: None)
    monkeypatch.setattr(labelling.Project, "make_ready", lambda self: None)
    return lambda *options: bagwise("serve", started / "p", "--no-browser", *options)


def link_for(name, started, *options):
    return json.loads(bagwise("invite", started / "p", name, "--json", *options)[1])["link"]


def test_before_it_was_served_the_link_has_the_address_of_this_machine(started):
    code, out, err = bagwise("invite", started / "p", "bea")
    assert code == 0, err
    assert f"http://{HERE}:8765/#token=" in out
    assert "127.0.0.1" not in out
    assert f"bagwise serve {started / 'p'} --host 0.0.0.0" in out


def test_the_link_has_the_address_that_it_was_served_at(started, serve):
    assert bagwise("invite", started / "p", "bea")[0] == 0
    assert f"http://{HERE}:9001/" in serve("--host", "0.0.0.0", "--port", 9001)[1]
    code, out, err = bagwise("invite", started / "p", "cem")
    assert code == 0, err
    assert f"http://{HERE}:9001/#token=" in out
    assert "--host" not in out, "it is served for others"
    serve("--at", "https://label.example.org")
    assert link_for("dan", started).startswith("https://label.example.org/#token=")
    assert link_for("eva", started, "--at", "https://other.org/").startswith("https://other.org/#token=")


def test_served_for_this_machine_only_is_said(started, serve):
    serve("--port", 9002)
    out = bagwise("invite", started / "p", "bea")[1]
    assert f"http://{HERE}:9002/#token=" in out
    assert "--host 0.0.0.0 --port 9002" in out
    assert "this machine only" in serve("--port", 9002)[1]


def test_a_machine_without_a_network_says_that_nobody_else_can_open_the_link(started, monkeypatch):
    monkeypatch.setattr(address, "network_address", lambda: None)
    out = bagwise("invite", started / "p", "bea")[1]
    assert "http://127.0.0.1:8765/#token=" in out
    assert "on this machine only" in out
