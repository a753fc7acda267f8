"""`crosscut reproduce`: early refusals, and the files left if it ends early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut import cli
from crosscut.base.errors import Interrupted, SessionError
from crosscut.cli import reproduce
from crosscut.reproduce import repeating
from crosscut.reproduce.experiment import Experiment
from crosscut.reproduce.repeating import RepeatedExperiment
from crosscut.reproduce.running import ReproduceOptions


@pytest.mark.parametrize(
    "words", [["--on", "sim"], ["--on", "both"], ["--out", "x"], ["--dilate", "2"], ["--repetitions", "2"]]
)
def test_an_option_without_an_experiment_is_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["reproduce", *words]) == 2
    captured = capsys.readouterr()
    assert f"{words[0]}: for an experiment to repeat" in captured.err
    assert captured.out == ""


def test_the_list_has_the_places_where_each_experiment_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--json"]) == 0
    listed = {one["name"]: one["on"] for one in json.loads(capsys.readouterr().out)}
    assert listed["kurmann-table-4"] == ["lab", "sim"]
    assert listed["fatoohi-one-node"] == ["local"]


def ended(folder: Path, error: BaseException, *, after_a_run: bool) -> None:
    with reproduce.keeping(folder):
        if after_a_run:
            (folder / "one.zarr").mkdir()
        raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupted("interrupted")])
def test_an_interruption_names_the_files_written_and_leaves_no_empty_folder(
    tmp_path: Path, error: BaseException
) -> None:
    folder = tmp_path / "out"
    with pytest.raises(Interrupted) as nothing:
        ended(folder, error, after_a_run=False)
    assert str(nothing.value) == "interrupted"
    assert not folder.exists()
    with pytest.raises(Interrupted) as something:
        ended(folder, error, after_a_run=True)
    assert str(something.value) == f"interrupted; what was measured is in {folder}"


def test_files_written_before_a_failure_are_named_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    with pytest.raises(SessionError, match="died"):
        ended(folder, SessionError("died"), after_a_run=True)
    assert f"what was measured is in {folder}\n" in capsys.readouterr().err


def test_what_an_interrupted_paper_completed_is_on_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def repeat(read: Experiment, places: object, how: ReproduceOptions) -> RepeatedExperiment:
        if any(tmp_path.glob("out/*/done")):
            raise Interrupted("interrupted")
        (how.out / "done").touch()
        return RepeatedExperiment(read, (), (), (), (), {"experiment": read.name})

    monkeypatch.setattr(repeating, "repeat", repeat)
    out = tmp_path / "out"
    assert cli.main(["reproduce", "salmon1998", "--quick", "--quiet", "--out", str(out)]) == 130
    assert f"interrupted; what was measured is in {out}" in capsys.readouterr().err
    results = json.loads((out / "result.json").read_text())
    assert [one["experiment"] for one in results["experiments"]] == ["salmon-latency"]
    assert results["left_out"]["salmon-routes"] == "it was not completed"
    assert "salmon-routes is left out: it was not completed." in (out / "report.html").read_text()


def test_quick_is_not_combined_with_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "salmon1998", "--quick", "--on", "lab"]) == 2
    assert "--quick only simulates: leave out --on" in capsys.readouterr().err
