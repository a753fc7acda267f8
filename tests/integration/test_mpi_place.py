"""The place `mpi` with the mpiexec of crosscut-core-mpi's MPI, and with another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from events import Events, close_streams
from processes import await_none, command_line, environment, running

from crosscut.base.core import CORE_MPI, find_executable
from crosscut.places.base import Launched, PlaceOptions, new_secret
from crosscut.places.launchers import find_launcher
from crosscut.places.mpi import MpiPlace

EXECUTABLE = find_executable(CORE_MPI)
LAUNCHER = find_launcher(os.environ.get("CROSSCUT_TEST_MPIEXEC", ""), EXECUTABLE)

pytestmark = [
    pytest.mark.skipif(EXECUTABLE is None, reason="no crosscut-core-mpi: pip install 'mpich>=5', then make"),
    pytest.mark.skipif(LAUNCHER is None, reason="no mpiexec: pip install 'mpich>=5'"),
]
SECRET = new_secret()


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Path]:
    """A copy of crosscut-core-mpi, which identifies its processes; fails if any is left. It finds its
    libraries by relative path, like the original."""
    assert EXECUTABLE is not None
    copy = tmp_path / "bin" / CORE_MPI
    copy.parent.mkdir()
    shutil.copy(EXECUTABLE, copy)
    (tmp_path / "lib").symlink_to(EXECUTABLE.absolute().parent.parent / "lib")
    yield copy
    await_none(copy)


def start(core: Path, ranks: int, launcher: str = "") -> Launched:
    assert LAUNCHER is not None
    options = PlaceOptions(
        executable=core,
        mpi_executable=core,
        ranks=ranks,
        backend="mpi",
        launcher=launcher or LAUNCHER.program,
        timeout_seconds=15.0,
        secret=SECRET,
    )
    return MpiPlace().start(options)


@pytest.mark.parametrize("ranks", [2, 6])
def test_ranks_meet_and_the_secret_stays_hidden(core: Path, ranks: int) -> None:
    launched = start(core, ranks)
    try:
        assert Events(launched).until("ready")["ranks"] == ranks
        started = running(core)
        assert len(started) == ranks
        for pid in started:
            assert SECRET not in " ".join([*command_line(pid), *environment(pid).values()])
    finally:
        close_streams(launched)
    assert launched.process.returncode == 0, launched.stderr_tail()


def test_a_killed_launcher_leaves_no_rank(core: Path) -> None:
    launched = start(core, 3)
    Events(launched).until("ready")
    launched.process.kill()
    await_none(core)
    close_streams(launched)


def test_the_launcher_of_another_mpi_is_detected(core: Path, tmp_path: Path) -> None:
    """With such a launcher every rank believes that it is alone, and only the first gets the input."""
    other = tmp_path / "mpiexec"
    other.write_text(
        "#!/bin/sh\n"
        "n=$2; shift 2; [ $1 = --bind-to ] && shift 2\n"
        'i=1; while [ $i -lt $n ]; do "$@" </dev/null & i=$((i + 1)); done\n'
        '"$@"; status=$?; wait; exit $status\n'
    )
    other.chmod(0o755)
    launched = start(core, 2, launcher=str(other))
    try:
        assert Events(launched).next() is None
    finally:
        close_streams(launched)
    assert launched.process.returncode != 0
    assert any("MPI started 1 ranks in one job, but 2 are" in line for line in launched.stderr_tail())
