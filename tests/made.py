"""Small pictures, sounds and texts with known content, made on the spot."""

import struct
import wave
import zlib

import numpy as np
import polars as pl

from bagwise.formats import Source
from bagwise.ingest.media import Files, Places
from bagwise.project import Display, Media, Project

RATE = 22050
SHAPES = ["circle", "square", "cross"]
TONES = {"low tone": 1000, "high tone": 4000, "whistle": 7000}
PASSAGES = {
    "owl": "An owl called twice from the old barn, and the yard went quiet.",
    "storm": "By noon the storm had torn the sails, and the harbour lay empty. 🌊",
    "bread": "Fresh bread stood on the sill, its crust still cracking as it cooled.",
}
FILLER = "Nothing else happened in the village that day, or nothing that anyone wrote down."


def write_png(path, pixels):
    """(height x width x 3) bytes."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


def write_wav(path, samples, rate=RATE):
    """Mono, 16 bit."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())


def tone(frequency, start, end, seconds, rate=RATE):
    """Silence with a tone in it."""
    time = np.arange(round(seconds * rate)) / rate
    inside = (time >= start) & (time < end)
    return 0.4 * np.sin(2 * np.pi * frequency * time) * inside


def scene(rng, shapes, width=640, height=420):
    """A picture with some shapes, and the box of each."""
    pixels = rng.normal((70, 92, 80), 9, (height, width, 3))
    y, x = np.mgrid[:height, :width]
    boxes = []
    for number, shape in enumerate(shapes):
        size = int(rng.integers(60, 110))
        left = 20 + number * (width - 40) // max(1, len(shapes)) + int(rng.integers(0, 40))
        top = int(rng.integers(20, height - size - 20))
        u, v = (x - left) / size, (y - top) / size
        inside = (u >= 0) & (u < 1) & (v >= 0) & (v < 1)
        if shape == "circle":
            inside &= (u - 0.5) ** 2 + (v - 0.5) ** 2 < 0.25
        elif shape == "cross":
            inside &= (abs(u - 0.5) < 0.15) | (abs(v - 0.5) < 0.15)
        pixels[inside] = rng.normal((225, 180, 90), 12, (int(inside.sum()), 3))
        boxes.append((left, top, size, size))
    return np.clip(pixels, 0, 255).astype(np.uint8), boxes


def contents(rng, classes, bags):
    """What is in each bag: one to four of the classes."""
    return [list(rng.choice(classes, int(rng.integers(1, 5)))) for _ in range(bags)]


def features(rng, classes, content):
    """An instance is its class, and noise."""
    return np.eye(len(classes))[[classes.index(name) for name in content]] + rng.normal(0, 0.1, (len(content), 3))


def pictures(folder, rng, bags):
    folder.mkdir()
    found, rows = contents(rng, SHAPES, bags), []
    for number, content in enumerate(found):
        pixels, boxes = scene(rng, content)
        write_png(folder / f"scene {number}.png", pixels)
        rows += [(f"scene {number}", i, *box) for i, box in enumerate(boxes)]
    return found, pl.DataFrame(rows, schema=["bag", "instance", "x", "y", "width", "height"], orient="row")


def sounds(folder, rng, bags, seconds=3.0):
    folder.mkdir()
    found, rows = contents(rng, list(TONES), bags), []
    for number, content in enumerate(found):
        samples = rng.normal(0, 0.01, round(seconds * RATE))
        for i, name in enumerate(content):
            start = round(0.1 + i * 0.7 + rng.random() * 0.2, 3)
            samples += tone(TONES[name], start, start + 0.4, seconds)
            rows.append((f"clip {number}", i, start, start + 0.4, TONES[name] - 300.0, TONES[name] + 300.0))
        write_wav(folder / f"clip {number}.wav", samples)
    return found, pl.DataFrame(rows, schema=["bag", "instance", "start", "end", "low", "high"], orient="row")


def texts(folder, rng, bags):
    folder.mkdir()
    found, rows = contents(rng, list(PASSAGES), bags), []
    for number, content in enumerate(found):
        text = ""
        for i, name in enumerate(content):
            text += f"{FILLER} " * int(rng.integers(0, 3))
            rows.append((f"page {number}", i, len(text), len(text) + len(PASSAGES[name]) - 1))
            text += PASSAGES[name] + "\n\n"
        (folder / f"page {number}.txt").write_text(text, encoding="utf-8")
    return found, pl.DataFrame(rows, schema=["bag", "instance", "first", "last"], orient="row")


MEDIA = {
    "picture": (pictures, SHAPES, "picture"),
    "sound": (sounds, list(TONES), "recording"),
    "text": (texts, list(PASSAGES), "page"),
}


def make(folder, kind, bags=20, seed=5):
    """A project with this medium; its truth by the bag's id."""
    rng = np.random.default_rng(seed)
    maker, classes, word = MEDIA[kind]
    found, places = maker(folder / f"{kind} files", rng, bags)
    places.write_csv(folder / f"{kind}.csv")
    ids = places["bag"].unique(maintain_order=True).to_list()
    source = Source.of_bags(folder / "made.npz", [features(rng, classes, content) for content in found], ids)
    media = Media(Files.in_folder(folder / f"{kind} files"), Places.read(folder / f"{kind}.csv"))
    Project.create(folder / kind, source, classes=classes, display=Display(bag=word), media=media).close()
    return folder / kind, dict(zip(ids, found, strict=True))
