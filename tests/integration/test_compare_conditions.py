"""`crosscut compare` of runs under different conditions, or limited by their machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut.cli import main

FOUR = '[generator]\nkind = "crossbar"\nhosts = 4\nrate = "100 Mbit/s"\n'
FAULTS = [{"id": "f1", "says": "nothing gets to n1 or away from it"}]


def emulated(folder: Path, name: str, limited: bool = False, **attributes: object) -> str:
    """A run as the core writes it, with the attributes that a lab adds."""
    network, out = folder / "four.toml", folder / name
    network.write_text(FOUR)
    words = ["--size", "100KB", "--repetitions", "6", "--out", str(out), "--quiet"]
    assert main(["run", "aapc", "--on", f"sim:{network}", *words]) == 0
    document = json.loads((out / "zarr.json").read_text())
    spans = [{"size": 100_000, "phases": [[1, 3]]}] if limited else []
    document["attributes"] |= {"place": "lab", "trust": [{"limited": spans}], **attributes}
    (out / "zarr.json").write_text(json.dumps(document))
    return str(out)


def said(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> str:
    capsys.readouterr()
    assert main(["compare", *words]) == status
    return " ".join(capsys.readouterr().out.split())


def test_different_switches_and_faults_are_reported_before_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = emulated(tmp_path, "a.zarr", lab={"switch": "kernel"})
    other = emulated(tmp_path, "b.zarr", lab={"switch": "user,forwarding=cut"}, faults=FAULTS)
    text = said(capsys, 0, one, other)
    assert "crosscut-switch (forwarding=cut)" in text
    told = [
        text.index(words) for words in ("different switches", "different planted faults", "Nothing changed")
    ]
    assert told == sorted(told)
    found = json.loads(said(capsys, 0, one, other, "--json"))
    assert [sentence.split(" (")[0] for sentence in found["conditions"]] == [
        "measured on different switches",
        "measured with different planted faults",
    ]


def test_a_run_that_its_machine_limited_throughout_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = emulated(tmp_path, "a.zarr")
    other = emulated(tmp_path, "b.zarr", limited=True, faults=FAULTS)
    text = said(capsys, 3, one, other)
    assert text.index("different planted faults") < text.index("Undecided: no conclusion about the network")
    assert "changed by" not in text
    assert json.loads(said(capsys, 3, one, other, "--json"))["worse"] is None
    assert "every phase of all runs but" in said(capsys, 3, one, other, other)
    text = said(capsys, 0, one, one, other)
    assert "limited every phase at 100 KB" in text
    assert "Nothing changed" in text


def test_runs_too_few_for_a_trend_are_each_compared_with_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for name, rate in (("a", "100"), ("b", "50"), ("c", "100")):
        network, out = tmp_path / f"{name}.toml", tmp_path / f"{name}.zarr"
        network.write_text(FOUR.replace("100", rate))
        assert main(["run", "aapc", "--on", f"sim:{network}", "--out", str(out), "--quiet"]) == 0
        runs.append(str(out))
    text = said(capsys, 1, *runs)
    first, second = text.index("a.zarr → b.zarr"), text.index("a.zarr → c.zarr")
    assert "−50 %" in text[first:second]
    assert "Nothing changed" in text[second:]
    found = json.loads(said(capsys, 1, *runs, "--json"))
    (before,) = found["before_last"]
    assert (before["run"], before["worse"], found["changes"]) == ("b.zarr", True, [])
