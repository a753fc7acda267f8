"""A lab on crosscut-switch: what its nodes see, how it outlives its command, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from in_process import crosscut
from labs import FAST_ETHERNET, NO_USER_SWITCH, lab, median_rates, needs_lab, on_node

from crosscut.base.errors import CrosscutError
from crosscut.lab import describe, lifecycle, removal, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.switch import program
from crosscut.lab.switch.program import UserSwitchError
from crosscut.network import switch_choice
from crosscut.run.format import SKEW
from crosscut.run.run import Run

pytestmark = [
    needs_lab,
    pytest.mark.skipif(bool(NO_USER_SWITCH), reason=NO_USER_SWITCH),
    pytest.mark.usefixtures("own_labs"),
]
QUICK = ("--size", "100KB", "--repetitions", "5")
PAYLOAD_BYTES_PER_SECOND = 20e6 / 8 * 1448 / 1538
ASK = """
import socket, sys, time
with socket.socket() as s:
    s.settimeout(5)
    began = time.perf_counter()
    try:
        s.connect((sys.argv[1], 1))
    except ConnectionRefusedError:
        print(time.perf_counter() - began)
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    file = tmp_path / "slow.toml"
    text = '[generator]\nkind = "crossbar"\nhosts = 4\nrate = "20 Mbit/s"\n[switch]\nlatency = "10 ms"\n'
    file.write_text(text + FAST_ETHERNET)
    return file


def switches_of(root: Path) -> list[int]:
    """Returns the processes of crosscut-switch for labs of this folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"crosscut-switch" in words and str(root).encode() in words:
            found.append(int(process.name))
    return found


def test_the_switch_outlives_the_command_and_ends_with_the_lab(
    network: Path, tmp_path: Path, own_labs: Path
) -> None:
    done = crosscut("lab", "up", str(network), "--name", "test", "--switch", "user", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert describe.condition(state.read("test")) == "up"
    assert len(switches_of(own_labs)) == 1
    assert crosscut("lab", "down", "test", folder=tmp_path).returncode == 0
    assert not switches_of(own_labs)
    assert not own_labs.exists()


def test_latencies_are_those_of_the_file(network: Path) -> None:
    with lab(network, switch="user") as record:
        assert not record.unlike
        seconds = float(on_node(record, "n0000", sys.executable, "-c", ASK, "10.0.0.4"))
        assert seconds >= 2 * 10e-3


def test_rates_are_those_of_the_file_divided_by_the_dilation(network: Path, tmp_path: Path) -> None:
    with lab(network, switch="user", dilation=2):
        rates = median_rates(tmp_path, "aapc", "--on", "lab:test", *QUICK)
        assert max(rates.values()) < PAYLOAD_BYTES_PER_SECOND / 2
        statistics = program.statistics(state.read("test"))
        assert {station["bits_per_second"] for station in statistics["stations"]} == {10e6}


def test_frames_dropped_by_a_short_queue_are_recorded_by_the_run_and_shown_by_status(
    network: Path, tmp_path: Path
) -> None:
    words = ["run", "pairs", "--on", "lab:test", "--pairs", "0-3,1-3,2-3", *QUICK, "--tcp-nodelay"]
    with lab(network, switch="user,buffer=8KiB"):
        done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        shown = json.loads(crosscut("lab", "status", "test", "--json", folder=tmp_path).stdout)
    (trust,) = json.loads((tmp_path / "run.zarr" / "zarr.json").read_text())["attributes"]["trust"]
    said = trust["switch"]
    assert said["frames"]["dropped"] > 0
    assert list(said["dropped_at"]) == ["switch -> n0003"]
    assert said["lateness_seconds"]["p99"] > 0
    assert shown["switch_statistics"]["frames_dropped"] >= said["frames"]["dropped"]
    assert shown["processes"] == []


def test_a_run_builds_a_lab_with_the_switch_that_was_named(
    network: Path, tmp_path: Path, own_labs: Path
) -> None:
    words = ["run", "aapc", "--on", f"lab:{network}", "--switch", "user,forwarding=cut", *QUICK]
    done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "run.zarr" / "zarr.json").read_text())["attributes"]
    assert found["lab"]["switch"] == "user,forwarding=cut"
    assert not own_labs.exists()
    assert not switches_of(own_labs)


def test_a_host_that_the_barrier_reaches_late_starts_late(tmp_path: Path) -> None:
    links = "".join(
        f'[[links]]\nbetween = ["n{host}", "s"]\nrate = "20 Mbit/s"\nlatency = "{latency}"\n'
        for host, latency in ((0, "10 us"), (1, "10 us"), (2, "8 ms"))
    )
    network = tmp_path / "far.toml"
    network.write_text('[[hosts]]\nnames = "n[0-2]"\n[[switches]]\nnames = "s"\n' + links + FAST_ETHERNET)
    words = ["run", "aapc", "--on", f"lab:{network}", "--switch", "user", *QUICK]
    done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    skew = Run.open(tmp_path / "run.zarr").dataset[SKEW].values
    assert skew.shape == (1, 5, 2)
    # A near host that the scheduler wakes late hides part of the latency, so single phases may fall below it.
    assert 7.9e-3 < np.median(skew) < 12e-3


def test_a_run_on_a_lab_with_another_switch_is_refused(network: Path, tmp_path: Path) -> None:
    with lab(network):
        words = ["run", "aapc", "--on", "lab:test", "--switch", "user", *QUICK, "--quiet"]
        done = crosscut(*words, folder=tmp_path)
        assert done.returncode == 2
        assert "lab test is up with --switch kernel" in done.stderr


def test_a_switch_that_does_not_start_leaves_nothing(
    network: Path, own_labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused by the switch itself: typing errors are found earlier."""
    monkeypatch.setitem(switch_choice._WORDS, "host-queue", str)
    with pytest.raises(CrosscutError, match='--host-queue "lots"'):
        lifecycle.up(str(network), lifecycle.Choices(name="test", switch="user,host-queue=lots"))
    assert not own_labs.exists()
    assert not switches_of(own_labs)


