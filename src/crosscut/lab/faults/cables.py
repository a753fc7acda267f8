"""Planted faults as crosscut-switch is told of them: a bad cable a line (core/switch/fault_list.hpp)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from crosscut.lab.faults.catalogue import Fault
from crosscut.lab.plan.plan import Plan

Line = dict[str, Any]


def text(faults: Iterable[Fault], made: Plan) -> str:
    return "".join(json.dumps(line) + "\n" for fault in faults for line in _lines(fault, made))


def _lines(fault: Fault, made: Plan) -> Iterator[Line]:
    """None of what is a node's own (`mtu`, `compute`)."""
    node = fault.nodes[0]
    cable: Line = {"host": node, "adapter": fault.one_adapter}
    if fault.kind == "slow":
        both = {way: fault.share for way in ("in", "out") if fault.direction in (way, "both")}
        yield cable | both
    elif fault.kind == "half-duplex":
        yield cable | {"half_duplex": True}
    elif fault.kind in ("loss", "flap"):
        times = {"seconds": fault.seconds, "every": fault.every}
        way = fault.direction if fault.kind == "loss" else "both"
        yield cable | times | {"lose": way, "carrier": fault.kind == "flap"}
    elif fault.kind == "dead":
        all_of_it = range(made.adapters[made.hosts.index(node)])
        for adapter in all_of_it if fault.adapter is None else [fault.adapter]:
            yield cable | {"adapter": adapter, "lose": "both"}
    elif fault.kind == "miswire":
        yield cable | {"at": fault.nodes[1]}
    elif fault.kind == "swap":
        for here, there in (fault.nodes, fault.nodes[::-1]):
            yield cable | {"host": here, "at": there, "known": True}
