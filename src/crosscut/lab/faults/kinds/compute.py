"""A process that computes without pause beside a node's ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from crosscut.lab.faults.fault import Fault, FaultKind
from crosscut.lab.plan.plan import LabPlan


class Compute(FaultKind):
    name = "compute"
    help = "a process on the node computes all the time, also while the node forwards"
    of_node = True
    worker = True

    def says(self, fault: Fault) -> str:
        return f"{fault.names()[0]} computes all the time, on a core that all nodes of this machine share"

    def cabled(self, nodes: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def work(self, made: LabPlan, folder: Path, fault: Fault) -> Callable[[], None]:
        return compute


def compute() -> NoReturn:
    value = 1
    while True:
        value = value * 6364136223846793005 % 18446744073709551557
