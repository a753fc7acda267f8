"""Hosts whose adapters or TCP are set up differently from the others'.

Settings come first, because they cost nothing to change. A difference is not a fault, because its effect on
the rate is unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crosscut.analysis.figures.limited import listed
from crosscut.analysis.findings.kinds import CabledParts, FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.base import units

Settings = Mapping[str, str]
"""Values by name, such as `MTU`, or `tso` for an offload."""
# An adapter's member in a run, and its name for people.
_OF_ADAPTER = {"mtu": "MTU", "speed_mbit_s": "speed in Mbit/s", "duplex": "duplex", "driver": "driver"}
_MOST_NAMED = 8


def of_nodes(attributes: Mapping[str, object]) -> dict[str, Settings]:
    """Returns settings by node, from a run's attribute `nodes`; skips damaged and unknown values."""
    found = listed(attributes.get("nodes"))
    return {str(node.get("name")): _of_node(node) for node in found if isinstance(node, dict)}


def _of_node(node: Mapping[str, object]) -> Settings:
    """Returns a node's settings, joining values that differ between its adapters."""
    values: dict[str, set[str]] = {}
    for adapter in listed(node.get("adapters")):
        for name, value in _of_adapter(adapter) if isinstance(adapter, dict) else ():
            values.setdefault(name, set()).add(value)
    if control := node.get("congestion_control"):
        values["TCP congestion control"] = {str(control)}
    return {name: " and ".join(sorted(some)) for name, some in values.items()}


def _of_adapter(adapter: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for member, name in _OF_ADAPTER.items():
        if (value := adapter.get(member)) is not None:
            yield name, str(value)
    offloads = adapter.get("offloads")
    for name, on in offloads.items() if isinstance(offloads, dict) else ():
        yield name, "on" if on else "off"


def tied(found: Sequence[Finding], by_node: Mapping[str, Settings], nodes: Sequence[str]) -> list[Finding]:
    """Returns findings on settings that differ between hosts, then those given.

    Findings about a host with another setting say so, and advise changing it first. `nodes`: [rank] name.
    """
    differing, odd = [], dict[str, list[str]]()
    for name in dict.fromkeys(name for settings in by_node.values() for name in settings):
        values = {node: settings[name] for node, settings in by_node.items() if name in settings}
        counts = Counter(values.values()).most_common()
        if len(counts) < 2:
            continue
        ordinary = counts[0][0] if 2 * counts[0][1] > len(values) else None
        differing.append(_differing(name, values, ordinary, nodes))
        for node, value in values.items():
            if ordinary not in (None, value):
                odd.setdefault(node, []).append(f"{name} {value} in place of {ordinary}")
    return [*differing, *(_with(finding, odd, nodes) for finding in found)]


def _differing(
    setting: str, values: Mapping[str, str], ordinary: str | None, nodes: Sequence[str]
) -> Finding:
    """`ordinary`: the value that most nodes have, if any."""
    by_value: dict[str, list[str]] = {}
    for node, value in values.items():
        by_value.setdefault(value, []).append(node)
    others = [f"{value} at {_named(some)}" for value, some in by_value.items() if value != ordinary]
    if ordinary is not None:
        others.append(f"{ordinary} at the other {units.count(len(by_value[ordinary]), 'host')}")
    named = tuple(node for node, value in values.items() if ordinary not in (None, value))
    ranks = tuple(rank for rank, node in enumerate(nodes) if node in named)
    what = f"{setting} differs between hosts: {', '.join(others)}"
    return Finding(
        FindingKind.SETTINGS, what, ranks, named,
        advice="unless this is intended, give all hosts the same setting and measure again",
    )  # fmt: skip


def _named(hosts: Sequence[str]) -> str:
    more = f" and {len(hosts) - _MOST_NAMED} more" if len(hosts) > _MOST_NAMED else ""
    return ", ".join(hosts[:_MOST_NAMED]) + more


def _with(finding: Finding, odd: Mapping[str, Sequence[str]], nodes: Sequence[str]) -> Finding:
    if not finding.kind.warns or finding.kind.place is not CabledParts.HOSTS:
        return finding
    ends = {nodes[rank] for rank in finding.ends}
    said = "; ".join(f"{node} has {', '.join(odd[node])}" for node in odd if node in ends)
    advice = "give it the settings of the other hosts, and measure again, before replacing anything"
    return finding.adding(said, advice)
