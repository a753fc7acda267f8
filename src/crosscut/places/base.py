"""Defines a place: where and how ranks are started.

A place is one file in this folder and one line in `PLACES` (`places/__init__.py`): a module-level object
of a class derived from `Place`. Every place starts one process that speaks the session protocol
(docs/reference/session-protocol.md) on its standard input and output.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import signal
import subprocess
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from crosscut.base import process_group, units
from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.job import Event
from crosscut.run.realm import Realm

if TYPE_CHECKING:
    from crosscut.places.launchers import Launcher

# Lines of the ranks' standard error kept for an error message.
STDERR_LINES_KEPT = 40
_MOST_ON_A_HOST = 1 << 20


def new_secret() -> str:
    """Returns a run's secret: 64 hex digits. It never goes on a command line, where `ps` would show it."""
    return secrets.token_hex(32)


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """How ranks are started, as typed."""

    interface: str = ""
    """Numeric address or interface name to listen on; empty: the place's own choice."""
    control_interface: str = ""
    """The same for barriers and control; empty: `interface`."""
    timeout_seconds: float = 30.0
    pin: bool = True
    launcher: str = ""
    """What starts the ranks: mpiexec, srun, or for `hosts` ssh; empty: the place finds one."""
    launcher_arguments: tuple[str, ...] = ()
    """Words for the launcher, as typed: a partition, an account."""
    core_path: str = ""
    """`hosts`, `slurm`: path of `crosscut-core` on the other nodes; empty: the same as here."""
    own: Mapping[str, object] = field(default_factory=dict)
    """The values of the place's own options, by name (`Place.options`)."""


@dataclass(frozen=True, kw_only=True)
class PlaceOptions(StartOptions):
    """What a place is to start."""

    executable: Path
    """`crosscut-core`."""
    ranks: int
    backend: str = "tcp"
    over_mpi: bool = False
    """The backend's ranks are tasks of an MPI job."""
    argument: str = ""
    """What follows the colon: `hosts:FILE` has the argument `FILE`."""
    mpi_executable: Path | None = None
    """`crosscut-core-mpi`, or None where it was not built."""
    secret: str = field(default_factory=new_secret, repr=False)


@dataclass(frozen=True)
class PlaceOption:
    """An option that a place declares: `--switch`. Places with the same option share one record."""

    name: str
    """Without `--`."""
    metavar: str
    help: str
    """A sentence."""
    parse: Callable[[str], object]
    """Parses the text that was typed; raises UsageError."""


@dataclass(frozen=True)
class MpiLaunch:
    """How an MPI program is to be started, as typed."""

    argument: str = ""
    """What follows the colon of `--on`."""
    launcher_arguments: tuple[str, ...] = ()
    ranks_per_host: int = 0
    """0: the place's own choice."""


@dataclass(frozen=True)
class MpiCommand:
    words: tuple[str, ...]
    environment: Mapping[str, str]
    hosts: int
    """Number of hosts that the ranks will be on; 0 if unknown."""


class MpiSite(ABC):
    """Somewhere MPI programs can be started, one after another."""

    @property
    def folder(self) -> Path:
        """Where to make temporary folders that all ranks can see."""
        return Path(tempfile.gettempdir())

    @abstractmethod
    def find_launcher(self, named: str, program: Path | None) -> Launcher:
        """Returns the launcher named, or one for the executable. Raises PlaceError or UsageError if none."""

    @abstractmethod
    def command(
        self, launcher: Launcher, ranks: int, program: Sequence[str], folder: Path | None = None
    ) -> MpiCommand:
        """Returns the command that starts a program. `folder`: where ranks run and the MPI library keeps its
        files, if not the current one. Raises UsageError or PlaceError if the ranks do not fit."""


@dataclass(frozen=True)
class OneEach:
    """What to start for one rank on every node; rank 0 is this machine or the first node."""

    argument: str
    ranks: int | None = None
    """None: the place's default."""
    own: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class PlaceCondition:
    usable: bool | None
    """None if unknown."""
    says: str
    advice: str = ""


