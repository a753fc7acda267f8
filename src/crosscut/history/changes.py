"""Change points of all hosts of a series, joined where hosts changed together.

Hosts are tested relative to the median host of the same night, which cancels what a night did to all; the
median host itself is tested, too. A step counts for a host only if its rate itself changed, in the same
direction and by enough: if half of the hosts become slower, the others become faster only relatively.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.analysis.stats import change_points
from crosscut.analysis.stats.change_points import StepFound
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.rows import median as row_medians
from crosscut.history import early_steps, queries
from crosscut.history.early_steps import EarlyStep
from crosscut.history.nights import HostFlow, Nights, load
from crosscut.history.queries import NoteRow, SeriesRow

FEWEST_NIGHTS = 2 * change_points.FEWEST_ASIDE + 1
# Hosts changed together if their dates, with their uncertainty, are no farther apart than this.
_NIGHTS_APART = 1
# A smaller change in the number of ranks is not reported; a few hosts are always away.
_FEW_RANKS = 0.05


@dataclass(frozen=True)
class HostChange:
    host: int
    """Index in `Nights.hosts`."""
    way: HostFlow
    at: int
    """Index of the first night after the change; it lies between `earliest` and `latest`."""
    earliest: int
    latest: int
    ratio: float
    """The median rate after the change over that before it."""
    doubt: float


@dataclass(frozen=True)
class CommonChange:
    """Hosts that changed at the same time, in the same direction."""

    at: int
    earliest: int
    latest: int
    changes: tuple[HostChange, ...]
    place: str
    """`14 of the 16 hosts of rack r2`, or empty."""
    coincides: tuple[str, ...]
    """What else changed then: setups of these hosts, notes of people."""

    @property
    def hosts(self) -> tuple[int, ...]:
        return tuple(sorted({one.host for one in self.changes}))

    @property
    def ways(self) -> tuple[HostFlow, ...]:
        return tuple(way for way in HostFlow if any(one.way is way for one in self.changes))

    @property
    def ratio(self) -> float:
        return float(np.median([one.ratio for one in self.changes]))

    @property
    def doubt(self) -> float:
        return min(one.doubt for one in self.changes)

    @property
    def worse(self) -> bool:
        return self.ratio < 1


@dataclass(frozen=True)
class Drift:
    """Hosts whose rates changed little by little, so that no date can be named."""

    hosts: tuple[int, ...]
    """Indices in `Nights.hosts`."""
    way: HostFlow
    ratio: float
    """The median of the last third over that of the first; of several hosts the median."""


@dataclass(frozen=True)
class ChangesFound:
    nights: Nights
    common: tuple[CommonChange, ...]
    """The oldest first."""
    drifts: tuple[Drift, ...]
    early: tuple[EarlyStep, ...]
    """Large falls with too few nights after them to be significant; the deepest first."""
    fewest_after: int | None
    """Nights after a step from which on it can be significant, if it comes after the latest night."""


@dataclass(frozen=True)
class ChangeSettings:
    error_rate: float = 0.01
    """Probability of any change in all series together if nothing changed, at most."""
    matters: float = 0.03
    nights: int = 366


def changes(
    connection: sqlite3.Connection, wanted: Sequence[SeriesRow], asked: ChangeSettings
) -> list[ChangesFound]:
    """Returns the changes in each series. The error rate is that of all of them together."""
    loaded = [load(connection, series, asked.nights) for series in wanted]
    tests = sum(2 * (len(nights.hosts) + 1) for nights in loaded)  # hosts and their median, each way
    notes = queries.notes(connection)
    return [_of_series(connection, nights, notes, tests, asked) for nights in loaded]


def _of_series(
    connection: sqlite3.Connection,
    nights: Nights,
    notes: Sequence[NoteRow],
    tests: int,
    asked: ChangeSettings,
) -> ChangesFound:
    single: list[HostChange] = []
    drifts: dict[tuple[HostFlow, bool], dict[int, float]] = {}
    for way, rates in nights.rates.items():
        logs = np.log(rates)
        middle = row_medians(logs)[:, None]
        of_all = _steps(middle, tests, asked).get(0, [])
        every = [*range(logs.shape[1])]
        own = _steps(logs - middle, tests, asked)
        for hosts, values, steps in (
            *(([host], logs[:, host] - middle[:, 0], steps) for host, steps in own.items()),
            *(((every, middle[:, 0], of_all),) if of_all else ()),
        ):
            if change_points.is_gradual(values, [step.at for step in steps]):
                for host, ratio in _drifted(logs, hosts, asked.matters).items():
                    drifts.setdefault((way, ratio < 1), {})[host] = ratio
            else:
                single += _own(logs, hosts, way, steps, of_all, asked.matters)
    common = [_common(connection, nights, notes, part) for part in _together(_once(single))]
    common.sort(key=lambda one: (one.at, -len(one.hosts)))
    drifted = (
        Drift(tuple(sorted(some)), way, float(np.median([*some.values()])))
        for (way, _), some in drifts.items()
    )  # fmt: skip
    told = {(one.host, one.way) for one in single}
    told |= {(host, way) for (way, _), some in drifts.items() for host in some}
    return ChangesFound(
        nights, tuple(common), tuple(drifted),
        tuple(early_steps.find(nights, told, asked.matters, asked.error_rate, tests)),
        change_points.fewest_after(len(nights.days), level=asked.error_rate, tests=tests),
    )  # fmt: skip


def _steps(values: Floats, tests: int, asked: ChangeSettings) -> dict[int, list[StepFound]]:
    """Returns the steps by series."""
    found: dict[int, list[StepFound]] = {}
    for step in change_points.steps(values, level=asked.error_rate, tests=tests):
        found.setdefault(step.series, []).append(step)
    return found


def _own(
    logs: Floats, hosts: Sequence[int], way: HostFlow, steps: Sequence[StepFound],
    of_all: Sequence[StepFound], matters: float,
) -> Iterator[HostChange]:  # fmt: skip
    """Yields the steps at which these hosts' own rates changed. `logs`: [night, host] of all hosts; `of_all`:
    steps of the median host, which bound what a host's step is measured on."""
    places = [step.at for step in steps]
    for step in of_all:
        if all(abs(step.at - place) >= change_points.FEWEST_ASIDE for place in places):
            places.append(step.at)
    ends = [0, *sorted(places), len(logs)]
    levels = [row_medians(logs[begin:end, hosts].T) for begin, end in itertools.pairwise(ends)]
    for step in steps:
        number = ends.index(step.at)
        for host, ratio in zip(hosts, np.exp(levels[number] - levels[number - 1]).tolist(), strict=True):
            if abs(ratio - 1) >= matters and (ratio > 1) == (step.effect > 0):
                yield HostChange(host, way, step.at, step.earliest, step.latest, ratio, step.doubt)


