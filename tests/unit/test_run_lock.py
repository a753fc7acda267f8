"""Only one process at a time writes to a run, and its writes are durable."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from stored_run import make_run

from crosscut.base import whole_file
from crosscut.base.errors import UsageError
from crosscut.lab.watching import observer
from crosscut.run import lock
from crosscut.run.repair import repair


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def test_a_run_that_is_being_written_is_not_repaired(path: Path) -> None:
    with lock.alone(path):
        assert lock.is_held(path)
        with pytest.raises(UsageError, match="is being written: wait until that is done"):
            repair(path)
    assert not lock.is_held(path)


def test_a_repair_keeps_writers_out_until_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(
        "crosscut.run.repair._remove_unfinished", lambda _: seen.append(lock.is_held(path)) or []
    )
    repair(path)
    assert seen == [True]


def test_a_lab_s_record_is_added_after_the_core_has_released_the_run(path: Path) -> None:
    """Otherwise the core's last changes, or these, would be lost."""

    def attributes() -> dict[str, object]:
        return json.loads((path / "zarr.json").read_text())["attributes"]

    with lock.alone(path):
        adding = threading.Thread(target=observer._append, args=(path, {"steal": 0.5}))
        adding.start()
        adding.join(0.05)
        assert "trust" not in attributes()
        document = json.loads((path / "zarr.json").read_text())
        document["attributes"]["last"] = "words"
        whole_file.write(path / "zarr.json", json.dumps(document).encode())
    adding.join()
    assert (attributes()["trust"], attributes()["last"]) == ([{"steal": 0.5}], "words")


def test_a_file_is_on_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a power loss could replace the old file by an empty one."""
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(descriptor: int) -> None:
        done.append("folder" if Path(f"/proc/self/fd/{descriptor}").resolve() == tmp_path else "file")
        sync(descriptor)

    def noted_replace(one: Path, other: Path) -> Path:
        done.append("replace")
        return replace(one, other)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    whole_file.write(tmp_path / "x", b"1")
    assert done == ["file", "replace", "folder"]
    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_written_file_is_not_a_failure_if_its_folder_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a user who may only add files to the folder (mode 0300); root may read any folder."""

    def refused(path: Path, flags: int) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refused)
    whole_file.write(tmp_path / "x", b"1")
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
