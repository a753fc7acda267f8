"""`crosscut-switch`, which carries frames between the nodes of a lab: where it is, what it reads and says."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

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
