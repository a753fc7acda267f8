"""Runs with the core's summaries of phases: read, checked, repaired, shown, exported."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.base.node_names import node_names
from crosscut.reports.terminal import headline
from crosscut.reports.view import View
from crosscut.reports.words.sentences import figures_of
from crosscut.run import fsck, table_files, tables
from crosscut.run.repair import repair
from crosscut.run.run import Run

RANKS = 6
SIZE = 1_000_000


def simulate(out: Path, *, raw_budget_bytes: int, resume: bool = False) -> Path:
    job = {"pattern": "aapc", "backend": "sim", "sizes": [SIZE], "out": str(out), "resume": resume,
           "raw_budget_bytes": raw_budget_bytes}  # fmt: skip
    requests = [{"ranks": RANKS, "backend": "sim"}, {"do": "run", "job": job}]
    with subprocess.Popen(
        [core.load().executable, "node"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        node.stdin.write("".join(json.dumps(request) + "\n" for request in requests))
        node.stdin.flush()
        said = [json.loads(node.stdout.readline()) for _ in range(2)]  # ready, started
        while said[-1]["event"] not in ("finished", "error"):
            said.append(json.loads(node.stdout.readline()))
        node.stdin.close()  # not earlier: end of file would stop the job
        node.stdout.read()
    assert said[-1].get("state") == "complete", said
    return out


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return simulate(tmp_path / "phases.zarr", raw_budget_bytes=100)


def test_figures_equal_those_of_the_run_with_all_samples(path: Path, tmp_path: Path) -> None:
    summed, whole = Run.open(path), Run.open(simulate(tmp_path / "raw.zarr", raw_budget_bytes=1 << 30))
    assert summed.phase_summarised
    assert not whole.phase_summarised
    assert np.array_equal(summed.phase_rates(0).values, whole.phase_rates(0).values)
    seconds = whole.message_seconds(0).values[0, ..., 0]
    found = summed.dataset["phase_message_summary"].isel(size=0, repetition=0)
    assert (found.sel(statistic="count") == RANKS).all()
    assert np.allclose(found.sel(statistic="median"), np.median(seconds, axis=1), rtol=1e-15)
    assert np.array_equal(found.sel(statistic="maximum"), seconds.max(axis=1))
    assert figures_of(View.open(path))[0] == figures_of(View.open(whole.path))[0]


def test_coordinates_are_implied_and_computed_when_read(path: Path) -> None:
    peer = Run.open(path).dataset["peer"]
    assert peer.shape == (RANKS - 1, RANKS, 1)
    assert peer.values[1, :, 0].tolist() == [(rank - 2) % RANKS for rank in range(RANKS)]


def test_export_has_a_row_per_phase(path: Path) -> None:
    run, text = Run.open(path), io.BytesIO()
    table_files.write_csv(tables.tables(run, "phases"), text)
    rows = list(csv.DictReader(io.StringIO(text.getvalue().decode())))
    assert [row["phase"] for row in rows] == [str(phase) for phase in range(1, RANKS)]
    assert {row["status"] for row in rows} == {"measured"}
    assert {row["ranks"] for row in rows} == {str(RANKS)}
    for row in rows:
        assert float(row["bytes_per_second"]) == pytest.approx(SIZE / float(row["rank_maximum_seconds"]))
    with pytest.raises(UsageError, match="--table phases"):
        next(iter(tables.tables(run, "messages")))


def test_the_report_names_no_routes(path: Path) -> None:
    found = headline.as_json(path)
    (size,) = found["sizes"]  # type: ignore[misc]
    assert size["slowest_routes"] == []
    assert len(size["phases"]) == RANKS - 1  # type: ignore[index]
    kinds = [caution["kind"] for caution in found["cautions"]]  # type: ignore[attr-defined]
    assert kinds == ["summaries only"]


def test_lost_summaries_are_found_given_up_and_computed_again(path: Path) -> None:
    before = Run.open(path).phase_rates(0).values
    assert fsck.check(path).ok
    assert fsck.check(path).cells["measured"] == RANKS - 1
    samples = path / "phase_rank_summary/c/0/0/0/0"
    content = bytearray(samples.read_bytes())
    nan = np.float64("nan").tobytes()
    content[16 + 2 * 40 : 16 + 2 * 40 + 8] = nan  # behind an index of one entry: the count of the third phase
    samples.write_bytes(content)
    report = fsck.check(path)
    assert not report.ok
    assert "1 cells marked as measured" in report.problems[0].what
    repair(path)
    assert fsck.check(path).ok
    cells = {"unmeasured": 1, "measured": RANKS - 2, "failed": 0, "skipped": 0}
    assert fsck.check(path).cells == cells
    assert np.isnan(Run.open(path).phase_rates(0).values[0]).tolist() == [False, False, True, False, False]
    simulate(path, raw_budget_bytes=100, resume=True)
    assert np.array_equal(Run.open(path).phase_rates(0).values, before)


def test_very_many_nodes_are_named_by_the_first_and_the_last() -> None:
    def counted(first: str, last: str, count: int) -> list[str]:
        return node_names({"count": count, "first": {"name": first}, "last": {"name": last}})

    assert counted("n0008", "n0011", 4) == ["n0008", "n0009", "n0010", "n0011"]
    assert counted("alpha", "omega", 4) == ["alpha", "", "", "omega"]
    assert counted("n1", "n3", 5) == ["n1", "", "", "", "n3"]
    assert counted(f"n{'7' * 5000}", f"n{'7' * 4999}8", 2) == [f"n{'7' * 5000}", f"n{'7' * 4999}8"]
    assert node_names({"count": 1 << 60}) == []
    assert node_names({"count": "x"}) == node_names(None) == []
    assert node_names([{"name": "a"}, {}]) == ["a", ""]
