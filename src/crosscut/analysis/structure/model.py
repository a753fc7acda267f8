"""The structure of a network: groups of ranks and the capacities they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

LOCATE_ON = "crosscut locate --on PLACE measures more to find out"
"""Advice if one run leaves a question open; not used after a search."""
UNKNOWN_GROUP = "group unknown"
"""Heading of ranks whose group is unknown, beside the groups."""


class Reach(Enum):
    """The messages that a shared limit counts."""

    LEAVING = "what leaves the group"
    ENTERING = "what enters the group"
    SENT = "all that hosts of the group send"
    RECEIVED = "all that hosts of the group receive"
    BETWEEN = "what goes from the first group to the second"
    CROSSING = "all that goes between groups"


_NAMED = {Reach.BETWEEN: 2, Reach.CROSSING: 0}
"""Number of groups that a limit names; one for the others."""


@dataclass(frozen=True)
class Limit:
    """A capacity that several routes share."""

    reach: Reach
    groups: tuple[str, ...]
    """One name; BETWEEN: source and destination; CROSSING: none."""
    bytes_per_second: float = math.nan
    low: float = math.nan
    """Lower bound of the 95 % interval; `high` is the upper one."""
    high: float = math.nan
    cables: int = 1
    """Each route keeps to one cable, so the whole capacity is used only if cables are evenly loaded."""
    phases: tuple[int, ...] = ()
    """Phases of the run in which the limit was full."""


@dataclass(frozen=True)
class Group:
    """Ranks that share a limit with each other but not with others. `parts`: the groups within it."""

    name: str
    ranks: tuple[int, ...]
    parts: tuple[Group, ...] = ()
    confidence: float = math.nan
    """Probability that none of its ranks belongs elsewhere."""

    def walk(self) -> list[Group]:
        """Returns the group itself and all groups within it."""
        return [self, *(group for part in self.parts for group in part.walk())]


@dataclass(frozen=True)
class Structure:
    """An inferred network: groups of ranks, and the capacities they share."""

    groups: tuple[Group, ...]
    """The outermost groups; one if all ranks share a limit, none if ranks are indistinguishable."""
    limits: tuple[Limit, ...]
    host_out_bytes_per_second: tuple[float, ...]
    """[rank] rate at which it sends over its own link if nothing else limits it."""
    host_in_bytes_per_second: tuple[float, ...]
    """[rank] rate at which it receives in that case."""
    hosts: tuple[str, ...] = ()
    """[rank] host name."""
    phases_used: int = 0
    notes: tuple[str, ...] = ()
    """Open questions, and what would help to answer them."""
    unplaced: tuple[int, ...] = ()
    """Ranks whose group is unknown; `groups` lists each in its likeliest one."""

    @property
    def ranks(self) -> int:
        return len(self.host_out_bytes_per_second)

    @property
    def noun(self) -> str:
        """What each rank stands for: a host, or one of several ranks of a host."""
        return "rank" if any(":" in name for name in self.hosts) else "host"

    @property
    def placed(self) -> tuple[Group, ...]:
        """The outermost groups without the ranks whose group is unknown."""
        unknown = {*self.unplaced}

        def known(groups: Sequence[Group]) -> tuple[Group, ...]:
            left = (
                replace(one, ranks=tuple(r for r in one.ranks if r not in unknown), parts=known(one.parts))
                for one in groups
            )
            return tuple(one for one in left if one.ranks)

        return known(self.groups) if unknown else self.groups

    def contradiction(self) -> str:
        """Says what cannot be so in a structure that a file describes; empty if nothing."""
        if len(self.host_in_bytes_per_second) != self.ranks or len(self.hosts) not in (0, self.ranks):
            return "its lists of hosts and of their rates differ in length"
        every = [group for top in self.groups for group in top.walk()]
        names = {group.name for group in every}
        if len(names) != len(every):
            return "two of its groups have the same name"
        everybody, unknown = range(self.ranks), (Group(UNKNOWN_GROUP, self.unplaced),)
        levels = [(everybody, self.groups), (everybody, unknown), *((one.ranks, one.parts) for one in every)]
        for within, parts in levels:
            members = [rank for part in parts for rank in part.ranks]
            if len(set(members)) != len(members):
                return "a rank is in two groups of one level"
            if stray := {*members} - {*within}:
                return f"a group has rank {min(stray)}, which the run or the group around it lacks"
        for limit in self.limits:
            if len(limit.groups) != _NAMED.get(limit.reach, 1) or not names.issuperset(limit.groups):
                named = ", ".join(limit.groups) or "no group"
                return f"a limit on {limit.reach.value} names {named}"
        return ""

    def group(self, name: str) -> Group | None:
        return next((found for top in self.groups for found in top.walk() if found.name == name), None)

    def labels(self, depth: int = 0) -> list[int]:
        """Returns [rank] the number of its group at that depth, 0 being the outermost; -1: none."""
        level = list(self.groups)
        for _ in range(depth):
            level = [part for group in level for part in (group.parts or (group,))]
        labels = [-1] * self.ranks
        for number, group in enumerate(level):
            for rank in group.ranks:
                labels[rank] = number
        return labels
