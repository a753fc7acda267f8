"""What a history keeps of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from crosscut.analysis.figures import limited
from crosscut.analysis.figures.digest import digest
from crosscut.analysis.figures.launches import open_run
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.findings import cable_names, of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.stats.intervals import Floats
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.cabling.model import Cabling, Port
from crosscut.reports.view import View, dig, items, number, text
from crosscut.run.run import Run

# Beyond this number of racks (or switches), rates between them are left out: 4,096 pairs in a run.
MOST_PARTS = 64
_LONGEST_WORDS = 2000


class Undated(UsageError):
    """A run does not say when it was measured."""


@dataclass(frozen=True)
class RunSeries:
    """What runs must have in common to be points of one series."""

    cluster: str
    place: str
    pattern: str
    parameters: str
    """`stride 3`, or empty."""
    backend: str
    message_bytes: int


@dataclass(frozen=True)
class KeptHost:
    name: str
    sent: int | None
    """Bytes per second: the median over its routes to other hosts of each route's median; None: unknown."""
    received: int | None
    setup: str
    """Kernel and adapters: what may explain a change."""
    rack: str = ""
    port: str = ""
    cable: str = ""


@dataclass(frozen=True)
class KeptPair:
    """The median rate of the routes from the hosts of one rack to those of another."""

    source: str
    destination: str
    rate: int


@dataclass(frozen=True)
class KeptFinding:
    kind: str
    fault: bool
    what: str
    direction: str | None
    share: float | None
    probability: float | None
    hosts: tuple[str, ...]
    parts: tuple[str, ...]
    """Groups that the finding names."""


@dataclass(frozen=True)
class RunRecord:
    identity: str
    """The same for every copy of a run, and after it was resumed."""
    series: RunSeries
    start: str
    """ISO 8601, UTC, seconds."""
    path: str
    state: str
    crosscut: str
    ranks: int
    sent: int | None
    """The median host's rate."""
    received: int | None
    hosts: tuple[KeptHost, ...]
    pairs: tuple[KeptPair, ...]
    findings: tuple[KeptFinding, ...]

    def content(self) -> str:
        """A checksum of everything but the path: it changes if the run was resumed since."""
        return _hashed({**asdict(self), "path": ""})


def record(path: Path, cluster: str | None = None, cabling: Cabling | None = None) -> RunRecord:
    """Reads a run or a folder of launches. Raises UsageError or DamagedRun if it cannot be kept."""
    view = View.of(open_run(path))
    sizes = view.measured_sizes()
    if not sizes:
        raise UsageError(f"{path}: nothing is measured yet")
    index = max(sizes, key=lambda at: view.sizes_bytes[at])
    believed = _believed(view, index)
    routes = digest(believed.measured_part(index), index).routes if believed is not None else None
    if cabling is not None and (why := cabling.stranger_to(list(dict.fromkeys(view.node_names)))):
        raise UsageError(f"{path}: --cabling: {why}")
    hosts = _hosts(view, routes, cabling)
    cluster = cluster or text(view.attributes, "network", "name") or text(view.attributes, "place") or "?"
    return RunRecord(
        identity=_identity(view),
        series=_series(view, cluster, index),
        start=_start(view),
        path=str(path.absolute()),
        state=view.state,
        crosscut=text(view.attributes, "crosscut"),
        ranks=view.ranks,
        sent=_middle([host.sent for host in hosts]),
        received=_middle([host.received for host in hosts]),
        hosts=hosts,
        pairs=_pairs(view, routes, cabling),
        findings=_findings(view, index, routes, cabling),
    )


def _believed(view: View, index: int) -> View | None:
    """Returns the run without the phases that the emulating machine limited; None if that is all of them."""
    bad = limited.limited_phases(view.attributes, view.sizes_bytes[index])
    if not bad:
        return view
    kept = np.nonzero(~np.isin(view.dataset["phase"].values, sorted(bad)))[0]
    return View.of(Run(view.path, view.dataset.isel(phase=kept))) if len(kept) else None


def _identity(view: View) -> str:
    """Hashes what no resumption, copy or renaming changes."""
    job = dig(view.attributes, "job")
    lasting = {key: value for key, value in job.items() if key != "out"} if isinstance(job, Mapping) else job
    network = dig(view.attributes, "network", "description")
    return _hashed([dig(view.attributes, "start"), lasting, view.ranks, view.nodes, network])


def _hashed(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _start(view: View) -> str:
    try:
        moment = datetime.fromisoformat(text(view.attributes, "start"))
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError) as error:
        raise Undated(
            f"{view.path} does not record when it started, so it has no place in a history; if it was "
            "imported, import it again with --started TIME"
        ) from error


def _series(view: View, cluster: str, index: int) -> RunSeries:
    given = dig(view.attributes, "pattern", "parameters")
    pairs = sorted(given.items()) if isinstance(given, Mapping) else []
    words = [f"{key} {value}" for key, value in pairs if str(value)]
    words += [
        f"{name} {count:.0f}" for name in ("window", "rails") if (count := number(view.attributes, name)) > 1
    ]
    return RunSeries(
        cluster, text(view.attributes, "place"), view.pattern, ", ".join(words)[:_LONGEST_WORDS],
        text(view.attributes, "backend", "name"), view.sizes_bytes[index],
    )  # fmt: skip


