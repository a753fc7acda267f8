"""A history as JSON: the documents of `crosscut history … --json` (docs/reference/history.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crosscut.analysis.stats.doubt import SMALLEST_CLAIMED
from crosscut.history import words
from crosscut.history.changes import ChangesFound, CommonChange
from crosscut.history.early_steps import EarlyStep
from crosscut.history.nights import Nights
from crosscut.history.queries import FindingRow, NoteRow, RunRow, SeriesRow, VerdictRow
from crosscut.history.trends import SubjectTrend

SCHEMA = {"name": "crosscut-history", "version": 1}


def runs(
    found: Sequence[tuple[SeriesRow, Sequence[RunRow]]], faults: Mapping[int, Sequence[str]],
    judged: Mapping[int, Sequence[VerdictRow]], notes: Sequence[NoteRow],
) -> dict[str, Any]:  # fmt: skip
    return {
        "schema": SCHEMA,
        "series": [
            _series(series) | {
                "runs": [
                    run._asdict() | {
                        "faulty_hosts": list(faults.get(run.id, ())),
                        "verdicts": [one._asdict() for one in judged.get(run.id, ())],
                    }
                    for run in some
                ]
            }
            for series, some in found
        ],
        "notes": [note._asdict() for note in notes],
    }  # fmt: skip


def _series(series: SeriesRow) -> dict[str, Any]:
    return {"name": series.name, **series._asdict()}


def trends(found: Sequence[SubjectTrend]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "trends": [
            {
                "series": _series(one.series),
                "subject": one.subject,
                "starts": list(one.starts),
                "curves": [
                    {"name": curve.name, "bytes_per_second": list(curve.rates),
                     "median_bytes_per_second": list(curve.medians)}
                    for curve in one.curves
                ],
                "findings": [_finding(finding) for finding in one.findings],
            }
            for one in found
        ],
    }  # fmt: skip


def _finding(one: FindingRow) -> dict[str, Any]:
    return one._asdict() | {"fault": bool(one.fault), "parts": list(one.groups)}


def changes(found: Sequence[ChangesFound]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "series": [
            {
                "series": _series(one.nights.series),
                "nights": len(one.nights.days),
                "changes": [_change(one.nights, change) for change in one.common],
                "drifts": [
                    {
                        "hosts": [one.nights.hosts[host].name for host in drift.hosts],
                        "way": words.way(drift.way),
                        "ratio": drift.ratio,
                    }
                    for drift in one.drifts
                ],
                "not_yet_significant": [_early(one.nights, step) for step in one.early],
                "nights_until_a_step_shows": one.fewest_after,
            }
            for one in found
        ],
        "p_means": words.P_MEANS,
    }


def _early(nights: Nights, one: EarlyStep) -> dict[str, Any]:
    return {
        "what": words.early(nights, one),
        "hosts": [nights.hosts[host].name for host in one.hosts],
        "ways": [words.way(way) for way in one.ways],
        "first_night_after": nights.days[one.at],
        "ratio": one.ratio,
        "more_nights_needed": one.more,
    }


def _change(nights: Nights, one: CommonChange) -> dict[str, Any]:
    return {
        "what": words.change(nights, one),
        "worse": one.worse,
        "last_night_before": nights.days[max(one.earliest - 1, 0)],
        "first_night_after": nights.days[one.latest],
        "ratio": one.ratio,
        "p_at_most": max(one.doubt, SMALLEST_CLAIMED),
        "place": one.place,
        "coincides": list(one.coincides),
        "hosts": [
            {
                "host": nights.hosts[each.host].name,
                "way": words.way(each.way),
                "first_night_after": nights.days[each.at],
                "ratio": each.ratio,
            }
            for each in one.changes
        ],
    }
