"""Builds labs and takes them down again: `python lab_cycles.py CYCLES [HOSTS]` prints what they leave behind.

Every third lab uses crosscut-switch, if installed. A namespace lives as long as a mount, a process or a
descriptor holds it, so these are counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path

from crosscut.lab import lifecycle, state
from crosscut.lab.switch.program import UserSwitchError, find_switch

NETWORK = '[generator]\nkind = "crossbar"\nhosts = {hosts}\nrate = "100 Mbit/s"\n'


def counted() -> dict[str, int]:
    """Counts what this process and its descendants hold."""
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "mounts": sum(str(state.root()) in line for line in _mounts()),
        "children": len(_children()),
        "devices": len(list(Path("/sys/class/net").iterdir())),
        "files": len(list(state.root().rglob("*"))) if state.root().exists() else 0,
    }


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()


def _children() -> list[str]:
    """Returns process ids of children, zombies included, and of all processes with this folder of labs in
    their environment."""
    found = [*Path("/proc/self/task").glob("*/children")]
    own = [pid for path in found for pid in path.read_text(encoding="ascii").split()]
    word = f"{state.VARIABLE}={state.root()}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.name != str(os.getpid()) and word in (process / "environ").read_bytes().split(b"\0"):
                own.append(process.name)
    return sorted(set(own))


def switches() -> tuple[str, ...]:
    try:
        find_switch()
    except UserSwitchError:
        return ("kernel",)
    return ("kernel", "kernel", "user")


def run(cycles: int, hosts: int, folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Returns the counts after the first and the last cycle. Imports open files, so none before the first."""
    file = folder / "network.toml"
    file.write_text(NETWORK.format(hosts=hosts), encoding="ascii")
    first: dict[str, int] = {}
    kinds = switches()
    for cycle in range(cycles):
        switch = kinds[-1 - cycle % len(kinds)]
        lifecycle.up(str(file), lifecycle.Choices(name="cycle", switch=switch))
        lifecycle.down("cycle")
        first = first or counted()
    return first, counted()


def main() -> None:
    cycles, hosts = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 16
    with tempfile.TemporaryDirectory(prefix="crosscut-cycles-") as folder:
        os.environ[state.VARIABLE] = str(Path(folder) / "labs")
        first, last = run(cycles, hosts, Path(folder))
    print(json.dumps({"cycles": cycles, "hosts": hosts, "after_first": first, "after_last": last}))
    sys.exit(first != last)


if __name__ == "__main__":
    main()
