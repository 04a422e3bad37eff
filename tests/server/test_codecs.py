"""Sound that is not WAV, decoded by the server and drawn by a real browser."""

import pytest
import soundfile

from tests.server.test_media_page import BRIGHTEST, opened
from tests.support import example_media

RATE, TONE = 22050, 5000


@pytest.mark.parametrize("suffix", ["flac", "ogg", "mp3"])
def test_a_spectrogram_is_drawn_of_every_codec(page, serve, suffix):
    server, _ = serve("sound", 4)
    for bag in range(4):
        path = server.folder / "media" / f"{bag}.wav"
        path.unlink()
        soundfile.write(path.with_suffix(f".{suffix}"), example_media.tone(TONE, 0.0, 1.0, 1.0, RATE), RATE)
    opened(page, server, "#bag .sound canvas")
    columns = page.evaluate(BRIGHTEST)
    for place in (400, 600, 800):
        height, light = columns[place]
        assert height * RATE / 2 == pytest.approx(TONE, abs=RATE / 256)
        assert light > 300
    last = float(page.locator(".frequencies .tick").last.inner_text())
    assert RATE / 2000 * 0.75 < last <= RATE / 2000
    assert page.faults == []
