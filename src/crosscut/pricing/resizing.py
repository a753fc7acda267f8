"""Resizes a network: changes the parameters of its generator for another number of hosts."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from crosscut.base import toml_fields
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Table

Changes = Mapping[str, int | str]
Rule = Callable[[Mapping[str, Any], int], Changes]


class NotResizable(UsageError):
    """This design has no such size; the message says why."""


def resized(path: Path, hosts: int) -> str:
    """Returns the description's text with at least `hosts` hosts, and as few more as the design allows."""
    document = toml_fields.document(path, "a description of a network")
    generator = document.values.get("generator")
    kind = generator.get("kind") if isinstance(generator, dict) else None
    if not isinstance(generator, dict) or kind not in RULES:
        made = f"a {kind}" if kind else "listed host by host"
        raise NotResizable(
            f"{made}: its description does not say how to build it with another number of hosts"
        )
    return changed(document, "generator", RULES[str(kind)](generator, hosts))


def changed(document: Table, table: str, changes: Changes) -> str:
    """Returns the document's text with other values of these keys of the table, which is added if missing.

    Changes only the table's lines, and parses the result to verify that all else is the same. Raises
    NotResizable if it cannot."""
    new, lines, inside, done = (
        [f"{key} = {json.dumps(value)}" for key, value in changes.items()],
        [],
        False,
        False,
    )
    for line in document.source.splitlines():
        if re.match(r"\s*\[", line):
            inside = re.match(rf"\s*\[{re.escape(table)}\]", line) is not None
            lines.append(line)
            if inside:
                lines += new
                done = True
        elif not (inside and _sets(line, changes)):
            lines.append(line)
    lines += [] if done else ["", f"[{table}]", *new]
    text = "\n".join(lines) + "\n"
    wanted = {**document.values, table: {**document.values.get(table, {}), **changes}}
    try:
        if toml_fields.parse(text, Path(document.file)).values == wanted:
            return text
    except UsageError:
        pass
    raise NotResizable(f"it can be changed only if [{table}] is a table of its own with one key per line")


def _sets(line: str, changes: Changes) -> bool:
    return any(re.match(rf"\s*{re.escape(key)}\s*=", line) for key in changes)


def _whole(generator: Mapping[str, Any], key: str, default: int) -> int:
    value = generator.get(key, default)
    return value if type(value) is int and value > 0 else default


def _hosts(_generator: Mapping[str, Any], hosts: int) -> Changes:
    return {"hosts": hosts}


def _chassis(generator: Mapping[str, Any], hosts: int) -> Changes:
    """Keeps the number of modules, or adds modules once they would be full."""
    of_module = _whole(generator, "asics_per_module", 2) * _whole(generator, "hosts_per_asic", 16)
    modules = max(_whole(generator, "modules", 4), math.ceil(hosts / of_module))
    return {"hosts": hosts, "modules": modules}


def _stacked(generator: Mapping[str, Any], hosts: int) -> Changes:
    return {"leaves": math.ceil(hosts / _whole(generator, "hosts_per_leaf", 16))}


def _clos(generator: Mapping[str, Any], hosts: int) -> Changes:
    """Keeps each leaf's uplinks.

    Fewer leaves need fewer spines, with several cables to each. More leaves than a spine has ports would need
    a third level, which is another network.
    """
    spines, cables = _whole(generator, "spines", 0), _whole(generator, "uplinks", 1)
    before = _whole(generator, "leaves", 4)
    leaves = math.ceil(hosts / _whole(generator, "hosts_per_leaf", 16))
    if not spines:
        raise NotResizable(
            "it cannot be resized from its taper alone; write its number of spines (spines = …)"
        )
    if leaves > before:
        raise NotResizable(
            f"{hosts:,} hosts need {leaves} leaves, but its spines are full with {before}; a third level "
            "would make it another network"
        )
    uplinks, spine_ports = spines * cables, before * cables
    fewer = next(n for n in range(1, uplinks + 1) if uplinks % n == 0 and n * spine_ports >= leaves * uplinks)
    return {"leaves": leaves, "spines": fewer, "uplinks": uplinks // fewer}


def _torus(generator: Mapping[str, Any], hosts: int) -> Changes:
    """Makes the sides as even as possible, in as many dimensions as before."""
    dimensions = str(generator.get("dimensions", "4x4x4")).count("x") + 1
    sides: list[int] = []
    left = hosts
    for more in range(dimensions, 0, -1):
        side = max(2, math.ceil(round(left ** (1 / more), 9)))
        sides.append(side)
        left = math.ceil(left / side)
    return {"dimensions": "x".join(map(str, sides))}


def _fat_tree(generator: Mapping[str, Any], hosts: int) -> Changes:
    """A fat tree of identical switches, with as many levels as the hosts need."""
    down, up = str(generator.get("down", "")).split("x"), str(generator.get("up", "")).split("x")
    if len({*down, *up}) != 1 or not down[0].isdigit() or int(down[0]) < 2:
        raise NotResizable("the levels of its fat tree differ; write a description that says which one grows")
    arity, levels = int(down[0]), 1
    while arity**levels < hosts:
        levels += 1
    return {"down": "x".join([str(arity)] * levels), "up": "x".join([str(arity)] * (levels - 1))}


RULES: Mapping[str, Rule] = {
    "crossbar": _hosts,
    "bus": _hosts,
    "module-chassis": _chassis,
    "stacked-tree": _stacked,
    "clos": _clos,
    "torus": _torus,
    "fat-tree": _fat_tree,
}
