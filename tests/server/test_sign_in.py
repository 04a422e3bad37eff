"""Several people: who gets in, who does not, and what each of them sees in a real browser."""

import http.client
import json

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.core.errors import BagwiseError
from bagwise.project import Invitations, NotSignedIn, Project, participants
from bagwise.project.access.invitations import Shown
from bagwise.project.storage import queries
from bagwise.server import Site, application, rate_limit
from bagwise.server.dependencies import cookie_of
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.server.test_page import wait_for_events
from tests.support import example_media

HERE = "http://127.0.0.1:8765"


@pytest.fixture
def client(project):
    with TestClient(application(project, "ann"), base_url=HERE) as client:
        yield client


@pytest.fixture
def people(project):
    return Invitations(project.database)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def test_without_invitations_the_one_who_serves_answers(client, project):
    me = client.get("/api/me").json()
    assert me == {"name": "ann", "project": project.contents.project, "adjudicator": False, "signed_in": False}
    assert client.get("/api/me", headers=bearer("x")).status_code == 401, "a wrong token is never overlooked"
    client.cookies.set("bagwise-other", "x")
    assert client.get("/api/status").json()["annotator"] == "ann"


def test_once_somebody_is_invited_everybody_signs_in(client, people, project):
    token = people.invite("bea")
    refused = client.get("/api/status")
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert "Sign in" in refused.json()["detail"]
    assert client.get("/api/me", headers=bearer(token)).json()["name"] == "bea"
    signed = client.post("/api/sign-in", json={"token": token})
    assert signed.json() == {
        "name": "bea",
        "project": project.contents.project,
        "adjudicator": False,
        "signed_in": True,
    }
    cookie = signed.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age="))
    (question,) = client.get("/api/questions/next").json()
    assert client.post("/api/answers", json={"key": question["key"], "answer": "absent"}).json()["annotator"] == "bea"
    kept = client.cookies.get(cookie_of(project))
    assert client.post("/api/sign-out", json={}).status_code == 200
    assert client.get("/api/status").status_code == 401
    client.cookies.set(cookie_of(project), kept)
    assert client.get("/api/status").status_code == 401, "a session that ended stays ended"


def test_who_is_remembered_is_still_looked_up_when_they_answer_or_ask(client, people, project):
    tokens = {name: people.invite(name) for name in ("bea", "cem")}
    asked = {name: client.get("/api/questions/next", headers=bearer(one)).json() for name, one in tokens.items()}
    people.revoke("bea")
    for name, code in (("bea", 401), ("cem", 200)):
        (question,), one = asked[name], bearer(tokens[name])
        answer = {"key": question["key"], "answer": "absent"}
        assert client.post("/api/answers", json=answer, headers=one).status_code == code
        assert client.get("/api/questions/next", headers=one).status_code == code
    assert [event.annotator for event in project.events] == ["cem"]


def test_who_was_revoked_does_not_learn_what_is_in_the_project(client, people, project):
    """What is wrong with a request says something about the project: first of all it is looked up who sent it."""
    headers = bearer(people.invite("bea"))
    (question,) = client.get("/api/questions/next", headers=headers).json()
    people.revoke("bea")
    bag, names = question["bag"]["id"], {"class_name": question["class_name"], "key": "k", "answer": "absent"}
    whole = {"classes": [question["class_name"]], "present": [], "key": "w"}
    for method, path, sent in [
        *(("GET", f"/api/questions/next?{query}", None) for query in ("site=nope", "region=nonsense", "hours=9-4")),
        *(("POST", "/api/answers", {**names, "bag": one}) for one in (bag, "nope")),
        *(("POST", "/api/answers/whole", {**whole, "bag": one}) for one in (bag, "nope")),
    ]:
        refused = client.request(method, path, json=sent, headers=headers)
        assert (refused.status_code, "nope" in refused.text) == (401, False), path
    assert not project.events


def test_where_nobody_had_to_sign_in_before_the_next_request_has_to(client, people, project):
    (question,) = client.get("/api/questions/next").json()
    people.invite("bea")
    assert client.post("/api/answers", json={"key": question["key"], "answer": "absent"}).status_code == 401
    assert client.get("/api/questions/next").status_code == 401
    assert not project.events


def test_every_route_asks_who_calls(client, people):
    """A route that forgets to is a hole: all but those that let people in are tried."""
    people.invite("bea")
    open_to_all = {"/api/sign-in", "/api/sign-out"}
    described = client.get("/api/openapi.json").json()["paths"]
    assert open_to_all < set(described)
    for path, methods in described.items():
        for method, what in methods.items():
            if path in open_to_all:
                continue
            assert {"HTTPBearer": []} in what["security"], path
            assert client.request(method, path.replace("{", "").replace("}", ""), json={}).status_code in (401, 422)
            assert "401" in what["responses"]


