"""Ranks on the nodes of a lab: one that is up, or one that is built for this run and removed after it.

Over tcp (and udp) the nodes are started as a tree, like hosts, with the lab's `enter` in place of ssh. Over
MPI the first node runs the launcher, with `enter` as its remote shell. Either way, a rank is one process.

A lab's links are Ethernet: MPI's messages between nodes go over TCP, through the adapter, and those within a
node through shared memory. Ranks outnumber cores, so they wait without spinning.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from crosscut.base import units
from crosscut.base.errors import CrosscutError, PlaceError, UsageError
from crosscut.base.host_list import HostEntry, Share, share_out
from crosscut.network import description, switch_choice
from crosscut.places import base, room
from crosscut.places.hosts import with_tree
from crosscut.places.launchers import (
    OPEN_MPI,
    YIELDING,
    Launcher,
    find_hydra,
    launcher_for,
    linked_with,
    mpi_start_seconds,
    open_mpi_settings,
)
from crosscut.run.realm import Realm

if TYPE_CHECKING:
    from crosscut.lab import state
    from crosscut.network import paths

SWITCH, DILATION = "switch", "dilate"
_LARGEST_DIVISOR = 1e9
_MOST_FAULTS_TOLD = 4
INTERFACE = "eth0"
# Over UCX, which PyPI's MPICH 5.0.2 would take, a receive from MPI_ANY_SOURCE never completes if each rank is
# on a node of its own.
_MPICH = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "FI_TCP_IFACE": INTERFACE}
_OPEN_MPI = {
    "OMPI_MCA_btl": "self,vader,tcp",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl_tcp_if_include": INTERFACE,
    "OMPI_MCA_oob_tcp_if_include": INTERFACE,
    # Every node takes the machine's cores for its own, and would bind its first rank to the first core.
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


@dataclass(frozen=True)
class SessionLab:
    """The lab of one session."""

    name: str
    folder: Path
    hosts: tuple[str, ...]
    release: Callable[[], None]
    """Takes the lab down if built for this session, else unregisters this process from it."""
    adapters: int = 1
    """How many adapters have an address on every host. Rail k of a pattern is adapter k, as in a simulation
    with one rank on each host."""

    @property
    def enter(self) -> Path:
        """The program that runs a command on a node, as ssh would."""
        return self.folder / "enter"


def divisor(text: str) -> float:
    """Parses the number by which a lab divides all rates. Raises UsageError."""
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"'{text}' is not a number") from error
    if not 1 <= value <= _LARGEST_DIVISOR:
        raise UsageError(f"{text} is out of range; from 1 to 1e9")
    return value


class LabPlace(base.Place):
    name = "lab"
    help = (
        "nodes of an emulated cluster on this machine (crosscut lab): of a network to build, or of a lab "
        "that is up"
    )
    argument = "NETWORK"
    realm = Realm.EMULATED
    ranks_over_mpi = True
    starts_mpi = True
    one_each_as = "lab:NETWORK"
    options = (
        base.RANKS_PER_HOST,
        base.PlaceOption(
            SWITCH,
            switch_choice.METAVAR,
            "Switch that forwards the frames, as for crosscut lab up. Default kernel.",
            switch_choice.checked,
        ),
        base.PlaceOption(DILATION, "N", "Divide all rates by N, if a lab is built for this run.", divisor),
    )

    def available(self) -> str | None:
        from crosscut.lab import lifecycle

        return lifecycle.unavailable()

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:
        """Returns the number of hosts times the ranks on each, as typed or as the network says."""
        from crosscut.lab import state
        from crosscut.network import paths

        name = _standing(argument)
        found = paths.parse(state.read_network(name)) if name else paths.load(argument)
        return len(found.hosts) * (base.ranks_per_host(own) or found.hosts[0].ranks)

    def start(self, options: base.PlaceOptions) -> base.Launched:
        each = base.ranks_per_host(options.own)
        switch, dilation = options.own.get(SWITCH, ""), options.own.get(DILATION, 0.0)
        assert isinstance(switch, str)
        assert isinstance(dilation, float)
        room.refuse_more(options.ranks)
        return _start(open_site(options.argument, switch, dilation), options, each)

    @contextmanager
    def mpi_site(self, launch: base.MpiLaunch) -> Iterator[base.MpiSite]:
        site = open_site(launch.argument)
        try:
            yield _LabPrograms(site, launch)
        finally:
            site.release()

    def one_each(self, argument: str, folder: Callable[[], Path]) -> base.OneEach:  # noqa: ARG002
        return base.OneEach(argument, own={base.RANKS_PER_HOST.name: 1})


def start_on(name: str, hosts: Sequence[str], options: base.PlaceOptions) -> base.Launched:
    """Starts one rank on each of these hosts of a lab that is up."""
    return _start(replace(open_site(name), hosts=tuple(hosts)), options, 1)


def _start(site: SessionLab, options: base.PlaceOptions, each: int) -> base.Launched:
    watched = _watched(site, each or -(-options.ranks // len(site.hosts)))
    try:
        shares = spread(options.ranks, site.hosts, each)
        command, line, environment = (_mpi if options.over_mpi else _tree)(options, site, shares)
        hooks = replace(
            watched,
            launcher="mpiexec" if options.over_mpi else "",
            start_seconds=mpi_start_seconds(options.ranks, options.timeout_seconds)
            if options.over_mpi
            else math.inf,
        )
        return base.spawn(command, line, hooks, environment=environment)
    except BaseException:
        watched.release()
        raise


@dataclass(frozen=True)
class _LabPrograms(base.MpiSite):
    site: SessionLab
    launch: base.MpiLaunch

    def find_launcher(self, named: str, program: Path | None) -> Launcher:
        return launcher_of(named, program)

    def command(
        self, launcher: Launcher, ranks: int, program: Sequence[str], folder: Path | None = None
    ) -> base.MpiCommand:
        shares = spread(ranks, self.site.hosts, self.launch.ranks_per_host)
        words = [launcher.program, "-n", str(ranks), *self.launch.launcher_arguments]
        command, environment = mpi_command(self.site.enter, launcher, words, shares, program, folder)
        return base.MpiCommand(tuple(map(str, command)), environment, len(shares))


def watching(name: str, each: int) -> tuple[str, base.Hooks]:
    """Returns interfaces and hooks of a session on the lab of this name. `each`: ranks on a host."""
    site = open_site(name)
    return _interfaces(site), _watched(site, each)


def _watched(site: SessionLab, each: int) -> base.Hooks:
    from crosscut.lab.watching.observer import Observer

    observer = Observer(site.name, each)

    def release() -> None:
        observer.end()
        site.release()

    return base.Hooks(
        release=release,
        observe=observer.observe,
        attributes=observer.begin,
        remark=lambda: planted(site.name),
        gone=lambda: taken_down(site.name),
    )


def _interfaces(site: SessionLab) -> str:
    from crosscut.lab.plan import addresses

    return ",".join(map(addresses.interface, range(site.adapters)))


def open_site(argument: str, switch: str = "", dilation: float = 0.0) -> SessionLab:
    """Opens the lab; the caller must call its `release`. An empty `switch` and a `dilation` of 0 stand for
    the settings of the lab that is up, or for the defaults."""
    from crosscut.lab import lifecycle, state
    from crosscut.network import paths, switch_choice

    name = _standing(argument)
    if name:
        _refuse_other(state.read(name), switch, dilation)
        release = state.enlist(name)
    else:
        chosen = lifecycle.for_one_run(argument, switch or switch_choice.KERNEL, dilation or 1.0)
        record = lifecycle.up(argument, chosen)
        name = record.name
        release = lifecycle.taking_down(record)
    try:
        hosts = paths.parse(state.read_network(name)).hosts
    except BaseException:
        release()
        raise
    return SessionLab(name, state.folder(name), tuple(host.name for host in hosts), release, rails(hosts))


def _refuse_other(there: state.Record, switch: str, dilation: float) -> None:
    """Raises UsageError if the lab that is up has other settings, which cannot be changed."""
    for option, asked, has in (
        ("--switch", switch, there.switch),
        ("--dilate", f"{dilation:g}" if dilation else "", f"{there.dilation:g}"),
    ):
        if asked not in ("", has):
            raise UsageError(
                f"{option} {asked}: lab {there.name} is up with {option} {has}; leave {option} out, or "
                f"crosscut lab down {there.name}"
            )


def planted(name: str) -> str:
    """Returns `planted in lab x: f1: …`; empty if no fault is planted, or the lab's record cannot be read."""
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


