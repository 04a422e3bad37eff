"""Answers that point, on the page: by keys, clicks and taps, in every medium, and never at what was not shown."""

import contextlib
import re

import polars as pl
import pytest

from bagwise import formats
from bagwise.project import Project, check
from bagwise.project.storage import stored_leases
from tests.conftest import LONGEST
from tests.server.conftest import Running
from tests.server.test_looks import faults
from tests.server.test_page import wait_for_events
from tests.support import example_media

KINDS = [*example_media.MEDIA, "table", "tiles"]
INSTANCES = "#bag [data-instance]"


def make(folder, kind, instances=4):
    """A project whose bags all show several instances."""
    if kind in example_media.MEDIA:
        return example_media.make(folder, kind, 20, least=3)[0]
    if kind == "tiles":
        example_media.make_demo(folder / "tiles")
        return folder / "tiles"
    rows = [(f"bag {b}", b % 7 + i, -0.5 * i, b * i) for b in range(20) for i in range(instances)]
    pl.DataFrame(rows, schema=["bag", "peak", "loudness", "length"], orient="row").write_csv(folder / "t.csv")
    Project.create(folder / "table", formats.read(folder / "t.csv"), classes=["wren", "owl"]).close()
    return folder / "table"


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(kind, **options):
        servers.append(Running(make(tmp_path, kind, **options)))
        return servers[0]

    yield start
    for server in servers:
        with contextlib.suppress(Exception):
            server.stop()


class Labeller:
    """A person at the page, who writes down what they said."""

    def __init__(self, page, server):
        self.page, self.server = page, server
        self.said = []
        page.goto(server.address)
        self.wait()

    def wait(self, before=""):
        """Until a question after this one shows its instances."""
        self.page.wait_for_function(
            "before => ![before, ''].includes(document.body.dataset.shown)"
            " && document.querySelectorAll('#bag [data-instance]').length > 1",
            arg=before,
        )

    @property
    def question(self):
        return self.page.locator("#which").inner_text(), self.page.locator("#question b").inner_text()

    @property
    def marked(self):
        """The instance that says that it is marked."""
        named = self.page.locator(INSTANCES).evaluate_all(
            "all => all.map((one) => [one.dataset.instance, one.ariaLabel])"
        )
        (found,) = [int(number) for number, name in named if re.search(", marked(,|:|$)", name)]
        return found

    @property
    def others(self):
        return [number for number in range(self.page.locator(INSTANCES).count()) if number != self.marked]

    def instance(self, number):
        return self.page.locator(f'#bag [data-instance="{number}"]')

    @property
    def picked(self):
        pressed = self.page.locator(f"{INSTANCES}[aria-pressed=true]")
        return sorted(pressed.evaluate_all("all => all.map((one) => Number(one.dataset.instance))"))

    def says(self, do, answer="present", where=(), elsewhere=()):
        """Answer the question by doing something, and see the next."""
        before = self.page.locator("body").get_attribute("data-shown")
        self.said.append((*self.question, answer, tuple(where), tuple(elsewhere)))
        do()
        self.wait(before)

    def press(self, key):
        return lambda: self.page.keyboard.press(key)

    @property
    def arrived(self):
        wait_for_events(self.server, len(self.said))
        project = self.server.project
        return [
            (str(project.contents.ids[one.bag]), project.classes[one.label_class], one.answer, one.where, one.elsewhere)
            for one in project.events
        ]

    def undo(self):
        asked = self.said[-1]
        assert self.arrived == self.said
        self.page.keyboard.press("z")
        self.page.wait_for_function(
            "([bag, name]) => document.getElementById('which').textContent === bag"
            " && document.querySelector('#question b')?.textContent === name",
            arg=list(asked[:2]),
        )
        self.wait()
        self.said.append(asked)


def instance_labels(project):
    """What the model was taught about single instances, by bag and instance."""
    found = {}
    for bag, name in enumerate(project.contents.ids):
        for label in project.learner.labels.instances.of(bag):
            found.setdefault((str(name), label.instance), set()).add(
                (project.classes[label.label_class], label.present)
            )
    return found


