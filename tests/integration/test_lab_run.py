"""Patterns in a lab, over TCP and MPI: in one that is up, or built for the run; with faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_process import crosscut
from labs import crossbar, lab, needs_lab, on_node
from tiers import long
from under_way import wait_until

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.lab import describe, lifecycle, removal, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.kernel import namespaces
from crosscut.lab.switch import program

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
QUICK = ("--size", "300KB", "--repetitions", "5")


def received_bytes(record: state.Record, node: str) -> int:
    return int(on_node(record, node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


def ranks_run() -> bool:
    """True if ranks run in the only lab, which must be finished."""
    names = state.names()
    if not names or not (state.folder(names[0]) / "enter").exists():
        return False
    return state.read(names[0]).condition == "up" and bool(removal.processes(state.folder(names[0]), None))


def attributes(run: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((run / "zarr.json").read_text())["attributes"]
    return found


@pytest.mark.parametrize("backend", ["tcp", "udp", "mpi"])
def test_messages_of_ranks_cross_the_links(backend: str, tmp_path: Path) -> None:
    known = core.load().backend(backend)
    if known is None or known.unavailable:
        pytest.skip(f"no backend {backend} here")
    with lab(crossbar(tmp_path, 4)) as record:
        before = {node: received_bytes(record, node) for node in ("n0000", "n0003")}
        words = ["run", "aapc", "--on", "lab:test", "--backend", backend, *QUICK]
        done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        for node, had in before.items():
            # Three phases of five repetitions and a warm-up, 300 kB each, plus headers.
            assert received_bytes(record, node) - had > 3 * 5 * 300_000
    nodes = attributes(tmp_path / "run.zarr")["nodes"]
    assert isinstance(nodes, list)
    assert [node["name"] for node in nodes] == ["n0000", "n0001", "n0002", "n0003"]


def test_ranks_of_one_node_do_not_use_its_link(tmp_path: Path) -> None:
    if core.load().mpi_executable is None:
        pytest.skip("no MPI here")
    with lab(crossbar(tmp_path, 2)) as record:
        words = [
            "run",
            "pingpong",
            "--on",
            "lab:test",
            "--backend",
            "mpi",
            "-n",
            "2",
            "--ranks-per-host",
            "2",
        ]
        before = received_bytes(record, "n0000")
        done = crosscut(
            *words, "--size", "10MB", "--repetitions", "3", "--out", "run.zarr", "--quiet", folder=tmp_path
        )
        assert done.returncode == 0, done.stderr
        # The reference pair moves some 5 MB before and after; three messages would be 30 MB.
        assert received_bytes(record, "n0000") - before < 10_000_000


def test_a_lab_is_built_for_a_run_and_removed_after_it(tmp_path: Path, own_labs: Path) -> None:
    file = crossbar(tmp_path, 3)
    done = crosscut("run", "aapc", "--on", f"lab:{file}", *QUICK, "--out", "run.zarr", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not own_labs.exists()
    found = attributes(tmp_path / "run.zarr")
    assert found["place"] == "lab"
    network = found["network"]
    assert isinstance(network, dict)
    assert (network["hosts"], network["switches"], network["description"]) == (3, 1, file.read_text())
    about = found["lab"]
    assert isinstance(about, dict)
    assert about["sysctl"]["net.ipv4.tcp_congestion_control"] == "reno"
    assert found["tcp"]["tcp_congestion_control"] == "reno"  # type: ignore[index]
    assert found["faults"] == []


def long_run(file: Path, *words: str) -> subprocess.Popen[str]:
    """Starts a run on a lab built for it."""
    return subprocess.Popen(
        [sys.executable, "-m", "crosscut", "run", "aapc", "--on", f"lab:{file}", "--size", "1MB",
         "--repetitions", "10000", "--quiet", *words],
        cwd=file.parent, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_a_killed_run_leaves_a_lab_that_says_so_and_can_be_removed(tmp_path: Path, own_labs: Path) -> None:
    with long_run(crossbar(tmp_path, 3)) as process:
        wait_until(ranks_run, "no ranks were started")
        process.kill()
    (name,) = state.names()
    assert describe.condition(state.read(name)).startswith("left behind")
    assert crosscut("lab", "down", "--all", folder=tmp_path).returncode == 0
    assert not own_labs.exists()
    assert not removal.mounts_under(own_labs)


def test_the_lab_of_a_killed_run_is_removed_when_the_next_is_built(tmp_path: Path) -> None:
    with long_run(crossbar(tmp_path, 3)) as process:
        wait_until(ranks_run, "no ranks were started")
        process.kill()
    (name,) = state.names()
    with lab(tmp_path / "crossbar.toml") as record:
        assert state.names() == [record.name] != [name]


def test_a_run_that_is_terminated_while_its_lab_is_built_leaves_nothing(
    tmp_path: Path, own_labs: Path
) -> None:
    if program.unavailable():
        pytest.skip(program.unavailable())
    with long_run(crossbar(tmp_path, 3), "--switch", "user") as process:
        wait_until(lambda: any(own_labs.rglob("switch.said")), "no switch was started")
        process.terminate()
        assert process.stderr is not None
        assert "interrupted" in process.stderr.read()
    assert process.returncode == 130
    assert not own_labs.exists()
    assert not removal.mounts_under(own_labs)


def test_planted_faults_are_named_before_and_after_a_run(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)):
        plant.plant("test", Fault("slow", ("n0001",), share=0.2))
        words = ["run", "aapc", "--on", "lab:test", *QUICK, "--out", "run.zarr"]
        done = crosscut(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        says = "f1: the cable of n0001 carries 20 % of its rate, both directions"
        assert done.stderr.splitlines()[0] == f"crosscut: planted in lab test: {says}"
        assert f"planted: {says}" in done.stdout
        shown = crosscut("show", "run.zarr", folder=tmp_path).stdout
        assert f"planted       {says}" in shown


# MPI's own connections give up after a minute.
@pytest.mark.parametrize("backend", ["tcp", long("mpi")])
def test_a_dead_node_is_named_with_the_symptom_and_the_fault(backend: str, tmp_path: Path) -> None:
    known = core.load().backend(backend)
    if known is None or known.unavailable:
        pytest.skip(f"no backend {backend} here")
    with lab(crossbar(tmp_path, 3)):
        plant.plant("test", Fault("dead", ("n0002",)))
        words = ["run", "aapc", "--on", "lab:test", "--backend", backend, "--timeout", "3"]
        done = crosscut(*words, *QUICK, "--out", "run.zarr", folder=tmp_path)
        assert done.returncode == 1
        assert "n0002" in done.stderr
        assert "Connection timed out" in done.stderr
        assert done.stderr.splitlines()[-1] == (
            "  planted in lab test: f1: nothing gets to n0002 or away from it"
        )
        if backend == "tcp":
            why = "its process exited with status 1: cannot reach rank 0, the conductor, from 10.0.0.3"
            assert f"rank 2 on n0002: {why}" in done.stderr


def test_a_run_whose_lab_is_taken_down_says_so(tmp_path: Path, own_labs: Path) -> None:
    lifecycle.up(str(crossbar(tmp_path, 3)), lifecycle.Choices(name="test"))
    words = ["run", "aapc", "--on", "lab:test", "--size", "1MB", "--repetitions", "10000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscut", *words, "--out", "run.zarr"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (tmp_path / "run.zarr" / "zarr.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    refused = crosscut("lab", "down", "test", folder=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f"a run is under way on it (process {process.pid})" in refused.stderr
    assert process.poll() is None
    assert crosscut("lab", "down", "test", "--force", folder=tmp_path).returncode == 0
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "crosscut: error: lab test was taken down while it was measured on" in said
    assert "interrupted" not in said
    assert not own_labs.exists()


def test_a_finished_run_keeps_no_lab_up(tmp_path: Path, own_labs: Path) -> None:
    lifecycle.up(str(crossbar(tmp_path, 3)), lifecycle.Choices(name="test"))
    done = crosscut("run", "aapc", "--on", "lab:test", *QUICK, "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert crosscut("lab", "down", "test", folder=tmp_path).returncode == 0
    assert not own_labs.exists()


def test_a_lab_built_for_a_run_can_be_dilated(tmp_path: Path) -> None:
    words = ["run", "aapc", "--on", f"lab:{crossbar(tmp_path, 3)}", "--dilate", "4", "-n", "4", *QUICK]
    done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = attributes(tmp_path / "run.zarr")
    about, nodes = found["lab"], found["nodes"]
    assert isinstance(about, dict)
    assert isinstance(nodes, list)
    assert about["dilation"] == 4
    assert [node["name"] for node in nodes] == ["n0000", "n0001", "n0002"]  # two ranks on the first


def test_a_helper_process_that_stays_stopped_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(namespaces, "_STOPPED_SECONDS", 0.05)
    with pytest.raises(CrosscutError, match="was stopped"):
        namespaces.in_child(lambda: os.kill(os.getpid(), signal.SIGSTOP))