def test_each_request_of_a_batch_is_of_its_own_person(people):
    assert people.who([Shown(), Shown(session="x")]) == [None, None]
    tokens = {name: people.invite(name) for name in ("ann", "bea", "cid")}
    people.revoke("cid")
    session = people.sign_in(tokens["bea"])
    shown = [Shown(tokens["ann"]), Shown("forged"), Shown(session=session), Shown(), Shown(tokens["cid"])]
    found = people.who([*shown, *shown[::-1], Shown(tokens["ann"], session)])
    assert [name if isinstance(name, str) else type(name) for name in found] == [
        "ann", NotSignedIn, "bea", NotSignedIn, NotSignedIn,
        NotSignedIn, NotSignedIn, "bea", NotSignedIn, "ann",
        "ann",
    ]  # fmt: skip


def test_expired_revoked_and_forged_tokens(client, people, project, monkeypatch):

    token = people.invite("bea", days=2)
    client.post("/api/sign-in", json={"token": token})
    assert client.get("/api/me").json()["name"] == "bea"
    clock = queries.clock
    monkeypatch.setattr(queries, "clock", lambda connection: clock(connection) + 3 * 24 * 3600)
    assert client.get("/api/me", headers=bearer(token)).status_code == 401
    assert client.get("/api/me").status_code == 401, "a session ends with its invitation"
    assert client.post("/api/sign-in", json={"token": token}).json()["detail"].startswith("This token has expired")
    monkeypatch.undo()
    fresh = people.invite("bea")
    assert client.get("/api/me", headers=bearer(token)).status_code == 401, "a new invitation ends the old one"
    assert client.get("/api/me", headers=bearer(fresh)).status_code == 200
    client.post("/api/sign-in", json={"token": fresh})
    people.revoke("bea")
    assert client.get("/api/me", headers=bearer(fresh)).status_code == 401
    assert client.get("/api/me").status_code == 401, "who is revoked is signed out"
    assert client.get("/api/status").status_code == 401, "a project that had invitations is never open to all"
    with project.database.engine.connect() as connection:
        stored = connection.exec_driver_sql("SELECT hash FROM invitations").scalars().all()
    for forged in ("", "x", fresh[:-1], fresh + "A", fresh.swapcase(), stored[0], "' OR 1=1 --", "ü" * 20):
        with pytest.raises(NotSignedIn):
            people.with_token(forged)


def test_a_session_ends_by_itself(people, monkeypatch):

    session = people.sign_in(people.invite("bea"))
    assert people.with_session(session) == "bea"
    clock = queries.clock
    monkeypatch.setattr(queries, "clock", lambda connection: clock(connection) + 31 * 24 * 3600)
    assert people.with_session(session) is None


def test_forged_sessions(client, people, project):
    session = people.sign_in(people.invite("bea"))
    with project.database.engine.connect() as connection:
        (stored,) = connection.exec_driver_sql("SELECT hash FROM sessions").scalars().all()
    assert stored != session
    for forged in ("x", stored, session[:-1], f"{session}A", '"bea"', "bea"):
        client.cookies.set(cookie_of(project), forged)
        refused = client.get("/api/me")
        assert refused.status_code == 401
        assert "Max-Age=0" in refused.headers["set-cookie"], "the browser forgets what is good for nothing"
        client.cookies.clear()


def test_guessing_is_slowed_and_a_right_token_always_gets_in(project, people, monkeypatch):

    token = people.invite("bea")
    with TestClient(application(project, "ann"), base_url=HERE) as client:
        for guess in range(rate_limit.WRONG_TOKENS):
            assert client.post("/api/sign-in", json={"token": f"guess {guess}"}).status_code == 401
        slowed = client.post("/api/sign-in", json={"token": "one more"})
        assert slowed.status_code == 429
        assert int(slowed.headers["retry-after"]) == rate_limit.SECONDS
        assert client.get("/api/me", headers=bearer("another")).status_code == 429
        assert client.get("/api/me", headers=bearer(token)).status_code == 200
        assert client.post("/api/sign-in", json={"token": token}).status_code == 200
        monkeypatch.setattr(client.app.state.rate_limit, "_clock", lambda: __import__("time").monotonic() + 61)
        assert client.post("/api/sign-in", json={"token": "one more"}).status_code == 401


