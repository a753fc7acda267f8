"""Bursts in which every frame is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from crosscut.lab.faults import in_kernel as kernels
from crosscut.lab.faults.fault import Fault, FaultKind, Line, cable_line, check_times, ends
from crosscut.lab.plan.plan import End, LabPlan
from crosscut.lab.plan.shaping import Bucket


class Loss(FaultKind):
    name = "loss"
    help = "bursts in which every frame to and from the node is lost"
    options = ("adapter", "seconds", "every", "direction")
    worker = True

    def says(self, fault: Fault) -> str:
        return (
            f"all frames of {fault.names()[0]} are lost for {fault.seconds:g} s every {fault.every:g} s, "
            f"{fault.way}"
        )

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        check_times(fault)

    def work(self, made: LabPlan, folder: Path, fault: Fault) -> Callable[[], None]:
        from crosscut.lab.kernel import build
        from crosscut.lab.kernel import links as kernel

        places = []
        for end in ends(made, fault.node, [fault.one_adapter], fault.direction):
            kernels.go_to(made, folder, end)
            places.append((kernel.Kernel(), end))

        def shape(bucket: Callable[[End], Bucket]) -> None:
            for here, end in places:
                kernels.go_to(made, folder, end)
                build.shape_end(here, made, end, bucket(end))

        def whole(end: End) -> Bucket:
            return made.bucket(min(end.bits_per_second, 1e9), end.name)

        return lambda: kernels.alternate(
            fault, lambda: shape(lambda end: kernels.nothing(made, end)), lambda: shape(whole)
        )

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        for end in ends(made, fault.node, [fault.one_adapter], fault.direction) if not planted else ():
            kernels.shape(made, folder, end, None)

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        times = {"seconds": fault.seconds, "every": fault.every}
        yield cable_line(fault) | times | {"lose": fault.direction, "carrier": False}
