"""Only this user can change labs' folders; no process gets a signal merely because a file names it."""

from __future__ import annotations

import fcntl
import json
import os
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from crosscut.base.errors import CrosscutError
from crosscut.cli import main
from crosscut.lab import describe, holder, removal, state
from crosscut.lab.faults import catalogue, plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.kernel import build
from crosscut.lab.switch import program

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
OTHER = 54321


@pytest.fixture(autouse=True)
def only_own_children_get_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the machine: a wrong holder would have all processes of this user namespace killed."""
    kill = os.kill

    def guarded(pid: int, number: int) -> None:
        parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1]
        assert int(parent) == os.getpid(), f"signal {number} to process {pid}"
        kill(pid, number)

    monkeypatch.setattr(os, "kill", guarded)


@pytest.fixture
def default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The topmost folder that crosscut makes if the user named none."""
    monkeypatch.delenv(state.VARIABLE, raising=False)
    monkeypatch.setattr(state, "_place", lambda: (tmp_path / "crosscut-me", "crosscut/lab", False))
    return tmp_path / "crosscut-me"


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "labs"))
    return tmp_path / "labs"


@pytest.fixture
def stranger() -> Iterator[state.Process]:
    """A process of this user outside any lab."""
    with subprocess.Popen(["sleep", "600"]) as running:
        yield state.Process(running.pid, state.start_ticks(running.pid) or 0)
        running.kill()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def given_away(path: Path) -> None:
    path.mkdir(0o700)
    os.chown(path, OTHER, OTHER)


def open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def a_link(path: Path) -> None:
    aside = path.with_name("aside")
    aside.mkdir(0o700)
    path.symlink_to(aside)


def a_file(path: Path) -> None:
    path.touch()


FORGED = [
    pytest.param(given_away, f"belongs to user {OTHER}, not to ", marks=as_root),
    (open_to_all, r"others can write to it \(mode 0777\).*chmod 700 "),
    (a_link, "is a symbolic link"),
    (a_file, "is not a folder"),
]


@pytest.mark.parametrize(("forge", "why"), FORGED)
@pytest.mark.parametrize("below", ["", "crosscut", "crosscut/lab", "crosscut/lab/x"])
def test_a_folder_that_others_may_have_made_is_refused(
    below: str, forge: Callable[[Path], None], why: str, default: Path
) -> None:
    forged = default / below
    forged.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    forge(forged)
    match = f"^{re.escape(str(forged))}: {why}"
    with pytest.raises(CrosscutError, match=match), state.locked("x", make=True):
        pass
    for read in (state.read, state.exists, state.folder):
        with pytest.raises(CrosscutError, match=match):
            read("x")
    if below != "crosscut/lab/x":
        with pytest.raises(CrosscutError, match=match):
            state.names()


@pytest.mark.parametrize(("forge", "why"), FORGED)
def test_a_folder_that_the_user_named_is_refused_like_any_other(
    forge: Callable[[Path], None], why: str, named: Path
) -> None:
    forge(named)
    with pytest.raises(CrosscutError, match=f"^{re.escape(str(named))}: {why}"):
        state.names()


def test_the_folders_above_a_default_one_let_nobody_exchange_it(default: Path) -> None:
    default.parent.chmod(0o777)
    with pytest.raises(CrosscutError, match=r"mode 0777, not sticky\) and could replace labs"):
        state.names()
    default.parent.chmod(0o1777)  # as /tmp
    assert state.names() == []


def test_new_folders_belong_to_this_user_alone(default: Path) -> None:
    before = os.umask(0)
    try:
        with state.locked("x", make=True) as folder:
            made = [path for path in (folder, *folder.parents) if path.is_relative_to(default)]
    finally:
        os.umask(before)
    assert [mode(path) for path in made] == [0o700] * 4


def test_the_next_up_closes_old_folders_that_others_could_read(default: Path) -> None:
    (default / "crosscut" / "lab" / "x").mkdir(parents=True)
    for path in (default, *default.rglob("*")):
        path.chmod(0o755)
    assert state.names() == ["x"]
    with state.locked("x", make=True):
        assert [mode(path) for path in (default, *default.rglob("*"))] == [0o700] * 4


def test_the_mode_of_a_folder_that_the_user_made_stays(named: Path) -> None:
    named.mkdir()
    named.chmod(0o755)
    with state.locked("x", make=True):
        pass
    assert (mode(named), mode(named / "x")) == (0o755, 0o700)


def test_a_named_folder_is_made_with_those_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "really").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "really")  # above the named folder: the user's choice
    monkeypatch.setenv(state.VARIABLE, str(tmp_path / "link" / "my" / "labs"))
    with state.locked("x", make=True):
        assert state.names() == ["x"]
    assert mode(tmp_path / "really" / "my") == 0o700


