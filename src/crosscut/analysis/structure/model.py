"""The structure of a network: groups of ranks and what they share. Records with JSON in and out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from crosscut.base.errors import UsageError

LOCATE_ON = "crosscut locate --on PLACE measures what would"
"""Advice where one run leaves a question open (not after a search)."""


class Reach(Enum):
    """Which messages a shared limit counts."""

    LEAVING = "what leaves the group"
    ENTERING = "what enters the group"
    SENT = "all that hosts of the group send"
    RECEIVED = "all that hosts of the group receive"
    BETWEEN = "what goes from the first group to the second"
    CROSSING = "all that goes between groups"


@dataclass(frozen=True)
class Limit:
    """A capacity that several routes share."""

    reach: Reach
    groups: tuple[str, ...]
    """One; BETWEEN: from, to; CROSSING: none."""
    bytes_per_second: float
    low: float = math.nan
    """95 % interval, as `high`."""
    high: float = math.nan
    spread: bool = False
    """Several cables, each message on one of them: the capacity is that of all, reached only when they are
    evenly used."""
    phases: tuple[int, ...] = ()
    """The run's phases in which it was seen full."""

    def as_json(self) -> dict[str, Any]:
        value = asdict(self)
        value["reach"] = self.reach.value
        return {name: number_out(v) if isinstance(v, float) else v for name, v in value.items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Limit:
        try:
            return cls(
                reach=Reach(value["reach"]),
                groups=tuple(str(name) for name in value["groups"]),
                bytes_per_second=number_in(value["bytes_per_second"]),
                low=number_in(value.get("low")),
                high=number_in(value.get("high")),
                spread=value.get("spread") is True,
                phases=tuple(int(phase) for phase in value.get("phases", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"no shared limit that can be read: {error!r}") from error


@dataclass(frozen=True)
class Group:
    """Ranks that share a limit with each other, as against others. Groups within it: its parts."""

    name: str
    ranks: tuple[int, ...]
    parts: tuple[Group, ...] = ()
    confidence: float = math.nan
    """Probability that no rank of it belongs elsewhere."""

    def walk(self) -> list[Group]:
        """Itself and all groups within."""
        return [self, *(group for part in self.parts for group in part.walk())]

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "ranks": list(self.ranks),
            "parts": [part.as_json() for part in self.parts],
            "confidence": number_out(self.confidence),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Group:
        try:
            return cls(
                name=str(value["name"]),
                ranks=tuple(int(rank) for rank in value["ranks"]),
                parts=tuple(cls.from_json(part) for part in value.get("parts", ())),
                confidence=number_in(value.get("confidence")),
            )
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"no group that can be read: {error!r}") from error


@dataclass(frozen=True)
class Structure:
    """What measurements tell of a network: groups of ranks, and the capacities they share."""

    groups: tuple[Group, ...]
    """The outermost; empty: nothing distinguishes any ranks."""
    limits: tuple[Limit, ...]
    host_out_bytes_per_second: tuple[float, ...]
    """[rank] of its own link, alone."""
    host_in_bytes_per_second: tuple[float, ...]
    hosts: tuple[str, ...] = ()
    """[rank] names"""
    phases_used: int = 0
    notes: tuple[str, ...] = field(default=())
    """What the measurements could not tell, and what would."""

    @property
    def ranks(self) -> int:
        return len(self.host_out_bytes_per_second)

    def group(self, name: str) -> Group | None:
        return next((found for top in self.groups for found in top.walk() if found.name == name), None)

    def labels(self, depth: int = 0) -> list[int]:
        """[rank] number of its group on that depth, 0 the outermost; -1 where it has none."""
        level = list(self.groups)
        for _ in range(depth):
            level = [part for group in level for part in (group.parts or (group,))]
        labels = [-1] * self.ranks
        for number, group in enumerate(level):
            for rank in group.ranks:
                labels[rank] = number
        return labels

    def as_json(self) -> dict[str, Any]:
        return {
            "groups": [group.as_json() for group in self.groups],
            "limits": [limit.as_json() for limit in self.limits],
            "host_out_bytes_per_second": [number_out(rate) for rate in self.host_out_bytes_per_second],
            "host_in_bytes_per_second": [number_out(rate) for rate in self.host_in_bytes_per_second],
            "hosts": list(self.hosts),
            "phases_used": self.phases_used,
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Structure:
        try:
            return cls(
                groups=tuple(Group.from_json(group) for group in value["groups"]),
                limits=tuple(Limit.from_json(limit) for limit in value["limits"]),
                host_out_bytes_per_second=tuple(map(number_in, value["host_out_bytes_per_second"])),
                host_in_bytes_per_second=tuple(map(number_in, value["host_in_bytes_per_second"])),
                hosts=tuple(str(name) for name in value.get("hosts", ())),
                phases_used=int(value.get("phases_used", 0)),
                notes=tuple(str(note) for note in value.get("notes", ())),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"no structure that can be read: {error!r}") from error


def number_out(value: float) -> float | None:
    """null for NaN and infinity, which JSON has not."""
    return float(value) if math.isfinite(value) else None


def number_in(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is no number")
    return float(value)
