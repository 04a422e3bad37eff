"""Labels that say where: matched to instances, stored, learned, corrected, exported and imported again."""

import numpy as np
import pytest

from bagwise import formats
from bagwise.core.errors import BagwiseError, FileError
from bagwise.data.instance_labels import InstanceLabel
from bagwise.formats import LabelTable, PlacedLabel, Source
from bagwise.ingest.media import Files, Places
from bagwise.project import Media, Project, check
from bagwise.project.imports.regions import Placement, place_labels
from bagwise.project.reports.exports import exporter
from tests.formats.test_places import WITH_INSTANCES, WRITES
from tests.project.test_commands import bagwise
from tests.support import example_media

NAN = np.nan


def matched(medium, places, *labels):
    """The labels of the instances of one bag, and the placement."""
    places = np.array([[*place, *[NAN] * (4 - len(place))] for place in places], float)
    table = LabelTable(["a"], ["c", "d"], np.full((1, 2), NAN), placed=labels)
    located = (medium, places) if medium else None
    found, placement = place_labels(
        [table], {"a": 0}, {"c": 0, "d": 1}, np.array([0, len(places)]), lambda bag: located
    )
    return {(instance, label_class): present for (_, instance, label_class), present in found.items()}, placement


def at(present=True, label_class="c", **place):
    return PlacedLabel("a", label_class, present, None, place)


def test_the_only_instance_that_overlaps_is_meant():
    calls = [(0, 1), (2, 3), (4, 5)]
    assert matched("sound", calls, at(start=2.2, end=3.6))[0] == {(1, 0): True}
    # A short region in a long window, and a long region around a short call.
    assert matched("sound", [(0, 5), (5, 10)], at(start=6, end=6.4))[0] == {(1, 0): True}
    assert matched("sound", calls, at(start=3.5, end=30))[0] == {(2, 0): True}


def test_half_of_the_smaller_must_overlap():
    found, placement = matched("sound", [(0, 1), (2, 3)], at(start=2.5, end=4), at(start=7, end=8))
    assert (found, placement) == ({}, Placement(2, 0, 2, 0))


def test_of_several_instances_the_one_with_the_largest_overlap_is_meant():
    windows = [(0, 5), (1, 6), (2, 7)]
    assert matched("sound", windows, at(start=1, end=6))[0] == {(1, 0): True}
    assert matched("sound", windows, at(start=0.9, end=5.8))[0] == {(1, 0): True}


def test_where_it_is_not_clear_which_is_meant_nothing_is_taught():
    found, placement = matched("sound", [(0, 1), (1, 2), (2, 3)], at(start=0, end=3))
    assert (found, placement) == ({}, Placement(1, 0, 0, 1))
    assert matched("sound", [(0, 1), (0, 1)], at(start=0, end=1))[1].ambiguous == 1


def test_of_two_sounds_at_one_time_the_frequencies_decide():
    calls = [(0, 1, 800, 1200), (0.1, 1, 3000, 5000)]
    assert matched("sound", calls, at(start=0, end=1, low=3100, high=4900))[0] == {(1, 0): True}
    assert matched("sound", calls, at(start=0, end=0.9))[1].ambiguous == 1
    # Times that are exactly those of one instance say which.
    assert matched("sound", calls, at(start=0.1, end=1))[0] == {(1, 0): True}


def test_windows_are_compared_in_time_alone():
    assert matched("sound", [(0, 5), (5, 10)], at(start=5, end=10, low=2000, high=3000))[0] == {(1, 0): True}


def test_a_point_lies_in_an_instance():
    assert matched("sound", [(0, 5), (5, 10)], at(start=6, end=6))[0] == {(1, 0): True}
    assert matched("sound", [(0, 5), (4, 10)], at(start=4.5, end=4.5))[1].ambiguous == 1


def test_what_is_not_in_a_region_is_in_none_of_the_instances_inside_it():
    calls = [(0, 1), (1.5, 2), (2.5, 4)]
    assert matched("sound", calls, at(False, start=0, end=3))[0] == {(0, 0): False, (1, 0): False}
    # That it is not in a part of the window, or not in some of its frequencies, says nothing about the rest.
    assert matched("sound", [(0, 5)], at(False, start=1, end=2))[0] == {}
    assert matched("sound", [(0, 5)], at(False, start=0, end=5, low=100, high=200))[0] == {}
    assert matched("sound", [(0, 5)], at(False, start=0, end=5, low=0, high=11025))[0] == {(0, 0): False}