@pytest.mark.parametrize(
    ("forge", "why"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), "symbolic link"),
        (lambda path: os.mkfifo(path), "not a regular file"),
        pytest.param(
            lambda path: (path.write_text("{}"), os.chown(path, OTHER, OTHER)),
            f"belongs to user {OTHER}",
            marks=as_root,
        ),
    ],
)
def test_a_record_is_a_file_of_this_user(forge: Callable[[Path], None], why: str, named: Path) -> None:
    (named / "x").mkdir(parents=True, mode=0o700)
    forge(named / "x" / "lab.json")
    with pytest.raises(CrosscutError, match=f"lab.json: .*{why}"):
        state.read("x")


@pytest.mark.parametrize("pid", [-1, 0, "self", True, None, 1.0])
def test_an_invalid_process_is_a_broken_record(pid: object, named: Path) -> None:
    (named / "x").mkdir(parents=True, mode=0o700)
    state.write(state.Record("x", "four.toml"))
    path = named / "x" / "lab.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"holder": {"pid": pid, "start_ticks": 1}}))
    with pytest.raises(CrosscutError, match="crosscut lab down x clears it away"):
        state.read("x")


def forged_record(stranger: state.Process, role: str) -> state.Record:
    record = state.Record("x", "four.toml", condition="up")
    if role == "worker":
        entry = {"id": "f1", **catalogue.as_json(Fault("flap", ("n0001",)))}
        named_one = {"pid": stranger.pid, "start_ticks": stranger.start_ticks}
        return replace(record, faults=({**entry, "worker": named_one},))
    if role == "switch_process":
        record = replace(record, switch="user")
    return replace(record, **{role: stranger})


@pytest.mark.parametrize("role", ["holder", "switch_process", "worker"])
def test_down_leaves_a_process_alone_that_is_not_in_the_lab(
    role: str, named: Path, stranger: state.Process, capsys: pytest.CaptureFixture[str]
) -> None:
    (named / "x").mkdir(parents=True, mode=0o700)
    state.write(forged_record(stranger, role))
    assert main(["lab", "down", "x"]) == 0
    assert stranger.alive()
    assert capsys.readouterr().err == (
        f"crosscut: process {stranger.pid}, which lab x named as its own, is not in it and was left alone\n"
    )
    assert not named.exists()


def test_a_process_without_its_own_user_namespace_holds_no_lab(named: Path, stranger: state.Process) -> None:
    (named / "x").mkdir(parents=True, mode=0o700)
    record = forged_record(stranger, "holder")
    state.write(record)
    assert not holder.keeps(stranger)
    assert removal.processes(named / "x", stranger) == []
    assert describe.condition(record).startswith(f"broken: process {stranger.pid}, which should keep it")
    with pytest.raises(CrosscutError, match="the process that keeps lab x is gone"):
        holder.inside(record, os.getpid)


def test_a_process_with_its_own_user_namespace_can_hold_a_lab() -> None:
    try:
        keeper = holder.start()
    except CrosscutError as error:
        pytest.skip(str(error))
    try:
        assert holder.keeps(keeper)
        assert not holder.keeps(replace(keeper, start_ticks=1))  # an earlier process with the same id
    finally:
        keeper.end()
    assert not holder.keeps(keeper)


def test_a_holder_keeps_no_lock_of_the_process_that_starts_it(tmp_path: Path) -> None:
    """`up` starts the holder while the lab is locked; `down` must not find that lock held."""

    def lock() -> int:
        descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: somebody holds it
        return descriptor

    def lock_again(_: state.Process) -> None:
        os.close(first)
        os.close(lock())

    first = lock()
    try:
        keeper = holder.start(lock_again)
    except CrosscutError as error:
        pytest.skip(str(error))
    keeper.end()


def test_a_switch_that_is_not_in_the_lab_gets_no_signal(named: Path, stranger: state.Process) -> None:
    (named / "x").mkdir(parents=True, mode=0o700)
    record = forged_record(stranger, "switch_process")
    for name in ("switch.said", "switch.errors", "faults.json"):
        (named / "x" / name).touch()
    with pytest.raises(program.UserSwitchError, match="switch has ended"):
        program.statistics(record)
    with pytest.raises(program.UserSwitchError, match="switch has ended"):
        program.set_faults(record, named / "x", "")
    assert stranger.alive()


def test_lifting_a_fault_ends_no_process_that_is_not_in_the_lab(named: Path, stranger: state.Process) -> None:
    from test_lab_plan import network

    (named / "x").mkdir(parents=True, mode=0o700)
    state.write(forged_record(stranger, "worker"))
    state.write_network("x", network())
    with pytest.raises(
        CrosscutError, match=f"process {stranger.pid}, .* was left alone; crosscut lab down x"
    ):
        plant.lift("x", "all")
    assert stranger.alive()


def test_the_shared_memory_of_nodes_is_this_users_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("unshare", "pin", "set_host_name"):
        monkeypatch.setattr(build.namespaces, name, lambda *_: None)
    monkeypatch.setattr(build, "set_kernel", lambda _: None)
    before = os.umask(0)
    try:
        build.spaces(SimpleNamespace(hosts=("a", "b"), forwarding=()), tmp_path)
    finally:
        os.umask(before)
    assert [mode(tmp_path / "shm" / name) for name in ("a", "b")] == [0o700] * 2
