"""A Grafana dashboard of the metrics, as JSON to import (https://grafana.com/docs/grafana/latest/dashboards).

It has one data source and one cluster to choose; every query uses the metrics of `metrics`.
"""

from __future__ import annotations

from typing import Any

from crosscut.history import metrics

_SOURCE = {"type": "prometheus", "uid": "${source}"}
_CHOSEN = 'cluster=~"$cluster"'
_COLUMNS = 24
_ROW_HEIGHT = 8


def _rate_of(metric: metrics.Metric) -> str:
    return f"{metric.name}{{{_CHOSEN}}}"


# (title, kind of panel, unit, width in columns, [(query, legend)], what it says)
_Panel = tuple[str, str, str, int, list[tuple[str, str]], str]
_PANELS: tuple[_Panel, ...] = (
    ("Faults found", "stat", "short", 6,
     [(f'sum(crosscut_findings{{{_CHOSEN},fault="1"}}) or vector(0)', "faults")],
     "Findings on faults in the latest runs."),
    ("Age of the latest run", "stat", "s", 6,
     [(f"time() - max by (cluster) ({_rate_of(metrics.TIME)})", "{{cluster}}")],
     "If it grows beyond a day, the nightly check does not run."),
    ("Hosts measured", "stat", "short", 6, [(f"max by (cluster) ({_rate_of(metrics.HOSTS)})", "{{cluster}}")],
     "Hosts of the latest run."),
    ("Broken promises", "stat", "short", 6,
     [(f"sum({_rate_of(metrics.BROKEN)}) or vector(0)", "broken")],
     "Verdicts of crosscut check that a promise is broken."),
    ("Rate of hosts", "timeseries", "Bps", 24,
     [(f"min by (cluster, pattern) ({_rate_of(metrics.SENT)})", "slowest host, {{pattern}}"),
      (f"quantile by (cluster, pattern) (0.05, {_rate_of(metrics.SENT)})", "5 % are slower, {{pattern}}"),
      (_rate_of(metrics.TYPICAL), "median host, {{pattern}}")],
     "Rates at which hosts send."),
    ("Slowest hosts", "table", "Bps", 12, [(f"bottomk(10, {_rate_of(metrics.SENT)})", "{{host}}")],
     "The ten hosts that send slowest in the latest runs."),
    ("Hosts at fault", "table", "short", 12, [(f"{_rate_of(metrics.SUSPECTED)} > 0", "{{host}}")],
     "Hosts that findings on faults name."),
)  # fmt: skip


def dashboard() -> dict[str, Any]:
    """Returns the document that Grafana imports."""
    panels, x, y = [], 0, 0
    for number, (title, kind, unit, width, queries, says) in enumerate(_PANELS, 1):
        if x + width > _COLUMNS:
            x, y = 0, y + _ROW_HEIGHT
        panels.append({
            "id": number, "title": title, "type": kind, "description": says, "datasource": _SOURCE,
            "gridPos": {"h": _ROW_HEIGHT, "w": width, "x": x, "y": y},
            "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
            "targets": [
                {"refId": "ABC"[at], "expr": query, "legendFormat": legend, "datasource": _SOURCE,
                 **({"format": "table", "instant": True} if kind == "table" else {})}
                for at, (query, legend) in enumerate(queries)
            ],
        })  # fmt: skip
        x += width
    return {
        "title": "crosscut: interconnect", "uid": "crosscut-history", "tags": ["crosscut"], "timezone": "utc",
        "schemaVersion": 38, "editable": True, "refresh": "5m", "time": {"from": "now-90d", "to": "now"},
        "templating": {"list": [
            {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
            {"name": "cluster", "type": "query", "datasource": _SOURCE, "includeAll": True, "multi": True,
             "query": f"label_values({metrics.TIME.name}, cluster)", "refresh": 2,
             "current": {"text": "All", "value": "$__all"}},
        ]},
        "panels": panels,
    }  # fmt: skip


def queries() -> list[str]:
    """Returns the queries of all panels, for any cluster."""
    return [query.replace("$cluster", ".*") for panel in _PANELS for query, _ in panel[4]]
