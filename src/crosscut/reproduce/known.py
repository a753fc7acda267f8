"""Checks an experiment's patterns and networks against the core and the catalogue, before a lab is built.

Errors name the file and line.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from crosscut.base.core import Core
from crosscut.base.errors import UsageError
from crosscut.base.job import Job
from crosscut.base.toml_fields import Table
from crosscut.network import description, paths
from crosscut.places import DEFAULT, find_place
from crosscut.reproduce.experiment import Experiment, Series
from crosscut.run.realm import Realm
from crosscut.session.refusal import phases


def check(path: Path, read: Experiment, places: Collection[Realm], core: Core) -> None:
    """Raises UsageError with the file and line, of the experiment or of a network.

    Names are checked for all series; whether the core can run them, only for `places`.
    """
    folder = description.catalogue()
    networks = {file.stem for file in folder.glob("*.toml")} if folder else set()
    for series in read.series:
        if series.network:
            _network(series, path.parent, networks)
        if (application := series.settings.application) is not None and application.base.network:
            series.at.table("base").choice("network", application.base.network, networks)
        if series.pattern:
            _pattern(series, core)
    for series in read.series:
        for place in series.on:
            if place in places:
                _measurable(series, place, core)


def _measurable(series: Series, place: Realm, core: Core) -> None:
    """Refuses what would otherwise fail only once the ranks have started."""
    room = _ranks(series.network, series.ranks_per_host) if series.network else 0
    if series.settings.worker and series.settings.worker not in _nodes(series.network):
        series.at.fail("worker", f"{series.network} has no node {series.settings.worker}")
    if place is Realm.SIMULATED and (application := series.settings.application) is not None:
        _fits(series, max((*series.rank_counts, series.ranks)), series.network)
        _fits(series, application.base.ranks, application.base.network or series.network)
    if not series.pattern:
        return
    for asked in series.rank_counts or (series.ranks,):
        if place is Realm.SIMULATED:
            _fits(series, asked, series.network)
        ranks = asked or room or find_place(DEFAULT)[0].default_ranks("", {})
        _phases(series, place, ranks, core)


def _fits(series: Series, asked: int, network: str) -> None:
    if asked > (room := _ranks(network, series.ranks_per_host)):
        series.at.fail("ranks", f"{asked} do not fit: {network} has room for {room}; see ranks_per_host")


def _phases(series: Series, place: Realm, ranks: int, core: Core) -> None:
    on_lab = place is Realm.EMULATED
    parameters = series.lab_parameters if on_lab else series.parameters
    sizes = series.lab_messages if on_lab else series.messages
    job = Job(series.pattern, Path("none"), parameters, sizes=sizes)
    try:
        there = phases(core.executable, job, ranks)
    except UsageError as error:
        series.at.fail(_key(series.at, on_lab, str(error)), str(error))
    if there and max(series.phases, default=1) > there:
        series.at.fail(
            "phases",
            f"there is no phase {max(series.phases)}: with {ranks} ranks {series.pattern} has {there}",
        )


def _key(table: Table, on_lab: bool, reason: str) -> str:
    """The key with the parameter that the core's message names."""
    named = reason.removeprefix("--").partition(" ")[0].rstrip(":") if reason.startswith("--") else ""
    if on_lab and named in table.table("lab_parameters"):
        return "lab_parameters"
    return "parameters" if named in table.table("parameters") else "pattern"


@lru_cache(maxsize=64)
def _ranks(file: str, ranks_per_host: int) -> int:
    return description.ranks(file, ranks_per_host)


@lru_cache(maxsize=8)
def _nodes(file: str) -> frozenset[str]:
    return frozenset(host.name for host in paths.load(file).hosts)


def _network(series: Series, beside: Path, networks: Collection[str]) -> None:
    name = series.at.values["network"]
    if not name.endswith(".toml"):
        series.at.choice("network", name, networks)
    elif not (beside / name).is_file():
        series.at.fail("network", f"there is no file {beside / name}")


def _pattern(series: Series, core: Core) -> None:
    parameters = {one.name: [each.name for each in one.parameters] for one in core.patterns}
    series.at.choice("pattern", series.pattern, parameters)
    for key in ("parameters", "lab_parameters"):
        series.at.table(key).only(parameters[series.pattern])
    simulator = next(one for one in core.backends if one.name == Realm.SIMULATED)
    series.at.table("simulator").only([one.name for one in simulator.parameters])
