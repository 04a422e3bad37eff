"""Files and places come into a project, and only they: looked up by the bag's id, kept by its number."""

import os
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bagwise.core.errors import BagwiseError
from bagwise.formats import Source
from bagwise.ingest import media
from bagwise.ingest.media import Files, Places
from bagwise.project import Media, Project, check
from tests.project.test_commands import bagwise
from tests.support import example_media

PNG = np.zeros((4, 6, 3), np.uint8)


def folder_with(path, *names):
    for name in names:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        example_media.write_png(path / name, PNG)
    return path


def source_of(ids, sizes=None):
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(size, 2)) for size in (sizes or [3] * len(ids))]
    return Source.of_bags(Path("made.npz"), bags, ids)


@pytest.mark.parametrize("kind", media.available())
def test_every_medium_keeps_its_files_and_places(tmp_path, kind):
    folder, truth = example_media.make(tmp_path, kind, bags=6)
    places = pl.read_csv(tmp_path / f"{kind}.csv")
    with Project.open(folder) as project:
        for position, name in enumerate(truth):
            kept = project.medium(position)
            assert kept.medium == kind
            (original,) = (tmp_path / f"{kind} files").glob(f"{name}.*")
            assert kept.path.read_bytes() == original.read_bytes()
            expected = places.filter(pl.col("bag") == name).drop("bag", "instance").to_dicts()
            assert kept.places == expected
        assert not any(one.wrong for one in check(project))


def test_media_agree_with_each_other():
    seen = [suffix for module in media.available().values() for suffix in module.TYPES]
    assert len(seen) == len(set(seen))
    assert ".svg" not in seen
    assert ".html" not in seen
    for name, module in media.available().items():
        assert len(media.columns_of(name)) <= media.WIDTH
        assert module.RULE.endswith(".")
        assert all(suffix == suffix.lower() for suffix in module.TYPES)


@pytest.mark.parametrize(
    ("bag", "file"),
    [
        ("a", "a.png"),
        ("a.png", "a.png"),
        ("a", "a.PNG"),
        ("a.b", "a.b.png"),
        ("site/a", "site/a.png"),
        ("site/a.png", "site/a.png"),
        ("Zaunkönig", "Zaunko\u0308nig.png"),
        ("a b & c?", "a b & c?.png"),
        ("<script>", "<script>.png"),
        ("x" * 200, "x" * 200 + ".png"),
    ],
)
def test_a_file_is_found_by_the_bags_id(tmp_path, bag, file):
    files = Files.in_folder(folder_with(tmp_path / "f", file, "other.png"))
    assert [path.name for path in files.of([bag]).values()] == [Path(file).name]


@pytest.mark.parametrize(
    "bag", ["../secret", "../secret.png", "/etc/passwd", "site/../a", "./a", "a/", "..", "~", "a\\b"]
)
def test_an_id_is_never_a_path(tmp_path, bag):
    folder_with(tmp_path, "secret.png")
    files = Files.in_folder(folder_with(tmp_path / "f", "a.png", "site/b.png"))
    with pytest.raises(BagwiseError, match="no file in it has the name of a bag"):
        files.of([bag])


def test_links_that_lead_elsewhere_are_left_out(tmp_path):
    folder_with(tmp_path, "secret.png", "elsewhere/c.png")
    files = folder_with(tmp_path / "f", "a.png")
    (files / "b.png").symlink_to(tmp_path / "secret.png")
    (files / "more").symlink_to(tmp_path / "elsewhere")
    (files / "inside.png").symlink_to(files / "a.png")
    (files / "broken.png").symlink_to(files / "nothing.png")
    found = Files.in_folder(files)
    assert sorted(found.whole) == ["a.png", "inside.png"]
    with Project.create(tmp_path / "p", source_of(["inside"]), classes=["c"], media=Media(found)) as project:
        path = project.medium(0).path
        assert not path.is_symlink()
        assert path.read_bytes() == (files / "a.png").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not what its name says"),
        ("a.wav", b"<html><script>alert(1)</script>", "is not what its name says"),
        ("a.jpg", b"", "is empty"),
        ("a.txt", "Zaunkönig".encode("latin-1"), "is not UTF-8"),
        ("a.svg", b"<svg/>", "contains no file that can be shown"),
        ("a.html", b"<p>", "contains no file that can be shown"),
    ],
)
def test_a_file_is_what_its_name_says(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BagwiseError, match=words):
        Files.in_folder(tmp_path).of(["a"])


