"""A fault as typed, and the interface of a kind of fault."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from crosscut.base.errors import UsageError
from crosscut.lab.plan.plan import Cable, End, LabPlan

DIRECTIONS = ("both", "in", "out")

Line = dict[str, Any]
"""A bad cable, in the form that crosscut-switch reads (core/user_switch/lists.hpp)."""


@dataclass(frozen=True)
class Fault:
    """A fault as typed. Its kind says which members it uses."""

    kind: str
    nodes: tuple[str, ...]
    adapter: int | None = None
    """None: the first; for `dead`, all of them."""
    share: float = 0.1
    """Fraction of the rate that is left."""
    direction: str = "both"
    """As seen from the node: `in` is what it receives."""
    seconds: float = 0.02
    """Length of each outage in seconds."""
    every: float = 1.0
    """Seconds from the start of one outage to the start of the next."""
    bytes: int = 576

    @property
    def one_adapter(self) -> int:
        """The adapter's number, for kinds that affect a single cable."""
        return self.adapter or 0

    @property
    def node(self) -> str:
        return self.nodes[0]

    def names(self, *, adapter: bool | None = None) -> list[str]:
        """`n1`, or `n1 (eth1)`. By default only adapters other than the first are named."""
        named = self.one_adapter > 0 if adapter is None else adapter
        return [node + (f" (eth{self.adapter})" if named else "") for node in self.nodes]

    @property
    def way(self) -> str:
        return {"both": "both directions", "in": "towards it", "out": "away from it"}[self.direction]


class FaultKind(ABC):
    """A kind of fault: one file in `kinds/` and one line in `catalogue.KINDS`.

    Methods that touch the kernel run in a child process, which may enter other namespaces.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    nodes: ClassVar[int] = 1
    """Number of nodes that it takes."""
    options: ClassVar[tuple[str, ...]] = ()
    """Members of `Fault` that this kind uses, besides `nodes`."""
    of_node: ClassVar[bool] = False
    """The fault is in the node, not in cables or switches, so crosscut-switch need not know of it."""
    worker: ClassVar[bool] = False
    """A process that runs `work` keeps the fault up. Only in labs on the kernel, unless `of_node`."""

    @abstractmethod
    def says(self, fault: Fault) -> str:
        """Describes in a clause what is wrong."""

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        """Raises UsageError if this lab cannot have the fault. `in_kernel`: the kernel carries the lab."""

    def cabled(self, nodes: Sequence[str]) -> frozenset[str]:
        """Nodes whose cables the fault touches. No second fault may touch them."""
        return frozenset(nodes)

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        """Plants the fault in the kernel.

        Not `planted`: restores everything to the plan, after the worker has ended. `folder` is the lab's.
        """

    def work(self, made: LabPlan, folder: Path, fault: Fault) -> Callable[[], None]:
        """Opens everything needed, and returns the worker's function, which never returns."""
        raise NotImplementedError(f"{self.name} has no worker")

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        """Lines for crosscut-switch; none for kinds that are `of_node`."""
        return iter(())


def cable_line(fault: Fault) -> Line:
    return {"host": fault.node, "adapter": fault.one_adapter}


def cable_of(made: LabPlan, node: str, adapter: int) -> tuple[Cable, End, End]:
    """Returns the cable of a node's adapter, its end at the node, and its far end."""
    host = made.hosts.index(node)
    for cable in made.cables_of(host):
        for near, far in (cable.ends, cable.ends[::-1]):
            if near.host == host and near.name == f"eth{adapter}":
                return cable, near, far
    raise UsageError(f"{node} has no cable at adapter {adapter}")


def port_of(made: LabPlan, fault: Fault, node: str) -> End:
    return cable_of(made, node, fault.one_adapter)[2]


def ends(made: LabPlan, node: str, adapters: Iterable[int], direction: str = "both") -> Iterator[End]:
    """Yields the ends to shape. Frames to a node are shaped where they leave, at the far end of its cable."""
    for adapter in adapters:
        _, near, far = cable_of(made, node, adapter)
        if direction != "in":
            yield near
        if direction != "out":
            yield far


def check_port(fault: Fault, made: LabPlan, *, in_kernel: bool, moves: bool = False) -> None:
    """Raises UsageError if a node's cable does not lead to a switch.

    For crosscut-switch that matters only if the fault moves the cable to another port (`moves`). The cable of
    a node that forwards cannot be moved.
    """
    for node in fault.nodes:
        if port_of(made, fault, node).host is not None and (in_kernel or moves):
            raise UsageError(
                f"{fault.kind}: the cable of {node} leads to a host; this fault needs a cable to a switch"
            )
        if moves and made.hosts.index(node) in made.forwarding:
            raise UsageError(
                f"{fault.kind}: {node} forwards, so routes through it would break; choose a node that does "
                "not forward"
            )


def check_times(fault: Fault) -> None:
    if not 0 < fault.seconds < fault.every <= 3600:
        raise UsageError(
            f"{fault.seconds:g} s every {fault.every:g} s is not possible: an outage must be longer than 0 s "
            "and shorter than the interval, and the interval at most 3600 s"
        )
