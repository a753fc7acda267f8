"""A stranger's run executes no code, reads no file outside itself, and hangs nothing."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numcodecs.pickles
import pytest
from stored_run import RANKS, change, make_run

from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.format import DamagedRun
from crosscut.run.repair import repair
from crosscut.run.run import Run

STATUS = "status/c/0/0/0/0"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def problems(run: Path) -> str:
    return "\n".join(map(str, fsck.check(run).problems))


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


VERSION_2 = {
    "zarr_format": 2, "shape": [RANKS], "chunks": [RANKS], "dtype": "|O", "compressor": None, "order": "C",
    # zarr takes the type from the first filter only
    "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}], "fill_value": None,
    "attributes": {"_ARRAY_DIMENSIONS": ["rank"]},
}  # fmt: skip
VERSION_3 = {
    "zarr_format": 3, "node_type": "array", "shape": [RANKS], "dimension_names": ["rank"],
    "data_type": "variable_length_utf8", "fill_value": "", "attributes": {}, "storage_transformers": [],
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [RANKS]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "numcodecs.pickle", "configuration": {}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("metadata", "file", "consolidated"),
    [(VERSION_2, ".zarray", True), (VERSION_2, ".zarray", False), (VERSION_3, "zarr.json", True)],
)
def test_a_pickle_next_to_the_arrays_is_not_read_and_fsck_names_it(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    metadata: dict[str, Any],
    file: str,
    consolidated: bool,
) -> None:
    # As in numcodecs before 0.16.6, and wherever it is allowed.
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True)
    mark = tmp_path / "code-ran"
    (run / "rank" / "c").mkdir(parents=True)
    (run / "rank" / file).write_text(json.dumps(metadata))
    for chunk in ("0", "c/0"):
        (run / "rank" / chunk).write_bytes(pickle.dumps(Payload(mark)))
    if consolidated:
        change(run, lambda arrays: arrays.update(rank=metadata))
    Run.open(run).dataset.load()
    assert main(["show", str(run)]) == 0
    report = problems(run)
    assert not mark.exists()
    assert f"{run}/rank: belongs to no array of this run" in report
    assert ("describes an array 'rank'" in report) == consolidated


def test_a_known_array_with_an_unknown_codec_is_refused(run: Path) -> None:
    change(run, lambda arrays: arrays["node"].update(codecs=[{"name": "numcodecs.pickle"}]))
    with pytest.raises(DamagedRun, match="'node': its values are not written as those of a run are"):
        Run.open(run)


@contextmanager
def at_most_a_second() -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def replace_by_link(file: Path) -> None:
    """Moves the content outside the run and links to it."""
    outside = file.parents[len(file.parts) - 1 - file.parts.index("run.zarr")] / "outside"
    shutil.move(file, outside)
    file.symlink_to(outside)


def replace_by_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize("name", [STATUS, "node/c/0", "status/c", "node", "zarr.json"])
def test_a_link_out_of_the_run_is_refused_and_named(run: Path, name: str) -> None:
    replace_by_link(run / name)
    with pytest.raises(DamagedRun, match="symbolic link"):
        Run.open(run)
    assert "symbolic link" in problems(run)


@pytest.mark.parametrize("name", [STATUS, "node/c/0", "status/zarr.json", "zarr.json"])
def test_a_pipe_instead_of_a_file_is_named_without_waiting(run: Path, name: str) -> None:
    replace_by_pipe(run / name)
    with at_most_a_second():
        assert "not a regular file" in problems(run)
        if name != "status/zarr.json":  # not needed
            with pytest.raises(DamagedRun, match="not a regular file"):
                Run.open(run)


def test_repairing_and_resuming_write_nothing_outside_the_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "precious"
    outside.write_text("mine")
    (run / "iterations/c/0").unlink()
    (run / "iterations/c/0").symlink_to(outside)
    with pytest.raises(UsageError, match="iterations/c/0 is a symbolic link"):
        repair(run)
    assert main(["run", "--resume", str(run)]) == 2
    assert "iterations/c/0 is a symbolic link" in capsys.readouterr().err
    assert outside.read_text() == "mine"
