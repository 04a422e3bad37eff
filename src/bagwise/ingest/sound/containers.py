"""Recordings that libsndfile does not read (M4A, AAC, WMA), decoded by PyAV behind the interface of a SoundFile.

Where a decoded block belongs is told by its time stamp. MP4 counts in samples; ASF, the container of WMA, in
milliseconds, but all of its blocks have one length, which makes the place of each exact. Before the sample that is
asked for, a second is decoded and dropped: the first blocks after a jump lack what they overlap with. Raw AAC has no
times, so it is always decoded from its beginning. One thing of AAC depends on what was decoded before: where an encoder
replaces noise by its loudness alone (PNS), the decoder draws it at random.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.ingest.types import import_optional
from bagwise.kernels import Array

SEEKABLE = ("mov", "asf")
ASF_PROPERTIES = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")
"""What the part of an ASF header begins with that tells its length, in units of 100 ns, and the delay of playing."""

ASF_HEADER = 65_536
BEFORE = 1.0
"""Seconds that are decoded before the first sample that is asked for."""


class ContainerError(Exception):
    """A file that PyAV cannot read."""


class ContainerFile:
    """An open recording, with what is used of the interface of `soundfile.SoundFile`.

    Parameters
    ----------
    path : Path
        The file.
    """

    format = "AV"

    def __init__(self, path: Path) -> None:
        self._av = import_optional("av", "audio")
        self._path = path
        self._open()
        try:
            self._begin()
            self.frames = self._length()
            self.seek(0)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "ContainerFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def seek(self, frame: int) -> None:
        """Continue at this sample."""
        self._jump(frame)
        self._position, self._held = frame, np.zeros((0, self.channels), np.float32)

    def read(self, count: int, dtype: str = "float32", always_2d: bool = True) -> Array:  # noqa: ARG002 (as SoundFile)
        """Return the next samples, (n, channels): `count` of them, fewer at the end."""
        blocks, missing = [self._held], count - len(self._held)
        while missing > 0 and (block := next(self._blocks, None)) is not None:
            blocks.append(self._placed(*block, after=self._position + sum(map(len, blocks))))
            missing -= len(blocks[-1])
        joined = np.concatenate(blocks)
        self._held, self._position = joined[count:], self._position + min(count, len(joined))
        return joined[:count]

    def _placed(self, start: int, block: Array, after: int) -> Array:
        """Return what a block adds `after` a sample; where blocks are missing between, there is silence."""
        gap = np.zeros((max(0, start - after), self.channels), np.float32)
        return np.concatenate([gap, block[max(0, after - start) :]])

    def _open(self) -> None:
        try:
            self._container = self._av.open(str(self._path), metadata_errors="replace")
        except self._av.FFmpegError as error:
            raise ContainerError(str(error)) from error
        if not self._container.streams.audio:
            self._container.close()
            raise ContainerError("There is no sound in it.")
        self._stream = self._container.streams.audio[0]

    def _begin(self) -> None:
        """Decode the first block: it has rate and channels, the time that counts as 0, and the length of all blocks."""
        frame = next(self._decoded(), None)
        if frame is None:
            raise ContainerError("Nothing of it can be decoded.")
        self.samplerate, self.channels = int(frame.sample_rate), len(frame.layout.channels)
        self._first: int = frame.pts or 0
        self._unit: int = 1 if self._stream.time_base * self.samplerate <= 1 else frame.samples

    @property
    def announced(self) -> int | None:
        """The samples of a channel that the header announces; None where it does not say."""
        if "asf" not in self._container.format.name:
            return self._expected
        # PyAV tells the length of what is there.
        with self._path.open("rb") as file:
            head = file.read(ASF_HEADER)
        start = head.find(ASF_PROPERTIES)
        if start < 0 or len(head) < start + 88:
            return None
        duration, _, preroll = struct.unpack_from("<QQQ", head, start + 64)
        return int((duration / 1e7 - preroll / 1e3) * self.samplerate)

    @property
    def _expected(self) -> int | None:
        """The samples of a channel that PyAV expects; None where only decoding tells."""
        if self._stream.duration is None or not self._seekable:
            return None
        return int(self._stream.duration * self._stream.time_base * self.samplerate + 0.5)

    def _length(self) -> int:
        """Return how many samples can be read; a second before the announced end tells, or else the last packet."""
        if self._expected is None:
            return self._end_after(0)
        last = self._end_after(self._expected - self.samplerate)
        if not last:
            self._open_again()
            times = [packet.pts for packet in self._packets() if packet.pts is not None]
            last = self._end_after(self._at(max(times, default=0)))
        return min(last, self._expected) if self._unit == 1 else last

    def _end_after(self, frame: int) -> int:
        self._jump(max(0, frame))
        return max((start + len(block) for start, block in self._blocks), default=0)

    @property
    def _seekable(self) -> bool:
        return any(name in self._container.format.name for name in SEEKABLE)

    def _jump(self, frame: int) -> None:
        before = frame / self.samplerate - BEFORE
        # The beginning is that of the file: it has what the first block overlaps with.
        if self._seekable and before > 0:
            stamp = self._first + round(before / self._stream.time_base)
            try:
                self._container.seek(stamp, stream=self._stream)
            except self._av.FFmpegError:
                # Nothing is there: a part of the file is missing.
                self._blocks: Iterator[tuple[int, Array]] = iter(())
                return
        else:
            self._open_again()
        self._blocks = self._placed_blocks()

    def _open_again(self) -> None:
        self._container.close()
        self._open()

    def _at(self, stamp: int) -> int:
        samples = float((stamp - self._first) * self._stream.time_base * self.samplerate)
        return round(samples / self._unit) * self._unit

    def _placed_blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield the blocks from here on, with the number of the first sample of each."""
        planar, position = self._av.AudioResampler(format="fltp"), 0
        for frame in self._decoded():
            position = position if frame.pts is None else self._at(frame.pts)
            for converted in planar.resample(frame):
                block = converted.to_ndarray().T
                yield position, block
                position += len(block)

    def _decoded(self) -> Iterator[Any]:
        for packet in self._packets():
            try:
                yield from packet.decode()
            except self._av.FFmpegError:
                # What is damaged is silent; the rest is used.
                continue

    def _packets(self) -> Iterator[Any]:
        try:
            yield from self._container.demux(self._stream)
        except self._av.FFmpegError:
            return
