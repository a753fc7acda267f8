"""Faults of real machine rooms: what can be planted, on whom, and how it is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crosscut.base import spelling
from crosscut.base.errors import UsageError
from crosscut.lab.plan.plan import Cable, End, Plan

DIRECTIONS = ("both", "in", "out")


@dataclass(frozen=True)
class Kind:
    name: str
    help: str
    nodes: int
    """How many it takes."""
    options: tuple[str, ...] = ()
    """Of `Fault`, those that mean something."""


KINDS = (
    Kind("slow", "the node's cable carries a share of its rate (a bad connector, a port of lower speed)",
         1, ("adapter", "share", "direction")),
    Kind("half-duplex", "both directions of the node's cable share one rate, as on a hub (no collisions)", 1,
         ("adapter",)),
    Kind("flap", "the node's link goes down and comes back, again and again", 1,
         ("adapter", "seconds", "every")),
    Kind("loss", "bursts in which every frame to and from the node is lost", 1,
         ("adapter", "seconds", "every", "direction")),
    Kind("dead", "nothing gets to the node or away from it, though its link is up (a node that hangs)", 1,
         ("adapter",)),
    Kind("mtu", "the node's adapter has a smaller MTU than all others", 1, ("adapter", "bytes")),
    Kind("compute", "a process of the node computes all the time, also while the node forwards", 1),
    Kind("swap", "two nodes' cables are exchanged: each sits in the other's place", 2, ("adapter",)),
    Kind("miswire", "the first node's cable is in a free port of the second's switch; no table knows", 2,
         ("adapter",)),
)  # fmt: skip
NAMES = tuple(kind.name for kind in KINDS)


@dataclass(frozen=True)
class Fault:
    """As typed, checked."""

    kind: str
    nodes: tuple[str, ...]
    adapter: int | None = None
    """None: of `dead`, all of them; of others, the first."""
    share: float = 0.1
    """`slow`: of the rate, what is left."""
    direction: str = "both"
    """As the node sees it: `in`, what comes to it."""
    seconds: float = 0.02
    """How long it is down or deaf,"""
    every: float = 1.0
    """and how often: from one beginning to the next."""
    bytes: int = 576

    @property
    def one_adapter(self) -> int:
        """Of kinds that are of one cable."""
        return self.adapter or 0

    def as_json(self) -> dict[str, Any]:
        """What lab.json and a run record: only what means something."""
        kept = ("kind", "nodes", *kind_of(self.kind).options)
        found = {key: value for key, value in asdict(self).items() if key in kept and value is not None}
        return found | {"nodes": list(self.nodes), "says": says(self)}


def from_json(entry: Mapping[str, Any]) -> Fault:
    known = {key: value for key, value in entry.items() if key in Fault.__dataclass_fields__}
    return Fault(**{**known, "nodes": tuple(known["nodes"])})


def kind_of(name: str) -> Kind:
    return next(kind for kind in KINDS if kind.name == name)


def says(fault: Fault) -> str:
    named = fault.adapter is not None if fault.kind == "dead" else fault.one_adapter > 0
    names = [node + (f" (eth{fault.adapter})" if named else "") for node in fault.nodes]
    first = names[0]
    way = {"both": "both directions", "in": "to it", "out": "from it"}[fault.direction]
    return {
        "slow": f"the cable of {first} carries {100 * fault.share:.4g} % of its rate, {way}",
        "half-duplex": f"both directions of the cable of {first} share one rate",
        "flap": f"the link of {first} is down for {fault.seconds:g} s every {fault.every:g} s",
        "loss": f"all frames of {first} are lost for {fault.seconds:g} s every {fault.every:g} s, {way}",
        "dead": f"nothing gets to {first} or away from it",
        "mtu": f"the adapter of {first} has an MTU of {fault.bytes} bytes",
        "compute": f"{first} computes all the time, on a core that all nodes of this machine share",
        "swap": f"the cables of {' and '.join(names)} are exchanged",
        "miswire": f"the cable of {first} is in a wrong port, at the switch of {names[-1]}",
    }[fault.kind]


def check_options(kind: str, given: Mapping[str, str]) -> None:
    """UsageError for what was typed and means nothing to this kind: members of `Fault`, as typed."""
    known = kind_of(kind).options
    for member, typed in given.items():
        if member not in known:
            others = ", ".join(one.name for one in KINDS if member in one.options)
            raise UsageError(f"{kind} has no {typed}, which is for {others}; leave it out")


def check(fault: Fault, made: Plan, *, in_kernel: bool = True) -> None:
    """UsageError for what cannot be planted in this lab, with the reason. Not `in_kernel`: crosscut-switch
    carries it."""
    _check_nodes(fault, made)
    _check_values(fault, made)
    if fault.kind in ("flap", "swap", "miswire", "half-duplex"):
        for node in fault.nodes:
            _check_port(fault, made, node, in_kernel)


def _check_nodes(fault: Fault, made: Plan) -> None:
    wanted = kind_of(fault.kind).nodes
    if len(fault.nodes) != wanted:
        raise UsageError(
            f"{fault.kind} takes {wanted} node{'s' * (wanted > 1)}, and {len(fault.nodes)} "
            f"{'was' if len(fault.nodes) == 1 else 'were'} named"
        )
    if len(set(fault.nodes)) != len(fault.nodes):
        raise UsageError(f"{fault.kind}: {fault.nodes[0]} is named twice")
    for node in fault.nodes:
        number = made.host_number(node)
        if number is None:
            there = f"nodes are {made.hosts[0]} to {made.hosts[-1]}"
            raise UsageError(f"there is no node {node}; {there}{spelling.hint(node, made.hosts)}")
        if not 0 <= fault.one_adapter < made.adapters[number]:
            raise UsageError(f"{node} has no adapter {fault.one_adapter}; it has {made.adapters[number]}")


def _check_values(fault: Fault, made: Plan) -> None:
    if not 0 < fault.share < 1:
        raise UsageError(f"a share of {fault.share:g} is no fault; between 0 and 100 %")
    if not 0 < fault.seconds < fault.every <= 3600:
        raise UsageError(f"{fault.seconds:g} s every {fault.every:g} s cannot be; the first must be shorter")
    if not 68 <= fault.bytes < made.frames.mtu_bytes:  # RFC 791: every IPv4 link carries 68
        raise UsageError(f"an MTU of {fault.bytes} is no fault; from 68 to {made.frames.mtu_bytes - 1} bytes")


def _check_port(fault: Fault, made: Plan, node: str, in_kernel: bool) -> None:
    """What needs a port of a switch; of the kernel's, one that nothing else is redirected at."""
    cable, _, far = cable_of(made, node, fault.one_adapter)
    moves = fault.kind in ("swap", "miswire")
    if far.host is not None and (in_kernel or moves):
        raise UsageError(f"{fault.kind}: the cable of {node} leads to a host; it takes a switch")
    if fault.kind == "half-duplex" and cable.half_duplex:
        raise UsageError(f"half-duplex: the link of {node} is so already, by the network's file")
    if fault.kind == "half-duplex" and in_kernel and is_shared(made, far):
        raise UsageError(
            "half-duplex: the port's switch has a capacity of its own, and the kernel redirects what passes "
            "a port once; in a lab of --switch user it can be planted"
        )
    if moves and made.hosts.index(node) in made.forwarding:
        raise UsageError(f"{fault.kind}: {node} forwards; routes through it would lead elsewhere")


def cabled(kind: str, nodes: Sequence[str]) -> frozenset[str]:
    """Nodes whose cables a fault touches."""
    return frozenset(nodes[:1] if kind == "miswire" else nodes)


def is_shared(made: Plan, port: End) -> bool:
    return any(port.name in capacity.ports for capacity in made.capacities)


def cable_of(made: Plan, node: str, adapter: int) -> tuple[Cable, End, End]:
    """The cable of a node's adapter, its end there, and its far end."""
    host = made.hosts.index(node)
    for cable in made.cables_of(host):
        for near, far in (cable.ends, cable.ends[::-1]):
            if near.host == host and near.name == f"eth{adapter}":
                return cable, near, far
    raise UsageError(f"{node} has no cable at adapter {adapter}")