def test_one_wrong_token_again_and_again_is_only_that_token(client, people):
    """A script that goes on with a token that has run out does not speak for others at its address."""

    people.invite("bea")
    for _ in range(rate_limit.WRONG_TOKENS):
        assert client.get("/api/me", headers=bearer("old")).status_code == 401
    for _ in range(3):
        assert client.get("/api/me", headers=bearer("old")).status_code == 429
    told = client.post("/api/sign-in", json={"token": "typed wrong"})
    assert told.status_code == 401
    assert "unknown or revoked" in told.json()["detail"]


def guesses(running, count, **headers):
    """What a script hears that tries another wrong token each time."""
    codes = []
    for guess in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=600)
        named = {name: value.format(guess) for name, value in headers.items()}
        connection.request("GET", "/api/me", headers={"Authorization": f"Bearer guess-{guess}", **named})
        codes.append(connection.getresponse().status)
        connection.close()
    return codes


def test_nobody_chooses_their_own_address(running):
    """Each guess pretends to come from elsewhere; so it does to uvicorn as it is, from this machine."""
    Invitations(running.project.database).invite("bea")
    assert guesses(running, 12, **{"X-Forwarded-For": "10.1.1.{}"}) == [401] * 10 + [429] * 2


def test_a_proxy_that_is_trusted_says_who_calls(tmp_path):
    example_media.make_demo(tmp_path / "digits")
    running = Running(tmp_path / "digits", proxies=("127.0.0.1",))
    try:
        token = Invitations(running.project.database).invite("bea")
        assert guesses(running, 12, **{"X-Forwarded-For": "10.1.1.{}"}) == [401] * 12
        assert guesses(running, 12, **{"X-Forwarded-For": "10.1.1.{}, 192.0.2.7"}) == [401] * 10 + [429] * 2, (
            "only the last"
        )
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=600)
        body = json.dumps({"token": token})
        headers = {"Content-Type": "application/json", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.7"}
        connection.request("POST", "/api/sign-in", body, headers)
        assert "Secure" in connection.getresponse().headers["set-cookie"]
        connection.close()
    finally:
        running.stop()


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.1/8", "", "127.0.0.1:80"])
def test_a_proxy_is_a_number_or_a_network(proxy):
    with pytest.raises(BagwiseError, match="not the address of a proxy"):
        Site(proxies=(proxy,))


def test_patience_forgets_addresses_rather_than_grow():

    one = rate_limit.RateLimit()
    for number in range(rate_limit.ADDRESSES + 50):
        one.failed(str(number), "wrong")
    assert len(one._failed) == rate_limit.ADDRESSES


def test_secrets_are_only_hashes_on_disk_and_never_in_a_log(make_project, caplog, capfd):
    project = make_project()
    people = Invitations(project.database)
    token = people.invite("bea")
    session = people.sign_in(token)
    with TestClient(application(project, "ann"), base_url=HERE) as client:
        client.post("/api/sign-in", json={"token": token})
        client.get("/api/me", headers=bearer(token))
        client.get("/api/me", headers=bearer(token + "x"))
    written = caplog.text + "".join(capfd.readouterr())
    for secret in (token, session):
        assert secret not in written
        for file in project.folder.rglob("*"):
            if file.is_file():
                assert secret.encode() not in file.read_bytes(), file


def test_everybody_has_their_own_leases_and_progress(client, people, project):
    tokens = {name: people.invite(name, adjudicator=name == "eve") for name in ("bea", "cem", "eve")}
    asked = {}
    for name, token in tokens.items():
        (question,) = client.get("/api/questions/next", headers=bearer(token)).json()
        asked[name] = (question["bag"]["id"], question["class_name"])
        if name != "cem":
            body = {"key": question["key"], "answer": "absent", "seconds": 2.0}
            stranger = client.post("/api/answers", json=body, headers=bearer(tokens["cem"]))
            assert stranger.status_code == 400
            assert client.post("/api/answers", json=body, headers=bearer(token)).status_code == 200
    assert len(set(asked.values())) == 3
    found = {one["name"]: one for one in client.get("/api/people", headers=bearer(tokens["bea"])).json()}
    assert [found[name]["answers"] for name in ("bea", "cem", "eve")] == [1, 0, 1]
    assert found["bea"]["seconds_per_answer"] == 2.0
    assert found["bea"]["last_seen"] == project.events[0].at
    assert found["cem"]["last_seen"] is None
    assert found["eve"]["adjudicator"]
    people.sign_in(tokens["cem"])
    assert next(one for one in participants(project) if one.name == "cem").last_seen is not None


def test_nonsense_is_never_invited(people):
    for name, days in (("", 1), ("a\nb", 1), ("x" * 201, 1), ("bea", 0), ("bea", 10**9)):
        with pytest.raises(BagwiseError):
            people.invite(name, days)
    with pytest.raises(BagwiseError, match="never invited"):
        people.revoke("nobody")
    assert not people.any_invited()


def test_the_command(make_project):
    folder = str(make_project().folder)

    def run(*words):
        return CliRunner().invoke(app, ["invite", folder, *words], catch_exceptions=False).output

    assert "Nobody was invited" in run("--list")
    found = json.loads(run("bea", "--adjudicator", "--at", "https://label.example/", "--json"))
    assert found["link"] == f"https://label.example/#token={found['token']}"
    assert len(found["token"]) == 43
    with Project.open(folder) as project:
        assert Invitations(project.database).with_token(found["token"]) == "bea"
        assert project.contents.adjudicators == {"bea"}
    printed = run("cem", "--days", "3")
    assert printed.count("#token=") == 1
    assert "for 3 days" in printed
    run("--revoke", "bea")
    assert [(one["name"], one["state"]) for one in json.loads(run("--list", "--json"))] == [
        ("bea", "revoked"),
        ("cem", "valid"),
    ]
    with pytest.raises(BagwiseError, match="Give the name"):
        run()


def test_a_link_signs_in_and_leaves_the_address(page, running):
    token = Invitations(running.project.database).invite("bea")
    page.goto(f"{running.address}/#token={token}")
    page.wait_for_selector("#bag .strip")
    assert "token" not in page.url
    assert page.locator("#me-name").inner_text() == "bea"
    page.keyboard.press("n")
    page.locator("#message", has_text="Saved: ").wait_for()
    assert running.project.events[0].annotator == "bea"
    assert page.evaluate("document.cookie") == "", "no script can read the session"
    assert page.faults == []
    page.locator("#sign-out").click()
    page.locator("#sign-in").wait_for()
    page.keyboard.press("n")
    assert len(running.project.events) == 1


@pytest.mark.parametrize("width", [360, 1280])
def test_a_token_is_pasted(page, running, width):
    page.set_viewport_size({"width": width, "height": 800})
    token = Invitations(running.project.database).invite("bea")
    page.goto(running.address)
    page.get_by_role("dialog", name="Sign in").wait_for()
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    page.get_by_text("This token is unknown").wait_for()
    page.keyboard.press("Escape")
    assert page.locator("#sign-in").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Token").fill(token)
    page.keyboard.press("Enter")
    page.wait_for_selector("#bag .strip")
    assert not page.locator("#sign-in").is_visible()
    assert page.locator("#me-name").inner_text() == "bea"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_what_one_person_said_is_never_sent_as_another(page, running):
    people = Invitations(running.project.database)
    bea, cem = people.invite("bea"), people.invite("cem")
    page.goto(f"{running.address}/#token={bea}")
    page.wait_for_selector("#bag .strip")
    people.revoke("bea")
    page.keyboard.press("n")
    page.locator("#sign-in").wait_for()
    page.get_by_label("Token").fill(cem)
    page.keyboard.press("Enter")
    page.wait_for_selector("#bag .strip")
    page.wait_for_timeout(1500)
    assert running.project.events == []
    page.goto("about:blank")
    page.goto(f"{running.address}/#token={people.invite('bea')}")
    page.locator("#message", has_text="Saved: ").wait_for()
    assert [event.annotator for event in running.project.events] == ["bea"]


@pytest.mark.slow
def test_two_browsers_never_get_the_same_question(chromium, running, truth):
    people = Invitations(running.project.database)
    tabs, shown = {}, {"bea": [], "cem": []}
    for name in shown:
        tabs[name] = chromium.new_context().new_page()
        tabs[name].set_default_timeout(1000 * LONGEST)
        tabs[name].goto(f"{running.address}/#token={people.invite(name)}")
        tabs[name].wait_for_selector("#bag .strip")
    try:
        for turn in range(40):
            name = ("bea", "cem")[turn % 2]
            tab = tabs[name]
            strip = tab.locator("#which").inner_text().split(" · ")[0]
            class_name = tab.locator("#question b").inner_text()
            shown[name].append((strip, class_name))
            before = tab.locator("body").get_attribute("data-shown")
            tab.keyboard.press("y" if truth(strip, class_name) else "n")
            tab.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=before)
        assert len({*shown["bea"], *shown["cem"]}) == 40
        wait_for_events(running, 40)
        ids, classes = running.project.contents.ids, running.project.classes
        for name, seen in shown.items():
            said = [event for event in running.project.events if event.annotator == name]
            assert [(ids[event.bag], classes[event.label_class]) for event in said] == seen
    finally:
        for tab in tabs.values():
            tab.context.close()
