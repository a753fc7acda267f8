"""A node that hangs while its link stays up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, ends
from crosscut.lab.plan.plan import LabPlan


def adapters(made: LabPlan, fault: Fault) -> Iterable[int]:
    """All adapters of the node, unless one is named."""
    number = made.hosts.index(fault.node)
    return range(made.adapters[number]) if fault.adapter is None else [fault.adapter]


class Dead(FaultKind):
    name = "dead"
    help = "nothing gets to the node or away from it, though its link is up (a node that hangs)"
    options = ("adapter",)

    def says(self, fault: Fault) -> str:
        return f"nothing gets to {fault.names(adapter=fault.adapter is not None)[0]} or away from it"

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        for end in ends(made, fault.node, adapters(made, fault)):
            kernels.shape(made, folder, end, kernels.nothing(made, end) if planted else None)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        for adapter in adapters(made, fault):
            yield {"host": fault.node, "adapter": adapter, "lose": "both"}
