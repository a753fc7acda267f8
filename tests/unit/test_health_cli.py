"""What crosscut health refuses before it asks Slurm or measures anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.cli import main


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--size", "0"], 2, "--size must be at least 1 byte: a node is judged by its rate"),
        (["--ledger", "file/ledger"], 2, "is not a folder; name a file in a folder"),
        (["--ledger", "/dev/full"], 2, "/dev/full is not a plain file; name another --ledger"),
        (["--history", "file"], 2, "file is not a crosscut history"),
        (["--policy", "file"], 2, "file:1: "),
        (["--spec", "nothing.toml"], 2, "nothing.toml: there is no such file"),
    ],
)
def test_what_cannot_be_used_is_refused_first(
    words: list[str], status: int, said: str,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # no Slurm
    Path("file").write_text("no such thing\n" * 10)
    assert main(["health", "night", "--ledger", "ledger", *words]) == status
    assert said in capsys.readouterr().err