def test_two_files_of_one_bag_are_refused_and_the_whole_name_tells_them_apart(tmp_path):
    folder_with(tmp_path, "a.png")
    (tmp_path / "a.txt").write_text("words")
    files = Files.in_folder(tmp_path)
    with pytest.raises(BagwiseError, match=r"more than one file, a\.png and a\.txt"):
        files.of(["a"])
    assert files.of(["a.txt"])[0].name == "a.txt"


GOOD = "bag,instance,x,y,width,height\na,0,1,2,3,4\na,2,0,0,1.5,1\nb,1,0,0,2,2\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("bag,x\na,1\n", "there is no column instance"),
        ("bag,instance,x,y,width\na,0,1,2,3\n", "there is no column height: picture needs x, y, width, height"),
        (GOOD + "c,0,1,1,1,1\n", "line 5, column bag: 'c': the project has no such bag"),
        (GOOD + "a,3,1,1,1,1\n", "line 5, column instance: '3': the bag has no such instance"),
        (GOOD + "a,-1,1,1,1,1\n", "line 5, column instance"),
        (GOOD + "a,0.5,1,1,1,1\n", "line 5, column instance"),
        (GOOD + "a,,1,1,1,1\n", "line 5, column instance"),
        (GOOD + "a,1,one,1,1,1\n", "line 5, column x: 'one': is not a number"),
        (GOOD + "a,1,,1,1,1\n", "line 5, column x: '': is not a number"),
        (GOOD + "a,1,inf,1,1,1\n", "line 5, column x: 'inf': is not a number"),
        (GOOD + "a,1,nan,1,1,1\n", "line 5, column x: 'nan': is not a number"),
        (GOOD + "a,1,1,1,0,1\n", "line 5, column x: '1': x and y must not be negative"),
        (GOOD + "a,0,1,1,1,1\n", "this instance has two places"),
    ],
)
def test_invalid_places_are_refused(tmp_path, content, words):
    (tmp_path / "places.csv").write_text(content)
    files = Files.in_folder(folder_with(tmp_path / "f", "a.png", "b.png"))
    with pytest.raises(BagwiseError, match=words):
        Project.create(
            tmp_path / "p",
            source_of(["a", "b"]),
            classes=["c"],
            media=Media(files, Places.read(tmp_path / "places.csv")),
        )
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("kind", "place", "good"),
    [
        ("sound", (0, 1, np.nan, np.nan), True),
        ("sound", (0, 1, 500, 4000), True),
        ("sound", (1, 1, np.nan, np.nan), False),
        ("sound", (-1, 1, np.nan, np.nan), False),
        ("sound", (0, 1, 4000, 500), False),
        ("text", (0, 0, np.nan, np.nan), True),
        ("text", (5, 4, np.nan, np.nan), False),
        ("text", (-1, 4, np.nan, np.nan), False),
    ],
)
def test_what_a_place_is(kind, place, good):
    assert media.available()[kind].misplaced(np.array([place], float)).tolist() == [not good]


def test_places_may_be_missing_and_may_come_later(tmp_path):
    files = Files.in_folder(folder_with(tmp_path / "f", "a.png", "b.png"))
    with Project.create(tmp_path / "p", source_of(["a", "b", "c"]), classes=["x"], media=Media(files)) as project:
        assert project.medium(0).places == [None] * 3
        (tmp_path / "places.csv").write_text(GOOD + "c,0,1,1,1,1\n")
        answered = len(project.events)
        project.import_(None, media=Media(places=Places.read(tmp_path / "places.csv")))
        box = {"x": 1, "y": 2, "width": 3, "height": 4}
        assert project.medium(0).places == [box, None, {"x": 0, "y": 0, "width": 1.5, "height": 1}]
        assert project.medium(2) is None
        assert len(project.events) == answered
        pl.read_csv(tmp_path / "places.csv").with_columns(x=7.0).head(1).write_parquet(tmp_path / "new.parquet")
        project.import_(None, media=Media(places=Places.read(tmp_path / "new.parquet")))
        assert project.medium(0).places == [box | {"x": 7}, None, {"x": 0, "y": 0, "width": 1.5, "height": 1}]
        assert not any(one.wrong for one in check(project))


def test_places_without_files_are_refused(tmp_path):
    (tmp_path / "places.csv").write_text(GOOD)
    with pytest.raises(BagwiseError, match="no bag has one"):
        Project.create(
            tmp_path / "p",
            source_of(["a", "b"]),
            classes=["c"],
            media=Media(places=Places.read(tmp_path / "places.csv")),
        )


