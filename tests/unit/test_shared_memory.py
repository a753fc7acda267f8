"""What MPI left in shared memory is removed, unless it is older, in use, or something else."""

from __future__ import annotations

import mmap
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscut.base import shared_memory


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in shared memory: other file systems have other device numbers in /proc/PID/maps."""
    with tempfile.TemporaryDirectory(dir=shared_memory.FOLDER, prefix="crosscut-test-") as name:
        yield Path(name)


def made(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(bytes(4096))
    return path


def test_only_files_of_mpi_that_nobody_uses_are_removed(folder: Path) -> None:
    since = time.time()
    made(folder, "mpich_shm_a")
    made(folder, "ucx_shm_b")
    made(folder, "sem.other")
    (folder / "mpich_shm_link").symlink_to(folder / "sem.other")
    with (
        made(folder, "mpich_shm_open").open("rb"),
        made(folder, "mpich_shm_mapped").open("r+b") as file,
        mmap.mmap(file.fileno(), 0),
    ):
        file.close()
        assert shared_memory.remove_orphans(since, folder) == ["mpich_shm_a", "ucx_shm_b"]
    left = {path.name for path in folder.iterdir()}
    assert left == {"sem.other", "mpich_shm_link", "mpich_shm_open", "mpich_shm_mapped"}


def test_files_that_were_there_before_stay(folder: Path) -> None:
    made(folder, "mpich_shm_a")
    assert shared_memory.remove_orphans(time.time() + 60, folder) == []
    assert shared_memory.remove_orphans(time.time(), folder / "none") == []


def test_nothing_is_removed_if_a_process_cannot_be_examined(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used() -> list[tuple[int, int]]:
        raise PermissionError

    made(folder, "mpich_shm_a")
    monkeypatch.setattr(shared_memory, "_used", used)
    assert shared_memory.remove_orphans(time.time(), folder) == []
    assert (folder / "mpich_shm_a").exists()
