import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bagwise.cli import app

PAGE = Path(__file__).parents[2] / "docs/recordings.md"


@pytest.mark.slow
@pytest.mark.usefixtures("one_process")
def test_the_recordings_page_runs(monkeypatch, tmp_path):
    """Every python and console block, from top to bottom, with fewer recordings and questions."""
    monkeypatch.chdir(tmp_path)
    text, found = PAGE.read_text(), {}
    for large, small in {
        "RECORDINGS = 40": "RECORDINGS = 20",
        "--queries 40 --every 20": "--queries 4 --every 2",
    }.items():
        assert large in text
        text = text.replace(large, small)
    for kind, block in re.findall(r"```(python|console)\n(.*?)```", text, flags=re.DOTALL):
        if kind == "python":
            exec(block, found)
            continue
        for line in block.splitlines():
            _, *arguments = shlex.split(line.removeprefix("$ "))
            result = CliRunner().invoke(app, arguments, catch_exceptions=False)
            assert result.exit_code == 0, f"{line}: {result.output}"
    assert found["right"] > 0.75
    assert found["predicted"]["evidence"].is_not_null().all()
