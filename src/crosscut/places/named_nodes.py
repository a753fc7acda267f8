"""One rank on each of some nodes, reached through ssh as hosts are. Commands name the nodes, people do not.

In the Slurm of a lab, the lab's own script stands for ssh.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping, Sequence

from crosscut.base import process_group
from crosscut.base.host_list import HostEntry, share_out
from crosscut.places import base
from crosscut.places.hosts import is_this_machine, ssh_command, with_tree
from crosscut.places.slurm import lab_around

_REACH_SECONDS = 15.0


class NamedNodes(base.Place):
    name = "hosts"
    help = "nodes that a command names"

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        return len(self.nodes)

    def start(self, options: base.PlaceOptions) -> base.Launched:
        if lab := lab_around():
            from crosscut.places.lab import start_on

            return start_on(lab, self.nodes, options)
        shares = share_out(len(self.nodes), [HostEntry(node) for node in self.nodes])
        core = options.core_path or str(options.executable.absolute())
        ssh = ssh_command(options)
        line = with_tree(base.configuration(options, self.name, "auto"), shares, ssh, core)
        if is_this_machine(shares[0].host):
            return base.spawn([options.executable, "node"], line)
        return base.spawn([*ssh, shares[0].host, f"{shlex.quote(core)} node"], line)


def unreachable(nodes: Sequence[str], options: base.PlaceOptions) -> list[str]:
    """Returns the nodes on which no command can be started; asks all of them at once."""
    if lab := lab_around():
        from crosscut.places.lab import open_site

        site = open_site(lab)
        remote = [str(site.enter)]
        site.release()
    else:
        remote = ssh_command(options)
    asked = {
        node: process_group.start(
            ["true"] if is_this_machine(node) else [*remote, node, "true"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for node in nodes
    }  # fmt: skip
    return [node for node, process in asked.items() if not _ends_well(process)]


def _ends_well(process: subprocess.Popen[bytes]) -> bool:
    try:
        return process.wait(_REACH_SECONDS) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
