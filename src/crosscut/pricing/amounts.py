"""Amounts of money, as intervals; text forms carry the currency."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from crosscut.base.errors import UsageError

LARGEST_AMOUNT = 1e12
_AMOUNT = re.compile(
    r"\s*([0-9]{1,13}(?:\.[0-9]{1,6})?)(?:\s*-\s*([0-9]{1,13}(?:\.[0-9]{1,6})?))?\s+([A-Z]{3})\s*"
)


@dataclass(frozen=True)
class Interval:
    """All values from `low` to `high` are possible; the ends are equal if the value is known."""

    low: float
    high: float

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> Interval:
        """`factor` must not be negative."""
        return Interval(self.low * factor, self.high * factor)

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def exact(self) -> bool:
        return math.isclose(self.low, self.high, rel_tol=1e-9, abs_tol=1e-9)

    def share_of_sum(self, rest: Interval) -> Interval:
        """Share of `self` in `self + rest`, where both vary independently."""
        return Interval(_part(self.low, rest.high), _part(self.high, rest.low))


NOTHING = Interval(0.0, 0.0)


def total(amounts: Iterable[Interval]) -> Interval:
    return sum(amounts, NOTHING)


def _part(value: float, rest: float) -> float:
    return value / (value + rest) if value + rest > 0 else 0.0


def parse_price(text: str) -> tuple[Interval, str]:
    """Parses `818 USD` or `200-300 USD`; returns (amount, currency). Raises UsageError."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise UsageError(
            f'\'{text[:40]}\' is not a price; write for example "818 USD" or "200-300 USD": an amount that '
            "is not negative, and a currency of three capitals"
        )
    low, high = float(match[1]), float(match[2] or match[1])
    if not low <= high <= LARGEST_AMOUNT:
        raise UsageError(f"'{text[:40]}': the lower amount comes first, and {LARGEST_AMOUNT:g} is the most")
    return Interval(low, high), match[3]


def amount(value: Interval) -> str:
    """Formats an amount: `104,704`, `43.50` or `200–300`; cents appear only below a thousand."""
    return _number(value.low) if value.exact else f"{_number(value.low)}–{_number(value.high)}"


def _number(value: float) -> str:
    whole = round(value)
    if abs(value) >= 999.995 or math.isclose(value, whole, abs_tol=0.005):
        return f"{whole:,}"
    return f"{value:.2f}"


def per_cent(share: Interval) -> str:
    """Formats a share in whole per cent, as papers do: `80`, or `79–81` if the rounded ends differ."""
    low, high = math.floor(100 * share.low + 0.5), math.floor(100 * share.high + 0.5)
    return f"{low}" if low == high else f"{low}–{high}"
