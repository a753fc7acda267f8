"""The rates of all hosts of a series, night after night."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import Enum

import msgspec
import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median as row_medians
from crosscut.history import queries
from crosscut.history.database import wrong_type
from crosscut.history.queries import HostRow, SeriesRow


class HostFlow(Enum):
    SENT = "sends"
    RECEIVED = "receives"


@dataclass(frozen=True)
class Nights:
    """The rates of a series by night: several runs of a day (UTC) count once, by their median."""

    series: SeriesRow
    days: tuple[str, ...]
    hosts: tuple[HostRow, ...]
    rates: dict[HostFlow, Floats]
    """[night, host] bytes per second; NaN: not measured."""

    @property
    def middle(self) -> dict[HostFlow, Floats]:
        """[night] the median host."""
        return {way: row_medians(rates) for way, rates in self.rates.items()}


def load(connection: sqlite3.Connection, series: SeriesRow, most: int) -> Nights:
    """Returns the latest nights of a series, at most `most`."""
    runs = queries.runs(connection, series.id)
    days = sorted({run.day for run in runs})[-most:]
    runs = [run for run in runs if run.day >= days[0]] if days else []
    hosts = queries.hosts(connection, series.cluster)
    known = np.array([host.id for host in hosts], np.float64)
    column = np.argsort(known)
    every = np.full((2, len(runs), len(hosts)), np.nan)
    for row, run in enumerate(runs):
        # As text: a year of 1,000 hosts would be a million Python numbers.
        found = connection.execute(
            "SELECT group_concat(host), group_concat(coalesce(sent, 0)), group_concat(coalesce(received, 0)) "
            "FROM host_rate WHERE run = ?",
            (run.id,),
        ).fetchone()
        if found[0] is not None:
            ids, *of_run = map(_numbers, found)
            every[:, row, column[np.searchsorted(known, ids, sorter=column)]] = of_run
    every[every <= 0] = np.nan
    used = np.isfinite(every).any(axis=(0, 1))
    night = np.searchsorted(days, [run.day for run in runs])
    rates = {way: _by_night(every[at][:, used], night, len(days)) for at, way in enumerate(HostFlow)}
    return Nights(
        series, tuple(days), tuple(host for host, there in zip(hosts, used, strict=True) if there), rates
    )


def _numbers(text: str) -> Floats:
    try:
        return np.array(msgspec.json.decode(f"[{text}]", type=list[int]), np.float64)
    except msgspec.DecodeError as error:
        raise wrong_type(error) from error


def _by_night(values: Floats, night: NDArray[np.int64], nights: int) -> Floats:
    if len(values) == nights:
        return values
    found = np.full((nights, values.shape[1]), np.nan)
    for at in range(nights):
        found[at] = row_medians(values[night == at].T)
    return found
