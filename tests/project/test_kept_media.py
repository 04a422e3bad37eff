"""The file of a bag is found as soon as it is there, and only if it is in the project."""

import os

import numpy as np
import pytest

from bagwise.formats import Source
from bagwise.project import Project
from bagwise.project.imports import media as kept


@pytest.mark.parametrize("settled", [0, 10**18], ids=["folder listed once", "every suffix tried"])
def test_a_file_is_found_as_soon_as_it_is_there_and_no_link(tmp_path, monkeypatch, settled):
    monkeypatch.setattr(kept, "SETTLED", settled)
    source = Source.of_bags(tmp_path / "made.npz", [np.array([[0.0]]), np.array([[1.0]])], ["a", "b"])
    with Project.create(tmp_path / "p", source, classes=["wren"]) as project:
        folder, ticks = project.folder / "media", iter(range(10**9, 10**10, 10**7))

        def found():
            # As if the clock had gone on: changes of a test come faster than some file systems count.
            if folder.is_dir() and not folder.is_symlink():
                os.utime(folder, ns=(0, next(ticks)))
            of_bags = [project.medium(bag) for bag in (0, 1)]
            return [None if one is None else (one.path.name, one.outlines is not None) for one in of_bags]

        assert found() == [None, None]
        folder.mkdir()
        (folder / "0.wav").write_bytes(b"RIFF")
        assert found() == [("0.wav", False), None]
        (folder / "1.png").write_bytes(b"PNG")
        (folder / "1.outlines").write_bytes(b"")
        assert found() == [("0.wav", False), ("1.png", True)]
        (folder / "0.wav").rename(folder / "0.flac")
        assert found() == [("0.flac", False), ("1.png", True)]
        (folder / "1.png").rename(tmp_path / "outside.png")
        (folder / "1.png").symlink_to(tmp_path / "outside.png")
        assert found() == [("0.flac", False), None]
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        assert found() == [None, None]
