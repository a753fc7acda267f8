"""Reads results measured on a network's cluster, from `crosscut workload hpl --json` and `crosscut workload
run --json`, and relates HPL's rate to the network's price.

Kurmann, Rauch and Stricker (2003, section 7.2) compare networks in dollars per MFlop.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError, plainly
from crosscut.pricing.amounts import Interval
from crosscut.pricing.asking import Priced
from crosscut.workloads import applications
from crosscut.workloads.applications import Result

LARGEST_FILE_BYTES = 16 << 20
SCHEMA_NAME, SCHEMA_VERSION = "crosscut-hpl", 1
MOST = 1 << 20
MEGA = 1e6


@dataclass(frozen=True)
class Performance:
    file: Path
    ranks: int
    hosts: int
    """0 if the file does not say."""
    order: int
    median: float
    """Operations per second, with the best parameters tried."""
    between: Interval
    """From its slowest repetition to its fastest."""


@dataclass(frozen=True)
class Worth:
    """A network's price relative to the performance measured on it."""

    priced: Priced
    performance: Performance

    def per_mflops(self, price: Interval | None) -> Interval | None:
        """Price per MFlop/s, from cheap and fast to dear and slow. None without a price."""
        if price is None:
            return None
        rates = self.performance.between
        return Interval(price.low / rates.high * MEGA, price.high / rates.low * MEGA)

    @property
    def network(self) -> Interval | None:
        return self.per_mflops(self.priced.bill.cost if self.priced.bill else None)

    @property
    def whole(self) -> Interval | None:
        return self.per_mflops(self.priced.bill.whole if self.priced.bill else None)


def assigned(words: Sequence[str], networks: Sequence[str]) -> dict[str, Performance]:
    """Assigns results to networks: `FILE` if there is only one network, otherwise `NETWORK=FILE`."""
    found: dict[str, Performance] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        if equals and name in networks:
            network, file = name, rest
        elif len(set(networks)) == 1:
            network, file = networks[0], word
        else:
            raise UsageError(
                f"--performance {word}: for which network? Write NETWORK=FILE, for {' or '.join(networks)}"
            )
        if network in found:
            raise UsageError(f"--performance {word}: {network} has one already, {found[network].file}")
        found[network] = load(Path(file))
    return found


def nodes_of(performance: Performance, asked: Sequence[int] | None) -> int:
    """The number of nodes to price: as many as the performance was measured on."""
    if asked and len(asked) > 1:
        raise UsageError("--nodes: with --performance give one number: the nodes it was measured on")
    if performance.hosts and asked and asked[0] != performance.hosts:
        raise UsageError(
            f"--nodes {asked[0]}: {performance.file} was measured on {performance.hosts} nodes; its rate "
            "holds for no other number"
        )
    if not performance.hosts and not asked:
        raise UsageError(f"{performance.file}: does not say on how many nodes it ran; give --nodes")
    return performance.hosts or (asked or (0,))[0]


@contextmanager
def _opened(file: Path, command: str) -> Iterator[str]:
    """Yields the file's text.

    Raises UsageError if the file, or what the caller parses within, is not what `command` writes.
    """
    hint = f"`crosscut {command}` writes such a file"
    try:
        content = bounded_file.read(file, LARGEST_FILE_BYTES, "a result")
    except UsageError as error:
        raise UsageError(f"{error}; {hint}") from error
    try:
        yield content.decode("utf-8")
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {plainly(error)}; {hint}") from error


def load(file: Path) -> Performance:
    """Reads a result of HPL. Raises UsageError if the file is none, or its residual check failed."""
    with _opened(file, "workload hpl --json") as text:
        value = json.loads(text)
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, dict) or schema.get("name") != SCHEMA_NAME:
        raise UsageError(f"{file}: is not a result of `crosscut workload hpl --json`")
    if schema.get("version") != SCHEMA_VERSION:
        raise UsageError(f"{file}: is version {schema.get('version')!r}, not {SCHEMA_VERSION}")
    if value.get("verified") is not True:
        raise UsageError(f"{file}: its residual check failed: the solution is wrong, and its rate void")
    return _performance(file, value)


def _performance(file: Path, value: Mapping[str, object]) -> Performance:
    rates = value.get("flops_per_second")
    if not isinstance(rates, dict):
        raise UsageError(f"{file}: flops_per_second is not an object")
    least, median, most = (_rate(file, rates, key) for key in ("minimum", "median", "maximum"))
    if not least <= median <= most:
        raise UsageError(f"{file}: flops_per_second: minimum, median and maximum are not in that order")
    hosts = 0 if value.get("hosts") is None else _whole(file, value, "hosts")
    ranks, order = _whole(file, value, "ranks"), _whole(file, value, "order")
    return Performance(file, ranks, hosts, order, median, Interval(least, most))


def _rate(file: Path, owner: Mapping[str, object], key: str) -> float:
    value = owner.get(key)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 < value < 1e21
        or not math.isfinite(value)
    ):
        raise UsageError(f"{file}: flops_per_second.{key} is {json.dumps(value)[:40]}, not a rate")
    return float(value)


def _whole(file: Path, owner: Mapping[str, object], key: str) -> int:
    value = owner.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
        raise UsageError(f"{file}: {key} is {json.dumps(value)[:40]}, not a number from 1 to {MOST:,}")
    return value


def workload_results(file: Path) -> list[Result]:
    """Reads one result a line. Raises UsageError for any other line, or if a result failed verification."""
    with _opened(file, "workload run … --json") as text:
        lines = text.splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(applications.parse_result(line))
        except applications.WorkloadError as error:
            raise UsageError(
                f"{file}:{number}: is not a result of `crosscut workload run … --json`: {str(error)[:200]}"
            ) from error
        if not found[-1].verified:
            raise UsageError(f"{file}:{number}: the result failed verification, so its time is void")
    if not found:
        raise UsageError(f"{file}: is empty; `crosscut workload run … --json` writes such a file")
    return found


def of_ranks(results: list[Result], file: Path, ranks: int, where: str) -> list[Result]:
    """The results with this number of ranks. Raises UsageError if there are none, or several problems."""
    fitting = [one for one in results if one.ranks == ranks]
    if not fitting:
        there = ", ".join(str(count) for count in sorted({one.ranks for one in results}))
        raise UsageError(f"{where}: {file} has results for {there} ranks, but the mix has {ranks:,}")
    if len(problems := {problem(one) for one in fitting}) > 1:
        raise UsageError(f"{where}: {file} has {' and '.join(sorted(problems))}: give a file for each")
    return fitting


def problem(result: Result) -> str:
    """Names the problem, for messages and comparison. Unprintable characters become `?`."""
    named = f"{result.name}, class {result.problem_class} ({result.size})"
    return "".join(one if one.isprintable() else "?" for one in named)[:100]
