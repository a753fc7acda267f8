"""A comparison as JSON: `crosscut compare --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crosscut.analysis.compare.causes import Cause, worse
from crosscut.analysis.compare.comparing import Comparison, ComparisonSettings, Difference
from crosscut.analysis.compare.conditions import UndecidedError
from crosscut.analysis.compare.trend import Trends
from crosscut.analysis.figures.series import Subject
from crosscut.base.records import finite

SCHEMA = {"name": "crosscut-comparison", "version": 1}


def document(
    comparison: Comparison, asked: ComparisonSettings, names: Sequence[str], found: Trends | None = None,
    causes: Sequence[Cause] = (),
) -> dict[str, Any]:  # fmt: skip
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "error_rate": asked.error_rate,
        "matters": asked.matters,
        "tests": comparison.tests,
        "repetitions": list(comparison.repetitions),
        "of_launches": comparison.of_launches,
        "computed": comparison.computed,
        "conditions": list(found.conditions if found else comparison.conditions),
        "notes": list(comparison.notes),
        "faults": [
            {"nodes": [names[rank] for rank in one.ranks], "what": one.what, "worse": one.worse}
            for one in causes
            if not one.group_of
        ],
        "limits": [{"what": one.what, "worse": one.worse} for one in causes if one.group_of],
        "classes": [_change(change, names) for change in comparison.classes],
        "changes": [_change(change, names) for change in comparison.changes],
    }
    if found is not None:
        value["trends"] = [
            _subject(trend.subject, names)
            | {
                "bytes_per_second": list(trend.rates),
                "change": trend.change,
                "change_per_day": finite(trend.per_day),
                "doubt": trend.doubt,
                "step_at_run": trend.step_at,
                "step": trend.step,
                "step_doubt": trend.step_doubt,
                "told": trend.told(asked) or None,
                "worse": trend.worse(asked),
            }
            for trend in found.series
        ]
        value["starts"] = list(found.starts)
    value["worse"] = bool(found and any(t.worse(asked) for t in found.series)) or worse(comparison, causes)
    return value


def untold(error: UndecidedError) -> dict[str, Any]:
    return {
        "schema": SCHEMA, "undecided": str(error), "conditions": list(error.conditions), "worse": None
    }  # fmt: skip


def _change(change: Difference, names: Sequence[str]) -> dict[str, Any]:
    return _subject(change.subject, names) | {
        "before_bytes_per_second": change.first,
        "after_bytes_per_second": change.second,
        "ratio": change.shift.ratio,
        "ratio_low": finite(math.exp(change.shift.low)),
        "ratio_high": finite(math.exp(change.shift.high)),
        "doubt": change.doubt,
        "worse": change.worse,
        "explained_by": _subject(change.explained_by, names) if change.explained_by else None,
    }


def _subject(of: Subject, names: Sequence[str]) -> dict[str, Any]:
    value: dict[str, Any] = {"kind": of.family.value, "size_bytes": of.size_bytes}
    if of.name:
        value["class"] = of.name
    if of.phase >= 0:
        value["phase"] = of.phase
    if of.ranks:
        value |= {"ranks": list(of.ranks), "nodes": list(dict.fromkeys(names[rank] for rank in of.ranks))}
    return value
