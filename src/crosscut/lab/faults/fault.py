"""A fault as typed, and what a kind of fault must be able to do. Pure."""

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
"""A bad cable as crosscut-switch is told of it (core/user_switch/lists.hpp)."""


@dataclass(frozen=True)
class Fault:
    """As typed. The kind says which members mean something."""

    kind: str
    nodes: tuple[str, ...]
    adapter: int | None = None
    """None: the first; of `dead`, all of them."""
    share: float = 0.1
    """What is left of the rate."""
    direction: str = "both"
    """As the node sees it: `in`, what comes to it."""
    seconds: float = 0.02
    """How long it is down or deaf,"""
    every: float = 1.0
    """and how often: from one beginning to the next."""
    bytes: int = 576

    @property
    def one_adapter(self) -> int:
        """The adapter, for kinds that are about one cable."""
        return self.adapter or 0

    @property
    def node(self) -> str:
        return self.nodes[0]

    def names(self, *, adapter: bool | None = None) -> list[str]:
        """`n1`, or `n1 (eth1)`; unless told, with an adapter that is not the first."""
        named = self.one_adapter > 0 if adapter is None else adapter
        return [node + (f" (eth{self.adapter})" if named else "") for node in self.nodes]

    @property
    def way(self) -> str:
        return {"both": "both directions", "in": "to it", "out": "from it"}[self.direction]


class FaultKind(ABC):
    """A kind of fault: one file in `kinds/` and one line in `catalogue.KINDS`.

    What touches the kernel runs in a child process, which may enter other namespaces."""

    name: ClassVar[str]
    help: ClassVar[str]
    nodes: ClassVar[int] = 1
    """How many it takes."""
    options: ClassVar[tuple[str, ...]] = ()
    """Members of `Fault` that mean something, besides `nodes`."""
    of_node: ClassVar[bool] = False
    """No matter of cables and switches, so crosscut-switch knows nothing of it."""
    worker: ClassVar[bool] = False
    """A process keeps it up, which `work` describes; in the kernel's network alone, unless `of_node`."""

    @abstractmethod
    def says(self, fault: Fault) -> str:
        """What is wrong now, in a clause."""

    def check(self, fault: Fault, made: LabPlan, *, in_kernel: bool) -> None:
        """UsageError for what this lab cannot have. Not `in_kernel`: crosscut-switch carries it."""

    def cabled(self, nodes: Sequence[str]) -> frozenset[str]:
        """Nodes whose cables it touches: no second fault may touch them."""
        return frozenset(nodes)

    def settle(self, made: LabPlan, folder: Path, fault: Fault, *, planted: bool) -> None:
        """In the kernel. Not `planted`: everything as the plan has it, the worker having ended. `folder`: the
        lab's."""

    def work(self, made: LabPlan, folder: Path, fault: Fault) -> Callable[[], None]:
        """What the worker calls and never returns from; everything is opened beforehand."""
        raise NotImplementedError(f"{self.name} has no worker")

    def lines(self, fault: Fault, made: LabPlan) -> Iterator[Line]:
        """What crosscut-switch is told; nothing of what is `of_node`."""
        return iter(())


def cable_line(fault: Fault) -> Line:
    return {"host": fault.node, "adapter": fault.one_adapter}


def cable_of(made: LabPlan, node: str, adapter: int) -> tuple[Cable, End, End]:
    """The cable of a node's adapter, its end there, and its far end."""
    host = made.hosts.index(node)
    for cable in made.cables_of(host):
        for near, far in (cable.ends, cable.ends[::-1]):
            if near.host == host and near.name == f"eth{adapter}":
                return cable, near, far
    raise UsageError(f"{node} has no cable at adapter {adapter}")


def port_of(made: LabPlan, fault: Fault, node: str) -> End:
    return cable_of(made, node, fault.one_adapter)[2]


def ends(made: LabPlan, node: str, adapters: Iterable[int], direction: str = "both") -> Iterator[End]:
    """Where to shape: what comes to a node leaves by the far end of its cable."""
    for adapter in adapters:
        _, near, far = cable_of(made, node, adapter)
        if direction != "in":
            yield near
        if direction != "out":
            yield far


def check_port(fault: Fault, made: LabPlan, *, in_kernel: bool, moves: bool = False) -> None:
    """UsageError where a node's cable has no port of a switch. `moves`: the cable goes to another port."""
    for node in fault.nodes:
        if port_of(made, fault, node).host is not None and (in_kernel or moves):
            raise UsageError(f"{fault.kind}: the cable of {node} leads to a host; it takes a switch")
        if moves and made.hosts.index(node) in made.forwarding:
            raise UsageError(f"{fault.kind}: {node} forwards; routes through it would lead elsewhere")


def check_times(fault: Fault) -> None:
    if not 0 < fault.seconds < fault.every <= 3600:
        raise UsageError(f"{fault.seconds:g} s every {fault.every:g} s cannot be; the first must be shorter")
