"""Verdicts as JSON: `crosscut check --json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crosscut.analysis.compare.promises import PromiseVerdict
from crosscut.analysis.compare.spec import Spec
from crosscut.analysis.figures.cautions import Caution
from crosscut.base.records import finite
from crosscut.reports.words import check as words_check

# Labels are for programs: a route's two ranks; a node's ranks, -1 behind them where it receives; a phase's
# number, negated; nothing of what is one figure for all.
SCHEMA = {"name": "crosscut-check", "version": 1}


def document(
    spec: Spec, judged: Sequence[PromiseVerdict], names: Sequence[str], cautions: Sequence[Caution] = ()
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "title": spec.title,
        "error_rate": spec.error_rate,
        "promises": [_promise(one, names) for one in judged],
        "cautions": cautions_json(cautions),
    }


def cautions_json(found: Sequence[Caution]) -> list[dict[str, str]]:
    return [{"kind": one.kind.value, "text": one.text, "advice": one.advice} for one in found]


def _promise(one: PromiseVerdict, names: Sequence[str]) -> dict[str, Any]:
    promise = one.promise
    return {
        "name": promise.name,
        "kind": promise.kind.value,
        "pattern": promise.pattern,
        "parameters": dict(promise.parameters),
        "size_bytes": promise.size_bytes,
        "routes": promise.routes,
        "nodes": list(promise.nodes),
        "of_the_time": promise.of_the_time,
        "promised": promise.said,
        "bound": promise.bound,
        "verdict": one.verdict.value,
        "doubt": one.doubt,
        "repetitions": one.repetitions,
        "quantities": one.quantities,
        "worst": finite(one.worst),
        "worst_is": words_check.label(promise, one.worst_label, names) if not one.reason else None,
        "worst_label": list(one.worst_label),
        "middle": finite(one.middle),
        "broken": [words_check.label(promise, of, names) for of in one.broken],
        "broken_labels": [list(of) for of in one.broken],
        "reason": one.reason or None,
        "left_out": one.left_out or None,
    }
