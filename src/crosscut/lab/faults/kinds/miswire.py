"""A cable in a port of the wrong switch, of which no forwarding table knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, check_port, port_of
from crosscut.lab.plan.plan import LabPlan


class Miswire(FaultKind):
    name = "miswire"
    help = (
        "the first node's cable is in a free port of the second's switch, and no forwarding table knows of it"
    )
    nodes = 2
    options = ("adapter",)

    def says(self, fault: Fault) -> str:
        first, at = fault.names()
        return f"the cable of {first} is in a wrong port, at the switch of {at}"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_port(fault, made, in_kernel=in_kernel, moves=True)

    def cabled(self, nodes: Sequence[str]) -> frozenset[str]:
        return frozenset(nodes[:1])

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        """Moves the first node's port to the second's switch, or back.

        A bridge drops its entries for a port that leaves it, so nothing reaches the node any more. Only when
        the port returns to its own switch are the entries restored.
        """
        from crosscut.lab.kernel import build

        port, other = (port_of(made, fault, node) for node in fault.nodes)
        place = other if planted else port
        with kernels.fabric(folder) as fabric:
            fabric.change(port.name, master=0)
            fabric.plug(port.name, build.bridge_name(place.bridge))
            build.pass_switches(fabric, made, port.name, place.name)
        if not planted:
            build.forward(entry for entry in made.entries if entry.port == port.name)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        yield cable_line(fault) | {"at": fault.nodes[1]}
