"""A cable in a port of the wrong switch, of which no table knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, check_port, port_of
from crosscut.lab.kernel import bulk
from crosscut.lab.plan.plan import LabPlan


class Miswire(FaultKind):
    name = "miswire"
    help = "the first node's cable is in a free port of the second's switch; no table knows"
    nodes = 2
    options = ("adapter",)

    def says(self, fault: Fault) -> str:
        first, at = fault.names()
        return f"the cable of {first} is in a wrong port, at the switch of {at}"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_port(fault, made, in_kernel=in_kernel, moves=True)

    def cabled(self, nodes: Sequence[str]) -> frozenset[str]:
        return frozenset(nodes[:1])

    def plant(self, made: LabPlan, folder: Path, fault: Fault) -> None:
        _rewire(made, folder, fault, fault.nodes[1])

    def lift(self, made: LabPlan, folder: Path, fault: Fault) -> None:
        _rewire(made, folder, fault, fault.node)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        yield cable_line(fault) | {"at": fault.nodes[1]}


def _rewire(made: LabPlan, folder: Path, fault: Fault, at: str) -> None:
    """The first node's port goes to the switch of the node `at`. A bridge forgets its entries of a port that
    leaves it, so nothing is sent to the node any more; only where it belongs are they made again."""
    from crosscut.lab.kernel import build
    from crosscut.lab.kernel import links as kernel

    port, place = (port_of(made, fault, node) for node in (fault.node, at))
    kernels.go_to_fabric(folder)
    index = kernel.index_of(port.name)
    with kernel.Kernel() as fabric:
        fabric.change(index, master=0)
        fabric.plug(index, kernel.index_of(build.bridge_name(place.bridge)))
        build.pass_switches(fabric, made, port.name, place.name)
    if port == place:
        bulk.send(bulk.forwarding(index, entry.mac) for entry in made.entries if entry.port == port.name)
