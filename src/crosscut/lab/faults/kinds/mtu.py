"""An adapter with a smaller MTU than all others."""

from __future__ import annotations

from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, cable_of
from crosscut.lab.plan.plan import LabPlan

SMALLEST_BYTES = 68  # RFC 791: every IPv4 link carries datagrams of this size


class Mtu(FaultKind):
    name = "mtu"
    help = "the node's adapter has a smaller MTU than all others"
    options = ("adapter", "bytes")
    of_node = True

    def says(self, fault: Fault) -> str:
        return f"the adapter of {fault.names()[0]} has an MTU of {fault.bytes} bytes"

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        if not SMALLEST_BYTES <= fault.bytes < made.frames.mtu_bytes:
            most = made.frames.mtu_bytes - 1
            raise UsageError(
                f"an MTU of {fault.bytes} bytes cannot be planted; give {SMALLEST_BYTES} to {most} bytes"
            )

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        from crosscut.lab.kernel import links

        near = cable_of(made, fault.node, fault.one_adapter)[1]
        kernels.go_to(made, folder, near)
        with links.Kernel() as node:
            node.change(near.name, mtu=fault.bytes if planted else made.frames.mtu_bytes)
