"""Two nodes' cables exchanged, with switches that have learned the exchange."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, check_port, port_of
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import Entry, LabPlan


class Swap(FaultKind):
    name = "swap"
    help = "two nodes' cables are exchanged: each sits in the other's place"
    nodes = 2
    options = ("adapter",)

    def says(self, fault: Fault) -> str:
        return f"the cables of {' and '.join(fault.names())} are exchanged"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_port(fault, made, in_kernel=in_kernel, moves=True)

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        """Exchanges two nodes' ports: their bridges, switch capacities, and other switches' entries."""
        from crosscut.lab.kernel import build

        a, b = (port_of(made, fault, node) for node in fault.nodes)
        with kernels.fabric(folder) as fabric:
            for port, place in ((a, b), (b, a)) if planted else ((a, a), (b, b)):
                fabric.plug(port.name, build.bridge_name(place.bridge))
                build.pass_switches(fabric, made, port.name, place.name)
        macs = [addresses.mac(made.hosts.index(node), fault.one_adapter) for node in fault.nodes]
        entries = exchanged_entries(made, (a.name, b.name), (macs[0], macs[1])) if planted else made.entries
        build.forward(entry for entry in entries if entry.port in (a.name, b.name) or entry.mac in macs)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        for here, there in (fault.nodes, fault.nodes[::-1]):
            yield cable_line(fault) | {"host": here, "at": there, "known": True}


def exchanged_entries(made: LabPlan, ports: tuple[str, str], macs: tuple[str, str]) -> tuple[Entry, ...]:
    """The forwarding entries of switches that have learned the exchange.

    Frames for either node take the path that led to the other, and leave the last switch by the node's own
    port.
    """
    port = dict(zip(ports, reversed(ports), strict=True))
    mac = dict(zip(macs, reversed(macs), strict=True))
    return tuple(
        Entry(port.get(entry.port, entry.port), mac[entry.mac]) if entry.mac in mac else entry
        for entry in made.entries
    )
