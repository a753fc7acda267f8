"""Ranks on the nodes of a lab: one that is up, or one that is built for this run and removed after it.

Over tcp (and udp) the nodes are started as a tree, as hosts are, with the lab's `enter` in the place of ssh;
over MPI the first node runs mpiexec, with `enter` as its remote shell. Either way a rank is one process.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut import network
from crosscut.errors import CrosscutError, PlaceError, UsageError
from crosscut.places.base import Launched, PlaceOptions, configuration, spawn
from crosscut.places.host_file import Share
from crosscut.places.mpi import YIELDING, Launcher, find_hydra

if TYPE_CHECKING:
    from crosscut.lab import ways

FANOUT = 16
INTERFACE = "eth0"
_MOST_FAULTS_TOLD = 4


@dataclass(frozen=True)
class Site:
    """The lab of one session."""

    name: str
    folder: Path
    hosts: tuple[str, ...]
    release: Callable[[], None] | None
    """Takes it down, where it was built for this session."""
    adapters: int = 1
    """On which every host has an address: rail k of a pattern is the host's adapter k, as in a simulation
    with one rank on each host."""


class LabPlace:
    name = "lab"
    help = (
        "nodes of an emulated cluster on this machine (crosscut lab): a network to build, or a lab that is up"
    )
    argument = "NETWORK"

    def available(self) -> str | None:
        from crosscut.lab import lifecycle

        return lifecycle.unavailable()

    def default_ranks(self, argument: str) -> int:
        """All hosts of the network, with as many ranks on each as it says."""
        return self.ranks(argument, 0)

    def ranks(self, argument: str, ranks_per_host: int) -> int:
        from crosscut.lab import state, ways

        name = _standing(argument)
        found = ways.parse(state.read_network(name)) if name else ways.load(argument)
        return len(found.hosts) * (ranks_per_host or found.hosts[0].ranks)

    def start(self, options: PlaceOptions) -> Launched:
        from crosscut.lab.observer import Observer

        site = open_site(options.argument, options.switch)
        per_host = options.ranks_per_host or -(-options.ranks // len(site.hosts))
        observer = Observer(site.name, per_host)

        def release() -> None:
            observer.end()
            if site.release is not None:
                site.release()

        try:
            if options.ranks > per_host * len(site.hosts):
                raise UsageError(
                    f"-n {options.ranks}: there are {len(site.hosts)} hosts, with {per_host} ranks on each "
                    f"{per_host * len(site.hosts)} in all; more with --ranks-per-host"
                )
            command, line, environment = (_mpi if options.backend == "mpi" else _tree)(
                options, site, per_host
            )
            return spawn(
                command,
                line,
                environment=environment,
                release=release,
                observe=observer.observe,
                attributes=observer.begin,
                remark=lambda: planted(site.name),
            )
        except BaseException:
            release()
            raise


def open_site(argument: str, switch: str = "") -> Site:
    """The caller calls its `release`."""
    from crosscut.lab import lifecycle, state, switch_choice, ways

    name = _standing(argument)
    release = None
    if name and switch not in ("", there := state.read(name).switch):
        raise UsageError(
            f"--switch {switch}: lab {name} is up with --switch {there}; leave --switch out, or "
            f"crosscut lab down {name}"
        )
    if not name:
        chosen = lifecycle.for_one_run(argument, switch or switch_choice.KERNEL)
        record = lifecycle.up(argument, chosen)
        name = record.name
        release = lifecycle.taking_down(record)
    hosts = ways.parse(state.read_network(name)).hosts
    return Site(name, state.folder(name), tuple(host.name for host in hosts), release, rails(hosts))


def planted(name: str) -> str:
    """`in lab x is planted: f1: …`; empty where nothing is, or where the lab cannot be asked."""
    from crosscut.lab import state

    try:
        faults = state.read(name).faults
    except CrosscutError:
        return ""
    told = [f"{fault['id']}: {fault['says']}" for fault in faults]
    if not told:
        return ""
    rest = len(told) - _MOST_FAULTS_TOLD
    more = f"; and {rest} more (crosscut lab fault list {name})" if rest > 0 else ""
    return f"planted in lab {name}: {'; '.join(told[:_MOST_FAULTS_TOLD])}{more}"


def _standing(argument: str) -> str:
    """The lab that is up and meant; "": one is to be built. PlaceError where it is up no more."""
    from crosscut.lab import describe, lifecycle, state

    name = lifecycle.name_of(argument)
    if not name:
        there = state.names()
        known = Path(argument).suffix or Path(argument).exists() or argument in network.catalogue_names()
        if not known:
            raise UsageError(
                f"lab:{argument}: no lab of that name is up"
                + (f" ({', '.join(there)} {'is' if len(there) == 1 else 'are'})" if there else "")
                + ", and the catalogue has no such network; crosscut lab up NETWORK builds one"
            )
        return ""
    if remedy := describe.remedy(name, condition := describe.condition_of_name(name)):
        raise PlaceError(f"lab {name} is {condition}; {remedy}")
    return name


def rails(hosts: Sequence[ways.Host]) -> int:
    """Adapters on which every host has an address. One that forwards has a single address for all of its."""
    return max(1, min(1 if host.forwards != "no" else len(host.adapters) for host in hosts))


def blocks(ranks: int, hosts: Sequence[str], per_host: int) -> list[Share]:
    """Rank r is on host r // per_host, as in a simulation."""
    return [
        Share(hosts[first // per_host], first, min(per_host, ranks - first))
        for first in range(0, ranks, per_host)
    ]


def _line(options: PlaceOptions, interfaces: str) -> dict[str, object]:
    """More ranks than cores, though no rank can see that: they wait in the kernel, not in a loop."""
    line = configuration(options, "lab", interfaces)
    return line | {"pin": False, "oversubscribed": True}


_Started = tuple[list[str | Path], dict[str, object], Mapping[str, str] | None]


def _tree(options: PlaceOptions, site: Site, per_host: int) -> _Started:
    from crosscut.lab import addresses

    shares = blocks(options.ranks, site.hosts, per_host)
    script = str(site.folder / "enter")
    core = str(options.executable.absolute())
    head, *others = ({"host": one.host, "first_rank": one.first_rank, "count": one.count} for one in shares)
    interfaces = ",".join(map(addresses.interface, range(site.adapters)))
    line = _line(options, interfaces) | head
    if others:
        line["tree"] = {"command": [script], "core": core, "fanout": FANOUT, "hosts": others}
    return [script, shares[0].host, f"{core} node"], line, None


def _mpi(options: PlaceOptions, site: Site, per_host: int) -> _Started:
    if options.mpi_executable is None:
        raise PlaceError("crosscut-core-mpi is not here; install it with `pip install 'crosscut[mpich]'`")
    launcher = launcher_of(options.launcher, options.mpi_executable)
    program = [str(options.mpi_executable.absolute()), "mpi-rank"]
    words = [*launcher.command(options.ranks), *options.launcher_arguments]
    command, environment = mpi_command(site, words, options.ranks, per_host, program)
    return command, _line(options, INTERFACE), environment


def launcher_of(named: str, mpi_executable: Path | None) -> Launcher:
    found = find_hydra(named, mpi_executable)
    if found is None:
        raise PlaceError(
            "a lab needs MPICH's mpiexec"
            + (f", and {named} is none" if named else "")
            + "; `pip install 'crosscut[mpich]'`, or name it with --launcher"
        )
    return found


def mpi_command(
    site: Site, launcher: Sequence[str], ranks: int, per_host: int, program: Sequence[str]
) -> tuple[list[str | Path], Mapping[str, str]]:
    """MPICH's mpiexec, with its words, on the first node, and the environment of it all."""
    shares = blocks(ranks, site.hosts, per_host)
    script = str(site.folder / "enter")
    places = ",".join(f"{share.host}:{share.count}" for share in shares)
    words = [
        *launcher, "-launcher", "rsh", "-launcher-exec", script, "-iface", INTERFACE,
        "-hosts", places, *program,
    ]  # fmt: skip
    return [script, shares[0].host, shlex.join(words)], {**_MPI_SETTINGS, **YIELDING, **os.environ}


# The lab's links are Ethernet: MPI's messages go over TCP, through the adapter.
_MPI_SETTINGS = {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}

PLACE = LabPlace()
