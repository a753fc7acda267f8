"""Reads a spec, the TOML file of promises; reports every mistake with file, line and key."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

from crosscut.analysis.figures.route_class import CLASSES
from crosscut.base import toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import DERIVED, NO_TABLE, Filled, Key, OneOf, Scalars, Table


class PromiseKind(Enum):
    """What a promise bounds: one quantity per phase, route or node; SPREAD: one for all routes."""

    BISECTION = "bisection"
    PHASE = "phase"
    ROUTE = "route"
    NODE = "node"
    LATENCY = "latency"
    SPREAD = "spread"


PATTERNS = {PromiseKind.BISECTION: "bisection", PromiseKind.LATENCY: "pingpong"}
DEFAULT_PATTERN = "aapc"
_AT_LEAST = (PromiseKind.BISECTION, PromiseKind.PHASE, PromiseKind.ROUTE, PromiseKind.NODE)


_RATE = re.compile(r"\s*([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*([kKMGT]?)(bit/s|B/s)\s*")
_FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def parse_rate(text: str) -> float:
    """Converts text such as `100 Mbit/s` or `11.5 MB/s` to bytes per second."""
    found = _RATE.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        return float(found[1]) * _FACTORS[found[2]] / (8 if found[3] == "bit/s" else 1)
    except ValueError as error:
        raise UsageError(
            f'\'{text}\' is not a rate; write for example "100 Mbit/s" or "11.5 MB/s"'
        ) from error


def _inside(most: float, advice: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        if not 0 < (share := units.parse_fraction(text)) < most:
            raise UsageError(f"'{text}': {advice}")
        return share

    return read


@dataclass(frozen=True, kw_only=True)
class Promise:
    name: Filled = ""
    kind: PromiseKind
    pattern: Filled = ""
    size_bytes: Annotated[int, Key("size"), units.parse_bytes] = 0
    floor: Annotated[str, Key("at_least")] = ""
    """The bound as written in the file; so is `ceiling`."""
    ceiling: Annotated[str, Key("at_most")] = ""
    bound: Annotated[float, DERIVED] = 0.0
    """Bytes per second for a floor; seconds or a share for a ceiling."""
    said: Annotated[str, DERIVED] = ""
    """The bound in words."""
    parameters: Scalars = field(default_factory=dict)
    routes: Annotated[str, OneOf(CLASSES)] = ""
    """A class of routes; empty: all."""
    nodes: tuple[Filled, ...] = ()
    """Patterns of node names (`n00*`); empty: all."""
    of_the_time: Annotated[float, _inside(1, 'must be above 0 % and below 100 %; "50%" is the median')] = 0.5
    """Share of the repetitions that must meet the bound; one half: the median."""
    of_the_routes: Annotated[float, DERIVED] = 0.5
    """NODE: share of its routes that must meet the bound; one half: the median."""
    at: Table = NO_TABLE

    @property
    def at_least(self) -> bool:
        return self.kind in _AT_LEAST


# Keys that only descriptions of networks have.
_OF_NETWORKS = {"hosts", "switches", "links", "generator"}


@dataclass(frozen=True, kw_only=True)
class Spec:
    title: Filled = ""
    link_rate: Annotated[float, parse_rate] = 0.0
    error_rate: Annotated[float, _inside(0.5, 'must be above 0 % and below 50 %, such as "1%"')] = 0.01
    promises: Annotated[tuple[Promise, ...], Key("promise")] = ()
    path: Annotated[Path, DERIVED] = Path()
    text: Annotated[str, DERIVED] = ""
    """Contents of the file."""

    @property
    def sizes_bytes(self) -> frozenset[int]:
        return frozenset(promise.size_bytes for promise in self.promises)


def read(path: Path) -> Spec:
    return _spec(toml_fields.document(path, "a spec"))


def parse(text: str, path: Path) -> Spec:
    return _spec(toml_fields.parse(text, path))


def _spec(top: Table) -> Spec:
    if "promise" not in top.values and top.values.keys() & _OF_NETWORKS:
        top.fail(
            "", "it describes a network; name a specification, which has [[promise]] tables, and the network "
            f"as --on sim:{top.file}",
        )  # fmt: skip
    spec = top.read(Spec)
    if not spec.promises:
        top.fail("", "it contains no promise; add a [[promise]] table for each")
    found = tuple(_promise(one, number, spec.link_rate) for number, one in enumerate(spec.promises, 1))
    toml_fields.check_apart(found)
    path = Path(top.file)
    return replace(spec, title=spec.title or path.stem, promises=found, path=path, text=top.source)


def _promise(one: Promise, number: int, link_rate: float) -> Promise:
    kind, fail = one.kind, one.at.fail
    written, key, other = one.floor, "at_least", "at_most"
    if not one.at_least:
        written, key, other = one.ceiling, other, key
    if other in one.at:
        fail(other, f"a {kind.value} promise takes {key} instead")
    if not written:
        fail(key, f"is missing: a {kind.value} promise needs it")
    parse_bound: Callable[[str], float] = {
        PromiseKind.LATENCY: units.parse_seconds, PromiseKind.SPREAD: units.parse_fraction
    }.get(kind, lambda text: _rate_or_share(text, link_rate))  # fmt: skip
    try:
        bound = parse_bound(written)
    except UsageError as error:
        fail(key, str(error))
    if bound <= 0:
        fail(key, f"'{written}' must be greater than zero")
    if one.routes and kind in (PromiseKind.BISECTION, PromiseKind.PHASE):
        fail("routes", f'a {kind.value} promise covers all routes; use kind = "route" for a class of routes')
    if "size" in one.at and one.size_bytes < 1:
        fail("size", "must be at least 1 byte")
    usual_size = 1 if kind is PromiseKind.LATENCY else 1_000_000
    return replace(
        one,
        name=one.name or f"{kind.value} {number}",
        pattern=one.pattern or PATTERNS.get(kind, DEFAULT_PATTERN),
        size_bytes=one.size_bytes or usual_size,
        bound=bound,
        said=_said(key, written, kind, bound),
    )


def _said(key: str, written: str, kind: PromiseKind, bound: float) -> str:
    """Returns the bound in words, such as `at least 80% of link_rate = 10.0 MB/s`."""
    share = kind in _AT_LEAST and "%" in written
    what = f"{written.partition('of')[0].strip()} of link_rate = {units.rate(bound)}" if share else written
    return f"{key.replace('_', ' ')} {what}"


def _rate_or_share(text: str, link_rate: float) -> float:
    share = re.fullmatch(r"\s*([0-9.]+\s*%)\s*(?:of\s+link_rate)?\s*", text)
    if share is None:
        return parse_rate(text)
    if not link_rate:
        raise UsageError(
            f"'{text}' is a share of link_rate, which the file does not give; write link_rate = \"10 "
            'Gbit/s" at its top'
        )
    return units.parse_fraction(share[1]) * link_rate
