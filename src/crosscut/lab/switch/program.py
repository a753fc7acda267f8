"""`crosscut-switch`, which carries frames between the nodes of a lab: its executable, its input and output,
and its process, which outlives the command that started it.

It runs in the namespace `fabric`, where `down` finds it even if its record is lost. Its output goes to a
file: a pipe that nobody reads would block it, and with it the network.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base import whole_file
from crosscut.base.core import CORE, find_executable, is_program
from crosscut.base.errors import CrosscutError
from crosscut.lab import enter, removal, state
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import LabPlan
from crosscut.network import switch_choice

PROGRAM = "crosscut-switch"
VARIABLE = "CROSSCUT_SWITCH"
# The device through which the nodes' adapters are made.
TUN = Path("/dev/net/tun")
READY_SECONDS = 30.0
ANSWER_SECONDS = 10.0
_SAID, _ERRORS, _TAPS, _FAULTS = "switch.said", "switch.errors", "taps.json", "faults.json"
_POLL_SECONDS = 0.005
_WORDS_KEPT_BYTES = 4096
# Where its statistics hold the figures by which a run is judged: lateness of deliveries, frames dropped by
# the emulated network's full queues, and frames lost before that in the nodes' own queues.
_TRUST = {
    "seconds": "seconds",
    "cpu_share": "cpu_share",
    "lateness_median_seconds": "lateness_seconds.median",
    "lateness_p99_seconds": "lateness_seconds.p99",
    "lateness_max_seconds": "lateness_seconds.max",
    "frames_delivered": "frames.delivered",
    "frames_dropped": "frames.dropped",
    "frames_lost_in_hosts": "frames.lost_in_hosts",
}


class UserSwitchError(CrosscutError):
    """The switch is missing, could not start, or has ended."""


@dataclass(frozen=True)
class Tap:
    """A host's adapter: the switch makes the device `name` in the namespace at `netns`."""

    host: int
    netns: Path
    name: str = "eth0"
    adapter: int = 0
    addresses: tuple[str, ...] = ()
    """IPv4 addresses for which the switch answers ARP; not needed with static neighbour entries."""
    mac: str = ""
    """Empty: the address of `mac_of`."""


def mac_of(host: int, adapter: int = 0) -> str:
    """Returns the MAC address that the switch gives this adapter, for static neighbour entries."""
    return "02:cc:" + ":".join(f"{byte:02x}" for byte in (adapter, *host.to_bytes(3, "big")))


def taps_list(taps: Iterable[Tap]) -> str:
    """Formats the list that `crosscut-switch --taps` reads, with its terminating empty line."""
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


def trust_of(statistics: Mapping[str, object]) -> dict[str, float]:
    """Extracts the figures by which a run on the lab is judged. Raises UserSwitchError if one is missing."""
    found: dict[str, float] = {}
    for name, path in _TRUST.items():
        value: object = statistics
        for key in path.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserSwitchError(f"{PROGRAM}: its statistics have no number {path}")
        found[name] = value
    return found


def find_switch() -> Path:
    """Finds the executable: CROSSCUT_SWITCH, beside the core, or on PATH. Raises UserSwitchError if none."""
    if named := os.environ.get(VARIABLE):
        if not is_program(Path(named)):
            raise UserSwitchError(f"{VARIABLE}={named}: no executable file there; unset it or correct it")
        return Path(named).absolute()
    core = find_executable(CORE)
    if core is not None and is_program(core.parent / PROGRAM):
        return core.parent / PROGRAM
    if (on_path := shutil.which(PROGRAM)) is not None:
        return Path(on_path).absolute()
    raise UserSwitchError(f"{PROGRAM} was found neither beside {CORE} nor on PATH; name it in {VARIABLE}")


def unavailable() -> str:
    """Returns why the switch cannot run here, or "" if it can."""
    try:
        find_switch()
    except CrosscutError as error:
        return str(error)
    if not TUN.exists():
        return f"there is no {TUN}; load it: modprobe tun"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return (
            f"you may not open {TUN} (mode {stat.S_IMODE(TUN.stat().st_mode):04o}); as root, run chmod 0666 "
            f"{TUN}, which is its mode on most systems"
        )
    return ""