def taken_down(name: str) -> str:
    """Returns a sentence if the lab was taken down; empty if it is up."""
    from crosscut.lab import lifecycle

    return f"lab {name} was taken down while it was measured on" if lifecycle.is_gone(name) else ""


def _standing(argument: str) -> str:
    """Returns the name of the lab that is up and that `argument` means; "" if one is to be built. Raises
    PlaceError if it is broken, UsageError if there is neither a lab nor a network of that name."""
    from crosscut.lab import describe, lifecycle, state

    name = lifecycle.name_of(argument)
    if not name:
        there = state.names()
        known = Path(argument).suffix or Path(argument).exists() or argument in description.catalogue_names()
        if not known:
            running = f" (running: {', '.join(there)})" if there else ""
            raise UsageError(
                f"lab:{argument}: neither a running lab{running} nor a network of the catalogue has this "
                "name; start a lab with crosscut lab up NETWORK"
            )
        return ""
    condition = describe.condition_of_name(name)
    if remedy := describe.remedy(name, condition):
        raise PlaceError(f"lab {name} is {condition}; {remedy}")
    if condition != "up":
        raise PlaceError(f"lab {name} is {condition}; try again in a moment")
    return name


def rails(hosts: Sequence[paths.Host]) -> int:
    """Returns how many adapters have an address on every host. One that forwards has a single address."""
    return max(1, min(1 if host.forwards != "no" else len(host.adapters) for host in hosts))


