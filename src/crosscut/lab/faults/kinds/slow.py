"""A link that carries less than its rate: a bad connector, or a port of lower speed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, ends
from crosscut.lab.plan.plan import LabPlan


class Slow(FaultKind):
    name = "slow"
    help = "the node's cable carries a share of its rate (a bad connector, a port of lower speed)"
    options = ("adapter", "share", "direction")

    def says(self, fault: Fault) -> str:
        return f"the cable of {fault.names()[0]} carries {100 * fault.share:.4g} % of its rate, {fault.way}"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        if not 0 < fault.share < 1:
            raise UsageError(
                f"a share of {fault.share:g} cannot be planted; give more than 0 and less than 100 %"
            )

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        for end in ends(made, fault.node, [fault.one_adapter], fault.direction):
            left = made.bucket(end.bits_per_second * fault.share, end.name) if planted else None
            kernels.shape(made, folder, end, left)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        yield cable_line(fault) | {w: fault.share for w in ("in", "out") if fault.direction in (w, "both")}
