"""Where and when: details of recordings, filters, questions limited to or spread over sites and hours."""

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bagwise.core.errors import BagwiseError, FileError
from bagwise.project import Asking, Learning, Project, Submission, quality_of
from bagwise.project.imports.details import Details
from bagwise.project.storage.bag_filter import BagFilter, Hours
from tests.conftest import source_of
from tests.project.test_commands import bagwise
from tests.project.test_project import all_is_well, answer_some

SITES = ("marsh", "north", "pond")


def details(folder, rows, columns="file,site,recorded_at"):
    path = folder / "details.csv"
    path.write_text("\n".join([columns, *rows]) + "\n")
    return Details.read(path)


def located(folder, count=60):
    """Bag i is at site i % 3 (but for the last six bags, at pond), at hour i % 24, on one of thirty days."""
    return details(
        folder,
        [
            f"bag {i},{SITES[i % 3] if i < 54 else 'pond'},2026-05-{1 + i % 30:02d}T{i % 24:02d}:15:00"
            for i in range(count)
        ],
    )


@pytest.fixture
def make(tmp_path, synthetic):
    """Makes projects whose bags have sites and times."""
    opened = []

    def project(audit=0.1, **asking):
        options = {"learning": Learning(audit=audit), "asking": Asking(**asking)}
        made = Project.create(tmp_path / "p", source_of(synthetic), classes=synthetic.classes, **options)
        opened.append(made)
        made.import_details(located(tmp_path))
        return made

    yield project
    for one in opened:
        one.close()


def test_details_change_nothing_that_is_learned(project, say, tmp_path):
    answer_some(project, say, 12)
    digest, weights, trainer = project.contents.digest(), project.learner.model.weights_, project._state.trainer
    with Project.open(project.folder) as other:
        other.catch_up()
        found = project.import_details(located(tmp_path, 58))
        assert (found.files, found.unknown) == (58, [])
        assert other.source_of(4) is None
        other.catch_up()
        assert other.source_of(4).words == "north · 2026-05-05 04:15:00 · bag 4"
    assert project.source_of(4).file.origin.site == "north"
    assert project.source_of(59) is None
    assert project._state.trainer is trainer, "training goes on"
    assert project.contents.digest() == digest
    assert np.array_equal(project.learner.model.weights_, weights)
    all_is_well(project)
    answer_some(project, say, 3)
    all_is_well(project)
    project.close()
    with Project.open(project.folder) as again:
        assert again._state.trainer._snapshots.newest(again.events, 0)[0] == 15, "the snapshot is used"
        all_is_well(again)
        # More is known later, of some of them, and by site.
        again.import_details(details(tmp_path, ["bag 4.wav,52.5,-1.25,SM4"], "Bag,latitude,longitude,device"))
        by_site = details(tmp_path, ["pond,1.5,2.5", "ridge,1,2"], "site,latitude,longitude")
        found = again.import_details(by_site)
        assert found.unknown == ["ridge"]
        assert vars(again.source_of(4).file.origin) == {
            "site": "north",
            "recorded_at": "2026-05-05T04:15:00",
            "latitude": 52.5,
            "longitude": -1.25,
            "device": "SM4",
        }
        assert again.source_of(2).file.origin.latitude == 1.5


def test_details_as_parquet_with_date_and_time(tmp_path, make):
    project = make()
    frame = pl.DataFrame({"bag": ["bag 1", "no such"], "date": ["2026-06-01", ""], "time": ["05:30", ""]})
    frame.with_columns(pl.col("date").str.to_date(strict=False)).write_parquet(tmp_path / "details.parquet")
    found = project.import_details(Details.read(tmp_path / "details.parquet"))
    assert (found.files, found.unknown) == (1, ["no such"])
    assert project.source_of(1).file.origin.recorded_at == "2026-06-01T05:30:00"
    assert project.source_of(1).file.origin.site == "north"


