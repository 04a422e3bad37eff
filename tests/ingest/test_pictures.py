"""Every kind of picture is segmented as it is shown, or refused with a reason."""

import numpy as np
import pytest
from PIL import Image

from bagwise import ingest
from bagwise.ingest.pictures import decoding as pictures
from bagwise.ingest.segmenters.grid import squares
from bagwise.ingest.worker import Task, segment_one

SEGMENTERS = ["superpixels", "grid"]


def outcome(path, segmenter="superpixels"):
    return segment_one(Task(path), "picture", lambda: ingest.segmenters.available()[segmenter].segment)


def half(width=60, height=40):
    """Red on the left, blue on the right."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2, 0] = pixels[:, width // 2 :, 2] = 200
    return pixels


@pytest.mark.parametrize("segmenter", SEGMENTERS)
@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("RGB", "a.png"),
        ("RGB", "a.jpg"),
        ("CMYK", "a.jpg"),
        ("P", "a.png"),
        ("P", "a.gif"),
        ("RGBA", "a.png"),
        ("LA", "a.png"),
        ("1", "a.png"),
        ("L", "a.bmp"),
        ("I;16", "a.png"),
        ("RGB", "a.webp"),
    ],
)
def test_every_mode_is_segmented_into_regions_that_cover_the_picture(tmp_path, segmenter, mode, name):
    image = Image.fromarray(half())
    image = Image.fromarray(np.asarray(image.convert("L"), np.uint16) * 257) if mode == "I;16" else image.convert(mode)
    image.save(tmp_path / name)
    segments = outcome(tmp_path / name, segmenter).segments[0]
    assert segments is not None, outcome(tmp_path / name, segmenter).reason
    assert segments.features.shape == (len(segments.places), len(ingest.segmenters.available()[segmenter].FEATURES))
    assert segments.features.dtype == np.float32
    area = segments.features[:, ingest.segmenters.available()[segmenter].FEATURES.index("area")]
    assert area.sum() == pytest.approx(1, abs=1e-5)
    x, y, width, height = segments.places.T
    assert (x.min(), y.min(), (x + width).max(), (y + height).max()) == pytest.approx((0, 0, 60, 40))


@pytest.mark.parametrize("segmenter", SEGMENTERS)
@pytest.mark.parametrize("size", [(1, 1), (1, 500), (3, 2), (7, 7), (8, 8)])
def test_tiny_pictures_have_at_least_one_region(tmp_path, segmenter, size):
    Image.new("RGB", size, "red").save(tmp_path / "a.png")
    segments = outcome(tmp_path / "a.png", segmenter).segments[0]
    assert len(segments.features) >= 1
    assert np.isfinite(segments.features).all()
    assert (segments.places[:, 2:] > 0).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_places_are_where_the_browser_shows_them(tmp_path, orientation):
    exif = Image.Exif()
    exif[pictures.ORIENTATION] = orientation
    Image.fromarray(half()).save(tmp_path / "a.jpg", exif=exif, quality=100)
    segments = outcome(tmp_path / "a.jpg", "grid").segments[0]
    sideways = orientation >= 5
    x, y, width, height = segments.places.T
    shown = (40, 60) if sideways else (60, 40)
    assert ((x + width).max(), (y + height).max()) == shown
    red = segments.features[:, 2] > 0
    middle = (y + height / 2) / 60 if sideways else (x + width / 2) / 60
    red_first = orientation in (1, 4, 5, 6)
    assert (middle[red] < 0.5).all() if red_first else (middle[red] > 0.5).all()


def test_large_pictures_have_places_in_their_own_pixels(tmp_path):
    Image.fromarray(half(3000, 2000)).save(tmp_path / "a.jpg")
    segments = outcome(tmp_path / "a.jpg").segments[0]
    assert (segments.places[:, 0] + segments.places[:, 2]).max() == pytest.approx(3000)
    assert max(one[:, 0].max() for one in segments.outlines) == pytest.approx(3000)


def test_outlines_are_in_the_boxes_and_enclose_the_regions(tmp_path, rng):
    Image.fromarray(rng.integers(0, 255, (90, 120, 3), np.uint8)).resize((240, 180)).save(tmp_path / "a.png")
    segments = outcome(tmp_path / "a.png").segments[0]
    enclosed = 0.0
    for (x, y, width, height), corners in zip(segments.places, segments.outlines, strict=True):
        assert (corners >= [x - 1e-9, y - 1e-9]).all()
        assert (corners <= [x + width + 1e-9, y + height + 1e-9]).all()
        across, down = corners.T
        enclosed += abs(np.sum(across * np.roll(down, 1) - down * np.roll(across, 1))) / 2
    assert enclosed == pytest.approx(240 * 180, rel=0.05)


def test_regions_end_where_colours_do(tmp_path):
    Image.fromarray(half(240, 160)).save(tmp_path / "a.png")
    x, _, width, _ = outcome(tmp_path / "a.png").segments[0].places.T
    assert ((x + width <= 121) | (x >= 119)).all()


def test_an_animation_is_its_first_frame(tmp_path):
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("white", "black")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert outcome(tmp_path / "a.gif", "grid").segments[0].features[:, 0].min() > 0.9


def test_what_cannot_be_read_is_refused_with_a_reason(tmp_path, monkeypatch):
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "text.jpg").write_text("no picture")
    Image.fromarray(half(300, 200)).save(tmp_path / "whole.png")
    (tmp_path / "half.png").write_bytes((tmp_path / "whole.png").read_bytes()[:300])
    (tmp_path / "whole.png").rename(tmp_path / "other.jpg")
    Image.new("1", (12_001, 10_000)).save(tmp_path / "bomb.png")
    for name, words in {
        "empty.png": "is empty",
        "text.jpg": "is not what its name says",
        "half.png": "cannot be read",
        "other.jpg": "is not what its name says",
        "bomb.png": "12001 x 10000 pixels",
    }.items():
        assert words in outcome(tmp_path / name).reason, name


def test_squares_cover_everything_once():
    for height, width in [(1, 1), (1, 9), (30, 40), (384, 200)]:
        found = squares(height, width)
        assert found.shape == (height, width)
        assert set(np.unique(found)) == set(range(found.max() + 1))
