"""The commands that `make demo` prints at its end can be typed as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosscut.campaigns import demo


@pytest.mark.parametrize(
    ("here", "installed", "typed"),
    [
        (".", True, ".venv/bin/crosscut"),
        ("elsewhere", True, "{root}/.venv/bin/crosscut"),
        (".", False, "crosscut"),
    ],
)
def test_commands_name_the_program_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, installed: bool, typed: str
) -> None:
    folder = tmp_path / ".venv/bin"
    folder.mkdir(parents=True)
    (folder / "python").symlink_to(sys.executable)
    if installed:
        (folder / "crosscut").touch()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / here)
    monkeypatch.setattr(demo.sys, "executable", str(folder / "python"))
    assert demo._program() == typed.format(root=tmp_path)