@pytest.mark.parametrize(
    ("columns", "row", "what"),
    [
        ("file,latitude", "bag 1,north", "line 3, column latitude: 'north' are no degrees between -90 and 90"),
        ("file,Longitude", "bag 1,181", "line 3, column Longitude: '181' are no degrees between -180 and 180"),
        ("file,latitude", "bag 1,nan", "column latitude: 'nan' are no degrees"),
        ("file,recorded_at", "bag 1,24 May", "line 3, column recorded_at: '24 May' is not a date and time"),
        ("file,date,time", "bag 1,2026-05-24,", "line 3, column date: '2026-05-24': give date and time"),
        ("file,date,time", "bag 1,2026-05-24,25:00", "line 3, column time: '25:00' is not a time"),
        ("file,site", ",north", "line 3, column file: is empty"),
        ("file,site", "bag 0,north", "line 3, column file: 'bag 0' is given twice"),
        ("file,site", "bag 0.wav,north", "bag 0 and bag 0.wav are the same recording"),
        ("name,site", "bag 1,north", "there is none of the columns latitude, longitude, device"),
        ("name,place", "bag 1,north", "no column file, bag or site"),
        ("file,colour", "bag 1,red", "there is none of the columns site, recorded_at"),
    ],
)
def test_bad_details_are_refused_with_their_place(make, tmp_path, columns, row, what):
    project = make()
    before = project.contents.bag_files.files
    first = ",".join(["bag 0", *[""] * columns.count(",")])
    with pytest.raises(FileError) as error:
        project.import_details(details(tmp_path, [first, row], columns))
    assert what in str(error.value)
    project.catch_up()
    assert project.contents.bag_files.files == before


def test_details_about_nothing_of_the_project_are_refused(make, tmp_path):
    with pytest.raises(FileError, match="no file or bag of it is in the project; the first is 'owl'"):
        make().import_details(details(tmp_path, ["owl,north,"]))


def test_a_filter_is_by_site_day_and_hour(make):
    files = make().contents.bag_files
    place = np.arange(60)
    assert np.array_equal(BagFilter().mask(files), place >= 0)
    sites = BagFilter.parse(["marsh", "north"])
    assert np.array_equal(sites.mask(files), (place % 3 < 2) & (place < 54))
    days = BagFilter.parse(from_date="2026-05-03", to_date="2026-05-04")
    assert np.flatnonzero(days.mask(files)).tolist() == [2, 3, 32, 33]
    night = BagFilter.parse(["north"], hours="22-4")
    expected = (place % 3 == 1) & np.isin(place % 24, [22, 23, 0, 1, 2, 3]) & (place < 54)
    assert np.array_equal(night.mask(files), expected)
    assert BagFilter.parse(hours="04:16-24:00").mask(files).sum() == (place % 24 > 4).sum()
    sites.validate(files)
    with pytest.raises(BagwiseError, match="There is no site lake in the project: it has marsh, north, pond"):
        BagFilter.parse(["lake"]).validate(files)


@pytest.mark.parametrize("text", ["", "4", "9-9", "25-3", "4-25", "04:60-09:00", "dawn", "4-24:30", "٤-٩"])
def test_hours_that_are_no_hours(text):
    with pytest.raises(BagwiseError, match="no hours of a day"):
        Hours.parse(text)


@pytest.mark.parametrize("dates", [("24 May", None), (None, "2026-05-32"), ("2026-05-02", "2026-05-01")])
def test_dates_that_are_no_dates(dates):
    with pytest.raises(BagwiseError, match=r"not a date|is before the first"):
        BagFilter.parse(None, *dates)