def _once(single: Sequence[HostChange]) -> list[HostChange]:
    """Returns the changes without those that a host's rate and the median of all show as well."""
    kept: dict[tuple[int, HostFlow], list[HostChange]] = {}
    for one in sorted(single, key=lambda one: one.doubt):
        known = kept.setdefault((one.host, one.way), [])
        if all(abs(one.at - other.at) >= change_points.FEWEST_ASIDE for other in known):
            known.append(one)
    return [one for known in kept.values() for one in known]


def _drifted(logs: Floats, hosts: Sequence[int], matters: float) -> dict[int, float]:
    """Returns by host the ratio of the last third of the nights to the first, if it is large enough."""
    third = max(1, len(logs) // 3)
    old, new = (row_medians(part[:, hosts].T) for part in (logs[:third], logs[-third:]))
    ratios = dict(zip(hosts, np.exp(new - old).tolist(), strict=True))
    return {host: ratio for host, ratio in ratios.items() if abs(ratio - 1) >= matters}


def _together(single: Sequence[HostChange]) -> list[list[HostChange]]:
    """Divides changes into those at the same time in the same direction, the largest group first."""
    found = []
    for worse in (True, False):
        rest = [one for one in single if (one.ratio < 1) == worse]
        while rest:

            def fits(at: int, one: HostChange) -> bool:
                return one.earliest - _NIGHTS_APART <= at <= one.latest + _NIGHTS_APART

            # Breaks ties: the night that is the likeliest date of most hosts.
            likeliest = Counter(one.at for one in rest)
            at = max(likeliest, key=lambda at: (sum(fits(at, one) for one in rest), likeliest[at]))
            found.append([one for one in rest if fits(at, one)])
            rest = [one for one in rest if not fits(at, one)]
    return found


def _common(
    connection: sqlite3.Connection, nights: Nights, notes: Sequence[NoteRow], part: list[HostChange]
) -> CommonChange:
    at = round(float(np.median([one.at for one in part])))
    if len({one.host for one in part}) > 2:  # they agree on the date
        earliest = latest = at
    else:
        earliest, latest = min(one.earliest for one in part), max(one.latest for one in part)
    hosts = sorted({one.host for one in part})
    said = [
        *_conditions(connection, nights, at),
        *_setups(connection, nights, hosts, at),
        *_notes(nights, notes, earliest, latest),
    ]
    return CommonChange(at, earliest, latest, tuple(part), _place(nights, hosts), tuple(said))


def _place(nights: Nights, hosts: Sequence[int]) -> str:
    """Says where the hosts are, if they are most of all hosts or most of a rack."""
    if 2 * len(hosts) > len(nights.hosts):
        return _share(len(hosts), len(nights.hosts), "hosts")
    racks = {nights.hosts[host].rack for host in hosts}
    rack = racks.pop()
    every = sum(host.rack == rack for host in nights.hosts)
    if racks or not rack or len(hosts) < 2 or 2 * len(hosts) <= every:
        return ""
    return _share(len(hosts), every, f"hosts of rack {rack}")


def _share(count: int, every: int, what: str) -> str:
    return f"all {every:,} {what}" if count == every else f"{count:,} of the {every:,} {what}"


def _conditions(connection: sqlite3.Connection, nights: Nights, at: int) -> list[str]:
    """Says whether the measurement itself was not that of the night before."""
    if not 0 < at < len(nights.days):
        return []
    old, new = (
        connection.execute(
            "SELECT ranks, crosscut FROM run WHERE series = ? AND substr(start, 1, 10) = ? ORDER BY start",
            (nights.series.id, day),
        ).fetchone()
        for day in nights.days[at - 1 : at + 1]
    )
    said = []
    if abs(new[0] - old[0]) > _FEW_RANKS * old[0]:
        said.append(f"runs of {old[0]:,} ranks, then of {new[0]:,}")
    return [*said, *([f"crosscut {old[1]} → {new[1]}"] if old[1] != new[1] else [])]


def _setups(connection: sqlite3.Connection, nights: Nights, hosts: Sequence[int], at: int) -> list[str]:
    """Says what the runs record about these hosts that is not as it was the night before."""
    if not 0 < at < len(nights.days):
        return []
    ids = {nights.hosts[host].id for host in hosts}
    old, new = (
        dict(connection.execute(
            "SELECT host, words FROM run r JOIN host_rate h ON h.run = r.id JOIN setup s ON s.id = h.setup "
            "WHERE r.series = ? AND substr(r.start, 1, 10) = ? ORDER BY r.start", (nights.series.id, day),
        ).fetchall())
        for day in nights.days[at - 1 : at + 1]
    )  # fmt: skip
    altered = Counter(
        (was, now)
        for host in ids & old.keys() & new.keys()
        for was, now in _differing(str(old[host]), str(new[host]))
    )
    return [
        f"{was or 'nothing'} → {now or 'nothing'} on {'all' if count == len(ids) else count} of these hosts"
        for (was, now), count in altered.most_common(3)
    ]


def _differing(old: str, new: str) -> list[tuple[str, str]]:
    """Returns the parts of two descriptions that differ: kernel, adapters."""
    before, after = ([part.strip() for part in text.split(";")] for text in (old, new))
    gone = [part for part in before if part not in after]
    come = [part for part in after if part not in before]
    longest = max(len(gone), len(come))
    return list(zip(gone + [""] * (longest - len(gone)), come + [""] * (longest - len(come)), strict=True))


def _notes(nights: Nights, notes: Sequence[NoteRow], earliest: int, latest: int) -> list[str]:
    """Returns the notes of the days from the last night before a change to the first after it."""
    first = nights.days[max(earliest - 1, 0)]
    last = nights.days[min(latest, len(nights.days) - 1)]
    return [f"note of {note.day}: {note.words}" for note in notes if first <= note.day <= last]
