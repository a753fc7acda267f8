"""Opening runs for reading: contents are exact, and broken runs are refused with a message."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_run import PHASES, RANKS, REPETITIONS, SIZES, SLOTS, make_run, peers, seconds

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.cli import main
from crosscut.run.format import DamagedRun
from crosscut.run.implied import Coordinates, ImpliedArray, add_implied, parse_answer
from crosscut.run.run import Run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the group's metadata."""
    document = json.loads((path / "zarr.json").read_text())
    change(document)
    (path / "zarr.json").write_text(json.dumps(document))


def arrays_of(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["consolidated_metadata"]["metadata"]
    return found


def test_every_sample_is_read_at_its_place(path: Path) -> None:
    run = Run.open(path)
    assert run.sizes_bytes == SIZES
    assert run.node_names == ("n0", "n0", "n1", "n1")
    for size_index in range(len(SIZES)):
        np.testing.assert_array_equal(run.message_seconds(size_index).values, seconds()[size_index])


def test_rates_are_bytes_over_seconds_and_a_phase_is_as_fast_as_its_slowest_rank(path: Path) -> None:
    run = Run.open(path)
    messages = run.message_rates(1)
    assert messages.dims == ("repetition", "phase", "rank", "slot")
    np.testing.assert_allclose(messages.values, 2000 / seconds()[1])
    slowest = np.nanmax(seconds()[1], axis=(-1, -2))
    np.testing.assert_allclose(run.phase_rates(1).values, 2000 / slowest)


def test_cells_that_were_not_measured_are_nan_whatever_the_file_holds(path: Path) -> None:
    status = path / "status/c/0/0/0/0"
    content = bytearray(status.read_bytes())
    content[48] = 0  # after an index of 3 entries: repetition 0, phase 0, rank 0
    status.write_bytes(content)
    run = Run.open(path)
    assert np.isnan(run.message_seconds(0).values[0, 0, 0]).all()
    assert np.isnan(run.phase_rates(0).values[0, 0])
    assert np.isfinite(run.phase_rates(0).values[0, 1])


def test_bytes_of_minus_one_mean_the_requested_size(path: Path) -> None:
    run = Run.open(path)
    given = np.full((PHASES, RANKS, SLOTS), -1)
    given[0, 0, 1] = 77
    other = Run(path, run.dataset.assign_coords(bytes=(("phase", "rank", "slot"), given)))
    assert other.message_bytes(1).values[0, 0, 1] == 77
    assert other.message_bytes(1).values[1, 1, 1] == 2000


def _whole(extent: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": [extent]}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["attributes"]["schema"].update(version=4), "newer crosscut"),
        (lambda d: d["attributes"]["schema"].update(name="x"), "not a run of crosscut"),
        (lambda d: d["attributes"].pop("schema"), "'schema' is missing"),
        (lambda d: d.pop("attributes"), "'attributes' is missing"),
        (lambda d: d.pop("consolidated_metadata"), "'consolidated_metadata' is missing"),
        (lambda d: arrays_of(d).pop("status"), "no array 'status'"),
        (lambda d: arrays_of(d).pop("rank_seconds"), "no array 'rank_seconds'"),
        (lambda d: arrays_of(d)["status"].update(shape=[2, 5, 7, 5]), "chunks"),
        (lambda d: arrays_of(d)["node"].update(shape=[2**70]), "dimensions"),
        (lambda d: arrays_of(d)["phase"].update(data_type="float32"), "type is not int64"),
        (lambda d: arrays_of(d)["size"].update(codecs=None), "codecs"),
        (lambda d: arrays_of(d).update(status=7), "no metadata"),
        (lambda d: arrays_of(d)["phase"].update(shape=[9], chunk_grid=_whole(9)), "along 'phase'"),
    ],
)  # fmt: skip
def test_invalid_metadata_is_refused_with_a_message(
    path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    edit(path, change)
    with pytest.raises(CrosscutError, match=words):
        Run.open(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, "\xff", '{"attributes": 1}', "null"])
def test_broken_json_names_the_file(path: Path, text: str) -> None:
    (path / "zarr.json").write_text(text, encoding="latin-1")
    with pytest.raises(DamagedRun, match=r"zarr\.json"):
        Run.open(path)


def test_a_path_that_is_not_a_run_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name, words in (
        ("file", "a run is a directory"),
        ("filee", r"there is no such directory; did you mean file\?"),
        ("", "no zarr.json"),
    ):
        with pytest.raises(UsageError, match=words):
            Run.open(tmp_path / name)


@pytest.mark.parametrize("length", [0, 47, 48, -1])
def test_a_shard_that_was_cut_short_is_refused_before_anything_is_read(path: Path, length: int) -> None:
    shard = path / "message_seconds/c/1/0/0/0/0"
    content = shard.read_bytes()
    shard.write_bytes(content[:length])
    with pytest.raises(DamagedRun, match="fsck"):
        Run.open(path)


