"""The life of a lab: up completely or not at all, down from any state, and nothing else touched."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lab_cycles
import labs
import pytest
from labs import crossbar, lab, needs_lab, on_node, without_rates

from crosscut.base import core
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab import describe, lifecycle, removal, state
from crosscut.lab.kernel import build, namespaces
from crosscut.lab.kernel.links import Kernel
from crosscut.lab.switch import program

pytestmark = [needs_lab, without_rates, pytest.mark.usefixtures("own_labs")]


def everything(*, of: str) -> str:
    """Returns all items of a kind in the machine's own namespace."""
    commands = {
        "links": ["ip", "-d", "-j", "link"],
        "addresses": ["ip", "-j", "addr"],
        "routes": ["ip", "-j", "route", "show", "table", "all"],
        "neighbours": ["ip", "-j", "neigh", "show", "nud", "permanent"],
        "qdiscs": ["tc", "-j", "qdisc"],
        "name": ["hostname"],
    }
    if of != "settings":
        # Lifetimes of addresses count down.
        text = subprocess.run(commands[of], capture_output=True, text=True, check=False).stdout
        return "\n".join(part for part in text.split(",") if "life_time" not in part)
    found = []
    for path in sorted(Path("/proc/sys/net").rglob("*")):
        try:
            found.append(f"{path}={path.read_text()}")
        except OSError:
            continue
    return "\n".join(found)


def pinned(root: Path) -> set[str]:
    """Returns the namespaces that mounts below a folder keep alive, as `net:[number]`."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {words[3] for words in lines if Path(words[4]).is_relative_to(root)}


def held_by_processes(kind: str) -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/ns/net"):
        with contextlib.suppress(OSError):
            found.add(str(process.with_name(kind).readlink()))
    return found


def started_here(root: Path) -> list[int]:
    """Returns running processes with this folder of labs in their environment; without a mount or a process
    no namespace lives."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{state.VARIABLE}={root}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def nothing_is_left(root: Path) -> bool:
    return not root.exists() and not pinned(root) and not started_here(root)


def test_nodes_know_their_names_and_reach_each_other(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 4)) as record:
        names = [on_node(record, node, "hostname").strip() for node in ("n0000", "n0003")]
        assert names == ["n0000", "n0003"]
        assert labs.ways_from(record, "n0000", ["10.0.0.4", "10.0.0.2"]) == {
            "10.0.0.4": ["10.0.0.4"],
            "10.0.0.2": ["10.0.0.2"],
        }
        found = on_node(
            record, "n0001", sys.executable, "-c", "import socket; print(socket.gethostbyname('n0002'))"
        )
        assert found.strip() == "10.0.0.3"


def test_a_lab_whose_links_stay_down_is_refused_by_name_and_leaves_nothing(
    tmp_path: Path, own_labs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Kernel, "state", lambda _, device: "UNKNOWN" if device == "p1b" else "UP")
    monkeypatch.setattr(build, "_LINKS_SECONDS", 0.1)
    with pytest.raises(CrosscutError, match=r"switch port p1b is not up after 0.1 s; try crosscut lab"):
        lifecycle.up(str(crossbar(tmp_path, 3)), lifecycle.Choices(name="test"))
    assert state.names() == []


def test_a_lab_is_up_only_when_its_links_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = iter(["UNKNOWN", "DOWN"] * 15)
    monkeypatch.setattr(Kernel, "state", lambda *_: next(looked, "UP"))
    with lab(crossbar(tmp_path, 2)) as record:
        assert record.seconds_to_build > 0.3  # 30 polls, 10 ms apart


def test_a_cable_is_up_only_with_both_ends() -> None:
    def states() -> list[str]:
        namespaces.unshare(namespaces.NEW_NET)
        with Kernel() as here:
            here.add_pair("a", "b", None, 1500, 1)
            here.change("a", state="up")
            one_end = here.state("a")
            here.change("b", state="up")
            _wait_until(lambda: here.state("a") == here.state("b") == "UP")
            return [one_end, here.state("a")]

    one_end, both = namespaces.in_child(states)
    assert one_end != "UP"
    assert both == "UP"