def test_boxes_and_passages_are_matched_alike():
    boxes = [(0, 0, 10, 10), (20, 0, 10, 10)]
    assert matched("picture", boxes, at(x=19, y=1, width=10, height=10))[0] == {(1, 0): True}
    assert matched("picture", boxes, at(x=14, y=0, width=10, height=10))[0] == {}
    assert matched("text", [(0, 9), (10, 19)], at(first=10, last=14))[0] == {(1, 0): True}
    assert matched("text", [(0, 9), (10, 10)], at(first=10, last=10))[0] == {(1, 0): True}


def test_a_place_of_another_medium_matches_nothing():
    assert matched("sound", [(0, 1)], at(x=0, y=0, width=1, height=1))[1].unmatched == 1
    assert matched(None, [(0, 1)], at(start=0, end=1))[1].unmatched == 1


def test_an_instance_without_a_place_matches_nothing():
    assert matched("sound", [(NAN, NAN), (0, 1)], at(start=0, end=1))[0] == {(1, 0): True}


def test_regions_that_contradict_each_other_teach_nothing():
    said = [at(start=0, end=1), at(False, start=0, end=2)]
    assert matched("sound", [(0, 1), (1, 2)], *said)[0] == {(1, 0): False}


def test_an_instance_may_be_named_without_any_place():
    assert matched(None, [(0, 1), (1, 2)], PlacedLabel("a", "d", False, 1))[0] == {(1, 1): False}
    with pytest.raises(BagwiseError, match="bag a has 2 instances, counted from 0: there is no instance 2"):
        matched(None, [(0, 1), (1, 2)], PlacedLabel("a", "d", True, 2))


def known(project):
    """Everything that is known of bags and of instances, by name."""
    table = project.labels()
    return set(table.triples()), {(one.bag, one.label_class, one.instance, one.present) for one in table.placed}


def again(folder, kind, labels):
    """A second project of the same bags and files, with these labels."""
    with Project.open(folder / kind) as first:
        sizes = first.bags.sizes
        instances = [np.array(first.bags[bag]) for bag in range(len(sizes))]
        ids, classes = first.contents.ids.tolist(), first.classes
    media = Media(Files.in_folder(folder / f"{kind} files"), Places.read(folder / f"{kind}.csv"))
    source = Source.of_bags(folder / "made.npz", instances, ids)
    return Project.create(folder / "again", source, labels, classes, media=media)


@pytest.fixture(params=["sound", "picture", "text"])
def pointed(request, tmp_path):
    """The folder, the kind and a project in which a person pointed at some instances."""
    folder, truth = example_media.make(tmp_path, request.param, bags=8)
    with Project.open(folder) as project:
        for number in range(14):
            (lease,) = project.ask("ann")
            name, content = project.classes[lease.label_class], truth[str(project.contents.ids[lease.bag])]
            of_class = [i for i, one in enumerate(content) if one == name]
            others = [i for i, one in enumerate(content) if one != name]
            pointing = {"where": of_class[:1], "elsewhere": others[:1]} if of_class and number % 4 else {}
            project.answer(lease.key, "ann", "present" if of_class else "absent", **pointing)
        assert {present for *_, present in known(project)[1]} == {True, False}
        yield tmp_path, request.param, project


def test_what_was_pointed_at_is_exported_and_imported_again(pointed):
    folder, kind, project = pointed
    bags, instances = known(project)
    for name, _ in [one for one in WRITES if one[1] == kind]:
        module = formats.available()[name]
        path = folder / f"labels{module.SUFFIXES[0]}"
        exporter("labels", path, name)(project)
        with again(folder, kind, formats.read_labels(path)) as other:
            back = known(other)
            assert back[0] == bags, name
            # The windows of perch-hoplite have no frequencies, so that what is not in a band cannot be said.
            expected = {one for one in instances if one[-1]} if name in ("perch", "hoplite") else instances
            assert back[1] == expected, name
            assert all(not one.wrong for one in check(other))
        for place in sorted((folder / "again").rglob("*"), reverse=True):
            place.unlink() if place.is_file() else place.rmdir()


