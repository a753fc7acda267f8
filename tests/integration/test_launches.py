"""Launches by real ranks: each is an ordinary run with its own order, and a folder can be resumed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from measuring import check_whole

from crosscut.base import core
from crosscut.cli import main
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)


def typed(words: str) -> int:
    return main(words.split())


def test_launches_are_ordinary_runs_and_missing_ones_are_measured_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    job = "aapc -n 4 --backend null --size 1KB,10KB,100KB --repetitions 6 --seed 5"
    assert typed(f"run {job} --launches 2 --out both --quiet") == 0
    runs = [Path("both") / f"launch-{number}.zarr" for number in (1, 2)]
    before = (runs[0] / "zarr.json").read_bytes()
    shutil.rmtree(runs[1])
    assert typed("run --resume both --quiet") == 0
    assert (runs[0] / "zarr.json").read_bytes() == before
    seeds = []
    for path in runs:
        check_whole(path)
        run = Run.open(path)
        assert run.sizes_bytes == (1000, 10_000, 100_000)
        assert run.attributes["state"] == "complete"
        asked = run.attributes["job"]
        assert isinstance(asked, dict)
        seeds.append(asked["order_seed"])
    assert seeds == [5 * 2**20 + 1, 5 * 2**20 + 2]
    capsys.readouterr()
    assert typed("show both --json") == 0
    sizes = json.loads(capsys.readouterr().out)["sizes"]
    assert [one["over_launches"]["count"] for one in sizes] == [2, 2, 2]
    assert typed("compare both both") == 3  # two launches tell no change from chance
