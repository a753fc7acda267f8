"""Enters a node: its network, host name, shared memory and /etc/hosts. All else is the machine's."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from crosscut.lab.state import Record

FABRIC = "fabric"
# $1 is the lab's folder, $2 the node; the command follows. The host `login` has its own list of hosts. /sys
# is mounted again, because it shows the adapters of the namespace that mounted it.
_SETTLE = """lab=$1 node=$2; shift 2
hosts=$lab/hosts.$node; [ -e "$hosts" ] || hosts=$lab/hosts
mount --bind "$hosts" /etc/hosts && mount --bind "$lab/shm/$node" /dev/shm || exit 125
mount -t sysfs -o ro sysfs /sys 2>/dev/null
exec "$@"
"""


def command(record: Record, folder: Path, node: str, words: Sequence[str]) -> list[str]:
    """Arguments of a process that enters a node and then executes `words`."""
    before = _into_holder(record)
    if node == FABRIC:
        return [*before, "nsenter", f"--net={folder / 'fabric'}", "--", *words]
    spaces = [f"--{kind}={folder / kind / node}" for kind in ("net", "uts", "ipc")]
    settle = ["unshare", "--mount", "--propagation", "slave", "sh", "-c", _SETTLE, "sh", str(folder), node]
    return [*before, "nsenter", *spaces, "--", *settle, *words]


def _into_holder(record: Record) -> list[str]:
    if record.holder is None:
        return []
    return [
        "nsenter", "--preserve-credentials", "--user", "--mount", f"--wd={Path.cwd()}",
        "--target", str(record.holder.pid), "--",
    ]  # fmt: skip


def script(record: Record, folder: Path) -> str:
    """A script that works like ssh: `enter NODE WORDS…`, with the words parsed by a shell again.

    It also works from within a node.
    """
    outside = _with_node(record, folder)
    if record.holder is None:
        return _SCRIPT.format(go=outside)
    here = Path(f"/proc/{record.holder.pid}/ns/user").readlink()
    inside = _with_node(replace(record, holder=None), folder)
    test = f'[ "$(readlink /proc/self/ns/user)" = "{here}" ] && exec {inside} "$*"\n'
    return _SCRIPT.format(go=outside).replace("exec ", test + "exec ", 1)


_SCRIPT = """#!/bin/sh
# Runs a command on a node of this lab, as ssh would: enter NODE COMMAND
while [ "${{1#-}}" != "$1" ]; do shift; done
node=$1; shift
exec {go} "$*"
"""
# A placeholder for the node, in a command quoted for a shell.
_MARK = "NODE-OF-SCRIPT"


def _with_node(record: Record, folder: Path) -> str:
    words = shlex.join(command(record, folder, _MARK, ["sh", "-c"]))
    return words.replace(_MARK, '"$node"')


def hosts_file(addresses: Sequence[tuple[str, str]]) -> str:
    """Text of /etc/hosts. `addresses`: (address, name) of every node."""
    lines = ["127.0.0.1\tlocalhost", *(f"{address}\t{name}" for address, name in addresses)]
    return "\n".join(lines) + "\n"