def test_raven_has_the_times_and_frequencies(tmp_path):
    folder, truth = example_media.make(tmp_path, "sound", bags=3)
    with Project.open(folder) as project:
        (lease,) = project.ask("ann")
        place = project.medium(lease.bag).places[0]
        project.answer(lease.key, "ann", "present", where=[0])
        exporter("labels", tmp_path / "labels.txt")(project)
    header, row = (line.split("\t") for line in (tmp_path / "labels.txt").read_text().splitlines())
    cells = dict(zip(header, row, strict=True))
    assert [float(cells[name]) for name in header[3:7]] == [place[name] for name in ("start", "end", "low", "high")]
    assert cells["Begin File"] in truth


@pytest.fixture
def imported(tmp_path):
    """A project of sound with an imported label of instance 1 of clip 0, and another that it is not of a class."""
    folder, _ = example_media.make(tmp_path, "sound", bags=8, seed=7)
    low, high, _ = list(example_media.TONES)
    ids = [f"clip {number}" for number in range(8)]
    sizes = [len(part) for part in places_of(folder)]
    bag = next(number for number, size in enumerate(sizes) if size > 1)
    start, end = (places_of(folder)[bag][1][name] for name in ("start", "end"))
    rows = [f"{ids[bag]},{start},{end},{low},positive", f"{ids[bag]},{start},{end},{high},negative"]
    path = tmp_path / "windows.csv"
    path.write_text("\n".join(["recording,start_offset_s,end_offset_s,label,label_type", *rows]) + "\n")
    with Project.open(folder) as project:
        project.import_(None, formats.read_labels(path))
        yield project, bag


def places_of(folder):
    with Project.open(folder) as project:
        return [project.medium(bag).places for bag in range(len(project.bags))]


def test_an_imported_instance_is_learned(imported):
    project, bag = imported
    assert project.placement == Placement(2, 2)
    assert project.contents.instance_labels.of(bag) == (InstanceLabel(1, 0, True), InstanceLabel(1, 1, False))
    assert project.contents.given[bag].tolist() == [1, -1, -1]
    probability = project.fit_model().predict_instance_proba(project.bags)
    row = project.contents.offsets[bag] + 1
    assert probability[row, 0] > 0.5
    assert all(not one.wrong for one in check(project))


def test_an_imported_instance_counts_while_its_label_does(imported):
    project, bag = imported
    _, first = known(project)
    assert {(label, present) for _, label, _, present in first} == {("low tone", True), ("high tone", False)}
    project.correct_imported((bag, 0), "ann", "absent")
    assert {label for _, label, _, _ in known(project)[1]} == {"high tone"}
    project.undo("ann")
    assert known(project)[1] == first
    project.correct_imported((bag, 0), "ann", "unsure")
    assert {label for _, label, _, _ in known(project)[1]} == {"high tone"}
    project.undo("ann")
    project.remove([str(project.contents.ids[bag])], "ann")
    assert known(project)[1] == set()
    project.bring_back([str(project.contents.ids[bag])], "ann")
    assert known(project)[1] == first
    assert all(not one.wrong for one in check(project))


def test_answers_and_imports_are_combined(imported):
    project, bag = imported
    name = str(project.contents.ids[bag])
    event = project.correct_imported((bag, 0), "ann", "present", where=[0])
    assert (name, "low tone", 0, True) in known(project)[1]
    assert (name, "low tone", 1, True) in known(project)[1]
    project.undo("ann")
    # What an answer denies and the import says is a disagreement, which teaches nothing.
    project.correct_imported((bag, 0), "ann", "present", elsewhere=[1])
    assert not {one for one in known(project)[1] if one[:3] == (name, "low tone", 1)}
    assert event.number == 1
    assert all(not one.wrong for one in check(project))


def test_an_exclusion_outlives_the_answers_about_its_class(imported):
    project, bag = imported
    name = str(project.contents.ids[bag])
    (event,) = project.answer_listed("ann", "present", [(bag, 1)], "one")
    (other,) = project.answer_listed("ann", "present", [(bag, 2)], "two")
    assert (name, "high tone", 1, False) in known(project)[1]
    project.correct(event.number, "ann", "absent")
    project.undo("ann")
    project.undo("ann")
    project.undo("ann")
    assert (name, "high tone", 1, False) in known(project)[1]
    assert project.learner._label_store.labels.instances.about(bag, 1) == (InstanceLabel(1, 1, False),)
    assert all(not one.wrong for one in check(project))
    assert other.number == 2