@pytest.mark.slow
@pytest.mark.parametrize("granularity", ["pair", "bag", "best_value", "instance"])
def test_nothing_outside_the_filter_is_asked(make, granularity):
    project = make(audit=0.3, sites=["north"], hours="4-20", granularity=granularity, share=1.0)
    allowed = set(np.flatnonzero(BagFilter.parse(["north"], hours="4-20").mask(project.contents.bag_files)).tolist())
    asked = set()
    while leases := project.ask("ann", 3):
        for lease in leases:
            asked.update((lease.bag, c) for c in lease.question.classes)
            answers = ("absent",) * len(lease.question.classes)
            project.submit(Submission(lease.key, "ann", answers, lease.question.classes, lease.bag))
    assert {bag for bag, _ in asked} == allowed
    assert len(asked) == 6 * len(allowed), "and everything in it is"
    outside = next(bag for bag in range(60) if bag not in allowed)
    project.answer_listed("ann", "absent", [(outside, 0)], "outside")
    project.undo("ann", "back")
    assert project.ask("ann") == [], "what is taken back is not asked either"
    all_is_well(project)


def test_a_site_that_is_named_later_is_asked_about_without_a_restart(make, tmp_path):
    project = make(sites=["ridge"])
    assert project.ask("ann") == []
    project.import_details(details(tmp_path, ["bag 7,ridge,"]))
    (lease,) = project.ask("ann")
    assert lease.bag == 7
    project.import_details(details(tmp_path, ["bag 7,north,", "bag 8,ridge,"]))
    (lease,) = project.ask("ann")
    assert lease.bag == 8


def test_a_training_process_goes_on_with_other_candidates(make, tmp_path):
    make(sites=["marsh"])
    with Project.open(tmp_path / "p", apart=True) as served, Project.open(tmp_path / "p") as other:
        (lease,) = served.ask("ann")
        assert served.source_of(lease.bag).file.origin.site == "marsh"
        process = served._state.trainer._process
        rows = [f"bag {bag},{'marsh' if bag == 7 else 'north'}," for bag in range(60)]
        other.import_details(details(tmp_path, rows))
        (lease,) = served.ask("bob")
        assert lease.bag == 7
        assert served._state.trainer._process is process


@pytest.mark.parametrize("audit", [0.0, 0.2])
def test_questions_are_spread_over_sites(make, say, audit, monkeypatch):
    # A short ranking, which is about some of the sites only.
    monkeypatch.setattr("bagwise.project.queue.leases.RANKED_AT_LEAST", 70)
    project = make(audit=audit, spread="site")
    answers = Counter()
    for number in range(45):
        leases = project.ask("ann", 1 + number % 3)
        lease = leases[-1]
        answers[project.source_of(lease.bag).file.origin.site] += 1
        project.answer(lease.key, "ann", say(lease))
        if audit == 0:
            assert max(answers[site] for site in SITES) - min(answers[site] for site in SITES) <= 2
    assert max(answers.values()) - min(answers.values()) <= 1 + 2 * (audit > 0), answers
    assert any(event.audit for event in project.events) == (audit > 0)
    all_is_well(project)


def test_one_after_the_other_every_site_has_its_turn(make, say):
    project = make(audit=0.0, spread="site")
    answers = Counter()
    for _ in range(20):
        (lease,) = project.ask("ann")
        answers[project.source_of(lease.bag).file.origin.site] += 1
        project.answer(lease.key, "ann", say(lease))
        counts = [answers[site] for site in SITES]
        assert max(counts) - min(counts) <= 1
    project.undo("ann", "back")
    (lease,) = project.ask("ann")
    assert lease.pair == project.events[-1].pair


def test_questions_are_spread_over_sites_and_hours_and_limited(make, say):
    project = make(audit=0.0, spread="site and hour", sites=["north"], hours="0-12")
    bags = project.contents.bag_files
    answers = Counter()
    for _ in range(24):
        (lease,) = project.ask("ann")
        assert bags.sites[bags.site_of[lease.bag]] == "north"
        answers[lease.bag % 24] += 1
        project.answer(lease.key, "ann", say(lease))
    assert sorted(answers) == [1, 4, 7, 10]
    assert set(answers.values()) == {6}


