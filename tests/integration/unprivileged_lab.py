"""Run by root: becomes nobody, then builds a lab, uses it and takes it down. Prints what it saw, as JSON.

Imports everything first: the user nobody may be unable to read this Python.
"""

from __future__ import annotations

import ctypes
import encodings.ascii  # noqa: F401
import json
import os
import subprocess
import sys

import msgspec  # noqa: F401

from crosscut.lab import describe, enter, lifecycle, state
from crosscut.lab.kernel import build, namespaces  # noqa: F401
from crosscut.lab.kernel import links as kernel
from crosscut.lab.walk import walk

NOBODY = 65534
PR_SET_DUMPABLE = 4


def said(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> None:
    file, root, switch = sys.argv[1:]
    namespaces.unshare(namespaces.NEW_NET)
    with kernel.Kernel() as first:  # loads modules that load on first use
        first.change("lo", state="up")
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)  # as if nobody had started the program: it owns /proc/self
    os.environ[state.VARIABLE] = root
    record = lifecycle.up(file, lifecycle.Choices(name="mine", switch=switch))
    script = str(state.folder("mine") / "enter")
    words = enter.command(record, state.folder("mine"), "n0001", ["hostname"])
    walked = walk.walk(record, "", "", 60)
    seen = {
        "condition": describe.condition(record),
        "exec": said(*words),
        "enter": said(script, "n0000", "hostname"),
        "onward": said(script, "n0000", f"{script} n0002 hostname"),  # as mpiexec goes from node to node
        "walked": [len(walked.routes), len(walked.unlike)],
        "keeper": record.holder.pid if record.holder else None,
    }
    lifecycle.down("mine")
    seen["left"] = state.names()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
