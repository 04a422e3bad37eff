"""Tables of scores, as BirdNET-Analyzer, Raven, perch-hoplite and people write them."""

import numpy as np
import polars as pl
import pytest

from bagwise import BagwiseError, formats

BIRDNET = """Start (s),End (s),Scientific name,Common name,Confidence,File
0.0,3.0,Parus major,Great Tit,0.9,/data/marsh-1.wav
3.0,6.0,Strix aluco,Tawny Owl,0.2,/data/marsh-1.wav
"""
RAVEN = (
    "Selection\tView\tChannel\tBegin Time (s)\tEnd Time (s)\tLow Freq (Hz)\tHigh Freq (Hz)\tCommon Name\tSpecies Code\t"
    "Confidence\tBegin Path\tFile Offset (s)\n"
    "1\tSpectrogram 1\t1\t6.0\t9.0\t0\t15000\tGreat Tit\tgretit1\t0.8\t/data/marsh-2.wav\t3.0\n"
)
PERCH = "filename,timestamp_s,label,logit\nx.wav,5.0,wren,-1.5\n"


def read(tmp_path, text, name="scores.csv"):
    (tmp_path / name).write_text(text)
    return formats.read_scores(tmp_path / name)


def rows(table):
    return [
        (table.bags[bag], table.classes[label_class], instance, *span, probability)
        for bag, label_class, instance, span, probability in zip(
            table.bag, table.label_class, table.instance, table.span, table.probability, strict=True
        )
    ]


def test_a_table_of_birdnet(tmp_path):
    table = read(tmp_path, BIRDNET)
    assert table.source == "BirdNET"
    assert table.detections
    assert rows(table) == [
        ("/data/marsh-1.wav", "Parus major_Great Tit", -1, 0.0, 3.0, 0.9),
        ("/data/marsh-1.wav", "Strix aluco_Tawny Owl", -1, 3.0, 6.0, 0.2),
    ]


def test_a_table_of_birdnet_without_files_is_about_the_recording_it_is_named_after(tmp_path):
    lines = [line.rpartition(",")[0] for line in BIRDNET.splitlines()]
    assert read(tmp_path, "\n".join(lines), "marsh-1.BirdNET.results.csv").bags == ["marsh-1"]


def test_a_selection_table_counts_from_the_offset_in_its_file(tmp_path):
    table = read(tmp_path, RAVEN, "marsh.BirdNET.selection.table.txt")
    assert rows(table) == [("/data/marsh-2.wav", "Great Tit", -1, 3.0, 6.0, 0.8)]


def test_logits_of_perch_become_probabilities(tmp_path):
    ((bag, name, _, start, _, probability),) = rows(read(tmp_path, PERCH))
    assert (bag, name, start) == ("x.wav", "wren", 5.0)
    assert probability == pytest.approx(1 / (1 + np.exp(1.5)))


def test_long_and_wide_tables_say_the_same(tmp_path):
    long = read(tmp_path, "bag,instance,class,score\na,0,wren,0.2\na,1,wren,0.3\na,1,owl,0.9\n")
    wide = read(tmp_path, "bag,instance,wren,owl\na,0,0.2,\na,1,0.3,0.9\n", "wide.csv")
    np.testing.assert_equal(rows(wide), rows(long))
    assert not wide.detections


def test_parquet(tmp_path):
    pl.DataFrame({"bag": ["a", "b"], "class": ["wren", "wren"], "score": [0.1, 0.7]}).write_parquet(
        tmp_path / "s.parquet"
    )
    assert formats.read_scores(tmp_path / "s.parquet").probability.tolist() == [0.1, 0.7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bag,class,score\na,wren,3.5\n", "line 2.*3.5 is not between 0 and 1"),
        ("bag,class,score\na,wren,much\n", "'much' is not a number"),
        ("bag,class\na,wren\n", "no column has the scores"),
        ("bag,class,score\n", "contains no scores"),
        ("bag,start\na,1\n", "no column of a class"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, message):
    with pytest.raises(BagwiseError, match=message):
        read(tmp_path, text)


OFFSETS = np.array([0, 3, 5])


def placed(table, spans, classes=("great tit", "wren")):
    return table.scores({"/data/marsh-1.wav": 0}, OFFSETS, classes, lambda _: spans)


def test_windows_are_shared_by_the_instances_in_them(tmp_path):
    scores, matching = placed(read(tmp_path, BIRDNET), np.array([[0.0, 1.0], [1.0, 3.0], [3.0, 6.0]]))
    great_tit = scores.of_instances[:3, 0]
    assert 1 - np.prod(1 - great_tit[:2]) == pytest.approx(0.9)
    assert great_tit[2] == pytest.approx(0.1)
    assert scores.of_bags[1, 0] == pytest.approx(0.1)
    assert matching.matched == {"great tit": "Parus major_Great Tit"}
    assert (matching.without, matching.unknown) == (["wren"], ["Strix aluco_Tawny Owl"])
    assert np.isnan(scores.of_instances[:, 1]).all()
    assert np.isnan(scores.of_bags[:, 1]).all()


def test_without_places_the_highest_window_is_the_score_of_the_bag(tmp_path):
    scores, _ = placed(read(tmp_path, BIRDNET + "6.0,9.0,Parus major,Great Tit,0.4,/data/marsh-1.wav\n"), None)
    assert scores.of_bags[:, 0].tolist() == [0.9, 0.1]


def test_an_instance_that_does_not_exist_is_an_error(tmp_path):
    table = read(tmp_path, "bag,instance,class,score\na,7,wren,0.2\n")
    with pytest.raises(BagwiseError, match="no instance 7"):
        table.scores({"a": 0}, OFFSETS, ["wren"], lambda _: None)
