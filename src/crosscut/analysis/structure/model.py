"""The structure of a network: groups of ranks and what they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

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
    bytes_per_second: float = math.nan
    low: float = math.nan
    """95 % interval, as `high`."""
    high: float = math.nan
    cables: int = 1
    """Each route keeps to one of these: only when they are evenly used, all of the capacity is."""
    phases: tuple[int, ...] = ()
    """The run's phases in which it was seen full."""


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
    notes: tuple[str, ...] = ()
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
