"""The folder of a lab: all that `status` and `down` need, even after a crash.

    NAME/lab.json       the lab's description, condition and faults (Record)
    NAME/network.json   the network as the core wrote it, from which the plan is computed again
    NAME/fabric         the namespace of all switches, pinned here (a bind mount)
    NAME/net/NODE       a node's namespaces: network,
    NAME/uts/NODE         host name,
    NAME/ipc/NODE         System V shared memory and semaphores
    NAME/shm/NODE/      the node's /dev/shm
    NAME/hosts          every node's /etc/hosts
    NAME/users/         the sessions that measure on it: a file for each, named after its process
    NAME/taps.json      with `--switch user`: the list of adapters given to crosscut-switch,
    NAME/faults.json      the bad cables,
    NAME/switch.said      its answers,
    NAME/switch.errors    and its error output
    NAME/enter          runs a command on a node, like ssh
    NAME/slurm/         with `--slurm`: slurm.conf, and all that Slurm keeps
    NAME/hosts.login      /etc/hosts of the host where slurmctld runs

A lab exists as long as its folder, which is made first and removed last. A process holds a `flock` on the
folder while it changes the lab. The folder and everything in it belong to this user alone (folders.py).
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from crosscut.base import records, spelling, whole_file
from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.lab import folders

VARIABLE = "CROSSCUT_LABS"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
VERSION = 1
_END_SECONDS = 10.0
USERS = "users"


class OtherVersionError(CrosscutError):
    """Another version of crosscut wrote the record, so the lab may be up."""


@dataclass(frozen=True)
class Process:
    """A process, distinguishable from a later one with the same number."""

    pid: int
    start_ticks: int

    def __post_init__(self) -> None:
        """Raises ValueError for 0 and less, by which `kill` means many processes: a record may hold them."""
        if self.pid <= 0:
            raise ValueError(f"process {self.pid!r}, started at {self.start_ticks!r}, does not exist")

    def alive(self) -> bool:
        return start_ticks(self.pid) == self.start_ticks

    def end(self) -> None:
        """Kills the process at once, and reaps it if this process started it."""
        deadline = time.monotonic() + _END_SECONDS
        while self.alive() and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.001)
        self.reap()

    def reap(self) -> None:
        """Reaps the process if this one started it."""
        with contextlib.suppress(ChildProcessError):  # usually another process's child
            os.waitpid(self.pid, os.WNOHANG)


@dataclass(frozen=True)
class Record:
    """The contents of lab.json."""

    name: str
    network: str
    """As typed."""
    dilation: float = 1.0
    switch: str = "kernel"
    """As typed: see switch_choice.py."""
    condition: str = "building"
    """`building`, `up` or `leaving`."""
    description: str = ""
    """Text of the network file."""
    unlike: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """The nodes' kernel parameters: values by sysctl name."""
    faults: tuple[Mapping[str, Any], ...] = ()
    owner: Process | None = None
    """The process that will take the lab down, if it was built for one run."""
    holder: Process | None = None
    """The process whose user namespace holds the lab, if built without root."""
    switch_process: Process | None = None
    """The process of crosscut-switch, if that carries the frames."""
    slurm: Mapping[str, Process] = field(default_factory=dict)
    """Slurm's daemons, if it runs here, such as `slurmd of n0000`."""
    seconds_to_build: float = 0.0
    version: int = VERSION

    def helpers(self) -> list[Process]:
        """Processes that live as long as the lab or one of its faults."""
        workers = [worker_of(fault) for fault in self.faults]
        return [one for one in (*workers, self.switch_process, *self.slurm.values()) if one is not None]


def worker_of(fault: Mapping[str, Any]) -> Process | None:
    """The process behind a recorded fault; None for most."""
    return records.parse(fault["worker"], Process) if "worker" in fault else None


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None if there is none, or only a zombie."""
    try:
        fields = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        )
    except (OSError, IndexError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])  # proc(5): state is field 3, starttime 22


def spawn(command: list[str], environment: Mapping[str, str], actions: Sequence[tuple[Any, ...]]) -> Process:
    """Starts a process without input, in its own session, so that it outlives this command.

    `actions`: posix_spawn's file actions.
    """
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    pid = os.posix_spawnp(command[0], command, environment, setsid=True, file_actions=[null, *actions])
    return Process(pid, start_ticks(pid) or 0)


def this_process() -> Process:
    return Process(os.getpid(), start_ticks(os.getpid()) or 0)


def root() -> Path:
    """The folder that holds this user's labs."""
    top, below, _ = _place()
    return top / below


