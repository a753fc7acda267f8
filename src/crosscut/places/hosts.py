"""Ranks on the hosts of a file, reached through ssh and started as a tree.

This process starts only the first host's node. That node starts the heads of up to `fanout` parts of the
other hosts, and each head the rest of its part (core/src/launch/spawn_tree.hpp). The session's first line,
with the secret, goes through ssh's standard input, which is also the lifeline: when it closes, the ranks end.
"""

from __future__ import annotations

import shlex
import shutil
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.base.host_list import Share, read_host_file, share_out
from crosscut.places import base, mpi

# These follow the user's own words, because ssh takes the first value it is given. A host that is switched
# off is noticed after ConnectTimeout (seconds); one that goes silent later, after 3 intervals.
_SSH_OPTIONS = ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3")
# Parts into which each head of the tree divides its hosts.
FANOUT = 16


class HostsPlace(base.Place):
    name = "hosts"
    help = "hosts listed in a file (`name slots=4` per line, n[001-064] for many), reached through ssh"
    argument = "FILE"
    starts_mpi = True
    one_each_as = "hosts:FILE"

    def __init__(self, fanout: int = FANOUT) -> None:
        self.fanout = fanout

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        """Returns the sum of all slots of the file."""
        return sum(host.slots for host in read_host_file(Path(argument)))

    def start(self, options: base.PlaceOptions) -> base.Launched:
        # `localhost` comes first: if another host had to start it, the name would mean that host.
        hosts = sorted(read_host_file(Path(options.argument)), key=lambda host: host.name != "localhost")
        shares = share_out(options.ranks, hosts)
        # Unless named, the core is at the same path on the hosts as here.
        core = options.core_path or str(options.executable.absolute())
        is_here = is_this_machine(shares[0].host)
        ssh = [] if is_here and len(shares) == 1 else ssh_command(options)
        line = with_tree(base.configuration(options, self.name, "auto"), shares, ssh, core, self.fanout)
        if is_here:
            return base.spawn([options.executable, "node"], line)
        return base.spawn([*ssh, shares[0].host, f"{shlex.quote(core)} node"], line)

    def mpi_site(self, launch: base.MpiLaunch) -> AbstractContextManager[base.MpiSite]:
        hosts = tuple(read_host_file(Path(launch.argument)))
        return nullcontext(mpi.LauncherSite(launch, hosts, is_here=False))

    def one_each(self, argument: str, folder: Callable[[], Path]) -> base.OneEach:
        """This machine, then the hosts of the file."""
        hosts = source_first([host.name for host in read_host_file(Path(argument))])
        file = folder() / "hosts"
        file.write_text("".join(f"{host}\n" for host in hosts), encoding="ascii")
        return base.OneEach(str(file), len(hosts))


def with_tree(
    line: dict[str, object], shares: Sequence[Share], command: Sequence[str], core: str, fanout: int = FANOUT
) -> dict[str, object]:
    """Returns the session's first line for the first host's node, with the tree of hosts that it starts.
    `command`: the remote shell for that; `core`: path of crosscut-core on the hosts."""
    head, *others = map(asdict, shares)
    tree = {"command": command, "core": core, "fanout": fanout, "hosts": others}
    return line | head | ({"tree": tree} if others else {})


def source_first(hosts: Sequence[str]) -> list[str]:
    """Returns this machine, which has the source and gets no copy, by one of its names, then all others."""
    here = sorted(filter(is_this_machine, hosts), key=lambda host: host != "localhost")[:1] or ["localhost"]
    others = [host for host in hosts if not is_this_machine(host)]
    if not others:
        raise UsageError(
            "the host file names only this machine, which already has the source; add the hosts to copy to"
        )
    return [*here, *others]


def is_this_machine(host: str) -> bool:
    return host in ("localhost", socket.gethostname(), socket.getfqdn())


def ssh_command(options: base.PlaceOptions) -> list[str]:
    """Returns ssh's command line: the program found or named, and the user's arguments."""
    words = shlex.split(options.launcher) or ["ssh"]
    program = shutil.which(words[0])
    if program is None:
        raise UsageError(
            f"cannot find {words[0]}, which reaches the hosts; install an OpenSSH client, or name another "
            "program with --launcher"
        )
    command = [program, *words[1:], *options.launcher_arguments]
    if Path(program).name == "ssh":
        command += [word for option in _SSH_OPTIONS for word in ("-o", option)] + ["-T", "-x"]
    return command


PLACE = HostsPlace()
