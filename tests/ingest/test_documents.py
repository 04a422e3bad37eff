"""Documents in any encoding become passages that are where they are shown, or are refused with a reason."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bagwise import ingest
from bagwise.core.errors import FileError
from bagwise.ingest.text import documents as documents
from bagwise.ingest.text import passages as passages
from bagwise.ingest.text import spans as spans
from bagwise.ingest.worker import Task, segment_one

TEXT = "Ein schöner Tag für alle, die im Café saßen.\n\nThe owl called twice from the old barn, and all was quiet. 🌊\n"


def fitted(paths, segmenter="paragraphs"):
    module = ingest.segmenters.available()[segmenter]
    return module.segmenter(module.fit(paths))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_every_encoding_is_read_and_shown_as_utf8(tmp_path, encoding):
    text = TEXT.replace("🌊", "") if encoding == "latin-1" else TEXT
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    outcome = segment_one(Task(path), "text", lambda: fitted([path]))
    assert outcome.segments, outcome.reason
    (segments,) = outcome.segments
    shown = (segments.shown if segments.shown is not None else path.read_bytes()).decode("utf-8")
    assert shown == text
    assert (segments.shown is None) == (encoding == "utf-8")
    found = [shown[int(first) : int(last) + 1] for first, last in segments.places[:, :2]]
    assert found == [part.strip() for part in text.split("\n\n")]


def test_files_that_are_not_text_are_refused_with_a_reason(tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "blank.txt").write_bytes(b"  \n\n ")
    (tmp_path / "nul.txt").write_bytes(b"Some words and \0 then some more of them.")
    (tmp_path / "binary.txt").write_bytes(bytes(range(1, 32)) * 20)
    (tmp_path / "broken.txt").write_bytes(b"\xff\xfeA\x00B")
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(50_000_000)
    (tmp_path / "fine.txt").write_text(TEXT, encoding="utf-8")
    segmenter = fitted([tmp_path / "huge.txt", tmp_path / "nul.txt", tmp_path / "fine.txt"])
    for name, words in {
        "empty.txt": "is empty",
        "blank.txt": "no text",
        "nul.txt": "NUL",
        "binary.txt": "control characters",
        "broken.txt": "damaged",
        "huge.txt": "50 MB",
    }.items():
        assert words in segment_one(Task(tmp_path / name), "text", lambda: segmenter).reason, name


def test_too_many_passages_are_refused(tmp_path, monkeypatch):
    (tmp_path / "short.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "long.txt").write_text("\n\n".join(f"Paragraph number {n} is about nothing." for n in range(5)))
    segmenter = fitted([tmp_path / "short.txt"])
    monkeypatch.setattr(passages, "MAX_PASSAGES", 3)
    with pytest.raises(FileError, match="5 passages"):
        segmenter(tmp_path / "long.txt")


@given(st.text(alphabet="ab .!?\n\r\t。", max_size=400))
def test_passages_are_ordered_disjoint_and_cover_all_but_space(text):
    for find_spans in (spans.paragraphs, spans.sentences):
        found = find_spans(text)
        before = 0
        for first, end in found:
            assert not text[before:first].strip()
            assert text[first:end].strip()
            assert end - first <= spans.LONGEST
            before = end
        assert not text[before:].strip()


def test_paragraphs_and_sentences_follow_common_usage():
    text = (
        'A heading\n\nDr. owl e.g. called. "Twice." He went! Really, as everybody could hear in town?\r\n\r\n'
        + "x" * 5000
    )
    assert [text[a:b][:10] for a, b in spans.paragraphs(text)][:2] == ["A heading\n", "xxxxxxxxxx"]
    assert [b - a for a, b in spans.paragraphs(text)][1:] == [2000, 2000, 1000]
    sentence = "The owl called twice from the barn. Nobody in the village answered it. 我们都听见了它的声音。"
    assert len(spans.sentences(sentence)) == 2
    assert "".join(sentence[a:b] for a, b in spans.sentences(sentence)).startswith(
        "The owl called twice from the barn.Nobody"
    )


def test_passages_about_the_same_are_closer_and_what_was_fitted_survives_a_file(tmp_path):
    about = {
        "owl": "The owl called from the old barn at night",
        "bread": "Fresh bread cooled on the kitchen window sill",
    }
    for number in range(12):
        parts = [f"{text}, number {word} {number}, and more was said of it." for word, text in about.items()]
        (tmp_path / f"{number}.txt").write_text("\n\n".join(parts))
    paths = sorted(tmp_path.glob("*.txt"))
    recipe = ingest.Recipe.of("text", "paragraphs").fitted(paths)
    recipe.write(tmp_path / "recipe")
    again = ingest.Recipe.read(tmp_path / "recipe")
    features = [recipe.segment_function()(path).features for path in paths]
    np.testing.assert_array_equal(features, [again.segment_function()(path).features for path in paths])
    rows = np.concatenate(features)
    close = rows @ rows.T
    assert close[0, 2::2].min() > close[0, 1::2].max()
    assert again.features(rows.shape[1]) == [f"topic {n + 1}" for n in range(rows.shape[1])]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)


def test_fitting_uses_a_bounded_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(passages, "MAX_FITTED", 10)
    monkeypatch.setattr(passages, "MAX_FILES", 5)
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(
            "\n\n".join(f"Some words about number {n}, {number}." for n in range(9))
        )
    assert len(list(passages._sample(sorted(tmp_path.glob("*.txt")), spans.paragraphs))) == 10
    assert documents.open_document(tmp_path / "0.txt").converted is None