def test_a_coordinate_of_another_length_is_refused(path: Path) -> None:
    (path / "peer/c/0/0/0").write_bytes(b"short")
    with pytest.raises(DamagedRun, match="has 5 bytes, expected"):
        Run.open(path)


LOST = [
    ("message_seconds/c", "samples are marked as measured"),
    ("rank_seconds/c/1/0/0/0", "samples are marked as measured"),
    ("status/c", "repetitions were counted"),
    ("status/c/1/0/0/0", "repetitions were counted"),
]


@pytest.mark.parametrize(("gone", "words"), LOST)
def test_a_run_that_lost_files_is_refused_and_fsck_named(
    path: Path, gone: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lost = path / gone
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    for command in ("show", "export"):
        assert main([command, str(path)]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert f"crosscut fsck {path}" in said.err
        assert words in said.err


@pytest.mark.parametrize("name", ["message_seconds/c/0/0/0/0/0", "status/c/0/0/0/0"])
def test_a_run_that_lost_a_chunk_is_refused(path: Path, name: str) -> None:
    with (path / name).open("r+b") as file:
        file.seek(16)
        file.write(b"\xff" * 16)  # the second of three entries of the index: "not there"
    with pytest.raises(DamagedRun, match="lacks chunks"):
        Run.open(path)


def test_a_run_that_ended_early_is_not_damaged(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run.zarr", measured_repetitions=3, state="stopped")
    counts = np.full((len(SIZES), PHASES), 3, "<i8")
    counts[1] = 0  # the second size was never begun: no files, no counts
    (run / "repetitions_done/c/0/0").write_bytes(counts.tobytes())
    for name in ("message_seconds", "rank_seconds", "status"):
        shutil.rmtree(run / name / "c" / "1")
    opened = Run.open(run)
    assert np.isfinite(opened.phase_rates(0).values).any()
    assert not np.isfinite(opened.phase_rates(1).values).any()


def test_a_directory_of_runs_is_distinguished_from_a_run(path: Path) -> None:
    with pytest.raises(UsageError, match=r"a folder of runs; name one of them: .*run\.zarr"):
        Run.open(path.parent)


def test_implied_peers_are_computed_only_for_the_requested_phases(tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []

    def compute(first: int, last: int) -> Coordinates:
        asked.append((first, last))
        part = peers()[first - 1 : last]
        return Coordinates(part, np.full(part.shape, -1))

    stored = Run.open(make_run(tmp_path / "run.zarr")).dataset
    dataset = add_implied(stored.drop_vars("peer"), compute, SLOTS)
    assert asked == []
    np.testing.assert_array_equal(dataset["peer"].isel(phase=slice(2, 4)).values, peers()[2:4])
    np.testing.assert_array_equal(dataset["peer"].isel(phase=5, rank=slice(1, 3)).values, peers()[5, 1:3])
    np.testing.assert_array_equal(
        dataset["peer"].isel(phase=slice(6, 0, -2), rank=1).values, peers()[6:0:-2, 1]
    )
    assert asked == [(3, 4), (6, 6), (3, 7)]
    run = Run(tmp_path, dataset)
    np.testing.assert_array_equal(run.message_seconds(0).values, seconds()[0])
    assert isinstance(ImpliedArray(compute, "peer", np.arange(1, 3), (2, RANKS, SLOTS), "int32").shape, tuple)


def test_an_answer_of_the_core_that_does_not_fit_is_refused() -> None:
    line = json.dumps({"phase": 3, "peer": [1, 0], "bytes": [-1, 5]}).encode() + b"\n"
    assert parse_answer(line, range(3, 4), 2, 1).peer.tolist() == [[[1], [0]]]
    for bad in (b"", line + line, line.replace(b"3", b"4"), line.replace(b"[1, 0]", b"[1]"), b"x\n",
                line.replace(b"[1, 0]", b"[1, 99999999999]"), b"[]\n"):  # fmt: skip
        with pytest.raises(CrosscutError, match="does not fit"):
            parse_answer(bad, range(3, 4), 2, 1)


def test_a_run_half_measured_opens(tmp_path: Path) -> None:
    run = Run.open(make_run(tmp_path / "run.zarr", measured_repetitions=2, state="running"))
    assert np.isfinite(run.phase_rates(0).values).all(axis=1).tolist() == [True, True, False, False, False]
    assert run.repetitions == REPETITIONS


@pytest.mark.parametrize("at_once", [1, 1 << 25])
def test_measured_repetitions_are_counted_whatever_is_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    run = Run.open(make_run(tmp_path / "run.zarr", measured_repetitions=3))
    monkeypatch.setattr("crosscut.run.arrays._BYTES_AT_ONCE", at_once)
    measured = run.dataset["status"].values == 1
    assert 0 < measured.sum() < measured.size
    assert run.measured_repetitions.tolist() == measured.any(axis=3).sum(axis=1).tolist()
    assert run.measured_share == measured.mean()
