"""Distributions of other people, as `pip install` would leave them: modules and a `*.dist-info` on the path."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from bagwise.core.plugins import discover

Install = Callable[[str, Mapping[str, str], Mapping[str, Mapping[str, str]]], Path]


@pytest.fixture
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """`installed(name, files, entry_points)` makes a distribution importable in this process and in its children.

    `files` maps paths to their text, `entry_points` groups to names to targets, as in pyproject.toml.
    """
    folders: list[Path] = []

    def install(name: str, files: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]) -> Path:
        folder = tmp_path_factory.mktemp("site-packages")
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        lines = [
            line
            for group, members in entry_points.items()
            for line in (f"[{group}]", *(f"{member} = {target}" for member, target in members.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))
        before = os.environ.get("PYTHONPATH")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *([before] if before else [])]))
        folders.append(folder)
        discover.cache_clear()
        return folder

    yield install
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), "")
        if any(Path(file).is_relative_to(folder) for folder in folders):
            del sys.modules[name]
    discover.cache_clear()