def expected_labels(said):
    """The same from answers in effect; an instance of two classes is a disagreement, and left out."""
    found = {}
    for bag, name, _, where, elsewhere in said:
        for instances, present in ((where, True), (elsewhere, False)):
            for one in instances:
                found.setdefault((bag, one), set()).add((name, present))
    return {place: labels for place, labels in found.items() if sum(present for _, present in labels) <= 1}


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_and_click_points_and_replays_to_the_same_model(page, serve, kind):
    server = serve(kind)
    ann = Labeller(page, server)
    with server.project.database.reading() as connection:
        key = page.locator("body").get_attribute("data-shown")
        assert ann.marked == stored_leases.with_keys(connection, [key])[key].question.evidence[0]
    ann.says(ann.press("y"), where=[ann.marked])
    page.get_by_text("yes, the marked one").wait_for()
    ann.says(ann.press("ArrowUp"), where=[ann.marked])
    ann.says(ann.press("e"), elsewhere=[ann.marked])
    page.get_by_text("yes, elsewhere.").wait_for()
    ann.says(page.locator("#buttons [data-key=y]").click, where=[ann.marked])
    ann.says(page.locator("#buttons [data-key=e]").click, elsewhere=[ann.marked])
    for key, answer in (("p", "present"), ("n", "absent"), ("u", "unsure"), ("s", "skipped")):
        ann.says(ann.press(key), answer)

    other = ann.others[-1]
    ann.instance(other).click()
    assert ann.picked == [other]
    assert "Yes, the picked one" in page.locator("#buttons [data-key=y]").inner_text()
    ann.says(ann.press("y"), where=[other])
    page.get_by_text("yes, the picked one").wait_for()

    both = sorted([ann.marked, ann.others[0]])
    for number in both:
        ann.instance(number).click()
    assert "Yes, these 2" in page.locator("#buttons [data-key=y]").inner_text()
    assert page.locator("#buttons [data-key=e]").is_disabled(), "the marked one is picked"
    ann.says(ann.press("Enter"), where=both)

    one, two = ann.others[:2]
    for number in (one, two, one):
        ann.instance(number).click()
    assert ann.picked == [two], "a second click takes it back"
    ann.says(ann.press("e"), where=[two], elsewhere=[ann.marked])

    ann.instance(ann.others[0]).click()
    page.keyboard.press("Escape")
    assert ann.picked == []
    ann.says(ann.press("y"), where=[ann.marked])
    ann.undo()
    count = page.locator(INSTANCES).count()
    following, before = (ann.marked + 1) % count, (ann.marked - 1) % count
    page.keyboard.press(".")
    page.keyboard.press("Enter")
    page.keyboard.press(",")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    assert ann.picked == sorted({following, before})
    ann.says(ann.press("y"), where=sorted({following, before}))

    assert ann.arrived == ann.said
    assert [event.kind for event in server.project.events].count("retraction") == 1
    assert page.faults == []
    undone = next(number for number, event in enumerate(server.project.events) if event.kind == "retraction")
    wanted = expected_labels(ann.said[: undone - 1] + ann.said[undone + 1 :])
    server.stop()
    with Project.open(server.folder) as again:
        assert not [found for found in check(again) if found.wrong]
        labels = instance_labels(again)
        assert {place: labels.get(place) for place in wanted} == wanted
        assert len(wanted) >= 6


def test_hidden_the_mark_is_not_claimed(page, serve):
    server = serve("sound")
    ann = Labeller(page, server)
    page.keyboard.press("h")
    assert page.locator("#buttons [data-key=y] b").inner_text() == "Yes"
    assert page.locator("#buttons [data-key=e]").is_hidden()
    assert page.get_by_text("this one?").count() == 0
    assert page.locator(f"{INSTANCES}[aria-label*=marked]").count() == 0
    for key in "ep":
        page.keyboard.press(key)
    ann.says(ann.press("y"))
    ann.instance(1).click()
    ann.says(ann.press("y"), where=[1])
    page.keyboard.press("h")
    ann.says(ann.press("y"), where=[ann.marked])
    assert ann.arrived == ann.said
    assert [event.shown for event in server.project.events] == ["not highlighted", "not highlighted", "highlighted"]