def _hosts(view: View, routes: Routes | None, cabling: Cabling | None) -> tuple[KeptHost, ...]:
    """Hosts by the first of each name; none for a run that does not name them."""
    names = [*dict.fromkeys(view.node_names)]
    if routes is None or "?" in names:
        return ()
    number_of = {name: at for at, name in enumerate(names)}
    host = np.array([number_of[name] for name in view.node_names])
    outside = host[routes.source] != host[routes.destination]
    rates = routes.rates.median[outside]
    sent = medians_by(host[routes.source][outside], rates, len(names))
    received = medians_by(host[routes.destination][outside], rates, len(names))
    setups = _setups(view)
    found = []
    for at, name in enumerate(names):
        port = next(iter(cabling.of_host(name)), Port(name)) if cabling is not None else Port(name)
        place = f"{port.switch} {port.port}".strip()
        found.append(
            KeptHost(
                name,
                _whole(sent[at]),
                _whole(received[at]),
                setups.get(name, ""),
                port.rack,
                place,
                port.cable,
            )
        )
    return tuple(found)


def medians_by(group: np.ndarray[Any, np.dtype[np.int64]], values: Floats, groups: int) -> Floats:
    """Returns [group] the median of its finite values; NaN if it has none."""
    known = np.isfinite(values)
    group, values = group[known], values[known]
    order = np.lexsort((values, group))
    values = values[order]
    counts = np.bincount(group, minlength=groups)
    ends = np.cumsum(counts)
    there = counts > 0
    first, last = (ends - counts)[there], ends[there] - 1
    found = np.full(groups, np.nan)
    found[there] = (values[(first + last) // 2] + values[(first + last + 1) // 2]) / 2
    return found


def _whole(rate: float) -> int | None:
    return round(float(rate)) if 0 < rate < 2**62 else None


def _middle(rates: Sequence[int | None]) -> int | None:
    known = [rate for rate in rates if rate is not None]
    return round(float(np.median(known))) if known else None


def _setups(view: View) -> dict[str, str]:
    """Returns by host its kernel and adapters, as far as the run records them."""
    found = {}
    for node in items(view.attributes, "nodes"):
        words = [f"kernel {kernel}"] if (kernel := text(node, "kernel")) else []
        for adapter in items(node, "adapters"):
            parts = [text(adapter, "name"), text(adapter, "driver")]
            parts += [f"MTU {mtu:.0f}"] if np.isfinite(mtu := number(adapter, "mtu")) else []
            if np.isfinite(speed := number(adapter, "speed_mbit_s")):
                parts.append(units.bit_rate(speed * 1e6))
            words.append(" ".join(filter(None, parts)))
        found[text(node, "name")] = "; ".join(words)[:_LONGEST_WORDS]
    return found


def _pairs(view: View, routes: Routes | None, cabling: Cabling | None) -> tuple[KeptPair, ...]:
    """Returns the median rate of each pair of racks; of switches if the list of cables names no racks."""
    if routes is None or cabling is None:
        return ()
    of_host = {name: _part(cabling, name) for name in dict.fromkeys(view.node_names)}
    parts = sorted({part for part in of_host.values() if part})
    if not 1 < len(parts) <= MOST_PARTS:
        return ()
    number_of = {part: at for at, part in enumerate(parts)}
    part_of = np.array([number_of.get(of_host[name], -1) for name in view.node_names])
    source, destination = part_of[routes.source], part_of[routes.destination]
    known = (source >= 0) & (destination >= 0) & (source != destination)
    key = source[known] * len(parts) + destination[known]
    rates = medians_by(key, routes.rates.median[known], len(parts) ** 2)
    pairs = ((*divmod(at, len(parts)), _whole(rate)) for at, rate in enumerate(rates))
    return tuple(KeptPair(parts[a], parts[b], rate) for a, b, rate in pairs if rate is not None)


def _part(cabling: Cabling, host: str) -> str:
    return next((port.rack or port.switch for port in cabling.of_host(host) if port.rack or port.switch), "")


def _findings(
    view: View, index: int, routes: Routes | None, cabling: Cabling | None
) -> tuple[KeptFinding, ...]:
    found, structure = of_run.look(view, index, routes)
    if cabling is not None:
        found, _ = cable_names.named(found, structure, cabling)
    return tuple(_kept(one) for one in found if one.kind is not FindingKind.NOTHING)


def _kept(one: Finding) -> KeptFinding:
    share = one.effect.share if one.effect is not None and np.isfinite(one.effect.share) else None
    hosts = tuple(dict.fromkeys(host.partition(":")[0] for host in one.hosts)) if one.kind.warns else ()
    return KeptFinding(
        kind=one.kind.value,
        fault=one.kind.fault,
        what=one.what[:_LONGEST_WORDS],
        direction=one.direction.value if one.direction is not None else None,
        share=share,
        probability=one.false_alarm if np.isfinite(one.false_alarm) and one.kind.warns else None,
        hosts=hosts,
        parts=one.groups,
    )  # fmt: skip