def test_nodes_have_their_own_shared_memory(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)) as record:
        on_node(record, "n0000", "touch", "/dev/shm/only-here")
        assert on_node(record, "n0000", "ls", "/dev/shm").split() == ["only-here"]
        assert on_node(record, "n0001", "ls", "/dev/shm").split() == []
        assert not Path("/dev/shm/only-here").exists()


@pytest.mark.parametrize("of", ["links", "addresses", "routes", "neighbours", "qdiscs", "settings", "name"])
def test_the_machine_itself_is_not_changed(of: str, tmp_path: Path) -> None:
    before = everything(of=of)
    with lab(crossbar(tmp_path, 4)):
        assert everything(of=of) == before
    assert everything(of=of) == before


def test_down_leaves_no_namespace_mount_or_file(tmp_path: Path, own_labs: Path) -> None:
    for _ in range(3):
        with lab(crossbar(tmp_path, 8)):
            ours = pinned(own_labs)
            kinds = [name.split(":")[0] for name in ours]
            assert {kind: kinds.count(kind) for kind in kinds} == {"net": 9, "uts": 8, "ipc": 8}
        assert nothing_is_left(own_labs)
        assert not ours & (held_by_processes("net") | held_by_processes("uts") | held_by_processes("ipc"))


def test_down_ends_processes_on_nodes(tmp_path: Path) -> None:
    file = crossbar(tmp_path, 2)
    with lab(file) as record:
        command = labs.enter.command(record, state.folder("test"), "n0001", ["sleep", "600"])
        sleeper = subprocess.Popen(command)
        while not removal.processes(state.folder("test"), None):
            time.sleep(0.01)
    assert sleeper.wait(timeout=10) == -signal.SIGTERM


def test_two_labs_side_by_side_do_not_meet(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2), name="one") as one, lab(crossbar(tmp_path, 3), name="two") as two:
        assert labs.ways_from(two, "n0000", ["10.0.0.3"])["10.0.0.3"] == ["10.0.0.3"]
        assert labs.ways_from(one, "n0000", ["10.0.0.2"])["10.0.0.2"] == ["10.0.0.2"]
        counters = "/sys/class/net/eth0/statistics/rx_packets"
        before = on_node(one, "n0001", "cat", counters)
        labs.ways_from(two, "n0000", ["10.0.0.2"])
        assert on_node(one, "n0001", "cat", counters) == before


def test_a_second_lab_of_the_same_name_is_refused(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)), pytest.raises(UsageError, match="is already up"):
        lifecycle.up(str(crossbar(tmp_path, 2)), lifecycle.Choices(name="test"))


def test_a_lab_that_another_command_is_changing_is_left_alone(tmp_path: Path) -> None:
    with (
        lab(crossbar(tmp_path, 2)),
        state.locked("test"),
        pytest.raises(CrosscutError, match="being changed"),
    ):
        lifecycle.down("test")
    assert not state.exists("test")


