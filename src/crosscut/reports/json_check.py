"""Verdicts as JSON: `crosscut check --json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from crosscut.analysis.promises import Judged
from crosscut.reports import words_check
from crosscut.spec import Spec

SCHEMA = {"name": "crosscut-check", "version": 1}


def document(spec: Spec, judged: Sequence[Judged], names: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "title": spec.title,
        "error_rate": spec.error_rate,
        "promises": [_promise(one, names) for one in judged],
    }


def _promise(one: Judged, names: Sequence[str]) -> dict[str, Any]:
    promise = one.promise
    return {
        "name": promise.name,
        "kind": promise.kind.value,
        "pattern": promise.pattern,
        "size_bytes": promise.size_bytes,
        "promised": promise.said,
        "bound": promise.bound,
        "verdict": one.verdict.value,
        "doubt": one.doubt,
        "repetitions": one.repetitions,
        "quantities": one.quantities,
        "worst": one.worst if math.isfinite(one.worst) else None,
        "worst_is": words_check.label(promise, one.worst_label, names) if not one.reason else None,
        "middle": one.middle if math.isfinite(one.middle) else None,
        "broken": [words_check.label(promise, of, names) for of in one.broken],
        "reason": one.reason or None,
    }
