"""Reads a policy: how bad a fault must be, and how often it must be found, before a node is drained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated

from crosscut.analysis.findings.kinds import OF_ONE_HOST
from crosscut.base import toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import NO_TABLE, Between, FilledLine, Key, OneOf, Table
from crosscut.health.ledger import LINK_DOWN, WIRE_ERRORS

DEFAULT = Path(__file__).with_name("policy.toml")
FEWEST_SEARCHES = 2
"""A single search never drains a node."""
_KINDS = (*(kind.value for kind in OF_ONE_HOST), LINK_DOWN, WIRE_ERRORS)


class HealthAction(Enum):
    DRAIN = "drain"
    REPORT = "report"


def _share(text: str) -> float:
    if not 0 < (share := units.parse_fraction(text)) <= 1:
        raise UsageError("must be above 0 %")
    return share


@dataclass(frozen=True, kw_only=True)
class Severity:
    name: FilledLine
    below: Annotated[float, _share]
    """Share of the rate that a node should reach."""
    kinds: tuple[Annotated[str, OneOf(_KINDS)], ...] = ()
    action: HealthAction
    searches: Annotated[int, Between(FEWEST_SEARCHES, 1000)] = FEWEST_SEARCHES
    nights: Annotated[int, Between(1, 1000)] = 1
    at: Table = NO_TABLE

    def fits(self, kind: str, share: float) -> bool:
        return kind in self.kinds or (math.isfinite(share) and share < self.below)


@dataclass(frozen=True, kw_only=True)
class Policy:
    at_most: Annotated[int, Between(0, 100_000)]
    sound_searches: Annotated[int, Between(FEWEST_SEARCHES, 1000)]
    severities: Annotated[tuple[Severity, ...], Key("severity")]
    at: Table = NO_TABLE

    def rank(self, kind: str, share: float) -> int | None:
        """Returns the place in `severities` of a fault; None if it is too mild for any."""
        return next((at for at, one in enumerate(self.severities) if one.fits(kind, share)), None)

    @property
    def least_share(self) -> float:
        """The share of its own history below which a node is at fault: that of the mildest severity that
        drains, since rates vary from night to night."""
        acting = [one.below for one in self.severities if one.action is HealthAction.DRAIN]
        return max(acting, default=self.severities[-1].below)


def read(path: Path | None = None) -> Policy:
    """Reads a policy; None: the default. Raises UsageError with file, line and key."""
    return _checked(toml_fields.document(path or DEFAULT, "a policy").read(Policy))


def _checked(policy: Policy) -> Policy:
    if not policy.severities:
        policy.at.fail("severity", "there is none; add a [[severity]] table, from the worst to the mildest")
    toml_fields.check_apart(policy.severities)
    for before, one in zip(policy.severities, policy.severities[1:], strict=False):
        if one.below <= before.below:
            one.at.fail(
                "below", f"must be above that of '{before.name}': severities go from worst to mildest"
            )
    return policy