def test_a_killed_switch_makes_the_lab_broken_and_down_removes_it(network: Path, own_labs: Path) -> None:
    record = lifecycle.up(str(network), lifecycle.Choices(name="test", switch="user"))
    assert record.switch_process is not None
    os.kill(record.switch_process.pid, signal.SIGKILL)
    os.waitpid(record.switch_process.pid, 0)
    assert describe.condition(record).startswith("broken: its switch has ended")
    lifecycle.down("test")
    assert not own_labs.exists()


@pytest.mark.parametrize("milliseconds", [300, 400, 500, 700])
def test_down_finds_the_switch_that_a_killed_up_leaves(
    milliseconds: int, network: Path, own_labs: Path
) -> None:
    words = [
        sys.executable,
        "-m",
        "crosscut",
        "lab",
        "up",
        str(network),
        "--name",
        "test",
        "--switch",
        "user",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    time.sleep(milliseconds / 1000)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while state.exists("test"):
        assert time.monotonic() < deadline
        if describe.condition_of_name("test") != "being built":
            lifecycle.down("test")
        time.sleep(0.02)
    assert not switches_of(own_labs)
    assert not removal.mounts_under(own_labs)


def test_down_finds_a_switch_whose_record_is_lost(network: Path, own_labs: Path) -> None:
    crosscut("lab", "up", str(network), "--name", "test", "--switch", "user", folder=network.parent)
    (state.folder("test") / "lab.json").unlink()
    assert len(switches_of(own_labs)) == 1
    lifecycle.down("test")
    assert not switches_of(own_labs)
    assert not own_labs.exists()


def test_a_fault_that_the_switch_refuses_is_reported_and_earlier_faults_stay(network: Path) -> None:
    with lab(network, switch="user") as record:
        plant.plant("test", Fault("slow", ("n0001",), share=0.5))
        folder = state.folder("test")
        before = (folder / "faults.json").read_text()
        with pytest.raises(UserSwitchError, match=r"faults.json:1: the network has no host \"n9\""):
            program.set_faults(record, folder, '{"host": "n9", "in": 0.5}\n')
        assert (folder / "faults.json").read_text() == before
        plant.lift("test", "all")
        assert (folder / "faults.json").read_text() == ""


def test_a_fault_of_a_lab_whose_switch_is_gone_is_refused(network: Path) -> None:
    with lab(network, switch="user") as record:
        assert record.switch_process is not None
        record.switch_process.end()
        with pytest.raises(CrosscutError, match="has no switch any more; crosscut lab down test"):
            plant.plant("test", Fault("slow", ("n0001",)))
        assert state.read("test").faults == ()
