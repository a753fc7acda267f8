"""Run by root with KIND FILE FOLDER SWITCH: becomes nobody, builds a lab, kills one of its processes, and
takes it down. Prints what is left, as JSON."""

from __future__ import annotations

import ctypes
import encodings.ascii  # noqa: F401
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec  # noqa: F401

from crosscut.lab import describe, enter, lifecycle, removal, state
from crosscut.lab.kernel import build, namespaces  # noqa: F401
from crosscut.lab.kernel import links as kernel

NOBODY = 65534
PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
PATIENCE_SECONDS = 30


def become_nobody() -> None:
    namespaces.unshare(namespaces.NEW_NET)
    with kernel.Kernel() as first:  # loads modules that load on first use
        first.change("lo", state="up")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 1)  # as if nobody had started the program: it owns /proc/self
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process, and are seen


def children() -> list[str]:
    """Returns the living children; reaps zombies."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    found = []
    for path in Path("/proc/self/task").glob("*/children"):
        found += path.read_text(encoding="ascii").split()
    return [Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace") for pid in found]


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)


def kill_holder(file: str, switch: str) -> dict[str, object]:
    """Kills the holder while a process runs on a node, and another lab is up."""
    beside = lifecycle.up(file, lifecycle.Choices(name="beside"))
    record = lifecycle.up(file, lifecycle.Choices(name="mine", switch=switch))
    assert record.holder is not None
    command = enter.command(record, state.folder("mine"), "n0001", ["sleep", "600"])
    guest = subprocess.Popen(command)
    wait_until(lambda: len(removal.processes(state.folder("mine"), record.holder)) > 1 + (switch == "user"))
    wait_until(lambda: Path(f"/proc/{guest.pid}/comm").read_text(encoding="ascii").strip() == "sleep")
    os.kill(record.holder.pid, signal.SIGKILL)
    os.waitpid(record.holder.pid, 0)
    seen = {"condition": describe.condition(record), "guest": guest.poll()}
    lifecycle.down("mine")
    seen |= {"guest_after": guest.wait(), "beside": describe.condition(beside)}
    lifecycle.down("beside")
    return seen


def lose_record(file: str, switch: str) -> dict[str, object]:
    lifecycle.up(file, lifecycle.Choices(name="mine", switch=switch))
    (state.folder("mine") / "lab.json").unlink()
    lifecycle.down("mine")
    return {}


def kill_up(file: str, switch: str) -> dict[str, object]:
    return killed_until_through(lambda: None, lambda: up(file, switch))


def kill_down(file: str, switch: str) -> dict[str, object]:
    return killed_until_through(lambda: up(file, switch), lambda: lifecycle.down("mine"))


def up(file: str, switch: str) -> None:
    lifecycle.up(file, lifecycle.Choices(name="mine", switch=switch))


def killed_until_through(before: Callable[[], None], work: Callable[[], None]) -> dict[str, object]:
    """Kills a child at its work, each time 15 ms later, until it finishes first."""
    for step in range(200):
        before()
        child = os.fork()
        if child == 0:
            os.setsid()
            work()
            os._exit(0)
        time.sleep(0.015 * step)
        os.kill(child, signal.SIGKILL)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if state.exists("mine"):
            wait_until(lambda: describe.condition_of_name("mine") != "being built")
            lifecycle.down("mine")
        wait_until(lambda: not children())
        if children() or ended == 0:
            return {"through": ended == 0}
    return {"through": False}


WORK = {"holder": kill_holder, "record": lose_record, "up": kill_up, "down": kill_down}


def main() -> None:
    kind, file, root, switch = sys.argv[1:]
    become_nobody()
    os.environ[state.VARIABLE] = root
    seen = WORK[kind](file, switch)
    wait_until(lambda: not children())
    print(json.dumps(seen | {"left": state.names(), "children": children()}))


if __name__ == "__main__":
    main()