def spread(ranks: int, hosts: Sequence[str], per_host: int) -> list[Share]:
    """Puts consecutive ranks on each host. With `per_host`, rank r is on host r // per_host, as in a
    simulation. With 0, hosts differ by one rank at most, so that none is left out. Raises UsageError if there
    are too few hosts."""
    if not per_host:
        most = -(-ranks // len(hosts))
        return share_out(ranks, [HostEntry(host, most) for host in hosts])
    if ranks > (room := per_host * len(hosts)):
        raise UsageError(
            f"-n {ranks}: {len(hosts)} hosts with {units.count(per_host, 'rank')} each have room for {room}; "
            "raise --ranks-per-host, or lower -n"
        )
    return [
        Share(hosts[first // per_host], first, min(per_host, ranks - first))
        for first in range(0, ranks, per_host)
    ]


def _line(options: base.PlaceOptions, interfaces: str) -> dict[str, object]:
    """Returns the session's first line. It tells the ranks that they outnumber the cores, which they cannot
    see, so that they wait in the kernel and not in a loop."""
    line = base.configuration(options, "lab", interfaces)
    return line | {"pin": False, "oversubscribed": True}


_Started = tuple[list[str | Path], dict[str, object], Mapping[str, str] | None]


def _tree(options: base.PlaceOptions, site: SessionLab, shares: Sequence[Share]) -> _Started:
    script = str(site.enter)
    core = str(options.executable.absolute())
    line = with_tree(_line(options, _interfaces(site)), shares, [script], core)
    return [script, shares[0].host, f"{shlex.quote(core)} node"], line, None


def _mpi(options: base.PlaceOptions, site: SessionLab, shares: Sequence[Share]) -> _Started:
    if options.mpi_executable is None:
        raise PlaceError("crosscut-core-mpi is missing; install it with `pip install 'crosscut[mpich]'`")
    launcher = launcher_of(options.launcher, options.mpi_executable)
    program = [str(options.mpi_executable.absolute()), "mpi-rank"]
    words = [*launcher.command(options.ranks), *options.launcher_arguments]
    command, environment = mpi_command(site.enter, launcher, words, shares, program)
    return command, _line(options, INTERFACE), environment


def launcher_of(named: str, program: Path | None) -> Launcher:
    """Returns the launcher named, else that of the MPI that the program is linked with, else MPICH's."""
    if program is not None and (mpi := linked_with(program)) == OPEN_MPI:
        return launcher_for(program, mpi, named)
    if (found := find_hydra(named, program)) is None:
        raise PlaceError(
            "a lab needs MPICH's mpiexec"
            + (f", but {named} is not one" if named else "")
            + "; `pip install 'crosscut[mpich]'`, or name it with --launcher"
        )
    return found


def mpi_environment(enter: Path) -> dict[str, str]:
    """Returns what lets any MPI's mpiexec, called on a node, start ranks on nodes. `enter`: the lab's remote
    shell."""
    hydra = {"HYDRA_LAUNCHER": "rsh", "HYDRA_LAUNCHER_EXEC": str(enter), "HYDRA_IFACE": INTERFACE}
    open_mpi = _OPEN_MPI | {"OMPI_MCA_plm_rsh_agent": str(enter)}
    return {**hydra, **_MPICH, **open_mpi, **YIELDING, **os.environ}


def mpi_command(
    enter: Path,
    launcher: Launcher,
    words: Sequence[str],
    shares: Sequence[Share],
    program: Sequence[str],
    folder: Path | None = None,
) -> tuple[list[str | Path], Mapping[str, str]]:
    """Returns the command that calls the launcher with these words on the first node, and its environment.
    `enter`: the lab's remote shell; `folder`: where ranks run, if not here."""
    script = str(enter)
    places = ",".join(f"{one.host}:{one.count}" for one in shares)
    if launcher.is_hydra():
        options = ["-launcher", "rsh", "-launcher-exec", script, "-iface", INTERFACE, "-hosts", places]
        options += ["-wdir", str(folder)] if folder is not None else []
        settings = _MPICH
    else:
        options = ["--host", places, *(["--wdir", str(folder)] if folder is not None else [])]
        settings = open_mpi_settings(folder) | _OPEN_MPI | {"OMPI_MCA_plm_rsh_agent": script}
    line = shlex.join([*words, *options, *program])
    return [script, shares[0].host, line], {**settings, **YIELDING, **os.environ}


PLACE = LabPlace()
