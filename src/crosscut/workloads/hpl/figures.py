"""What solutions come to: rows of a table, the best of them. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from crosscut.workloads.hpl.output import Solution


@dataclass(frozen=True)
class HplRow:
    """Repetitions of one system, solved in one way."""

    solutions: tuple[Solution, ...]

    @property
    def first(self) -> Solution:
        return self.solutions[0]

    @property
    def seconds(self) -> float:
        return statistics.median(one.seconds for one in self.solutions)

    @property
    def deviation_seconds(self) -> float | None:
        """The standard deviation of a sample; None of one repetition."""
        return statistics.stdev(one.seconds for one in self.solutions) if len(self.solutions) > 1 else None

    @property
    def flops_per_second(self) -> float:
        return statistics.median(one.flops_per_second for one in self.solutions)

    @property
    def least(self) -> float:
        return min(one.flops_per_second for one in self.solutions)

    @property
    def most(self) -> float:
        return max(one.flops_per_second for one in self.solutions)

    @property
    def residual(self) -> float:
        return max(one.residual for one in self.solutions)

    @property
    def passed(self) -> bool:
        return all(one.passed for one in self.solutions)


def rows(solutions: Sequence[Solution]) -> list[HplRow]:
    """By order, grid, block and broadcast, in the order in which they came first."""
    found: dict[tuple[int, int, int, int, str], list[Solution]] = {}
    for one in solutions:
        key = (one.order, one.rows, one.columns, one.block, one.broadcast)
        found.setdefault(key, []).append(one)
    return [HplRow(tuple(own)) for own in found.values()]


def best(found: Sequence[HplRow]) -> HplRow:
    """With the highest median: the mean of luck is no result, nor is its best."""
    return max(found, key=lambda row: row.flops_per_second)
