"""Results: detections with the times that the page shows, in every format and back, and the report about them."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import soundfile

from bagwise import formats
from bagwise.core.errors import BagwiseError, FileError
from bagwise.formats import DetectionTable, LabelTable, Source
from bagwise.project import Learning, Project
from bagwise.project.imports.details import Details
from bagwise.project.reports.detections import Known, detections_of
from bagwise.project.reports.exports import exporter, forms_of
from bagwise.project.reports.report_files import write_report
from bagwise.project.reports.sentences import Sentences
from bagwise.project.reports.summary import summary_of
from bagwise.project.storage.bag_filter import BagFilter
from tests.conftest import in_one_process
from tests.project.test_commands import bagwise

RATE = 16_000
WREN, ROBIN = 4000.0, 1500.0
CALLS = {
    "north/20260524_040000.wav": {"wren": (3.0, 31.0), "robin": (12.0,)},
    "north/20260524_050000.wav": {"wren": (15.0,), "robin": (44.0, 52.0)},
    "south/20260524_040000.wav": {"wren": (2.0,), "robin": ()},
}
IN_WORDS = Sentences("Overall: too early to say.", {})
SECONDS = {"north/20260524_040000.wav": 64, "north/20260524_050000.wav": 64, "south/20260524_040000.wav": 12}


def write_season(folder):
    """Two recordings of a minute and one of 12 seconds, at two sites, with tones of half a second."""
    rng = np.random.default_rng(0)
    for name, calls in CALLS.items():
        sound = rng.normal(scale=0.003, size=SECONDS[name] * RATE)
        for hertz, starts in zip((WREN, ROBIN), calls.values(), strict=True):
            for start in starts:
                when = slice(int(start * RATE), int((start + 0.5) * RATE))
                sound[when] += 0.3 * np.sin(2 * np.pi * hertz * np.arange(when.stop - when.start) / RATE)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / name, sound.astype(np.float32), RATE, subtype="FLOAT")


@pytest.fixture(scope="module")
def season(tmp_path_factory):
    """The season as a project of clips, with labels of most calls; made once, and not changed by the tests."""
    place = tmp_path_factory.mktemp("season")
    write_season(place / "season")
    (place / "species.txt").write_text("wren\nrobin\n")
    rows = ["Selection\tBegin Time (s)\tEnd Time (s)\tBegin File\tSpecies\tLabel Type"]
    for name, calls in CALLS.items():
        for label_class, starts in calls.items():
            rows += [f"1\t{start}\t{start + 0.5}\t{name}\t{label_class}\tpositive" for start in starts[:1]]
    rows += [
        "9\t20\t30\tnorth/20260524_040000.wav\twren\tnegative",
        "9\t20\t30\tnorth/20260524_040000.wav\trobin\tnegative",
    ]
    (place / "calls.txt").write_text("\n".join(rows) + "\n")
    with in_one_process():
        said = bagwise("init", place / "project", "--from", place / "season", "--classes", place / "species.txt")
    assert said[0] == 0, said
    assert bagwise("import", place / "project", "--labels", place / "calls.txt")[0] == 0
    assert bagwise("train", place / "project")[0] == 0
    return place


@pytest.fixture
def project(season):
    with Project.open(season / "project") as opened:
        yield opened


def shown(project, row):
    """The place that the page shows for a detection."""
    bag = project.contents.ids.tolist().index(row["bag"])
    kept, source = project.medium(bag), project.source_of(bag)
    assert source.file.name == row["file"]
    assert kept.clip == source.clip
    return kept.places[row["instance"]]


def test_detections_are_at_the_calls_with_their_files_sites_and_moments(project):
    table = detections_of(project)
    found = {(row["file"], row["class"], round(row["start"])) for row in table.frame.iter_rows(named=True)}
    assert found == {
        (file, name, round(start))
        for file, calls in CALLS.items()
        for name, starts in calls.items()
        for start in starts
    }
    for row in table.frame.iter_rows(named=True):
        place = shown(project, row)
        assert {name: row[name] for name in place} == place
        seconds = round(row["start"], 3)
        hour = row["file"][-10:-8]
        moment = np.datetime64(f"2026-05-24T{hour}:00:00") + np.timedelta64(round(seconds * 1000), "ms")
        assert np.datetime64(row["recorded_at"]) == moment
        assert row["site"] == row["file"].split("/")[0]
        assert row["threshold"] == 0.5


def with_coordinates(table):
    """The files are at sites whose coordinates nobody gave."""
    return replace(table, files=table.files.with_columns(latitude=pl.lit(47.5), longitude=pl.lit(8.5)))


def read_back(path, form):
    """File, class and times of every detection, as the readers of scores, labels and tables give them."""
    if form == "audacity":
        return [
            (one.bag, one.label_class, one.place["start"], one.place["end"]) for one in formats.read_labels(path).placed
        ]
    table = formats.read_scores(path)
    names = [table.bags[bag] for bag in table.bag]
    files = [name.split("#")[0] for name in names]
    classes = [table.classes[one].split("_")[0] for one in table.label_class]
    return list(zip(files, classes, *table.span.T.tolist(), strict=True))


def test_every_detection_in_every_format_has_the_times_that_the_page_shows(project, tmp_path):
    expected = sorted(
        (row["file"], row["class"], shown(project, row)["start"], shown(project, row)["end"])
        for row in detections_of(project).frame.iter_rows(named=True)
    )
    assert len(expected) >= 7
    for form, suffix in forms_of("detections").items():
        to = tmp_path / f"detections{suffix}"
        if form == "camtrap_dp":
            table = with_coordinates(detections_of(project))
            formats.available()[form].write_detections(table, to)
        else:
            exporter("detections", to)(project)
        found = sorted(read_back(to, form))
        assert [one[:2] for one in found] == [one[:2] for one in expected], form
        np.testing.assert_allclose([one[2:] for one in found], [one[2:] for one in expected], atol=1e-9, err_msg=form)


def test_a_threshold_replaces_those_of_the_model(project, season, tmp_path):
    to = tmp_path / "detections.csv"
    assert bagwise("export", season / "project", "--what", "detections", "--to", to, "--threshold", "0")[0] == 0
    all_present = pl.read_csv(to)
    assert (all_present["threshold"] == 0).all()
    assert len(all_present) > len(detections_of(project).frame)
    absent = all_present.filter(bag="north/20260524_040000.wav#20-30")
    assert absent.is_empty(), "what people said counts, not the model"
    with pytest.raises(BagwiseError, match="between 0 and 1"):
        detections_of(project, 1.5)
    assert "for --what detections" in bagwise("export", season / "project", "--to", to, "--threshold", "0.2")[2]


def test_predictions_have_the_file_of_the_bag_and_the_times_of_the_evidence(season, tmp_path):
    assert bagwise("export", season / "project", "--what", "predictions", "--to", tmp_path / "p.csv")[0] == 0
    frame = pl.read_csv(tmp_path / "p.csv")
    row = frame.row(
        by_predicate=(pl.col("bag") == "north/20260524_040000.wav#30-40") & (pl.col("class") == "wren"), named=True
    )
    assert (row["file"], row["start"], row["end"], row["site"]) == ("north/20260524_040000.wav", 30.0, 40.0, "north")
    assert row["recorded_at"] == "2026-05-24T04:00:30"
    assert abs(row["evidence_start"] - 31.0) < 0.1
    assert row["evidence_end"] > row["evidence_start"]
    assert bagwise("export", season / "project", "--what", "predictions", "--to", tmp_path / "p.jsonl")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    (line,) = (line for line in lines if line["bag"] == row["bag"])
    assert line["evidence_times"]["wren"] == [row["evidence_start"], row["evidence_end"]]
    assert line["file"] == row["file"]


@pytest.mark.usefixtures("one_process")
def test_new_recordings_have_detections_with_times(season, tmp_path):
    given = ("predict", season / "project", "--from", season / "season")
    code, _, err = bagwise(*given, "--what", "detections", "--to", tmp_path / "new.txt")
    assert code == 0, err
    found = {
        (one.bag, one.label_class, round(one.place["start"]))
        for one in formats.read_labels(tmp_path / "new.txt").placed
    }
    assert ("north/20260524_040000.wav", "wren", 31) in found
    assert ("south/20260524_040000.wav", "wren", 2) in found
    assert "--to" in bagwise(*given, "--what", "detections")[2]
    assert "choose one of" in bagwise(*given, "--what", "everything")[2]


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_labels_of_clips_name_the_recording_and_come_back_into_a_fresh_project(season, project, tmp_path):
    expected = project.contents.given
    assert (expected == 0).sum() == 2
    where = {(bag, one.instance, one.label_class, one.present) for bag, one in project.contents.instance_labels}
    assert len(where) == 4
    code, out, err = bagwise(
        "init", tmp_path / "fresh", "--from", season / "season", "--classes", season / "species.txt"
    )
    assert code == 0, out + err
    for form, suffix in forms_of("labels").items():
        to = tmp_path / f"labels{suffix}"
        exporter("labels", to, form)(project)
        with Project.open(tmp_path / "fresh") as fresh:
            fresh.backup(tmp_path / form)
        with Project.open(tmp_path / form) as fresh:
            fresh.import_(None, formats.read_labels(to))
            assert fresh.contents.given.tolist() == expected.tolist(), form
            if form != "perch":  # Its windows have no frequencies, and two sounds at one time are ambiguous then.
                found = {
                    (bag, one.instance, one.label_class, one.present) for bag, one in fresh.contents.instance_labels
                }
                assert found == where, form
    table = (tmp_path / "labels.txt").read_text().splitlines()
    files = {line.split("\t")[7] for line in table[1:]}
    assert files == set(CALLS)
    clips = [line.split("\t") for line in table if line.endswith("negative\tclip")]
    assert [row[3:5] for row in clips] == [["20.0", "30.0"]] * 2
    with zipfile.ZipFile(tmp_path / "labels.audacity.zip") as tracks:
        assert sorted(tracks.namelist()) == sorted(f"{name}.txt" for name in CALLS)


def small(tmp_path, labels, placed=()):
    """Three bags of a table: two instances that are high, one that is low, one of each."""
    bags = [np.array([[9.0], [9.0]]), np.array([[0.0]]), np.array([[0.0], [9.0]])]
    source = Source.of_bags(tmp_path / "made.npz", bags, ["a", "b", "c"])
    table = LabelTable(["a", "b", "c"], ["high"], np.array(labels, float), placed=placed)
    return Project.create(tmp_path / "small", source, table)


def test_what_people_said_overrides_the_model(tmp_path):
    with small(tmp_path, [[1], [0], [np.nan]]) as project:
        found = detections_of(project, 0.0).frame
        assert found.select("bag", "instance", "confirmed").rows() == [
            ("a", 0, "bag"),
            ("a", 1, "bag"),
            ("c", 0, ""),
            ("c", 1, ""),
        ]
        assert found["file"].to_list() == ["a", "a", "c", "c"], "a bag without a file is called as itself"
        assert found["start"].null_count() == 4
        strict = detections_of(project, 1.0).frame
        assert strict.select("bag", "confirmed").rows() == [("a", "bag")], "what is confirmed is never lost"
        # Nobody answered with instances: a label of one makes the difference.
        known = Known.of(project)
    assert known.instances == {}


def test_instances_that_are_not_of_the_class_are_left_out(tmp_path):
    placed = [formats.PlacedLabel("a", "high", False, 0), formats.PlacedLabel("c", "high", True, 1)]
    with small(tmp_path, [[1], [0], [1]], placed) as project:
        rows = detections_of(project, 1.0).frame.select("bag", "instance", "confirmed").rows()
    assert rows == [("a", 1, "bag"), ("c", 1, "instance")]


def test_a_class_that_no_instance_shows_is_a_detection_of_the_bag(tmp_path):
    placed = [formats.PlacedLabel("a", "high", False, instance) for instance in (0, 1)]
    with small(tmp_path, [[1], [0], [np.nan]], placed) as project:
        rows = detections_of(project, 1.0).frame.select("bag", "instance").rows()
    assert rows == [("a", None)]


def test_detections_of_a_table_are_written_in_all_formats(tmp_path):
    with small(tmp_path, [[1], [0], [np.nan]]) as project:
        for form, suffix in forms_of("detections").items():
            if form == "camtrap_dp":
                continue
            to = tmp_path / f"detections{suffix}"
            exporter("detections", to, form)(project)
            table = formats.read_labels(to) if form == "audacity" else formats.read_scores(to)
            assert "a" in (table.ids if form == "audacity" else table.bags), form


def test_no_detection_is_an_empty_table(tmp_path):
    table = DetectionTable.of([])
    for form, module in formats.able_to("write_detections").items():
        if form != "camtrap_dp":
            module.write_detections(table, tmp_path / f"none{module.SUFFIXES[0]}")
    assert pl.read_csv(tmp_path / "none.csv").columns[:3] == ["file", "site", "recorded_at"]


def test_in_a_track_of_audacity_all_labels_have_a_band_or_none(tmp_path):
    """As crowsetta and scikit-maad need it."""
    row = {"class": "wren", "probability": 0.75, "threshold": 0.5, "confirmed": ""}
    rows = [
        {**row, "file": "a.wav", "bag": "a", "start": 0.5, "end": 1.0, "low": 2000.0, "high": 4000.0},
        {**row, "file": "a.wav", "bag": "a", "start": 10.0, "end": 20.0},
        {**row, "file": "b.wav", "bag": "b", "start": 1.0, "end": 2.0},
    ]
    files = [{"file": name, "rate": 16000.0} for name in ("a.wav", "b.wav")]
    formats.available()["audacity"].write_detections(DetectionTable.of(rows, files), tmp_path / "d.audacity.zip")
    with zipfile.ZipFile(tmp_path / "d.audacity.zip") as archive:
        banded, plain = (archive.read(f"{name}.wav.txt").decode().splitlines() for name in ("a", "b"))
    assert [line.split("\t")[0] for line in banded] == ["0.5", "\\", "10.0", "\\"]
    assert banded[-1] == "\\\t0.0\t8000.0"
    assert plain == ["1.0\t2.0\twren"]


def test_kaleidoscope_and_birdnet_say_what_is_not_a_label(tmp_path):
    row = {"file": "north/a.wav", "start": 1.5, "end": 2.0, "class": "Parus major_Great Tit", "probability": 0.9}
    table = DetectionTable.of(
        [row, {**row, "start": 4.0, "end": 5.0, "low": 900.0, "high": 3000.0, "confirmed": "instance"}]
    )
    modules = formats.able_to("write_detections")
    modules["kaleidoscope"].write_detections(table, tmp_path / "k.csv")
    (label,) = formats.read_labels(tmp_path / "k.csv").placed
    assert (label.bag, label.place) == ("north/a.wav", {"start": 4.0, "end": 5.0, "low": 900.0, "high": 3000.0})
    assert formats.read_scores(tmp_path / "k.csv").probability.tolist() == [0.9, 0.9]
    modules["birdnet_results"].write_detections(table, tmp_path / "b.csv")
    scores = formats.read_scores(tmp_path / "b.csv")
    assert (scores.source, scores.classes, scores.bags) == ("BirdNET", ["Parus major_Great Tit"], ["north/a.wav"])
    with pytest.raises(FileError, match="--scores"):
        formats.read_labels(tmp_path / "b.csv")
    pl.read_csv(tmp_path / "k.csv").drop("MANUAL ID").write_csv(tmp_path / "k.csv")
    with pytest.raises(FileError, match="no row has a MANUAL ID"):
        formats.read_labels(tmp_path / "k.csv")
    of_birdnet = (
        "INDIR,FOLDER,IN FILE,OFFSET,DURATION,scientific_name,common_name,confidence\n,s,a.wav,3,3,P m,G t,0.4\n"
    )
    (tmp_path / "k.csv").write_text(of_birdnet)
    scores = formats.read_scores(tmp_path / "k.csv")
    assert (scores.bags, scores.span.tolist()) == (["s/a.wav"], [[3.0, 6.0]])


def test_camtrap_dp_has_sites_media_and_observations(project, tmp_path):
    module, table = formats.available()["camtrap_dp"], detections_of(project)
    with pytest.raises(BagwiseError, match="has no coordinates"):
        module.write_detections(table, tmp_path / "d.camtrap-dp.zip")
    with pytest.raises(BagwiseError, match="none is known"):
        module.write_detections(DetectionTable.of([]), tmp_path / "d.camtrap-dp.zip")
    module.write_detections(with_coordinates(table), tmp_path / "package")
    package = json.loads((tmp_path / "package" / "datapackage.json").read_text())
    assert [one["path"] for one in package["resources"]] == ["deployments.csv", "media.csv", "observations.csv"]
    assert package["temporal"] == {"start": "2026-05-24", "end": "2026-05-24"}
    tables = {one["name"]: pl.read_csv(tmp_path / "package" / one["path"]) for one in package["resources"]}
    assert tables["deployments"]["deploymentID"].to_list() == ["north", "south"]
    assert tables["deployments"]["deploymentEnd"].to_list() == ["2026-05-24T05:01:04Z", "2026-05-24T04:00:12Z"]
    assert tables["deployments"]["timestampIssues"].all(), "recorders do not say in which time zone they are"
    assert tables["media"]["mediaID"].to_list() == list(CALLS)
    assert set(tables["media"]["fileMediatype"]) == {"audio/wav"}
    observed = tables["observations"]
    assert set(observed["mediaID"]) <= set(tables["media"]["mediaID"])
    assert len(observed) == len(table.frame)
    wren = observed.filter((pl.col("scientificName") == "wren") & pl.col("eventStart").str.contains("04:00:3"))
    assert wren["eventEnd"][0] > wren["eventStart"][0]
    module.write_detections(with_coordinates(table), tmp_path / "d.camtrap-dp.zip")
    labels = formats.read_labels(tmp_path / "d.camtrap-dp.zip")
    assert len(labels.placed) == (table.frame["confirmed"] == "instance").sum()


def test_a_report_counts_by_site_class_and_period(project, season, tmp_path):
    code, out, err = bagwise("report", season / "project", "--to", tmp_path / "report", "--by", "hour")
    assert code == 0, err
    assert "report.md" in out
    counts = pl.read_csv(tmp_path / "report" / "summary.csv", schema_overrides={"period": pl.String})
    assert counts.select("site", "period").unique(maintain_order=True).rows() == [
        ("north", "04"),
        ("north", "05"),
        ("south", "04"),
    ]
    first = counts.row(
        by_predicate=(pl.col("site") == "north") & (pl.col("period") == "04") & (pl.col("class") == "wren"), named=True
    )
    found = detections_of(project).frame.filter(file="north/20260524_040000.wav", **{"class": "wren"})
    assert first == {
        "site": "north",
        "period": "04",
        "class": "wren",
        "recordings": 1,
        "clips": 6,
        "hours": pytest.approx(64 / 3600),
        "recordings_with": 1,
        "clips_with": 2,
        "share_of_clips": pytest.approx(2 / 6),
        "detections": len(found),
        "confirmed_clips": 1,
        "audits": 0,
        "estimate": None,
        "low": None,
        "high": None,
    }
    robins = counts.filter((pl.col("site") == "south") & (pl.col("class") == "robin"))
    assert robins.select("clips", "clips_with", "detections").rows() == [(1, 0, 0)], "what was not found has a row too"
    assert counts["detections"].sum() == len(detections_of(project).frame)
    page = (tmp_path / "report" / "report.md").read_text()
    assert "20 more audits are needed for an interval" in page
    for name in ("activity_by_hour", "activity_by_site", "accumulation"):
        assert f"](figures/{name}.png)" in page
        assert (tmp_path / "report" / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / "report" / "figures" / f"{name}.svg").read_text()
    assert "choose one of" in bagwise("report", season / "project", "--to", tmp_path / "r", "--by", "year")[2]


@pytest.mark.slow
def test_a_report_of_a_site_is_about_nothing_else(project, season, tmp_path):
    code, _, err = bagwise(
        "report", season / "project", "--to", tmp_path / "report", "--site", "north", "--hours", "4-5"
    )
    assert code == 0, err
    counts = pl.read_csv(tmp_path / "report" / "summary.csv")
    assert counts.select("site", "recordings", "clips").unique().rows() == [("north", 1, 6)]
    assert set(pl.read_csv(tmp_path / "report" / "detections.csv")["file"]) == {"north/20260524_040000.wav"}
    assert "1 recordings, 6 clips" in (tmp_path / "report" / "report.md").read_text()
    table = detections_of(project, wanted=BagFilter.parse(["north"], hours="4-5"))
    assert table.files["file"].to_list() == ["north/20260524_040000.wav"], "files of other sites were not searched"


def test_classes_accumulate_with_the_hours_of_sound(project):
    table = summary_of(project).accumulation
    calls = {file: min(start for starts in of.values() for start in starts) for file, of in CALLS.items() if of}
    assert table.columns == ["site", "recordings", "clips", "hours", "classes"]
    assert table["site"].unique(maintain_order=True).to_list() == ["all", "north", "south"]
    for site in ("all", "north", "south"):
        some = table.filter(site=site)
        assert some["classes"].is_sorted()
        assert some["clips"].is_sorted()
        files = [file for file in CALLS if site in ("all", file.split("/")[0])]
        assert some["recordings"][-1] == len(files)
        assert some["classes"][-1] == len({name for file in files for name, starts in CALLS[file].items() if starts})
        first = min(calls[file] for file in files if file in calls)
        assert some["hours"][0] * 3600 >= first


def test_detection_histories_have_a_row_for_each_site_and_na_where_nobody_was(project, tmp_path, monkeypatch):
    monkeypatch.setattr("bagwise.project.reports.report_files.is_installed", lambda extra: False)
    summary = summary_of(project)
    summary = replace(
        summary,
        visits=summary.visits.filter(pl.col("site") == "north").vstack(
            summary.visits.filter(pl.col("site") == "south").with_columns(visit=pl.lit("2026-05-25"))
        ),
    )
    page = write_report(summary, tmp_path, IN_WORDS, "<!doctype html>")
    assert "pip install" in page.read_text()
    assert (tmp_path / "histories" / "robin.csv").read_text().splitlines() == [
        "site,2026-05-24,2026-05-25",
        "north,1,NA",
        "south,NA,0",
    ]
    effort = pl.read_csv(tmp_path / "histories" / "effort_hours.csv", null_values="NA")
    assert effort["2026-05-24"].to_list() == [pytest.approx(128 / 3600), None]
    assert pl.read_csv(tmp_path / "visits.csv").columns == ["site", "visit", "class", "hours", "found"]


def test_a_report_of_a_table_has_one_site_and_one_period(tmp_path):
    with small(tmp_path, [[1], [0], [np.nan]]) as project:
        summary = summary_of(project, "season")
    assert summary.counts.select("site", "period", "clips", "hours").rows() == [("all", "all", 3, None)]
    assert summary.shares["site"].to_list() == ["all"]
    assert summary.hours.is_empty()
    assert summary.history("high").row(0)[:3] == ("all", 1, 0), "recordings are visits where no time is known"
    write_report(summary, tmp_path / "report", IN_WORDS, "<!doctype html>")
    figures = sorted(path.name for path in (tmp_path / "report" / "figures").glob("*.png"))
    assert figures == ["accumulation.png", "activity_by_site.png"]


def test_intervals_come_from_audits(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.random(120) < 0.3
    bags = [np.array([[9.0 * one + rng.normal()]]) for one in truth]
    source = Source.of_bags(tmp_path / "made.npz", bags, [str(number) for number in range(120)])
    with Project.create(tmp_path / "p", source, classes=["high"], learning=Learning(audit=0.5)) as project:
        for _ in range(60):
            (lease,) = project.ask("ann")
            project.answer(lease.key, "ann", "present" if truth[lease.pair[0]] else "absent", seconds=1.0)
        (share,) = summary_of(project).shares.iter_rows(named=True)
    assert share["audits"] >= 20
    assert share["low"] <= truth.mean() <= share["high"]
    assert share["high"] - share["low"] < 0.2
    assert share["clips_with"] == truth.sum()


def test_a_period_with_enough_audits_has_an_interval_of_its_own(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.random(120) < 0.3
    bags = [np.array([[9.0 * one + rng.normal()]]) for one in truth]
    source = Source.of_bags(tmp_path / "made.npz", bags, [str(number) for number in range(120)])
    moments = [f"{number},{'north' if number < 100 else 'south'},2026-05-24T04:00:00" for number in range(120)]
    (tmp_path / "details.csv").write_text("\n".join(["bag,site,recorded_at", *moments]) + "\n")
    with Project.create(tmp_path / "p", source, classes=["high"], learning=Learning(audit=0.5)) as project:
        project.import_details(Details.read(tmp_path / "details.csv"))
        for _ in range(60):
            (lease,) = project.ask("ann")
            project.answer(lease.key, "ann", "present" if truth[lease.pair[0]] else "absent", seconds=1.0)
        summary = summary_of(project, "hour")
        north, south = summary.counts.iter_rows(named=True)
        of_north = summary.shares.row(by_predicate=pl.col("site") == "north", named=True)
    assert (north["site"], north["period"], south["site"]) == ("north", "04", "south")
    assert {name: north[name] for name in ("audits", "estimate", "low", "high")} == {
        name: of_north[name] for name in ("audits", "estimate", "low", "high")
    }, "all of the north is in this period"
    assert north["low"] <= truth[:100].mean() <= north["high"]
    assert south["audits"] < 20
    assert south["estimate"] is None
