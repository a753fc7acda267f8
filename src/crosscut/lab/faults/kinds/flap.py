"""A link that goes down and comes back, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, check_port, check_times, port_of
from crosscut.lab.plan.plan import LabPlan


class Flap(FaultKind):
    name = "flap"
    help = "the node's link goes down and comes back, again and again"
    options = ("adapter", "seconds", "every")
    worker = True

    def says(self, fault: Fault) -> str:
        return f"the link of {fault.names()[0]} is down for {fault.seconds:g} s every {fault.every:g} s"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_times(fault)
        check_port(fault, made, in_kernel=in_kernel)

    def work(self, made: LabPlan, folder: Path, fault: Fault) -> Callable[[], None]:
        port, fabric = port_of(made, fault, fault.node).name, kernels.fabric(folder)
        return lambda: kernels.alternate(
            fault, lambda: fabric.change(port, state="down"), lambda: fabric.change(port, state="up")
        )

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        if not planted:
            with kernels.fabric(folder) as fabric:
                fabric.change(port_of(made, fault, fault.node).name, state="up")

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        times = {"seconds": fault.seconds, "every": fault.every}
        yield cable_line(fault) | times | {"lose": "both", "carrier": True}
