"""Tables hold each measured sample once, the same in every format."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from stored_run import PHASES, RANKS, REPETITIONS, SIZES, make_run, peers, seconds

from crosscut.base.errors import CrosscutError
from crosscut.cli import main
from crosscut.run import tables
from crosscut.run.run import Run
from crosscut.run.table_files import write_csv, write_file

MESSAGES = len(SIZES) * REPETITIONS * int((peers() >= 0).sum())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def exported(path: Path, name: str, *options: str) -> Path:
    out = path.parent / name
    assert main(["export", str(path), "--out", str(out), *options]) == 0
    return out


def test_every_sample_is_a_row_with_its_place_and_rate(path: Path) -> None:
    with exported(path, "x.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == MESSAGES
    for row in rows:
        place = [int(row[name]) for name in ("size_bytes", "repetition", "phase", "rank", "slot")]
        size, repetition, phase, rank, slot = SIZES.index(place[0]), place[1] - 1, place[2] - 1, *place[3:]
        assert float(row["seconds"]) == seconds()[size, repetition, phase, rank, slot]
        assert int(row["peer"]) == peers()[phase, rank, slot]
        assert float(row["bytes_per_second"]) == int(row["bytes"]) / float(row["seconds"])
        assert row["same_node"] == ("true" if row["node"] == row["peer_node"] else "false")
        assert row["phase_label"] == f"stride {phase + 1}"


def test_all_formats_hold_the_same(path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for table in ("messages", "ranks"):
        from_json = json.loads(exported(path, f"{table}.json", "--table", table).read_text())
        from_parquet = parquet.read_table(exported(path, f"{table}.parquet", "--table", table)).to_pylist()
        assert from_json == from_parquet
        with exported(path, f"{table}.csv", "--table", table).open(newline="") as file:
            from_csv = list(csv.DictReader(file))
        assert len(from_csv) == len(from_json)
        assert list(from_csv[0]) == list(from_json[0])


def test_a_table_that_cannot_be_finished_leaves_the_file_open() -> None:
    def pieces() -> Iterator[tables.Table]:
        yield {"rank": np.arange(2)}
        raise CrosscutError("the rest is damaged")

    file = io.BytesIO()
    with pytest.raises(CrosscutError, match="damaged"):
        write_csv(pieces(), file)
    assert file.getvalue() == b"rank\n0\n1\n"


def test_writing_in_pieces_does_not_change_the_table(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = exported(path, "whole.csv").read_text()
    monkeypatch.setattr(tables, "CELLS_AT_ONCE", 3 * RANKS * 2)  # three phases of one repetition
    pieces = list(tables.tables(Run.open(path), "messages"))
    assert len(pieces) == len(SIZES) * REPETITIONS * -(-PHASES // 3)
    assert exported(path, "pieces.csv").read_text() == whole


def test_ranks_have_rows_for_failed_cells_but_not_for_skipped_ones(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.zarr", measured_repetitions=2)
    status = path / "status/c/0/0/0/0"
    content = bytearray(status.read_bytes())
    content[48:50] = b"\x02\x03"  # repetition 0, phase 0: rank 0 failed, rank 1 was skipped
    status.write_bytes(content)
    rows = json.loads(exported(path, "ranks.json", "--table", "ranks").read_text())
    assert len(rows) == len(SIZES) * 2 * PHASES * RANKS
    assert [(row["status"], row["seconds"]) for row in rows[:2]] == [("failed", None), ("skipped", None)]
    assert rows[2]["bytes_per_second"] == rows[2]["timed_bytes"] / rows[2]["seconds"]
    messages = json.loads(exported(path, "messages.json").read_text())
    assert not [row for row in messages if row["repetition"] == row["phase"] == 1 and row["rank"] < 2
                and row["size_bytes"] == SIZES[0]]  # fmt: skip


def test_a_run_without_samples_makes_a_table_without_rows(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run.zarr", measured_repetitions=0)
    assert json.loads(exported(path, "x.json").read_text()) == []
    assert exported(path, "x.csv").read_text().startswith("size_bytes,repetition,phase,")


def test_a_file_is_not_replaced_without_request_nor_left_half_written(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(path, "x.csv")
    assert main(["export", str(path), "--out", str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["export", str(path), "--out", str(out), "--force"]) == 0

    def broken() -> object:
        yield {"a": np.arange(3)}
        raise CrosscutError("the disk broke")

    with pytest.raises(CrosscutError):
        write_file(broken(), tmp_path / "y.csv", "csv", overwrite=False)  # type: ignore[arg-type]
    assert not list(tmp_path.glob("y.csv*"))


@pytest.mark.parametrize("words", [["export", "--out", "x.csv"], ["report", "-o", "x.html"]])
def test_a_folder_that_does_not_exist_is_named_before_any_work(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, name, file = words
    out = tmp_path / "no such" / file
    assert main([command, str(tmp_path / "run.zarr"), name, str(out)]) == 2
    said = capsys.readouterr().err
    assert f"{name} {out}: the folder {out.parent} does not exist; make it (mkdir -p '{out.parent}')" in said


def test_parquet_without_its_library_says_how_to_get_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["export", str(path), "--out", str(path.parent / "x.parquet")]) == 1
    assert "pip install 'crosscut[parquet]'" in capsys.readouterr().err
    assert not list(path.parent.glob("x.parquet*"))


def test_a_file_of_unknown_type_is_wrong_usage(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(path), "--out", str(path.parent / "x.xls")]) == 2
    assert ".csv, .parquet, .json" in capsys.readouterr().err