class Place(ABC):
    """One way to start ranks. Other code asks for the properties below, and never compares names."""

    name: ClassVar[str]
    """As typed after `--on`."""
    help: ClassVar[str]
    """One sentence, without a full stop."""
    argument: ClassVar[str] = ""
    """Name of what follows the colon (`FILE`); empty if nothing may follow."""
    realm: ClassVar[Realm] = Realm.CLUSTER
    default_backend: ClassVar[str] = "tcp"
    options: ClassVar[tuple[PlaceOption, ...]] = ()
    unused: ClassVar[tuple[str, ...]] = ()
    """Fields of StartOptions that have no effect here, so that they are refused."""
    takes_batch_jobs: ClassVar[bool] = False
    ranks_over_mpi: ClassVar[bool] = False
    """True if ranks can be tasks of an MPI job."""
    starts_mpi: ClassVar[bool] = False
    """True if `mpi_site` returns one."""
    one_each_as: ClassVar[str] = ""
    """How the place is typed for `one_each`, such as `local:N`; empty if it does not support that."""

    def available(self) -> str | None:
        """Returns why the place cannot be used here, and what to do; None if it can."""
        return None

    def condition(self) -> PlaceCondition:
        """Returns what `crosscut doctor` reports; may ask other machines for some seconds."""
        reason = self.available()
        return PlaceCondition(reason is None, self.help, reason or "")

    def runs(self, backend: str) -> bool:
        """True if ranks of this backend can be started."""
        return (backend == Realm.SIMULATED) == (self.realm is Realm.SIMULATED)

    @abstractmethod
    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:
        """Returns the default for `-n`: all hosts, the allocation's tasks, or a sensible number here.
        `own`: as in `PlaceOptions`."""

    @abstractmethod
    def start(self, options: PlaceOptions) -> Launched:
        """Starts the ranks and writes the session's first line (`configuration`); raises PlaceError."""

    def mpi_site(self, launch: MpiLaunch) -> AbstractContextManager[MpiSite]:  # noqa: ARG002
        """Opens a site that starts MPI programs. Anything built for it is removed at the end."""
        raise UsageError(f"--on {self.name}: MPI programs cannot be started there")

    def one_each(self, argument: str, folder: Callable[[], Path]) -> OneEach:  # noqa: ARG002
        """Returns how to start one rank on every node. `folder`: makes a folder for files that this needs."""
        raise UsageError(f"--on {self.name}: its nodes are not known, so one rank cannot be started on each")


def cores() -> int:
    """Returns the cores this process may use: an affinity mask or a batch system may hold some back."""
    return len(os.sched_getaffinity(0))


# More ranks than this tell little more about the paths within one machine.
_MOST_RANKS_HERE = 8


def ranks_here() -> int:
    """Returns the default for `-n` on this machine: one rank per core, between 2 and 8."""
    return max(2, min(cores(), _MOST_RANKS_HERE))


def _positive(text: str) -> int:
    if (found := units.whole(text, 1, _MOST_ON_A_HOST)) is None:
        raise UsageError(f"'{text}' is not a number of ranks from 1 to {_MOST_ON_A_HOST:,}")
    return found


RANKS_PER_HOST = PlaceOption(
    "ranks-per-host", "N", "Ranks on each host of the network. Default: as the network says.", _positive
)


def ranks_per_host(own: Mapping[str, object]) -> int:
    """Returns the value of `--ranks-per-host`; 0 if it was not given."""
    typed = own.get(RANKS_PER_HOST.name, 0)
    assert isinstance(typed, int)
    return typed


def configuration(options: PlaceOptions, place: str, interface: str) -> dict[str, object]:
    """Returns the session's first line. `interface`: the place's choice if the options name none."""
    own_control = {"control_interface": options.control_interface} if options.control_interface else {}
    return {
        "ranks": options.ranks,
        "secret": options.secret,
        "backend": options.backend,
        "interface": options.interface or interface,
        **own_control,
        "timeout_seconds": options.timeout_seconds,
        "place": place,
        "pin": options.pin,
    }


