"""`run --force`: the earlier run is lost only to one that holds samples."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest
from stored_run import make_run

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.run import replacing


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def replace_in_vain(run: Path, begun: bool) -> None:
    with replacing.set_aside(run):
        if begun:
            shutil.rmtree(make_run(run) / "status" / "c")
        raise CrosscutError("no ranks")


def test_a_run_that_was_measured_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    earlier = make_run(tmp_path / "run.zarr")
    (earlier / "mark").touch()
    with replacing.set_aside(earlier):
        assert not earlier.exists()
        make_run(earlier)
    assert files_in(tmp_path) == ["run.zarr"]
    assert not (earlier / "mark").exists()


@pytest.mark.parametrize("begun", [False, True], ids=["nothing was made", "a run without samples was made"])
def test_the_earlier_run_is_put_back_if_nothing_was_measured(tmp_path: Path, begun: bool) -> None:
    earlier = make_run(tmp_path / "run.zarr")
    (earlier / "mark").touch()
    with pytest.raises(CrosscutError, match="no ranks"):
        replace_in_vain(earlier, begun)
    assert files_in(tmp_path) == ["run.zarr"]
    assert (earlier / "mark").exists()


def test_only_runs_that_nobody_writes_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    with pytest.raises(UsageError, match="--force replaces only runs"):
        replacing.refuse(tmp_path / "thesis")
    earlier = make_run(tmp_path / "run.zarr")
    (tmp_path / "link").symlink_to(earlier)
    with pytest.raises(UsageError, match="is a symbolic link"):
        replacing.refuse(tmp_path / "link")
    writer = os.open(earlier, os.O_RDONLY)
    fcntl.flock(writer, fcntl.LOCK_EX)
    with pytest.raises(UsageError, match=r"run\.zarr is being written by another process"):
        replacing.refuse(earlier)
    os.close(writer)
    replacing.refuse(earlier)
