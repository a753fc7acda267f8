"""Verdicts as `crosscut check --json` wrote them, read again: whoever wrote the file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeVar

from crosscut.analysis.compare.promises import PromiseVerdict, Verdict
from crosscut.analysis.compare.spec import Promise, PromiseKind, Spec
from crosscut.base.errors import UsageError, plainly
from crosscut.reports.json.check import SCHEMA

LARGEST_FILE_BYTES = 1 << 28
Member = TypeVar("Member", bound=Enum)
# A route's two ranks; a node's ranks, -1 behind them where it receives; a phase's number, negated; nothing.
_LABEL_RANKS = {PromiseKind.ROUTE: 2, PromiseKind.LATENCY: 2}


def read(path: Path, ranks: int) -> tuple[Spec, tuple[PromiseVerdict, ...]]:
    """`ranks`: of the largest of the runs that it is shown with."""
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise UsageError(f"{path}: more than 256 MiB are no verdicts")
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise UsageError(
            f"{path}: no verdicts of {SCHEMA['name']}, version {SCHEMA['version']}; crosscut check --json "
            "writes them"
        )
    top = _Table(document, str(path))
    promises = document.get("promises")
    if not isinstance(promises, list) or not promises:
        raise top.wrong("promises", "a list of verdicts")
    found = tuple(
        _judged(_Table(entry, f"{path}: promise {at}"), ranks) for at, entry in enumerate(promises, 1)
    )
    rate = top.number("error_rate")
    if not 0 < rate < 0.5:
        raise top.wrong("error_rate", "a number between 0 and 0.5")
    return Spec(path, top.text("title"), rate, tuple(one.promise for one in found), ""), found


@dataclass(frozen=True)
class _Table:
    value: object
    where: str

    def get(self, key: str) -> object:
        return self.value.get(key) if isinstance(self.value, Mapping) else None

    def wrong(self, key: str, what: str) -> UsageError:
        there = isinstance(self.value, Mapping) and key in self.value
        shown = repr(self.get(key))[:80] if there else "missing"
        return UsageError(f"{self.where}: {key}: {shown}: it should be {what}")

    def text(self, key: str) -> str:
        found = self.get(key)
        if not isinstance(found, str):
            raise self.wrong(key, "text")
        return found

    def number(self, key: str, *, missing: float | None = None) -> float:
        found = self.get(key)
        if found is None and missing is not None:
            return missing
        if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
            raise self.wrong(key, "a number")
        return float(found)

    def count(self, key: str) -> int:
        found = self.get(key)
        if type(found) is not int or not 0 <= found < 1 << 53:
            raise self.wrong(key, "a whole number, 0 or more")
        return found

    def one_of(self, key: str, kinds: type[Member]) -> Member:
        found = self.get(key)
        for kind in kinds:
            if kind.value == found:
                return kind
        raise self.wrong(key, f"one of {', '.join(str(kind.value) for kind in kinds)}")

    def texts(self, key: str) -> tuple[str, ...]:
        found = self.get(key)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise self.wrong(key, "a list of words")
        return tuple(found)

    def parameters(self, key: str) -> dict[str, str]:
        found = self.get(key)
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise self.wrong(key, "a table of words")
        return dict(found)


def _judged(table: _Table, ranks: int) -> PromiseVerdict:
    promise = _promise(table)
    broken = table.get("broken_labels")
    if not isinstance(broken, list):
        raise table.wrong("broken_labels", "a list of labels")
    doubt = table.number("doubt")
    if not 0 <= doubt <= 1:
        raise table.wrong("doubt", "between 0 and 1")
    reason = table.text("reason") if table.get("reason") is not None else ""
    worst = () if reason else _label(table, "worst_label", table.get("worst_label"), promise.kind, ranks)
    return PromiseVerdict(
        promise=promise,
        verdict=table.one_of("verdict", Verdict),
        doubt=doubt,
        repetitions=table.count("repetitions"),
        quantities=table.count("quantities"),
        worst=table.number("worst", missing=math.nan),
        middle=table.number("middle", missing=math.nan),
        broken=tuple(_label(table, "broken_labels", one, promise.kind, ranks) for one in broken),
        worst_label=worst,
        reason=reason,
        left_out=table.text("left_out") if table.get("left_out") is not None else "",
    )


def _promise(table: _Table) -> Promise:
    bound, share = table.number("bound"), table.number("of_the_time")
    if bound <= 0:
        raise table.wrong("bound", "more than nothing")
    if not 0 < share < 1:
        raise table.wrong("of_the_time", "between 0 and 1")
    return Promise(
        name=table.text("name"), kind=table.one_of("kind", PromiseKind), pattern=table.text("pattern"),
        size_bytes=max(table.count("size_bytes"), 1), bound=bound, said=table.text("promised"),
        parameters=table.parameters("parameters"), routes=table.text("routes"), nodes=table.texts("nodes"),
        of_the_time=share,
    )  # fmt: skip


def _label(table: _Table, key: str, value: object, kind: PromiseKind, ranks: int) -> tuple[int, ...]:
    """The ranks of a label, which the runs must have."""
    if not isinstance(value, list) or not all(type(part) is int for part in value):
        raise table.wrong(key, "a list of ranks")
    label = tuple(value)
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
                f"{table.where}: it tells of rank {max(inner)}, and the runs have {ranks} ranks: name the "
                "runs that were judged"
            )
    if not fits:
        raise table.wrong(key, "a list of ranks, as crosscut check writes it")
    return label