@pytest.mark.parametrize("milliseconds", [150, 300, 400, 500, 600, 800, 1100])
def test_down_removes_everything_that_a_killed_up_leaves(
    milliseconds: int, tmp_path: Path, own_labs: Path
) -> None:
    file = crossbar(tmp_path, 64)
    words = [sys.executable, "-m", "crosscut", "lab", "up", str(file), "--name", "test"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    time.sleep(milliseconds / 1000)
    process.kill()
    process.wait()
    if state.exists("test"):
        _wait_until_free()
        lifecycle.down("test")
    _wait_until(lambda: nothing_is_left(own_labs))


def _wait_until_free() -> None:
    """Waits for the killed command's helper, which dies shortly after it."""
    _wait_until(lambda: describe.condition_of_name("test") != "being built")


def _wait_until(holds: object) -> None:
    deadline = time.monotonic() + 20
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_interrupted_up_removes_what_it_made(tmp_path: Path, own_labs: Path) -> None:
    file = crossbar(tmp_path, 64)
    words = [sys.executable, "-m", "crosscut", "lab", "up", str(file), "--name", "test"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _wait_until(lambda: (own_labs / "test" / "net" / "n0005").exists())
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said.strip()) == (130, "crosscut: interrupted")
    assert nothing_is_left(own_labs)


@pytest.mark.parametrize("share_gone", [0.0, 0.1, 0.5, 0.9])
def test_down_that_is_killed_under_way_is_finished_by_the_next(
    share_gone: float, tmp_path: Path, own_labs: Path
) -> None:
    """Kills `down` when a given share of the mounts is gone, or at first, while it ends processes inside."""
    record = lifecycle.up(str(crossbar(tmp_path, 128)), lifecycle.Choices(name="test"))
    folder = state.folder("test")
    inside = subprocess.Popen(labs.enter.command(record, folder, "n0001", ["sleep", "600"]))
    while not removal.processes(folder, None):
        time.sleep(0.01)
    mounted = len(removal.mounts_under(folder))
    words = [sys.executable, "-m", "crosscut", "lab", "down", "test"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    if share_gone:
        _wait_until(lambda: len(removal.mounts_under(folder)) <= (1 - share_gone) * mounted)
    else:
        inside.wait(timeout=20)
    process.kill()
    process.wait()
    inside.wait(timeout=20)
    if state.exists("test"):
        lifecycle.down("test")
    assert nothing_is_left(own_labs)


def test_half_of_a_lab_without_its_record_can_be_removed(tmp_path: Path, own_labs: Path) -> None:
    lifecycle.up(str(crossbar(tmp_path, 32)), lifecycle.Choices(name="test"))
    folder = state.folder("test")
    for path in removal.mounts_under(folder)[
        ::2
    ]:  # as after a kill: the record and half of the mounts are gone
        removal.namespaces.unmount(path)
    (folder / "lab.json").unlink()
    lifecycle.down("test")
    assert nothing_is_left(own_labs)


def test_status_describes_the_lab(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3), dilation=2):
        done = labs.crosscut("lab", "status", "test", "--json", folder=tmp_path)
        about = json.loads(done.stdout)
        assert about["condition"] == "up"
        assert [node["addresses"] for node in about["nodes"]] == [["10.0.0.1"], ["10.0.0.2"], ["10.0.0.3"]]
        assert about["host_bits_per_second"] == 150e6
        assert "lab test: up" in labs.crosscut("lab", "status", "test", folder=tmp_path).stdout


def test_status_of_a_broken_lab_fails_and_says_what_to_do(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)):
        removal.namespaces.unmount(str(state.folder("test") / "net" / "n0001"))
        for words in (("test",), ("test", "--json"), ()):
            done = labs.crosscut("lab", "status", *words, folder=tmp_path)
            assert done.returncode == 1
            assert done.stderr == (
                "crosscut: lab test is broken: the namespace of n0001 is gone; crosscut lab down test clears "
                "it away\n"
            )
        (state.folder("test") / "lab.json").write_text("{}")
        done = labs.crosscut("lab", "status", "test", folder=tmp_path)
        assert done.returncode == 1
        assert "crosscut lab down test" in done.stderr
    assert labs.crosscut("lab", "status", folder=tmp_path).returncode == 0


