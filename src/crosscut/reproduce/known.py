"""Names in an experiment's file that others must know: patterns and parameters the core, networks the
catalogue. Looked at before the first lab is built, where the line can still be told."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from crosscut import network
from crosscut.core import Core
from crosscut.reproduce import fields
from crosscut.reproduce.fields import Table


def check(path: Path, core: Core) -> None:
    """UsageError with file and line. The file must be one that `experiment.read` has read."""
    folder = network.catalogue()
    networks = {file.stem for file in folder.glob("*.toml")} if folder else set()
    for series in fields.document(path).tables("series"):
        if "network" in series:
            _network(series, path.parent, networks)
        if "pattern" in series:
            _pattern(series, core)


def _network(series: Table, beside: Path, networks: Collection[str]) -> None:
    name = series.text("network")
    if not name.endswith(".toml"):
        _one_of(series, "network", name, networks)
    elif not (beside / name).is_file():
        series.fail("network", f"there is no file {beside / name}")


def _pattern(series: Table, core: Core) -> None:
    name = series.text("pattern")
    parameters = {one.name: [each.name for each in one.parameters] for one in core.patterns}
    _one_of(series, "pattern", name, parameters)
    for key in ("parameters", "lab_parameters"):
        series.table(key).only(parameters[name])


def _one_of(series: Table, key: str, name: str, there: Collection[str]) -> None:
    if name in there:
        return
    near = difflib.get_close_matches(name, there, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"there is {', '.join(sorted(there)) or 'none'}"
    series.fail(key, f"there is no {key} '{name}'; {hint}")
