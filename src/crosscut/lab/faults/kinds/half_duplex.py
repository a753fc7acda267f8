"""A cable whose two directions share one rate, as on a hub."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, cable_of, check_port, port_of
from crosscut.lab.plan.plan import LabPlan


class HalfDuplex(FaultKind):
    name = "half-duplex"
    help = "both directions of the node's cable share one rate, as on a hub (no collisions)"
    options = ("adapter",)

    def says(self, fault: Fault) -> str:
        return f"both directions of the cable of {fault.names()[0]} share one rate"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_port(fault, made, in_kernel=in_kernel)
        cable, _, port = cable_of(made, fault.node, fault.one_adapter)
        if cable.half_duplex:
            raise UsageError(
                f"half-duplex: the network file makes the link of {fault.node} half-duplex already"
            )
        if in_kernel and any(port.name in capacity.ports for capacity in made.capacities):
            raise UsageError(
                "half-duplex: the switch has a capacity of its own, and the kernel can redirect a port's "
                "traffic only once; build the lab with --switch user to plant it"
            )

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        from crosscut.lab.kernel import build

        port = port_of(made, fault, fault.node)
        with kernels.fabric(folder) as fabric:
            if planted:
                build.share_directions(fabric, made, port)
            else:
                fabric.remove_hooks(port.name)
                fabric.remove(f"h{port.name}")

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        yield cable_line(fault) | {"half_duplex": True}