@dataclass(frozen=True)
class Hooks:
    """Callbacks and settings of a place, for a session that runs there."""

    observe: Callable[[Event], None] = lambda _: None
    """Gets each event before the session acts on it (a place that starts nodes waits for `listening`)."""
    release: Callable[[], object] = lambda: None
    """Ends all else that was started (a lab, a batch job); called once, after the process has ended."""
    attributes: Callable[[], Mapping[str, object]] = dict
    """Returns attributes to add to a run; called when its job begins."""
    remark: Callable[[], str] = str
    """Returns what readers of a figure or an error from there should know (planted faults); empty if nothing.
    Called when a session begins and when it fails."""
    gone: Callable[[], str] = str
    """Returns why nothing can run there any more; empty if it can. Called when ranks have ended early."""
    start_seconds: float = math.inf
    """Time limit for all ranks to join. Later, one must have died without a message."""
    waiting: str = ""
    """What the ranks may have to wait for: a note to people, if nothing is heard of them for some seconds."""
    launcher: str = ""
    """The program that starts the ranks and may print its own lines among their events; "" for none."""


class Launched:
    """A running session: the process to talk to, and everything started with it."""

    def __init__(
        self, process: subprocess.Popen[bytes], hooks: Hooks, silence_seconds: float = math.inf
    ) -> None:
        """`silence_seconds`: how long the process may be stopped before it is given up."""
        self.process = process
        self.hooks = hooks
        self.silence_seconds = silence_seconds
        self._release = contextlib.ExitStack()
        self._release.callback(hooks.release)
        self._was_gone: str | None = None  # None: `release` has not been called
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_KEPT)
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def _drain_stderr(self) -> None:
        if self.process.stderr is None:
            return
        for line in self.process.stderr:
            self._stderr.append(line.decode("utf-8", "replace").rstrip())

    def stderr_tail(self) -> list[str]:
        """Returns the last lines that the started processes wrote to standard error."""
        self._drain.join(timeout=0.5)
        return list(self._stderr)

    def gone(self) -> str:
        """Returns why nothing can run there any more; empty if it can. Ignores what `release` ended."""
        return self.hooks.gone() if self._was_gone is None else self._was_gone

    def kill(self, number: int = signal.SIGTERM) -> None:
        """Signals the process and its group; harmless once it has ended."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, number)

    def close(self, patience_seconds: float = 10.0, was_asked: bool = False) -> int:
        """Ends everything that was started; returns the exit status. Closes the input, which asks the session
        to stop and end, and waits `patience_seconds`; then terminates, then kills.

        `was_asked`: the session was asked to end, so its input stays open until it has, or patience ends.
        MPICH's launcher passes the end of its input on to ranks that may be gone, and SIGPIPE kills it.
        """
        if was_asked:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=patience_seconds)
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, OSError, ValueError):
                self.process.stdin.close()
        try:
            status = self._end(patience_seconds)
        finally:
            self._was_gone = self.gone()
            self._release.close()
            self._drain.join(timeout=0.5)
            if not self._drain.is_alive() and self.process.stderr is not None:
                self.process.stderr.close()
        return status

    def _end(self, patience_seconds: float) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=patience_seconds)
        process_group.end(self.process)
        status = self.process.poll()
        return 1 if status is None else status


def spawn(
    command: Sequence[str | Path],
    first_line: Mapping[str, object],
    hooks: Hooks = Hooks(),  # noqa: B008
    *,
    environment: Mapping[str, str] | None = None,
    ends_with_us: bool = False,
) -> Launched:
    """Starts `command` with pipes and writes the session's first line. The command gets a process group of
    its own, so that Ctrl-C reaches only crosscut, which then stops the session properly.

    `ends_with_us`: it is terminated if crosscut is killed. Most programs see their input end, and finish.
    """
    try:
        process = process_group.start(
            [os.fspath(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            start_new_session=True,
            preexec_fn=process_group.end_with_parent if ends_with_us else None,
        )
    except OSError as error:
        raise PlaceError(f"cannot start {command[0]}: {error.strerror or error}") from error
    # As the conductor does with a silent rank.
    timeout = first_line.get("timeout_seconds")
    launched = Launched(process, hooks, 2 * timeout if isinstance(timeout, int | float) else math.inf)
    assert process.stdin is not None
    # A process that died at once is reported by the session, with its standard error.
    with contextlib.suppress(BrokenPipeError, OSError):
        process.stdin.write(json.dumps(dict(first_line)).encode() + b"\n")
        process.stdin.flush()
    return launched