def test_settings_that_make_no_sense_are_refused(make, tmp_path):
    project = make()
    path = Path(project.folder) / "bagwise.toml"
    text = path.read_text()
    assert 'sites = []\nhours = ""\nspread = ""\n' in text
    for before, after, what in [
        ('hours = ""', 'hours = "dawn"', "hours = 'dawn': 'dawn' are no hours of a day"),
        ('spread = ""', 'spread = "class"', "spread = 'class' must be one of (empty), site, site and hour"),
        ("sites = []", 'sites = "north"', "sites = 'north' must be a valid list"),
    ]:
        path.write_text(text.replace(before, after))
        with pytest.raises(FileError) as error:
            Project.open(project.folder)
        assert what in str(error.value)


# At the command line


@pytest.fixture
def table(tmp_path, synthetic):
    """A table of instances, its classes, and details that are about all bags but the last."""
    codes = np.repeat(np.arange(60), synthetic.bags.sizes)
    frame = pl.DataFrame({"bag": [f"bag {c}" for c in codes]})
    frame = frame.hstack(pl.DataFrame(synthetic.bags.instances, schema=[f"f{i}" for i in range(10)]))
    frame.write_csv(tmp_path / "instances.csv")
    (tmp_path / "classes.txt").write_text("\n".join(synthetic.classes) + "\n")
    located(tmp_path, 59)
    return tmp_path


def init(folder, *options):
    given = ("--from", folder / "instances.csv", "--classes", folder / "classes.txt", *options)
    return bagwise("init", folder / "p", *given)


def test_commands_say_and_filter_where_and_when(table, say):
    code, out, _ = init(table, "--details", table / "details.csv", "--site", "north", "--hours", "4-20")
    assert code == 0
    assert "Details of 59 recordings: details.csv." in out
    assert "Questions are about 13 of the bags." in out
    code, out, _ = bagwise("answer", table / "p", "--as", "ann", "--count", "2", keys="nn")
    assert code == 0
    assert out.count("north · 2026-05-") == 2
    with Project.open(table / "p") as project:
        answer_some(project, say, 10)
        project.answer_listed("ann", "absent", [(0, 0), (2, 1), (59, 0)], "some")
    code, out, _ = bagwise("status", table / "p")
    assert code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert ["marsh", "18", "18", "1", "1%"] in rows
    assert ["north", "18", "18", "12", "11%"] in rows
    assert ["pond", "23", "23", "1", "1%"] in rows
    assert ["(not known)", "0", "1", "1", "17%"] in rows
    assert "All is well" in bagwise("check", table / "p")[1]
    for what, count in (("answers", 12), ("labels", 12), ("predictions", 18 * 6)):
        to = table / f"{what}.csv"
        assert bagwise("export", table / "p", "--what", what, "--to", to, "--site", "north")[0] == 0
        found = pl.read_csv(to)
        assert len(found) == count
        assert set(found["bag"]) <= {f"bag {i}" for i in range(1, 54, 3)}
    code, _, err = bagwise("export", table / "p", "--what", "model", "--to", table / "m.npz", "--hours", "4-9")
    assert code
    assert "A model is that of all bags" in err
    code, _, err = bagwise("doubtful", table / "p", "--site", "lake")
    assert "There is no site lake in the project: it has marsh, north, pond." in err
    code, _, err = bagwise("export", table / "p", "--to", table / "l.csv", "--from-date", "2027-01-01")
    assert "No bag was recorded there and then" in err
    code, out, _ = bagwise("doubtful", table / "p", "--site", "marsh", "--json")
    assert [one["bag"] for one in json.loads(out)] == ["bag 0"]
    code, out, _ = bagwise("disagreements", table / "p", "--site", "marsh", "--to-date", "2026-05-03")
    assert (code, out.strip()) == (0, "There are no disagreements.")