def test_moving_the_folder_moves_the_media_and_a_backup_has_them(tmp_path):
    folder, _ = example_media.make(tmp_path, "picture", bags=3)
    with Project.open(folder) as project:
        project.backup(tmp_path / "backup")
        expected = [(project.medium(b).path.read_bytes(), project.medium(b).places) for b in range(3)]
    shutil.rmtree(tmp_path / "picture files")
    folder.rename(tmp_path / "moved")
    for place in ("moved", "backup"):
        with Project.open(tmp_path / place) as project:
            assert [(project.medium(b).path.read_bytes(), project.medium(b).places) for b in range(3)] == expected
    kept, copied = (tmp_path / place / "media" / "0.png" for place in ("moved", "backup"))
    assert not kept.samefile(copied), "a backup shares nothing with what it is a backup of"


def test_another_disk_is_copied_from(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    folder, _ = example_media.make(tmp_path, "text", bags=3)
    with Project.open(folder) as project:
        assert project.medium(0).path.read_text(encoding="utf-8").strip()
    assert sorted(path.name for path in (folder / "media").iterdir()) == ["0.txt", "1.txt", "2.txt", "places.npy"]


def test_a_file_given_again_takes_the_place_of_the_old_one(tmp_path):
    files = Files.in_folder(folder_with(tmp_path / "f", "a.png"))
    with Project.create(tmp_path / "p", source_of(["a"]), classes=["c"], media=Media(files)) as project:
        (tmp_path / "g").mkdir()
        (tmp_path / "g" / "a.txt").write_text("words now")
        project.import_(None, media=Media(Files.in_folder(tmp_path / "g")))
        assert project.medium(0).path.read_text() == "words now"
        assert [path.name for path in (tmp_path / "p" / "media").iterdir()] == ["0.txt"]
    assert (tmp_path / "f" / "a.png").exists()


def test_an_interrupted_import_lends_nothing_to_the_next(tmp_path, monkeypatch):
    files = Files.in_folder(folder_with(tmp_path / "f", "a.png", "b.png"))
    (tmp_path / "places.csv").write_text("bag,instance,x,y,width,height\nb,0,1,1,1,1\n")
    brought = Media(files, Places.read(tmp_path / "places.csv"))
    with Project.create(tmp_path / "p", source_of(["a"]), classes=["c"]) as project:

        def stop(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("bagwise.project.storage.queries.add_import", stop)
            with pytest.raises(KeyboardInterrupt):
                project.import_(source_of(["b"]), media=brought)
        assert not (tmp_path / "p" / "media" / "1.png").exists()
        # As a killed one leaves it.
        (tmp_path / "p" / "media" / "1.png").write_bytes((tmp_path / "f" / "b.png").read_bytes())
        project.import_(source_of(["other"]))
        assert project.medium(1) is None
        project.import_(None, media=Media(Files.in_folder(folder_with(tmp_path / "g", "other.png"))))
        assert project.medium(1).places == [None] * 3


def test_damaged_places_stop_nobody_and_are_found(tmp_path):
    folder, _ = example_media.make(tmp_path, "sound", bags=3)
    with Project.open(folder) as project:
        for damage in (b"", b"nonsense", (folder / "media" / "places.npy").read_bytes()[:150]):
            (folder / "media" / "places.npy").write_bytes(damage)
            assert set(project.medium(0).places) == {None}
            assert "import the places again" in [one.wrong for one in check(project)][-1]
        project.import_(None, media=Media(places=Places.read(tmp_path / "sound.csv")))
        assert project.medium(0).places[0]["start"] > 0
        assert not any(one.wrong for one in check(project))


def test_from_the_command_line(tmp_path):
    example_media.make(tmp_path, "sound", bags=4)
    rows = [(f"clip {b}", float(b), float(i)) for b in range(5) for i in range(4)]
    pl.DataFrame(rows, schema=["bag", "f", "g"], orient="row").write_csv(tmp_path / "instances.csv")
    (tmp_path / "classes.txt").write_text("low tone\n")
    given = ["--from", tmp_path / "instances.csv", "--classes", tmp_path / "classes.txt"]
    shown = ["--media", tmp_path / "sound files", "--places", tmp_path / "sound.csv"]
    code, out, err = bagwise("init", tmp_path / "p", *given, *shown)
    assert code == 0, err
    assert "1 bags have no file and are shown as numbers; the first is clip 4." in out
    assert "bagwise serve" in out
    code, _, err = bagwise("init", tmp_path / "q", *given, "--media", tmp_path / "nowhere")
    assert code == 2
    assert "is not a folder" in err
    assert not (tmp_path / "q").exists()
    assert bagwise("init", tmp_path / "q", *given)[0] == 0
    code, _, err = bagwise("import", tmp_path / "q", *shown)
    assert code == 0, err
    with Project.open(tmp_path / "q") as project:
        assert project.medium(0).medium == "sound"
    assert bagwise("check", tmp_path / "q")[0] == 0