def start(record: state.Record, folder: Path, made: LabPlan, network: Path) -> state.Process:
    """Starts the switch and waits until all adapters exist. Raises UserSwitchError with its last message."""
    (folder / _TAPS).write_text(taps_list(_taps(made, folder)), encoding="ascii")
    (folder / _FAULTS).write_text("", encoding="utf-8")
    words = [str(find_switch()), str(network.absolute()), "--taps", str(folder / _TAPS)]
    words += ["--faults", str(folder / _FAULTS)]
    words += ["--dilate", repr(record.dilation), *switch_choice.parse(record.switch).options]
    command = enter.command(record, folder, enter.FABRIC, words)
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    process = state.spawn(command, os.environ, [
        (os.POSIX_SPAWN_OPEN, 1, str(folder / _SAID), append, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(folder / _ERRORS), append, 0o644),
    ])  # fmt: skip
    try:
        _answer(folder, process, "ready", READY_SECONDS)
    except BaseException:
        process.end()
        raise
    return process


def _taps(made: LabPlan, folder: Path) -> list[Tap]:
    return [
        Tap(host, folder / "net" / name, addresses.interface(at), at, mac=addresses.mac(host, at))
        for host, name in enumerate(made.hosts)
        for at in range(made.adapters[host])
    ]


def statistics(record: state.Record) -> Mapping[str, Any]:
    """Asks for counts and delays of frames since the lab was built. Callers are served one at a time."""
    if record.switch_process is None:
        raise UserSwitchError(f"lab {record.name} is carried by the kernel, which keeps no such statistics")
    return _ask(record, state.folder(record.name), signal.SIGUSR1, "statistics")


def runs(record: state.Record) -> bool:
    """True if the recorded process runs and is in the lab; a signal would end any other process."""
    process = record.switch_process
    return process is not None and removal.contains(state.folder(record.name), record.holder, process)


def set_faults(record: state.Record, folder: Path, lines: str) -> None:
    """Replaces the planted faults (faults/catalogue.py). If the switch refuses them, restores the old."""
    file = folder / _FAULTS
    before = file.read_text(encoding="utf-8")
    try:
        _tell_faults(record, folder, lines)
    except UserSwitchError:
        if runs(record):
            _tell_faults(record, folder, before)
        raise


def _tell_faults(record: state.Record, folder: Path, lines: str) -> None:
    whole_file.write(folder / _FAULTS, lines.encode())
    answer = _ask(record, folder, signal.SIGUSR2, "faults")
    if "refused" in answer:
        raise UserSwitchError(f"the lab's switch refuses this fault: {answer['refused']}")


def _ask(record: state.Record, folder: Path, number: signal.Signals, event: str) -> Mapping[str, Any]:
    process = record.switch_process
    if process is None or not runs(record):
        raise UserSwitchError(f"the lab's switch has ended{_last_words(folder)}")
    with (folder / _SAID).open("r+b") as said:
        fcntl.flock(said, fcntl.LOCK_EX)
        said.truncate(0)  # it writes in append mode, so its next output starts the file
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
        return _answer(folder, process, event, ANSWER_SECONDS)


def failure(record: state.Record) -> str | None:
    """Returns why frames are no longer carried; None if they are, or if the kernel carries them."""
    if record.switch_process is None:
        in_kernel = switch_choice.parse(record.switch).in_kernel
        return None if in_kernel else "its switch was never started"
    return None if runs(record) else f"its switch has ended{_last_words(state.folder(record.name))}"


def _answer(folder: Path, process: state.Process, event: str, seconds: float) -> Mapping[str, Any]:
    deadline = time.monotonic() + seconds
    while True:
        alive = process.alive()  # checked before reading, so that its last output counts
        for line in _lines(folder / _SAID):
            with contextlib.suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict) and value.get("event") == event:
                    return value
        if not alive:
            raise UserSwitchError(f"the lab's switch has ended{_last_words(folder)}")
        if time.monotonic() > deadline:
            raise UserSwitchError("the lab's switch did not answer in time; is the machine overloaded?")
        time.sleep(_POLL_SECONDS)


def _lines(path: Path) -> list[bytes]:
    """The complete lines of a file; none if it does not exist."""
    try:
        return path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []


def _last_words(folder: Path) -> str:
    try:
        said = (folder / _ERRORS).read_bytes()[-_WORDS_KEPT_BYTES:].decode("utf-8", "replace").strip()
    except OSError as error:
        raise CrosscutError(f"{error.filename}: {error.strerror}") from error
    return f": {said.splitlines()[-1]}" if said else " without saying why"