def test_exec_passes_on_arguments_and_exit_status(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        done = labs.crosscut(
            "lab",
            "exec",
            "test",
            "n0001",
            "--",
            "sh",
            "-c",
            'echo "$1"; exit 7',
            "sh",
            "a  b",
            folder=tmp_path,
        )
        assert (done.returncode, done.stdout) == (7, "a  b\n")
        wrong = labs.crosscut("lab", "exec", "test", "n0009", "--", "true", folder=tmp_path)
        assert wrong.returncode == 2
        assert "no such node; there are n0000 to n0001, and fabric; did you mean n000" in wrong.stderr


def test_an_exact_lab_is_refused_if_part_of_it_cannot_be_emulated(tmp_path: Path) -> None:
    file = crossbar(tmp_path, 2)
    file.write_text(file.read_text() + '[switch]\nlatency = "10 us"\n')
    with pytest.raises(UsageError, match="latencies"):
        lifecycle.up(str(file), lifecycle.Choices(name="test", exact=True))
    with lab(file) as record:
        assert any("does not delay frames" in sentence for sentence in record.unlike)


def succeeds(*words: str) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.fixture
def as_nobody(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that everybody may write to, if users may have labs here with the test's `switch`."""
    everybody = stat.S_IROTH | stat.S_IWOTH
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if parameters.get("switch") == "user" and program.TUN.stat().st_mode & everybody != everybody:
        pytest.skip(f"{program.TUN} is not everybody's here: chmod 0666 {program.TUN}")
    with tempfile.TemporaryDirectory(prefix="crosscut-test-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        words = ["setpriv", "--reuid", "65534", "--clear-groups"]
        if not shutil.which("setpriv") or not succeeds(*words, "unshare", "-Urnm", "true"):
            pytest.skip("this kernel lets no user make a namespace")
        if not succeeds(*words, str(core.load().executable), "--version"):
            pytest.skip("the core lies where nobody can run it")
        yield folder


def said_by(script: str, *words: str) -> dict[str, Any]:
    """Returns the output of one of the scripts that become nobody."""
    command = [sys.executable, str(Path(__file__).parent / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def ends(pid: int) -> bool:
    """True if the process ends; its new parent may take a moment to reap it."""
    until = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.02)
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("switch", labs.SWITCHES)
def test_without_root_a_lab_lives_in_a_user_namespace(switch: str, as_nobody: Path) -> None:
    file = crossbar(as_nobody, 3)
    seen = said_by("unprivileged_lab.py", str(file), str(as_nobody / "labs"), switch)
    keeper = seen.pop("keeper")
    assert seen == {
        "condition": "up", "exec": "n0001", "enter": "n0000", "onward": "n0002", "walked": [6, 0],
        "left": [],
    }  # fmt: skip
    assert ends(keeper)
    assert not pinned(as_nobody)


@pytest.mark.parametrize("switch", labs.SWITCHES)
def test_without_root_down_removes_everything_that_a_killed_holder_leaves(
    switch: str, as_nobody: Path
) -> None:
    """And nothing of another lab, whose namespaces may have the same numbers by then."""
    file, root = crossbar(as_nobody, 3), as_nobody / "labs"
    seen = said_by("unprivileged_kills.py", "holder", str(file), str(root), switch)
    assert seen == {
        "condition": "broken: the process that kept it is gone", "guest": None,
        "guest_after": -signal.SIGTERM, "beside": "up", "left": [], "children": [],
    }  # fmt: skip
    assert not root.exists()


@pytest.mark.parametrize("switch", labs.SWITCHES)
def test_without_root_a_lab_whose_record_is_lost_can_be_removed(switch: str, as_nobody: Path) -> None:
    file, root = crossbar(as_nobody, 3), as_nobody / "labs"
    seen = said_by("unprivileged_kills.py", "record", str(file), str(root), switch)
    assert seen == {"left": [], "children": []}


@pytest.mark.parametrize("switch", labs.SWITCHES)
@pytest.mark.parametrize("kind", ["up", "down"])
def test_without_root_down_removes_everything_that_a_killed_command_leaves(
    kind: str, switch: str, as_nobody: Path
) -> None:
    """Kills the command at every stage."""
    file, root = crossbar(as_nobody, 8), as_nobody / "labs"
    seen = said_by("unprivileged_kills.py", kind, str(file), str(root), switch)
    assert seen == {"through": True, "left": [], "children": []}
    assert not root.exists()


@pytest.mark.parametrize("cycles", [6, pytest.param(200, marks=pytest.mark.long)])
def test_many_labs_in_turn_leave_nothing(cycles: int, tmp_path: Path, own_labs: Path) -> None:
    first, last = lab_cycles.run(cycles, 16, tmp_path)
    assert last == first
    assert (last["mounts"], last["children"], last["files"]) == (0, 0, 0)
    assert nothing_is_left(own_labs)