def test_what_cannot_be_shown_is_not_claimed(page, serve):
    server = serve("picture")
    page.route("**/media/*", lambda route: route.fulfill(status=404, json={"detail": "gone"}))
    page.goto(server.address)
    page.get_by_text("cannot be shown").first.wait_for()
    assert page.locator("#buttons [data-key=y] b").inner_text() == "Yes"
    for key in "ey":
        page.keyboard.press(key)
    wait_for_events(server, 1)
    (event,) = server.project.events
    assert (event.answer, event.where, event.elsewhere) == ("present", (), ())


def test_bags_of_one_instance_keep_yes_and_no(page, serve):
    server = serve("table", instances=1)
    page.goto(server.address)
    page.wait_for_selector("#bag table")
    assert page.locator(INSTANCES).count() == 0
    assert page.locator("#buttons button:visible b").all_inner_texts() == ["Yes", "No", "Unsure", "Skip", "Undo"]
    assert page.locator("#hint").is_hidden()
    for key in ("e", ".", "Enter", "y"):
        page.keyboard.press(key)
    wait_for_events(server, 1)
    assert [(event.answer, event.where) for event in server.project.events] == [("present", ())]


def test_what_is_known_is_shown_with_the_next_question_about_the_bag(page, serve):
    server = serve("sound")
    ann = Labeller(page, server)
    bag, name = ann.question
    marked = ann.marked
    ann.says(ann.press("y"), where=[marked])
    assert ann.arrived == ann.said
    page.route(
        "**/api/questions/next*",
        lambda route: route.fulfill(json=[one for one in route.fetch().json() if one["bag"]["id"] == bag]),
    )
    position = server.project.contents.ids.tolist().index(bag)
    others = [(place, c) for place in range(20) for c in range(3) if place != position]
    server.project.answer_listed("ann", "absent", others, "all the others")
    page.reload()
    ann.wait()
    assert ann.question[0] == bag
    assert f"known: {name}" in ann.instance(marked).get_attribute("aria-label")
    assert name in page.locator(f'#bag [data-tag="{marked}"]').inner_text()


def test_answers_show_where_and_are_corrected(page, serve):
    server = serve("sound")
    ann = Labeller(page, server)
    ann.instance(1).click()
    ann.says(ann.press("y"), where=[1])
    ann.says(ann.press("e"), elsewhere=[ann.marked])
    assert ann.arrived == ann.said
    place = server.project.medium(server.project.events[0].bag).places[1]
    page.get_by_role("link", name="Answers").click()
    page.wait_for_selector("#history li")
    newest, oldest = page.locator("#history li").all()
    expected = f"here: sound 2, {place['start']:.1f} to {place['end']:.1f} s"
    assert oldest.locator(".pointed").inner_text() == expected
    assert newest.locator(".pointed").inner_text().startswith("not here: sound")
    oldest.locator(".place.evidence").wait_for()
    oldest.locator("button.absent").click()
    page.get_by_text("Corrected: ").wait_for()
    assert page.locator("#history .pointed:visible").count() == 1
    wait_for_events(server, 3)
    last = server.project.events[-1]
    assert (last.kind, last.answer, last.where) == ("correction", "absent", ())
    assert not [found for found in check(server.project) if found.wrong]