def test_details_are_imported_later_and_names_without_a_bag_are_listed(table):
    assert init(table)[0] == 0
    details(table, ["bag 3,north,", "owl 1,north,"])
    code, out, _ = bagwise("import", table / "p", "--details", table / "details.csv")
    assert code == 0
    assert "Details of 1 recording:" in out
    assert "1 name of details.csv is not in the project: owl 1" in out
    code, _, err = bagwise("import", table / "p")
    assert "--details" in err
    (table / "details.csv").write_text("file,latitude\nbag 1,\nbag 2,100\n")
    code, _, err = bagwise("import", table / "p", "--details", table / "details.csv")
    assert code == 2
    assert "line 3, column latitude: '100' are no degrees" in err


def more_bags(folder, synthetic, shift):
    codes = np.repeat(np.arange(60), synthetic.bags.sizes)
    frame = pl.DataFrame({"bag": [f"new {c}" for c in codes]})
    frame = frame.hstack(pl.DataFrame(synthetic.bags.instances + shift, schema=[f"f{i}" for i in range(10)]))
    frame.write_csv(folder / "more.csv")
    rows = [f"new {i},ridge,2026-06-{1 + i % 30:02d}T05:00:00" for i in range(60)]
    details(folder, rows)
    return ("import", folder / "p", "--from", folder / "more.csv", "--details", folder / "details.csv")


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_an_import_says_how_the_new_bags_differ(table, synthetic, say, shift):
    init(table, "--details", table / "details.csv")
    if shift:
        with Project.open(table / "p") as project:
            answer_some(project, say, 10)
    code, out, _ = bagwise(*more_bags(table, synthetic, shift))
    assert code == 0
    assert "New: 60 bags, recorded from 2026-06-01 to 2026-06-30, at 1 new site (ridge)." in out
    share = int(re.search(r"(\d+)% of the new instances are unlike anything before \(1% expected\)", out)[1])
    if shift:
        assert share > 90
        assert 'answer some questions about site ridge (sites = ["ridge"] under [asking] in bagwise.toml).' in out
        assert "Mean probability" in out
    else:
        assert share <= 4
        assert "the model may go on as it is." in out
        assert "Mean probability" not in out, "no model has learned anything yet"


def test_in_partitions_it_is_said_that_nothing_was_compared(table, synthetic, one_process):
    init(table)
    with Project.open(table / "p") as project:
        project.partition(2)
    code, out, _ = bagwise(*more_bags(table, synthetic, 0.0))
    assert code == 0
    assert "The instances are in partitions" in out


def answer_the_first_class(project, synthetic):
    """Of every bag, by a list: nothing of it is open, so its share is known exactly."""
    present = np.asarray(synthetic.labels.value)[:, 0].astype(bool)
    for answer, bags in (("present", np.flatnonzero(present)), ("absent", np.flatnonzero(~present))):
        project.answer_listed("ann", answer, [(int(bag), 0) for bag in bags], answer)
    return present


def test_the_share_at_every_site_can_be_what_one_stops_by(make, synthetic):
    project = make()
    present = answer_the_first_class(project, synthetic)
    path, (known, other) = project.folder / "bagwise.toml", project.classes[:2]
    only = {"target = 0.9": "target = 0", "plateau = 200": "plateau = 0", "_within = 0.0": "_within = 0.05"}
    before = path.read_text()
    for old, new in only.items():
        assert old in before
        before = before.replace(old, new)
    for sites, name, stop in (("", known, True), ("site", known, True), ("site", other, False)):
        wanted = before.replace('prevalence_by = ""', f'prevalence_by = "{sites}"')
        path.write_text(wanted.replace("classes = []", f'classes = ["{name}"]'))
        with Project.open(project.folder) as again:
            verdict = quality_of(again).verdict
        assert verdict.stop is stop, verdict.why
    assert all(f"{other} at {site} unknown" in verdict.why for site in SITES)
    (stored,) = (
        one for count, one in json.loads((project.folder / "quality.json").read_text()).values() if count == 60
    )
    at_north = present[[i for i in range(54) if i % 3 == 1]].mean()
    assert stored["sites"]["north"][0] == pytest.approx(dict.fromkeys(("value", "low", "high"), at_north))
