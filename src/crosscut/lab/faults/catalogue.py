"""The kinds of faults found in real machine rooms, and how a fault is checked and recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from crosscut.base import records, spelling
from crosscut.base.errors import UsageError
from crosscut.lab.faults.fault import Fault, FaultKind
from crosscut.lab.faults.kinds.compute import Compute
from crosscut.lab.faults.kinds.dead import Dead
from crosscut.lab.faults.kinds.flap import Flap
from crosscut.lab.faults.kinds.half_duplex import HalfDuplex
from crosscut.lab.faults.kinds.loss import Loss
from crosscut.lab.faults.kinds.miswire import Miswire
from crosscut.lab.faults.kinds.mtu import Mtu
from crosscut.lab.faults.kinds.slow import Slow
from crosscut.lab.faults.kinds.swap import Swap
from crosscut.lab.plan.plan import LabPlan

# In the order in which the help shows them.
KINDS: tuple[FaultKind, ...] = (
    Slow(), HalfDuplex(), Flap(), Loss(), Dead(), Mtu(), Compute(), Swap(), Miswire(),
)  # fmt: skip
NAMES = tuple(kind.name for kind in KINDS)


def kind_of(name: str) -> FaultKind:
    return next(kind for kind in KINDS if kind.name == name)


def as_json(fault: Fault) -> dict[str, Any]:
    """The fault as lab.json and runs record it: only the members that its kind uses."""
    kept = ("kind", "nodes", *kind_of(fault.kind).options)
    found = {key: value for key, value in asdict(fault).items() if key in kept and value is not None}
    return found | {"nodes": list(fault.nodes), "says": kind_of(fault.kind).says(fault)}


def from_json(entry: Mapping[str, Any]) -> Fault:
    return records.parse(entry, Fault)


def for_switch(faults: Iterable[Fault], made: LabPlan) -> str:
    """Formats the faults for crosscut-switch, with one bad cable on each line."""
    lines = (line for fault in faults for line in kind_of(fault.kind).lines(fault, made))
    return "".join(json.dumps(line) + "\n" for line in lines)


def check_options(kind: str, given: Mapping[str, str]) -> None:
    """Raises UsageError for an option that this kind does not use. `given`: options as typed, by member."""
    for member, typed in given.items():
        if member not in kind_of(kind).options:
            others = ", ".join(names_with(member))
            raise UsageError(f"{kind} has no {typed}, which is for {others}; leave it out")


def names_with(member: str) -> list[str]:
    """Kinds that use this member of `Fault`."""
    return [kind.name for kind in KINDS if member in kind.options]


def check(fault: Fault, made: LabPlan, *, in_kernel: bool = True) -> None:
    """Raises UsageError, with the reason, if the fault cannot be planted in this lab.

    `in_kernel`: the kernel carries the lab, not crosscut-switch.
    """
    kind = kind_of(fault.kind)
    if len(fault.nodes) != kind.nodes:
        raise UsageError(
            f"{fault.kind} takes {kind.nodes} node{'s' * (kind.nodes > 1)}, but {len(fault.nodes)} "
            f"{'was' if len(fault.nodes) == 1 else 'were'} named"
        )
    if len(set(fault.nodes)) != len(fault.nodes):
        raise UsageError(f"{fault.kind}: {fault.nodes[0]} is named twice")
    for node in fault.nodes:
        if (number := made.host_number(node)) is None:
            there = f"nodes are {made.hosts[0]} to {made.hosts[-1]}"
            raise UsageError(f"there is no node {node}; {there}{spelling.hint(node, made.hosts)}")
        if not 0 <= fault.one_adapter < made.adapters[number]:
            raise UsageError(f"{node} has no adapter {fault.one_adapter}; it has {made.adapters[number]}")
    kind.check(fault, made, in_kernel=in_kernel)