def test_an_import_that_contradicts_one_before_is_refused(imported, tmp_path):
    project, bag = imported
    path = tmp_path / "other.csv"
    path.write_text(f"bag,class,label,instance\n{project.contents.ids[bag]},high tone,1,1\n")
    with pytest.raises(BagwiseError, match="instance 1, class high tone contradicts a label that was imported before"):
        project.import_(None, formats.read_labels(path))
    path.write_text(f"bag,class,label,instance\n{project.contents.ids[bag]},high tone,0,99\n")
    with pytest.raises(FileError, match=r"line 2: bag .* there is no instance 99"):
        project.import_(None, formats.read_labels(path))
    assert len(project.contents.instance_labels) == 2


def test_an_instance_of_two_classes_is_known_and_teaches_nothing(imported, tmp_path):
    project, bag = imported
    path = tmp_path / "other.csv"
    path.write_text(f"bag,class,label,instance\n{project.contents.ids[bag]},whistle,1,1\n")
    project.import_(None, formats.read_labels(path))
    assert [one.classes for one in project.contents.instance_labels.conflicts()] == [(0, 1, 2)]
    assert project.contents.given[bag].tolist() == [1, -1, 1]
    assert all(not one.wrong for one in check(project))


def test_a_backup_has_the_labels_of_instances(imported, tmp_path):
    project, bag = imported
    project.backup(tmp_path / "copy")
    with Project.open(tmp_path / "copy") as copy:
        assert copy.contents.instance_labels == project.contents.instance_labels
        assert copy.contents.instance_labels.of(bag)


def test_a_recording_is_found_by_the_name_of_its_file(tmp_path):
    folder, _ = example_media.make(tmp_path, "sound", bags=3)
    table = "Selection\tBegin Time (s)\tEnd Time (s)\tBegin File\tSpecies\n1\t0\t0\tclip 1.wav\tlow tone\n"
    (tmp_path / "table.txt").write_text(table)
    (tmp_path / "clip 2.txt").write_text("0\t0\tlow tone\n50\t60\thigh tone\n")
    code, _, err = bagwise("import", folder, "--labels", tmp_path / "table.txt")
    assert code == 0, err
    code, out, err = bagwise("import", folder, "--labels", tmp_path / "clip 2.txt")
    assert code == 0, err
    assert "say where: 1. Labels of instances by them: 0. For the bag alone: 1 (at no instance)." in out
    with Project.open(folder) as project:
        assert project.contents.given.tolist() == [[-1, -1, -1], [1, -1, -1], [1, 1, -1]]


@pytest.mark.parametrize(
    ("column", "name", "bags"),
    [
        ("Begin File", "x.wav", ["site/x.wav", "site/y.wav"]),
        ("Begin File", "x.flac", ["site/x", "y"]),
        ("Begin Path", "D:\\rec\\site\\x.wav", ["site/x.wav", "other/x.wav"]),
        ("Begin Path", "/rec/site/x.wav", ["site/x", "x", "te/x"]),
    ],
)
def test_a_recording_is_found_in_its_folder(tmp_path, column, name, bags):
    table = f"Selection\tBegin Time (s)\tEnd Time (s)\t{column}\tSpecies\n1\t0\t0\t{name}\twren\n"
    (tmp_path / "table.txt").write_text(table)
    source = Source.of_bags(tmp_path / "made.npz", [np.eye(2)] * len(bags), bags)
    with Project.create(tmp_path / "p", source, formats.read_labels(tmp_path / "table.txt")) as project:
        assert project.contents.given[:, 0].tolist() == [1] + [-1] * (len(bags) - 1)


def test_the_command_line_says_how_many_regions_were_matched(tmp_path):
    folder, _ = example_media.make(tmp_path, "sound", bags=3)
    place = places_of(folder)[0][0]
    lines = [f"{place['start']}\t{place['end']}\tlow tone", "2.99\t2.999\thigh tone"]
    (tmp_path / "clip 0.txt").write_text("\n".join(lines) + "\n")
    code, out, err = bagwise("import", folder, "--labels", tmp_path / "clip 0.txt")
    assert code == 0, err
    assert "say where: 2. Labels of instances by them: 1. For the bag alone: 1 (at no instance)." in out
    to = tmp_path / "labels.audacity.zip"
    assert bagwise("export", folder, "--to", to)[0] == 0
    assert formats.read_labels(to).placed[0].place == pytest.approx(place)


def test_all_formats_with_instances_are_known():
    assert set(WITH_INSTANCES) < set(formats.able_to("write_labels"))
