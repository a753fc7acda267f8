"""The latest results as metrics, in Prometheus' text format and in OpenMetrics.

Names follow https://prometheus.io/docs/practices/naming: base units, in full, and a prefix for the program.
The formats are https://prometheus.io/docs/instrumenting/exposition_formats and OpenMetrics 1.0. No sample has
a time of its own, which node_exporter would refuse: `crosscut_run_timestamp_seconds` says when the run began.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import crosscut
from crosscut.history import queries
from crosscut.history.database import fetched
from crosscut.history.queries import RunRow, SeriesRow

_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Metric:
    """A gauge; its samples follow in `Samples`."""

    name: str
    help: str


SENT = Metric("crosscut_host_send_bytes_per_second", "Median rate at which the host sent in the latest run.")
RECEIVED = Metric(
    "crosscut_host_receive_bytes_per_second", "Median rate at which the host received in the latest run."
)
SUSPECTED = Metric("crosscut_host_faults", "Findings on faults of the latest run that name the host.")
TYPICAL = Metric(
    "crosscut_median_send_bytes_per_second", "Rate at which the median host sent in the latest run."
)
TIME = Metric("crosscut_run_timestamp_seconds", "Start of the latest run, as Unix time.")
HOSTS = Metric("crosscut_run_hosts", "Hosts that the latest run measured.")
FINDINGS = Metric("crosscut_findings", "Findings of the latest run by kind; fault: 1 if something is broken.")
BROKEN = Metric(
    "crosscut_promise_broken", "1 if the latest verdict of crosscut check is that the promise is broken."
)
RUNS = Metric("crosscut_history_runs", "Runs in the history.")
VERSION = Metric("crosscut_build_info", "The version of crosscut that answers, as a label.")
METRICS = (VERSION, RUNS, TIME, HOSTS, TYPICAL, FINDINGS, BROKEN, SUSPECTED, SENT, RECEIVED)

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


class MetricSample(NamedTuple):
    metric: Metric
    labels: Mapping[str, str]
    value: float


class _HostSample(NamedTuple):
    name: str
    rack: str
    sent: int | None
    received: int | None
    faults: int


def samples(connection: sqlite3.Connection) -> Iterator[MetricSample]:
    """Yields the samples of the latest run of each series."""
    yield MetricSample(VERSION, {"version": crosscut.__version__}, 1)
    every = queries.all_series(connection)
    for series in every:
        yield MetricSample(RUNS, _labels(series), series.runs)
        for run in queries.runs(connection, series.id, 1):
            yield from _of_run(connection, _labels(series), run)


def _labels(series: SeriesRow) -> dict[str, str]:
    labels = {"cluster": series.cluster, "place": series.place, "pattern": series.pattern,
              "backend": series.backend, "message_bytes": str(series.message_bytes)}  # fmt: skip
    return labels | ({"parameters": series.parameters} if series.parameters else {})


def _of_run(connection: sqlite3.Connection, labels: Mapping[str, str], run: RunRow) -> Iterator[MetricSample]:
    began = datetime.fromisoformat(run.start)
    yield MetricSample(TIME, labels, began.timestamp())
    yield MetricSample(HOSTS, labels, run.hosts)
    if run.sent is not None:
        yield MetricSample(TYPICAL, labels, run.sent)
    counted: dict[tuple[str, int], int] = {}
    for finding in queries.findings(connection, run.id):
        counted[finding.kind, finding.fault] = counted.get((finding.kind, finding.fault), 0) + 1
    for (kind, fault), count in counted.items():
        yield MetricSample(FINDINGS, {**labels, "kind": kind, "fault": str(fault)}, count)
    for verdict in queries.verdicts(connection, run.id):
        yield MetricSample(BROKEN, {**labels, "promise": verdict.promise}, float(verdict.verdict == "fail"))
    hosts = fetched(
        connection, _HostSample,
        "SELECT h.name, h.rack, r.sent, r.received, (SELECT count(*) FROM finding_host n JOIN finding f "
        "USING (run, number) WHERE n.run = r.run AND n.host = r.host AND f.fault) "
        "FROM host_rate r JOIN host h ON h.id = r.host WHERE r.run = ? ORDER BY h.name", (run.id,),
    )  # fmt: skip
    for host in hosts:
        named = {**labels, "host": host.name, **({"rack": host.rack} if host.rack else {})}
        yield MetricSample(SUSPECTED, named, host.faults)
        for metric, rate in ((SENT, host.sent), (RECEIVED, host.received)):
            if rate is not None:
                yield MetricSample(metric, named, rate)


def text(found: Iterable[MetricSample], *, openmetrics: bool = False) -> str:
    """Returns the samples as text, those of a metric together, which both formats demand."""
    of_metric: dict[str, list[str]] = {}
    for sample in found:
        labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
        of_metric.setdefault(sample.metric.name, []).append(
            f"{sample.metric.name}{{{labels}}} {sample.value:.15g}"
        )
    lines = []
    for metric in METRICS:
        if metric.name in of_metric:
            lines += [
                f"# HELP {metric.name} {metric.help}",
                f"# TYPE {metric.name} gauge",
                *of_metric[metric.name],
            ]
    return "\n".join([*lines, *(["# EOF"] if openmetrics else [])]) + "\n"


def _escaped(value: str) -> str:
    r"""Escapes a label's value: `\`, `"` and line feeds. Characters that cannot be printed become `?`."""
    plain = "".join(one if one == "\n" or one.isprintable() else "?" for one in value)
    return plain.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def wants_openmetrics(accept: str) -> bool:
    """True if a request's header `Accept` names OpenMetrics with a quality of at least that of plain text."""
    quality: dict[str, float] = {}
    for part in accept.split(","):
        kind, *parameters = (word.strip().lower() for word in part.split(";"))
        weights = [word.removeprefix("q=") for word in parameters if word.startswith("q=")]
        try:
            quality[kind] = max(quality.get(kind, 0.0), float(weights[0]) if weights else 1.0)
        except ValueError:
            continue
    wanted = quality.get("application/openmetrics-text", 0.0)
    return wanted > 0 and wanted >= quality.get("text/plain", 0.0)
