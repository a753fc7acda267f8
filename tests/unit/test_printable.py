"""Names from foreign files reach terminals as plain text, and spreadsheets as names, not formulas."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest
from stored_run import make_run

from crosscut.base.printable import drawn_on, printable, printing
from crosscut.cli import main
from crosscut.reports.terminal.screen import screen_for
from crosscut.session.progress import ProgressBar, terminal_of

TITLE = "\x1b]0;owned\x07"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A run whose first node's name has an escape sequence, and whose second node's name is a formula."""
    path = make_run(tmp_path / "run.zarr")
    metadata = json.loads((path / "zarr.json").read_text())
    nodes = metadata["attributes"]["nodes"]
    nodes[0]["name"], nodes[1]["name"] = f"{TITLE}\x9b2J\u202eevil", "=cmd|'/C calc'!A0"
    (path / "zarr.json").write_text(json.dumps(metadata))
    return path


def test_names_in_a_run_cannot_be_escape_sequences(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(path)]) == 0
    said = capsys.readouterr().out
    assert CONTROL.search(said) is None
    assert r"\x9b2J\u202eevil" in re.sub(r"\s", "", said)


def test_command_line_arguments_cannot_be_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", f"{TITLE}\udcff\r"]) == 2
    said = capsys.readouterr().err
    assert CONTROL.search(said) is None
    assert r"\x1b]0;owned\x07\udcff\r" in said


def test_only_colours_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    screen = screen_for(stream)
    screen.line(f"{TITLE}\x1b[2J", "yellow")
    assert re.findall(r"\x1b[^m]*m?", stream.getvalue()) == ["\x1b[33m", "\x1b[0m"]


def test_notes_above_a_bar_are_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    console = terminal_of(stream)
    assert console is not None
    with ProgressBar(console) as bar:
        bar({"event": "warning", "message": f"{TITLE}lost"})
    assert TITLE not in stream.getvalue()
    assert r"\x1b]0;owned\x07lost" in stream.getvalue()


def test_streams_are_restored_afterwards() -> None:
    before = sys.stdout
    with printing():
        assert drawn_on(sys.stdout) is before
    assert sys.stdout is before


def test_text_of_all_languages_stays() -> None:
    assert printable("Zürich → 東京\t½\n") == "Zürich → 東京\t½\n"


def test_names_in_a_table_cannot_be_formulas(path: Path) -> None:
    out = path.parent / "x.csv"
    assert main(["export", str(path), "--out", str(out)]) == 0
    with out.open(newline="") as file:
        nodes = {row["node"] for row in csv.DictReader(file)}
    assert "'=cmd|'/C calc'!A0" in nodes
    assert not any(node.startswith("=") for node in nodes)