def test_of_a_whole_bag_what_is_picked_gets_its_class(page, tmp_path):
    example_media.make_demo(tmp_path / "digits")
    settings = tmp_path / "digits" / "bagwise.toml"
    settings.write_text(settings.read_text().replace('granularity = "pair"', 'granularity = "bag"'))
    server = Running(tmp_path / "digits")
    try:
        page.goto(server.address)
        page.wait_for_selector(INSTANCES)
        names = page.locator("#checklist [data-class]").evaluate_all("all => all.map((one) => one.dataset.class)")
        shown = page.locator("body").get_attribute("data-shown")
        instance = "#bag [data-instance='{}']".format
        for number in (0, 2):
            page.locator(instance(number)).click()
        page.keyboard.press("Enter")
        assert "Choose the class" in page.locator("#message").inner_text()
        page.keyboard.press("1")
        assert page.locator("#bag [data-tag='2']").inner_text() == names[0]
        page.locator(instance(1)).click()
        page.locator("#checklist [data-class]").nth(1).click()
        page.keyboard.press("3")
        assert faults(page) == []
        page.keyboard.press("Enter")
        page.wait_for_function("before => ![before, ''].includes(document.body.dataset.shown)", arg=shown)
        wait_for_events(server, len(names))
        project = server.project
        present = {project.classes[e.label_class]: e.where for e in project.events if e.answer == "present"}
        assert present == {names[0]: (0, 2), names[1]: (1,), names[2]: ()}
        assert page.faults == []
    finally:
        server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_by_touch_on_a_telephone(chromium, serve, kind):
    server = serve(kind)
    context = chromium.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True)
    context.set_default_timeout(1000 * LONGEST)
    try:
        page = context.new_page()
        ann = Labeller(page, server)
        other = ann.others[0]
        ann.instance(other).tap()
        assert ann.picked == [other]
        ann.says(page.locator("#buttons [data-key=y]").tap, where=[other])
        ann.says(page.locator("#buttons [data-key=y]").tap, where=[ann.marked])
        ann.says(page.locator("#buttons [data-key=e]").tap, elsewhere=[ann.marked])
        assert ann.arrived == ann.said
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        for button in page.locator("#buttons button:visible").all():
            box = button.bounding_box()
            assert min(box["height"], box["width"]) >= 44
    finally:
        context.close()


def test_by_keyboard_alone_without_letters(page, serve):
    server = serve("table")
    ann = Labeller(page, server)
    page.locator("#character-keys").evaluate("box => box.click()")
    focus = "document.activeElement.dataset.instance ?? document.activeElement.dataset.key ?? ''"

    def tab_to(wanted):
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate(focus) == wanted:
                return
        raise AssertionError(f"{wanted} was not reached")

    marked = ann.marked
    tab_to(str(marked))
    page.keyboard.press("ArrowDown")
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring != "none"
    page.keyboard.press("Enter")
    following = (marked + 1) % page.locator(INSTANCES).count()
    assert ann.picked == [following]
    for key in "ye.,":
        page.keyboard.press(key)
    assert ann.picked == [following]
    tab_to("y")
    ann.says(ann.press("Enter"), where=[following])
    assert ann.arrived == ann.said


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_serious_fault_while_pointing(page, serve, kind):
    ann = Labeller(page, serve(kind))
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert faults(page) == [], "a question"
        ann.instance(ann.others[0]).click()
        page.keyboard.press(".")
        assert faults(page) == [], "picked, and another has the focus"
        page.keyboard.press("h")
        assert faults(page) == [], "without the mark"
        page.keyboard.press("h")
        page.keyboard.press("Escape")
    assert page.locator("#marked").inner_text().startswith("Marked: ")


def test_a_picture_is_zoomed_where_a_click_would_pick(page, serve):
    ann = Labeller(page, serve("picture"))
    before = page.locator("#bag img").bounding_box()["width"]
    page.get_by_role("button", name="Zoom").click()
    assert page.locator("#bag img").bounding_box()["width"] > 1.9 * before
    box, figure = ann.instance(ann.marked).bounding_box(), page.locator("#bag .picture").bounding_box()
    assert figure["x"] <= box["x"] + box["width"] / 2 <= figure["x"] + figure["width"], "the marked one is in sight"
    ann.instance(ann.marked).click()
    assert ann.picked == [ann.marked]
    page.get_by_role("button", name="Zoom").click()
    assert page.locator("#bag img").bounding_box()["width"] == pytest.approx(before, abs=1)


def test_a_picked_sound_is_heard(page, serve):
    server = serve("sound")
    ann = Labeller(page, server)
    if page.locator(".controls .play b").inner_text() == "Stop":
        page.locator(".controls .play").click()
    ann.instance(2).click()
    place = server.project.medium(server.project.contents.ids.tolist().index(ann.question[0])).places[2]
    time = float(page.locator(".sound .time").inner_text().split(" ")[0])
    assert place["start"] - 0.3 < time < place["end"] + 0.3
    assert page.locator(".begin").is_hidden(), "it is no seeking"
