"""A folder of launches as JSON: `crosscut show FOLDER --json`, `crosscut run --launches K --json`."""

from __future__ import annotations

from crosscut.analysis.figures.launches import LaunchSpread, spreads
from crosscut.base.records import finite
from crosscut.reports.view import View
from crosscut.reports.words import figures
from crosscut.run.launches import Manifest


def document(manifest: Manifest) -> dict[str, object]:
    """Returns rates in bytes per second, times in seconds, standard deviations as shares of the figure."""
    views = {path.name: View.open(path) for path in manifest.there}
    return {
        "out": str(manifest.path),
        "launches": [
            {"name": one.name, "state": views[one.name].state if one.name in views else "missing",
             "order_seed": one.order_seed}
            for one in manifest.launches
        ],
        "sizes": [size(one) | _by_name(one, [*views]) for one in spreads([*views.values()])],
    }  # fmt: skip


def size(of: LaunchSpread) -> dict[str, object]:
    """Returns how much launches differ at one size."""
    return {
        "size_bytes": of.size_bytes,
        "figure": "message_seconds" if of.timed else "phase_bytes_per_second",
        "over_launches": figures.at(of.middle, 0).as_json(),
        "between_launches": finite(of.between),
        "within_launch": finite(of.within),
        "launches_differ_more": of.dominates,
    }


def _by_name(of: LaunchSpread, names: list[str]) -> dict[str, object]:
    values = zip(names, of.launches.tolist(), strict=True)
    return {"launches": {name: finite(value) for name, value in values}}
