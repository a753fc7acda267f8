"""Starts `crosscut-switch`, which carries frames between the nodes of a lab, and reads what it says."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from crosscut.base.core import CORE, find_executable
from crosscut.base.errors import CrosscutError

PROGRAM = "crosscut-switch"
VARIABLE = "CROSSCUT_SWITCH"
# What adapters of nodes are made with.
TUN = Path("/dev/net/tun")
READY_SECONDS = 30.0
ANSWER_SECONDS = 10.0


class UserSwitchError(CrosscutError):
    """The switch is missing, could not start, or has ended."""


@dataclass(frozen=True)
class Tap:
    """An adapter of a host: the switch makes the device `name` in the namespace at `netns`."""

    host: int
    netns: Path
    name: str = "eth0"
    adapter: int = 0
    addresses: tuple[str, ...] = ()
    """IPv4 addresses for which the switch answers ARP; none are needed where neighbours are static."""
    mac: str = ""
    """Empty: that of `mac_of`."""


@dataclass(frozen=True)
class Trust:
    """How well the emulation kept its times: `lateness_*` of deliveries against when they were due."""

    seconds: float
    cpu_share: float
    lateness_median_seconds: float
    lateness_p99_seconds: float
    lateness_max_seconds: float
    frames_delivered: int
    frames_dropped: int
    """By the emulated network: full queues."""
    frames_lost_in_hosts: int
    """By full queues of the nodes themselves, before the network."""


def mac_of(host: int, adapter: int = 0) -> str:
    """The hardware address that the switch gives this adapter: for static neighbour entries."""
    return "02:cc:" + ":".join(f"{byte:02x}" for byte in (adapter, *host.to_bytes(3, "big")))


def taps_list(taps: Iterable[Tap]) -> str:
    """The list that `crosscut-switch --taps` reads, with the empty line that ends it."""
    lines = [
        json.dumps(
            {
                "host": tap.host,
                "adapter": tap.adapter,
                "netns": str(tap.netns.absolute()),
                "tap": tap.name,
                "mac": tap.mac or mac_of(tap.host, tap.adapter),
                "addresses": list(tap.addresses),
            }
        )
        for tap in taps
    ]
    return "\n".join([*lines, "", ""])


def trust_of(statistics: Mapping[str, object]) -> Trust:
    """The figures by which a run on the lab is judged; raises UserSwitchError where one is missing."""

    def number(*path: str) -> float:
        value: object = statistics
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserSwitchError(f"{PROGRAM}: its statistics have no number {'.'.join(path)}")
        return value

    return Trust(
        seconds=number("seconds"),
        cpu_share=number("cpu_share"),
        lateness_median_seconds=number("lateness_seconds", "median"),
        lateness_p99_seconds=number("lateness_seconds", "p99"),
        lateness_max_seconds=number("lateness_seconds", "max"),
        frames_delivered=int(number("frames", "delivered")),
        frames_dropped=int(number("frames", "dropped")),
        frames_lost_in_hosts=int(number("frames", "lost_in_hosts")),
    )


def find_switch() -> Path:
    """The program: named by CROSSCUT_SWITCH, beside the core, or on PATH; raises UserSwitchError."""
    if named := os.environ.get(VARIABLE):
        if not os.access(named, os.X_OK):
            raise UserSwitchError(f"{VARIABLE}={named}: no executable file there; unset it or correct it")
        return Path(named).absolute()
    core = find_executable(CORE)
    if core is not None and os.access(core.parent / PROGRAM, os.X_OK):
        return core.parent / PROGRAM
    if (on_path := shutil.which(PROGRAM)) is not None:
        return Path(on_path).absolute()
    raise UserSwitchError(f"{PROGRAM} was found neither beside {CORE} nor on PATH; name it in {VARIABLE}")


def unavailable() -> str:
    """Why no switch in user space can have adapters here; empty where one can."""
    try:
        find_switch()
    except CrosscutError as error:
        return str(error)
    if not TUN.exists():
        return f"there is no {TUN}; load it: modprobe tun"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return (
            f"this user may not open {TUN} (its mode is {stat.S_IMODE(TUN.stat().st_mode):04o}); on most "
            f"systems everybody may: chmod 0666 {TUN}, as root"
        )
    return ""


@dataclass
class UserSwitch:
    """A running switch: a context manager. It ends with this process, however that ends: its standard input
    closes then."""

    network: Path
    taps: tuple[Tap, ...]
    options: tuple[str, ...] = ()
    ready: Mapping[str, object] = field(init=False, default_factory=dict)
    last: Mapping[str, object] = field(init=False, default_factory=dict)
    """Statistics of the whole time; after the end."""
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None, repr=False)
    _said: str = field(init=False, default=f"{PROGRAM} does not run", repr=False)
    _unread: bytes = field(init=False, default=b"", repr=False)

    def __enter__(self) -> UserSwitch:
        command = [str(find_switch()), str(self.network), "--taps", "-", *self.options]
        pipe = subprocess.PIPE
        # A group of its own: ctrl-C at the terminal must not end the network before the ranks on it.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        self._process = process
        try:
            assert process.stdin is not None
            process.stdin.write(taps_list(self.taps).encode())
            process.stdin.flush()
            self.ready = self._answer("ready", READY_SECONDS)
        except BaseException as error:
            self._end()
            if isinstance(error, BrokenPipeError):
                raise UserSwitchError(self._last_words()) from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def statistics(self) -> Mapping[str, object]:
        """What has passed until now, by link, and how late deliveries were."""
        if self._process is None or not self.is_running:
            raise UserSwitchError(self._last_words())
        self._process.send_signal(signal.SIGUSR1)
        return self._answer("statistics", ANSWER_SECONDS)

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            self.last = self._answer("statistics", ANSWER_SECONDS)
        except UserSwitchError:
            process.kill()
        self._note_end(process)

    def _note_end(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for it, keeps its last words and closes what it was spoken to by."""
        process.wait()
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stderr.closed:
            said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            self._said = said[-1] if said else f"{PROGRAM} has ended with status {process.returncode}"
        process.stdout.close()
        process.stderr.close()

    def _answer(self, event: str, seconds: float) -> Mapping[str, object]:
        """The next line of this kind; other lines are passed over."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._line(deadline)
            try:
                value = json.loads(line)
            except ValueError as error:
                raise UserSwitchError(f"{PROGRAM} printed {line[:80]!r}, which is no JSON") from error
            if isinstance(value, dict) and value.get("event") == event:
                return value

    def _line(self, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        if self._process.stdout.closed:
            raise UserSwitchError(self._said)
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise UserSwitchError(f"{PROGRAM} did not answer in time; is the machine overloaded?")
                got = os.read(self._process.stdout.fileno(), 1 << 16)
                if not got:
                    raise UserSwitchError(self._last_words())
                self._unread += got
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def _last_words(self) -> str:
        if self._process is not None:
            self._note_end(self._process)
        return self._said
