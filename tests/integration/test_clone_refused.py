"""Targets to which a copy is never written; a refusal changes nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cloning import CHUNK_BYTES, copied, image, unfinished
from processes import await_none
from under_way import private_core

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.clone.clone import VERIFIED, CloneOutcome, Order
from crosscut.session.measure import Launch

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

LAUNCH = Launch(on="local:2", pin=False)
DEVICE_BYTES = 4 << 20


@pytest.fixture
def folder(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    binaries = private_core(quick_path, monkeypatch.setenv)
    images = quick_path / "images"
    images.mkdir()
    yield images
    core.load.cache_clear()
    await_none(binaries / core.CORE)


def copy_to(
    source: Path, target: Path | str, *, yes: bool = False, resume: bool = False, confirmed: str = ""
) -> CloneOutcome:
    return copied(Order(str(source), str(target), yes, resume, CHUNK_BYTES, confirmed), LAUNCH)


def refusal(source: Path, target: Path | str, *, yes: bool = True, confirmed: str = "") -> str:
    with pytest.raises(UsageError) as refused:
        copy_to(source, target, yes=yes, confirmed=confirmed)
    return str(refused.value)


def test_a_file_that_exists_is_replaced_only_with_yes(folder: Path) -> None:
    source = image(folder / "source", 1000)
    there = image(folder / "there", 500)
    before = there.read_bytes()
    assert "--yes" in refusal(source, there, yes=False)
    assert there.read_bytes() == before
    assert not unfinished(there).exists()
    assert copy_to(source, there, yes=True).copies[0].state == VERIFIED
    assert there.read_bytes() == source.read_bytes()


def test_a_directory_is_refused_as_a_target(folder: Path) -> None:
    source = image(folder / "source", 10)
    assert "a directory" in refusal(source, folder)
    assert "a directory" in refusal(source, f"{folder}/none/")
    assert "directory that it would be in" in refusal(source, folder / "none" / "file")


def test_the_source_is_refused_as_a_target_by_any_name(folder: Path) -> None:
    source = image(folder / "source", 10)
    (folder / "link").symlink_to(source)
    (folder / "other-name").hardlink_to(source)
    for name in ("source", "link", "other-name"):
        assert "over the source" in refusal(source, folder / name)
    assert source.stat().st_size == 10


def test_neither_pipes_nor_character_devices_nor_dangling_links_are_targets(folder: Path) -> None:
    source = image(folder / "source", 10)
    os.mkfifo(folder / "pipe")
    (folder / "dangling").symlink_to(folder / "nowhere")
    assert "neither a regular file nor a block device" in refusal(source, "/dev/null")
    assert "neither a regular file nor a block device" in refusal(source, folder / "pipe")
    assert "leads nowhere" in refusal(source, folder / "dangling")
    assert not (folder / "nowhere").exists()


def test_links_and_pipes_at_the_path_of_an_unfinished_copy_are_refused(folder: Path) -> None:
    source = image(folder / "source", 1000)
    precious = image(folder / "precious", 500)
    before = precious.read_bytes()
    unfinished(folder / "a").symlink_to(precious)
    unfinished(folder / "b").hardlink_to(precious)
    os.mkfifo(unfinished(folder / "c"))
    for name in ("a", "b", "c"):
        assert str(unfinished(folder / name)) in refusal(source, folder / name)
    assert precious.read_bytes() == before


def test_directories_pipes_and_missing_files_are_refused_as_sources(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in (".", "pipe", "none"):
        with pytest.raises(UsageError, match="source"):
            copy_to(folder / name, folder / "target")
    assert not (folder / "target").exists()


def test_ranks_that_would_write_one_file_are_refused(folder: Path) -> None:
    source = image(folder / "source", 1000)
    with pytest.raises(UsageError, match=r"\{rank\} or \{host\}"):
        copied(Order(str(source), str(folder / "same")), Launch(on="local:4", pin=False))
    assert [path.name for path in folder.iterdir()] == ["source"]


def test_unknown_braces_are_refused(folder: Path) -> None:
    assert "{rank} and {host}" in refusal(image(folder / "source", 10), folder / "a{node}")


def test_too_little_space_is_refused_before_anything_is_written(folder: Path, small_disk: Path) -> None:
    source = image(folder / "source", 5 << 20)
    assert "bytes free" in refusal(source, small_disk / "target")
    assert list(small_disk.iterdir()) == []


@contextmanager
def loop_device(backing: Path) -> Iterator[str]:
    """A block device backed by a file."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("loop devices need root and losetup")
    made = subprocess.run(
        ["losetup", "--find", "--show", backing], capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no loop device is available here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def code_in(why: str) -> str:
    assert "nothing" not in why
    return why.rsplit("--confirm ", 1)[1].split()[0]


def test_a_device_is_written_only_if_confirmed_and_large_enough(folder: Path, tmp_path: Path) -> None:
    backing = image(tmp_path / "backing", DEVICE_BYTES)
    before = backing.read_bytes()
    source = image(folder / "source", DEVICE_BYTES - 12345)
    large = image(folder / "large", DEVICE_BYTES + 1)
    with loop_device(backing) as device:
        why = refusal(source, device)
        assert f"{device} ({backing}, {DEVICE_BYTES} bytes)" in why
        code = code_in(why)
        assert code_in(refusal(source, device)) == code
        assert "given for other devices than these" in refusal(source, device, confirmed="0123456789")
        assert f"the device has {DEVICE_BYTES} bytes" in refusal(large, device, confirmed=code)
        assert backing.read_bytes() == before
        assert copy_to(source, device, confirmed=code).copies[0].state == VERIFIED
        again = copy_to(source, device, confirmed=code, resume=True)
        assert (again.copies[0].received_bytes, again.copies[0].kept_bytes) == (0, DEVICE_BYTES - 12345)
        back = copy_to(Path(device), folder / "back")
        assert back.copies[0].state == VERIFIED
    rest = before[DEVICE_BYTES - 12345 :]
    assert backing.read_bytes() == source.read_bytes() + rest, "bytes behind the image stay"
    assert (folder / "back").read_bytes() == source.read_bytes() + rest


def test_a_device_that_is_mounted_is_not_written_to(folder: Path, tmp_path: Path) -> None:
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is needed")
    backing = tmp_path / "backing"
    backing.write_bytes(bytes(DEVICE_BYTES))
    subprocess.run(["mkfs.ext4", "-q", "-F", backing], check=True)
    source = image(folder / "source", 100_000)
    where = tmp_path / "mounted here"
    where.mkdir()
    with loop_device(backing) as device:
        mounted = subprocess.run(["mount", device, where], capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            pytest.skip(f"cannot mount here: {mounted.stderr.strip()}")
        try:
            (where / "precious").write_text("kept")
            why = refusal(source, device)
            assert f"mounted on {where}" in why
            assert (where / "precious").read_text() == "kept"
        finally:
            subprocess.run(["umount", where], check=True)
