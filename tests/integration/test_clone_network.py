"""Copies from node to node: in a lab over two networks at once, around a node that dies; and over ssh."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloning import CHUNK_BYTES, copying, image, unfinished, wait_for_bytes
from in_process import crosscut
from labs import FAST_ETHERNET, lab, needs_lab, on_node
from sshd import Sshd, running_sshd, why_not

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.clone import places
from crosscut.clone.clone import VERIFIED, Order
from crosscut.lab import state
from crosscut.session.measure import Launch

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

HOSTS = 5
LAB_BYTES = 24 << 20  # a second on two links of 100 Mbit/s
ALIASES = ("h1", "h2", "h3")


def two_ethernets(folder: Path) -> Path:
    file = folder / "two.toml"
    file.write_text(
        f'[host]\nadapters = 2\n[[hosts]]\nnames = "n[1-{HOSTS}]"\n[[switches]]\nnames = ["one", "other"]\n'
        f'[[links]]\nbetween = ["n[1-{HOSTS}]", "one"]\nrate = "100 Mbit/s"\n'
        f'[[links]]\nbetween = ["n[1-{HOSTS}]", "other"]\nrate = "100 Mbit/s"\n{FAST_ETHERNET}'
    )
    return file


def received_bytes(record: state.Record, node: str, adapter: str) -> int:
    return int(on_node(record, node, "cat", f"/sys/class/net/{adapter}/statistics/rx_bytes"))


def processes_in(space: str) -> list[int]:
    """Returns the processes in a network namespace."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if str((process / "ns" / "net").readlink()) == space:
                found.append(int(process.name))
    return found


@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_over_two_networks_at_once_each_link_carries_half_and_a_dead_node_is_skipped(tmp_path: Path) -> None:
    source = image(tmp_path / "source", LAB_BYTES)
    order = Order(str(source), f"{tmp_path}/copy-{{host}}", chunk_bytes=CHUNK_BYTES)
    with lab(two_ethernets(tmp_path)) as record:
        before = {adapter: received_bytes(record, f"n{HOSTS}", adapter) for adapter in ("eth0", "eth1")}
        space = on_node(record, "n3", "readlink", "/proc/self/ns/net").strip()
        with copying(order, Launch(on=f"lab:{record.name}", pin=False)) as under_way:
            under_way.begin()
            wait_for_bytes(unfinished(tmp_path / "copy-n3"), LAB_BYTES // 8)
            for pid in processes_in(space):
                with contextlib.suppress(ProcessLookupError):  # one may die with another
                    os.kill(pid, signal.SIGKILL)
            outcome = under_way.end()
        for adapter, had in before.items():
            grown = received_bytes(record, f"n{HOSTS}", adapter) - had
            assert 0.4 * LAB_BYTES < grown < 0.8 * LAB_BYTES, f"{adapter}: {grown}"
    assert [copy.node for copy in outcome.copies] == [f"n{host}" for host in range(2, HOSTS + 1)]
    assert [copy.state for copy in outcome.copies] == [VERIFIED, "lost", VERIFIED, VERIFIED]
    for host in (2, 4, 5):
        assert (tmp_path / f"copy-n{host}").read_bytes() == source.read_bytes()
    assert unfinished(tmp_path / "copy-n3").exists()


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    if why_not() is not None:
        pytest.skip(str(why_not()))
    with running_sshd(tmp_path / "ssh", ALIASES) as running:
        yield running


def test_over_ssh_every_host_of_the_file_gets_one_copy_whatever_its_slots(
    sshd: Sshd, tmp_path: Path, quick_path: Path
) -> None:
    source = image(quick_path / "source", 300_000)
    (tmp_path / "hosts").write_text("h[1-3] slots=4\n")
    words = ("clone", str(source), f"{quick_path}/copy-{{host}}", "--on", "hosts:hosts")
    ssh = ("--interface", "127.0.0.1", "--launcher-args", f"-F {sshd.config}", "--quiet")
    done = crosscut(*words, *ssh, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in quick_path.iterdir()) == ["copy-h1", "copy-h2", "copy-h3", "source"]
    for host in ALIASES:
        assert (quick_path / f"copy-{host}").read_bytes() == source.read_bytes()
    again = crosscut(*words, *ssh, folder=tmp_path)
    assert again.returncode == 2
    for host in ALIASES:
        assert f"copy-{host}: the file exists" in again.stderr


def test_a_relative_target_on_other_hosts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("h1\n")
    image(tmp_path / "source", 10)
    done = crosscut("clone", "source", "copy", "--on", "hosts:hosts", folder=tmp_path)
    assert done.returncode == 2
    assert "on other machines it must be absolute" in done.stderr


@pytest.mark.parametrize("on", ["mpi", "sim:fat-tree-1024", "local", "local:1", "local:x", "nowhere"])
def test_places_that_cannot_copy_are_refused(on: str) -> None:
    with pytest.raises(UsageError, match="--on"), places.decided(Launch(on=on)):
        pass
