"""A folder of raw files becomes a project: whatever is in it, however often it is interrupted, once and no more."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from bagwise import ingest
from bagwise.cli import app
from bagwise.core import processes
from bagwise.core.errors import BagwiseError
from bagwise.ingest import folder as _folder
from bagwise.ingest import worker_pool
from bagwise.ingest.cache import Cache
from bagwise.ingest.fingerprints import Fingerprint
from bagwise.ingest.worker import Task
from bagwise.project import Project
from bagwise.project.imports import segmentation

LETTERS = ["--embed", "tests.ingest.embeddings:letters"]
DANGEROUS = ["--embed", "tests.ingest.embeddings:dangerously"]


@pytest.fixture(autouse=True)
def one_process(monkeypatch):
    """A start costs more than these files."""
    monkeypatch.setattr(worker_pool, "cores", lambda: 1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (tmp_path / "classes.txt").write_text("owl\nbread\n")
    (tmp_path / "texts").mkdir()
    return tmp_path


@pytest.fixture
def segmented_now(monkeypatch):
    """The names of the files that are really segmented."""
    names = []

    def segment_files(recipe, tasks, processes=None):
        names.extend(task.path.name for task in tasks)
        yield from worker_pool.segment_files(recipe, tasks, processes)

    monkeypatch.setattr(_folder, "segment_files", segment_files)
    return names


def bagwise(*words, code=0):
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def fails(*words):
    result = CliRunner().invoke(app, list(words))
    assert isinstance(result.exception, BagwiseError), result.output
    return str(result.exception)


def write(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"an owl and bread in {name}")


def reasons(project):
    rows = pl.read_csv(project / "cutting" / "skipped.csv")
    return dict(zip(rows["file"], rows["reason"], strict=True))


@pytest.mark.slow
def test_every_file_is_segmented_or_listed_and_only_new_files_are_added(here, segmented_now):
    texts = here / "texts"
    write(texts, "a.txt", "a.md", "sub/b.txt", "crash.txt", "exit.txt", "nan.txt", "outside.txt", "error.txt", "z.txt")
    write(texts, "wide.txt", ".hidden.txt", "bad\nname.txt", "é.txt")
    write(here, "elsewhere.txt")
    (texts / "empty.txt").touch()
    (texts / "link.txt").symlink_to(here / "elsewhere.txt")
    (texts / "gone.txt").symlink_to(here / "nowhere.txt")
    (texts / "table.csv").write_text("x")
    (texts / os.fsdecode(b"\xff.txt")).touch()
    output = bagwise("init", "p", "--from", "texts", "--classes", "classes.txt", *DANGEROUS)
    assert "1 other file" in output
    with Project.open(here / "p") as project:
        assert project.contents.ids.tolist() == ["a.md", "a.txt", "z.txt", "é.txt", "sub/b.txt"]
        places = project.medium(0).places
        assert places[1] == {"first": 3, "last": 5}
        assert project.medium(4).path.read_text() == "an owl and bread in sub/b.txt"
        assert project.settings.display.bag == "document"
    found = reasons(here / "p")
    assert "SIGSEGV" in found["crash.txt"]
    assert "status 3" in found["exit.txt"]
    assert "finite" in found["nan.txt"]
    assert "first must not be negative" in found["outside.txt"]
    assert "KeyError" in found["error.txt"]
    assert "5 features where the first file has 2" in found["wide.txt"]
    assert found["empty.txt"] == "is empty."
    assert found["link.txt"] == found["gone.txt"] == "is a link that leads out of the folder or nowhere."
    assert "rename" in found["bad\nname.txt"]
    assert "rename" in found["\\udcff.txt"]
    assert len(found) == 11
    assert not (here / ".p.cutting").exists()

    segmented_now.clear()
    write(texts, "new.txt")
    (texts / "z.txt").write_text("something else")
    os.utime(texts / "a.txt", (1, 1))
    bagwise("import", "p", "--from", "texts", *DANGEROUS)
    assert "a.txt" not in segmented_now
    assert "changed since" in reasons(here / "p")["z.txt"]
    assert "a.txt" not in reasons(here / "p")
    with Project.open(here / "p") as project:
        assert project.contents.ids.tolist()[5:] == ["new.txt"]
        assert project.medium(5).places[1] == {"first": 3, "last": 5}
    assert not segmentation.cache_folder(here / "p").exists()


@pytest.mark.slow
def test_paragraphs_from_the_folder_to_predictions_of_new_files(here):
    rng = np.random.default_rng(0)
    sentences = {
        "owl": "The owl called from the old barn again, as owls do.",
        "bread": "Bread cooled on the kitchen sill.",
    }
    truth = []
    for number in range(24):
        inside = [name for name in sentences if rng.random() < 0.5]
        text = "\n\n".join(
            [f"Nothing else happened in the village on day {number}.", *(sentences[name] for name in inside)]
        )
        (here / "texts" / f"{number}.txt").write_bytes(text.encode("utf-16" if number == 3 else "utf-8"))
        truth += [f"{number}.txt,{name},{int(name in inside)}" for name in sentences]
    (here / "truth.csv").write_text("bag,class,label\n" + "\n".join(truth))
    bagwise("init", "p", "--from", "texts", "--classes", "classes.txt", "--labels", "truth.csv")
    assert "Nothing new" in bagwise("init", "p", "--from", "texts", "--classes", "classes.txt")
    with Project.open(here / "p") as project:
        position = project.contents.ids.tolist().index("3.txt")
        assert project.medium(position).path.read_text(encoding="utf-8").startswith("Nothing else")
        state = segmentation.recipe_of(here / "p").state
        copy = project.backup(here / "copy")
    np.testing.assert_array_equal(segmentation.recipe_of(copy).state["components"], state["components"])
    bagwise("train", "p", "--to", "model.npz")
    (here / "new").mkdir()
    (here / "new" / "x.txt").write_bytes(
        "Nothing else happened in the café (schön!) on this day.\n\nThe owl called from the old barn again.".encode(
            "latin-1"
        )
    )
    for of in ("p", "model.npz"):
        bagwise("predict", of, "--from", "new", "--to", "predicted.csv")
        rows = pl.read_csv("predicted.csv").rows_by_key("class")
        assert rows["owl"][0][1] > 0.5 > rows["bread"][0][1]
        assert rows["owl"][0][2] == 1, "the second paragraph carries it"


@pytest.mark.slow
def test_a_kill_keeps_the_segmented_files(here, segmented_now):
    names = [f"{number:02}.txt" for number in range(24)]
    write(here / "texts", *names)
    words = ["init", "p", "--from", "texts", "--classes", "classes.txt", "--embed", "tests.ingest.embeddings:held"]
    (here / "hold").touch()
    with_tests = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "bagwise", *words]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=with_tests)
    index = here / ".p.cutting" / "index.jsonl"
    while not (index.exists() and index.read_bytes().count(b"\n") >= 5):
        assert process.poll() is None, "it must not be done before it is killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (here / "hold").unlink()
    whole = index.read_bytes()
    with index.open("ab") as file:
        file.write(b'{"id": "half of a li')
    already = [json.loads(line)["id"] for line in whole.splitlines()]
    assert not (here / "p").exists()
    bagwise(*words)
    assert segmented_now == names[len(already) :]
    assert len(already) >= 5
    with Project.open(here / "p") as project:
        assert project.contents.ids.tolist() == names
        expected = [[ord(word[0]) / 100, len(word)] for name in names for word in f"an owl and bread in {name}".split()]
        np.testing.assert_allclose(project.bags.instances, expected, rtol=1e-6)
    assert not (here / ".p.cutting").exists()


def test_another_recipe_or_a_changed_file_is_segmented_again(here):
    write(here / "texts", "a.txt", "b.txt")
    recipe, folder = ingest.Recipe.of("text", "paragraphs", "cat {file}"), here / "texts"
    fingerprint, place = Fingerprint.of(folder / "a.txt"), here / "cache"
    segments = ingest.Segments(np.ones((2, 3), np.float32), np.full((2, 4), np.nan))
    with contextlib.suppress(KeyError), ingest.resumable_cache(place, recipe, folder) as (cache, _):
        recipe.write(place)
        cache.add("a.txt", ".txt", fingerprint, segments)
        raise KeyError("interrupted")
    with contextlib.suppress(KeyError), ingest.resumable_cache(place, recipe, folder) as (cache, _):
        assert list(cache.entries) == ["a.txt"]
        with pytest.raises(BagwiseError, match="Another bagwise"), ingest.resumable_cache(place, recipe, folder):
            pass
        raise KeyError("interrupted again")
    for other, where in [(ingest.Recipe.of("text", "sentences"), folder), (recipe, here)]:
        with contextlib.suppress(KeyError), ingest.resumable_cache(place, other, where) as (cache, _):
            assert not cache.entries
            raise KeyError
    assert fingerprint.unchanged(folder / "a.txt")
    (folder / "a.txt").write_text("xx owl and bread in a.txt")
    os.utime(folder / "a.txt", ns=(fingerprint.changed, fingerprint.changed + 1))
    assert not fingerprint.unchanged(folder / "a.txt")


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_skipped(here, monkeypatch):
    monkeypatch.setattr(processes, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(worker_pool, "TIMEOUT", 3.0)
    write(here / "texts", "a.txt", "forever.txt", "z.txt")
    recipe = ingest.Recipe.of("text", "paragraphs", DANGEROUS[1])
    tasks = [Task(path) for path in sorted((here / "texts").iterdir())]
    outcomes = {task.path.name: outcome for task, outcome in worker_pool.segment_files(recipe, tasks)}
    assert outcomes["forever.txt"].reason == "takes more than 3 seconds."
    assert len(outcomes) == 3


@pytest.mark.parametrize("damage", ["features.bin", "places.bin", "index.jsonl"])
def test_damage_in_the_cache_costs_only_the_damaged_entries(tmp_path, damage, rng):
    fingerprint = Fingerprint(1, 2, "x")
    all_segments = [ingest.Segments(rng.normal(size=(n, 3)).astype(np.float32), rng.random((n, 4))) for n in (2, 5, 3)]
    cache = Cache(tmp_path)
    for number, segments in enumerate(all_segments):
        cache.add(str(number), ".txt", fingerprint, segments)
    cache.close()
    raw = bytearray((tmp_path / damage).read_bytes())
    place = raw.index(b'"1"') if damage == "index.jsonl" else len(raw) // 2
    raw[place] ^= 0x55
    (tmp_path / damage).write_bytes(raw)
    again = Cache(tmp_path)
    assert list(again.entries) == ["0"]
    again.add("9", ".txt", fingerprint, all_segments[2])
    again.close()
    third = Cache(tmp_path)
    np.testing.assert_array_equal(next(third.blocks([third.entries["9"]])), all_segments[2].features)
    np.testing.assert_array_equal(third.places(third.entries["0"]), all_segments[0].places)
    third.close()


def test_invalid_options_are_reported_before_any_work(here):
    write(here / "texts", "a.txt")
    assert "The project has no class" in fails("init", "p", "--from", "texts")
    assert "no medium 'film'" in fails("init", "p", "--from", "texts", "--classes", "classes.txt", "--medium", "film")
    assert "contains no file" in fails("init", "p", "--from", "texts", "--classes", "classes.txt", "--medium", "image")
    assert "is for picture, not for text" in fails(
        "init", "p", "--from", "texts", "--classes", "classes.txt", "--cut", "grid"
    )
    assert "no segmenter" in fails("init", "p", "--from", "texts", "--classes", "classes.txt", "--cut", "axe")
    assert "--media" in fails("init", "p", "--from", "texts", "--classes", "classes.txt", "--media", "texts")
    (here / "t.csv").write_text("bag,x\na,1\n")
    assert "segmented already" in fails("init", "p", "--from", "t.csv", "--classes", "classes.txt", "--cut", "grid")
    (here / "p").mkdir()
    (here / "p" / "mine").touch()
    assert "exists already" in fails("init", "p", "--from", "texts", "--classes", "classes.txt")
    assert not (here / ".p.cutting").exists()


def test_a_folder_of_which_nothing_can_be_used_is_an_error_with_a_reason(here):
    (here / "texts" / "a.txt").touch()
    message = fails("init", "p", "--from", "texts", "--classes", "classes.txt", *LETTERS)
    assert "none of its files can be used; a.txt: is empty." in message


def test_programs_are_never_taken_from_a_file(here, segmented_now):
    write(here / "texts", "a.txt")
    bagwise("init", "p", "--from", "texts", "--classes", "classes.txt", *LETTERS)
    write(here / "texts", "b.txt")
    assert "say again with --embed" in fails("import", "p", "--from", "texts")
    assert "embedded alike" in fails("import", "p", "--from", "texts", *DANGEROUS)
    assert segmented_now == ["a.txt"]
    assert "embeddings" not in (here / "p" / "cutting" / "recipe.json").read_text().replace(
        "tests.ingest.embeddings", ""
    )


def test_a_renamed_file_is_not_a_new_bag(here, segmented_now):
    """Its content tells it; a copy under another name is a new bag, as before."""
    write(here / "texts", "a.txt", "b.txt", "c.txt")
    bagwise("init", "p", "--from", "texts", "--classes", "classes.txt", *LETTERS)
    (here / "texts" / "b.txt").rename(here / "texts" / "dawn.txt")
    (here / "texts" / "copy of a.txt").write_bytes((here / "texts" / "a.txt").read_bytes())
    segmented_now.clear()
    output = bagwise("import", "p", "--from", "texts", *LETTERS)
    assert "The file of b.txt was renamed to dawn.txt; the bag keeps its name." in output
    assert segmented_now == ["copy of a.txt"]
    with Project.open("p") as project:
        assert project.contents.ids.tolist() == ["a.txt", "b.txt", "c.txt", "copy of a.txt"]
        assert project.medium(1).path.read_text() == "an owl and bread in b.txt"
    assert "has other content" in fails("rename-file", "p", "b.txt", "texts/c.txt")
    bagwise("rename-file", "p", "b.txt", "texts/dawn.txt")
    (here / "p" / "media" / "1.txt").unlink()
    bagwise("rename-file", "p", "b.txt", "texts/dawn.txt")
    with Project.open("p") as project:
        assert project.medium(1).path.read_text() == "an owl and bread in b.txt"


def test_the_file_of_a_removed_bag_is_not_added_again(here, segmented_now):
    write(here / "texts", "a.txt", "b.txt")
    bagwise("init", "p", "--from", "texts", "--classes", "classes.txt", *LETTERS)
    bagwise("remove", "p", "b.txt")
    segmented_now.clear()
    assert "Nothing new" in bagwise("import", "p", "--from", "texts", *LETTERS)
    assert segmented_now == []
