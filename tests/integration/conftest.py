"""Makes the helpers of this folder importable: pytest's import mode `importlib` leaves sys.path alone."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiers import LABS

from crosscut.base.core import find_executable

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]

MNT_DETACH = 2
MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 256 << 20


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Groups tests that xdist gives to one process: all that measure rates of labs (labs.py); otherwise those
    of a file, which may share fixtures."""
    from labs import needs_lab

    for item in items:
        if HERE not in item.path.parents or item.get_closest_marker("xdist_group") is not None:
            continue
        uses_lab = needs_lab.mark in item.iter_markers("skipif")
        item.add_marker(pytest.mark.xdist_group(LABS if uses_lab else item.path.stem))


@pytest.fixture
def quick_path(tmp_path: Path) -> Iterator[Path]:
    """An empty folder, in memory if there is room: a run waits for the disk at each step, which takes most of
    the time of a small one. As on a disk, the data of a killed process remain."""
    try:
        roomy = shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES
        folder = tempfile.TemporaryDirectory(prefix="crosscut-test-", dir=MEMORY if roomy else tmp_path)
    except OSError:
        folder = tempfile.TemporaryDirectory(dir=tmp_path)
    with folder as name:
        yield Path(name)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MiB, unmounted afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    folder = tmp_path / "disk"
    folder.mkdir()
    if libc.mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=3m") != 0:
        pytest.skip(f"cannot mount a small tmpfs: {os.strerror(ctypes.get_errno())}; needs root")
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), MNT_DETACH)


@pytest.fixture(scope="session")
def _workloads_for_smpi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workloads-for-smpi")


@pytest.fixture
def shared_cache(_workloads_for_smpi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that all tests share: compiling a workload for SMPI takes ten seconds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(_workloads_for_smpi))


@pytest.fixture
def core(tmp_path: Path) -> Iterator[Path]:
    """A copy of crosscut-core, which identifies its processes; fails if any is left."""
    from processes import await_none  # of this folder, which is importable by now

    executable = Path(os.environ.get("CROSSCUT_TEST_NODE") or find_executable("crosscut-core") or "")
    copy = tmp_path / "crosscut-core"
    shutil.copy(executable, copy)
    yield copy
    await_none(copy)


@pytest.fixture(scope="session", autouse=True)
def _labs_of_this_process(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keeps labs of the same name in several test processes apart."""
    from crosscut.lab import state

    os.environ.setdefault(state.VARIABLE, str(tmp_path_factory.mktemp("labs") / "here"))


@pytest.fixture
def own_labs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a test's own labs; takes them down afterwards."""
    from crosscut.lab import lifecycle, state

    root = tmp_path / "labs" / "here"
    monkeypatch.setenv(state.VARIABLE, str(root))
    yield root
    for name in state.names():
        lifecycle.down(name)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Compiles a program of profiled/, by its name, once for each module."""
    from profiling import MPICC, SOURCES, built_by

    folder = tmp_path_factory.mktemp("programs")

    def program(name: str) -> Path:
        target = folder / name
        return target if target.exists() else built_by(MPICC, SOURCES / f"{name}.c", folder)

    return program
