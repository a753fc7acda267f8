"""Verdicts as JSON: writes `crosscut check --json` and reads it back as untrusted input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.analysis.compare.promises import PromiseVerdict
from crosscut.analysis.compare.spec import PromiseKind, Spec
from crosscut.analysis.figures.cautions import Caution
from crosscut.base import bounded_file, records
from crosscut.base.errors import UsageError, plainly
from crosscut.reports.words import check as words_check

# Labels are for programs: a route's two ranks; a node's ranks, followed by -1 if it receives; a phase's
# negated number; nothing for a single figure of all routes.
SCHEMA = {"name": "crosscut-check", "version": 1}
LARGEST_FILE_BYTES = 1 << 28
_MOST = 1 << 53
_LABEL_RANKS = {PromiseKind.ROUTE: 2, PromiseKind.LATENCY: 2}


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
        "of_launches": one.of_launches,
        "computed": one.exact,
        "quantities": one.quantities,
        "worst": records.finite(one.worst),
        "worst_is": words_check.label(promise, one.worst_label, names) if not one.reason else None,
        "worst_label": list(one.worst_label),
        "middle": records.finite(one.middle),
        "broken": [words_check.label(promise, of, names) for of in one.broken],
        "broken_labels": [list(of) for of in one.broken],
        "reason": one.reason or None,
        "left_out": one.left_out or None,
    }


def read(path: Path, ranks: int) -> tuple[Spec, tuple[PromiseVerdict, ...]]:
    """Reads and validates verdicts, or raises UsageError. `ranks`: in the largest run shown with them."""
    text = bounded_file.read(path, LARGEST_FILE_BYTES, "what crosscut check --json wrote")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(
            f"{path} does not contain verdicts ({SCHEMA['name']}, version {SCHEMA['version']}); write them "
            "with crosscut check --json"
        )
    try:
        top = records.parse(document, _VerdictsDocument)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    if not top.promises:
        raise UsageError(f"{path}: 'promises' is empty; at least one is needed")
    if not 0 < top.error_rate < 0.5:
        raise UsageError(f"{path}: error_rate is {top.error_rate:g}; it must be between 0 and 0.5")
    found = tuple(_judged(entry, f"{path}: promise {at}", ranks) for at, entry in enumerate(top.promises, 1))
    return Spec(
        title=top.title, error_rate=top.error_rate, promises=tuple(one.promise for one in found), path=path
    ), found


@dataclass(frozen=True)
class _VerdictsDocument:
    title: str
    error_rate: float
    promises: list[dict[str, Any]]


def _judged(entry: Mapping[str, Any], where: str, ranks: int) -> PromiseVerdict:
    """Parses one object that holds the members of both a promise and its verdict."""
    try:
        names = {"said": entry["promised"], "broken": entry["broken_labels"]}
        one = records.parse({**entry, **names, "promise": {**entry, **names}}, PromiseVerdict)
    except (KeyError, ValueError) as error:
        raise UsageError(f"{where}: {plainly(error)}") from error
    promise = one.promise
    for name, value, fits in (
        ("bound", promise.bound, promise.bound > 0),
        ("of_the_time", promise.of_the_time, 0 < promise.of_the_time < 1),
        ("doubt", one.doubt, 0 <= one.doubt <= 1),
        ("size_bytes", promise.size_bytes, 1 <= promise.size_bytes < _MOST),
        ("repetitions", one.repetitions, 0 <= one.repetitions < _MOST),
        ("quantities", one.quantities, 0 <= one.quantities < _MOST),
    ):
        if not fits:
            raise UsageError(f"{where}: {name} is {str(value)[:40]}, which is out of range")
    for label in one.broken:
        _check_label(f"{where}: broken_labels", label, promise.kind, ranks)
    if one.worst_label or not one.reason:
        _check_label(f"{where}: worst_label", one.worst_label, promise.kind, ranks)
    return one


def _check_label(where: str, label: tuple[int, ...], kind: PromiseKind, ranks: int) -> None:
    """Raises UsageError if the label does not fit its kind or names a rank that the runs lack."""
    if kind is PromiseKind.SPREAD:
        fits = label == ()
    elif kind in (PromiseKind.BISECTION, PromiseKind.PHASE):
        fits = len(label) == 1 and label[0] <= 0
    else:
        inner = label[:-1] if kind is PromiseKind.NODE and label[-1:] == (-1,) else label
        fits = len(inner) == _LABEL_RANKS.get(kind, max(len(inner), 1))
        fits = fits and all(rank >= 0 for rank in inner)
        if fits and max(inner) >= ranks:
            raise UsageError(
                f"{where}: refers to rank {max(inner)}, but the runs have only {ranks} ranks; name the runs "
                "that were judged"
            )
    if not fits:
        raise UsageError(
            f"{where}: {label!r:.80} is not a label that crosscut check --json writes for such a promise"
        )