def _place() -> tuple[Path, str, bool]:
    """Returns (topmost folder to be this user's alone, the labs' path below it, whether the user named it).

    In /run, XDG_RUNTIME_DIR and /tmp, it is the first folder that crosscut makes.
    """
    if named := os.environ.get(VARIABLE):
        return Path(named).absolute(), "", True
    if os.geteuid() == 0:
        return Path("/run/crosscut"), "lab", False
    if runtime := os.environ.get("XDG_RUNTIME_DIR", ""):
        return Path(runtime).absolute() / "crosscut", "lab", False
    return Path(f"/tmp/crosscut-{os.geteuid()}"), "crosscut/lab", False  # noqa: S108


def _checked(path: Path) -> Path:
    """Checks the root, or the folder of a lab, and returns it."""
    top, _, is_named = _place()
    folders.check(path, top, is_named=is_named)
    return path


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid lab name; use at most 64 letters, digits, '.', '-' and '_', beginning "
            "with a letter or digit"
        )
    return name


def folder(name: str) -> Path:
    """The folder of a lab, which need not exist. Raises CrosscutError if somebody else could write to it."""
    return _checked(root() / checked_name(name))


def exists(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and folder(name).is_dir()


def names() -> list[str]:
    """Names of this user's labs. Raises CrosscutError like `folder`."""
    above = _checked(root())
    try:
        return sorted(entry.name for entry in above.iterdir() if entry.is_dir())
    except OSError:
        return []


def read(name: str) -> Record:
    """Reads a lab's record. Raises UsageError if there is no such lab, CrosscutError if it is broken."""
    path = folder(name) / "lab.json"
    if not path.parent.is_dir():
        there = ", ".join(names())
        raise UsageError(
            f"there is no lab {name}; "
            + (
                f"known: {there}{spelling.hint(name, names())}"
                if there
                else "none is up; crosscut lab up NETWORK builds one"
            )
        )
    with _broken(path):
        found = json.loads(folders.read(path))
        if found.get("version") != VERSION:
            raise OtherVersionError(f"{path}: made by another version of crosscut; crosscut lab down {name}")
        record = records.parse(found, Record)
        record.helpers()  # raises here if an entry is broken
        return record


@contextlib.contextmanager
def _broken(path: Path) -> Iterator[None]:
    """Turns an error about this file of a lab into a CrosscutError that says what to do."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        remedy = f"crosscut lab down {path.parent.name} clears it away"
        raise CrosscutError(f"{path}: {plainly(error)}; {remedy}") from error


def write(record: Record) -> None:
    """Writes the record atomically."""
    whole_file.write(folder(record.name) / "lab.json", json.dumps(asdict(record)).encode())


def write_network(name: str, document: Mapping[str, Any]) -> None:
    (folder(name) / "network.json").write_text(json.dumps(document), encoding="utf-8")


def read_network(name: str) -> Mapping[str, Any]:
    path = folder(name) / "network.json"
    with _broken(path):
        found: Mapping[str, Any] = json.loads(folders.read(path))
        return found


@contextlib.contextmanager
def locked(name: str, *, make: bool = False) -> Iterator[Path]:
    """Locks a lab and yields its folder, which `make` creates.

    Raises CrosscutError if another process is changing the lab, UsageError if there is none.
    """
    if make:
        top, _, is_named = _place()
        folders.make(root() / checked_name(name), top, is_named=is_named)
    path = folder(name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise UsageError(f"there is no lab {name}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CrosscutError(f"lab {name} is being changed by another crosscut; wait for it") from error
        if not path.exists() or path.stat().st_ino != os.fstat(descriptor).st_ino:
            raise CrosscutError(f"lab {name} was taken down just now; try again")
        yield path
    finally:
        os.close(descriptor)


def enlist(name: str) -> Callable[[], None]:
    """Registers this process in `users` as measuring on the lab; returns the function that unregisters it.

    Raises UsageError if the lab is gone.
    """
    process = this_process()
    users = folder(name) / USERS
    mine = users / f"{process.pid}.{process.start_ticks}.{secrets.token_hex(4)}"
    try:
        users.mkdir(exist_ok=True)
        mine.touch()
    except FileNotFoundError as error:
        raise UsageError(f"there is no lab {name} any more") from error
    except OSError as error:
        raise CrosscutError(
            f"{mine}: {plainly(error)}; only the user who built lab {name} can measure on it"
        ) from error

    def leave() -> None:
        with contextlib.suppress(OSError):  # the lab was taken down
            mine.unlink(missing_ok=True)

    return leave


def measuring(name: str) -> list[Process]:
    """Processes that measure on the lab now, without those that were killed."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in (folder(name) / USERS).iterdir():
            process = _named(entry.name)
            if process is not None and process.alive():
                found.add(process)
    return sorted(found, key=lambda process: process.pid)


def _named(entry: str) -> Process | None:
    numbers = entry.split(".")[:2]
    if len(numbers) < 2 or not all(one.isascii() and one.isdecimal() and len(one) < 20 for one in numbers):
        return None
    return Process(int(numbers[0]), int(numbers[1])) if int(numbers[0]) else None
