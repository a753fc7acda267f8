"""The kinds of findings, with their properties."""

from __future__ import annotations

from enum import Enum


class Sort(Enum):
    FAULT = "something is broken"
    SUSPICION = "something may be broken: it was measured once"
    CHANGE = "something varies with time"
    SETTING = "hosts are set up differently, which may be meant"
    DESIGN = "how the network is made"
    NOTHING = "there is nothing to report"


class CabledParts(Enum):
    """What a list of cables adds to a finding."""

    NONE = "none"
    HOSTS = "where the hosts are plugged in"
    TRUNKS = "which cables the trunk is"


class FindingKind(Enum):
    """One line per kind, in the order in which findings are reported.

    A line contains the name in JSON (docs/reference/findings.md), the sort, the pictures that prove it in a
    report (best first), the module of this package whose `of_run(evidence)` finds it (one module may find
    several kinds), and what a list of cables adds.
    """

    INCONCLUSIVE = "no conclusion", Sort.NOTHING, ("routes", "phases")
    SETTINGS = "different settings", Sort.SETTING, ("ranks", "routes"), "", CabledParts.HOSTS
    SLOW_HOST = "slow host", Sort.FAULT, ("routes", "ranks"), "slow_parts", CabledParts.HOSTS
    LOSSY_HOST = "lossy host", Sort.FAULT, ("ranks", "routes"), "", CabledParts.HOSTS
    PARTLY_SLOW_HOST = "partly slow host", Sort.FAULT, ("routes",), "", CabledParts.HOSTS
    SLOW_TRUNK = "slow trunk", Sort.FAULT, ("structure", "routes"), "slow_trunks", CabledParts.TRUNKS
    SLOW_CABLE = "slow cable", Sort.FAULT, ("structure", "routes"), "", CabledParts.TRUNKS
    SLOW_ROUTE = "slow route", Sort.FAULT, ("routes",), "slow_routes", CabledParts.HOSTS
    OTHER_TRAFFIC = "other traffic", Sort.CHANGE, ("ranks", "routes"), "", CabledParts.HOSTS
    SUSPECT = "suspect", Sort.SUSPICION, ("routes",), "many_routes", CabledParts.HOSTS
    UNSTABLE = "unstable", Sort.CHANGE, ("phase-histogram", "phases"), "stability", CabledParts.HOSTS
    STEP = "step", Sort.CHANGE, ("phase-histogram", "phases"), "stability", CabledParts.HOSTS
    PERIODIC = "periodic dips", Sort.CHANGE, ("ranks", "routes"), "stability", CabledParts.HOSTS
    COUNTED = "counted errors", Sort.FAULT, ("routes", "ranks"), "", CabledParts.HOSTS
    DRIFT = "drift", Sort.CHANGE, ("phases",), "stability", CabledParts.HOSTS
    HOST_KINDS = "kinds of hosts", Sort.DESIGN, ("ranks", "routes")
    GROUPS = "groups", Sort.DESIGN, ("structure", "routes"), "slow_parts"
    SHARED_LIMIT = "shared limit", Sort.DESIGN, ("structure", "phases", "routes"), "slow_trunks"
    HASHED = "hashed paths", Sort.DESIGN, ("structure", "routes"), "hashed_paths"
    NOTHING = "nothing found", Sort.NOTHING, ("routes", "phases")

    sort: Sort
    proofs: tuple[str, ...]
    finder: str
    place: CabledParts

    def __new__(
        cls, name: str, sort: Sort, proofs: tuple[str, ...], finder: str = "",
        place: CabledParts = CabledParts.NONE,
    ) -> FindingKind:  # fmt: skip
        kind = object.__new__(cls)
        kind._value_ = name
        kind.sort, kind.proofs, kind.finder, kind.place = sort, proofs, finder, place
        return kind

    @property
    def fault(self) -> bool:
        """True if something is broken: a reason to raise an alarm."""
        return self.sort is Sort.FAULT

    @property
    def warns(self) -> bool:
        """True if people see a warning: for a fault, a possible fault, a change over time, or hosts that are
        set up differently."""
        return self.sort not in (Sort.DESIGN, Sort.NOTHING)


ORDER = {kind: rank for rank, kind in enumerate(FindingKind)}
OF_ONE_HOST = (FindingKind.SLOW_HOST, FindingKind.LOSSY_HOST)
"""Faults of a host as a whole, which slow all that it exchanges."""
