"""Reads from a run which phases the emulating machine limited: they say nothing about the network.

The machine is watched while an emulated cluster is measured (attribute `trust`,
docs/reference/run-format.md), and the numbers of the phases during which its cores were busy are stored.
Attributes come from a file and are not trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from crosscut.run.realm import is_emulated

ADVICE = "fewer nodes, crosscut lab up --dilate, or a quieter machine"
NOTHING_TOLD = "no conclusion about the network"
# No pattern has more phases, so a longer span is damage.
_MOST_PHASES = 1 << 20


def limited(count: int, of: int) -> str:
    """Says that the machine limited `count` phases out of `of`."""
    phases = "every phase" if count >= of else f"{count:,} of {of:,} phases"
    return f"this machine's CPU was the bottleneck in {phases}"


def limited_phases(attributes: Mapping[str, object], size_bytes: int) -> frozenset[int]:
    """Returns the phases of this size that the machine limited in any session; none outside a lab."""
    if not is_emulated(attributes):
        return frozenset()
    return frozenset(
        number
        for session in listed(attributes.get("trust"))
        for entry in listed(member(session, "limited"))
        if member(entry, "size") == size_bytes
        for span in listed(member(entry, "phases"))
        for number in _span(span)
    )


def _span(span: object) -> range:
    match span:
        case [int(first), int(last)] if 0 <= last - first < _MOST_PHASES:
            return range(first, last + 1)
    return range(0)


def member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, Mapping) else None


def listed(value: object) -> Iterator[object]:
    yield from value if isinstance(value, list | tuple) else ()
