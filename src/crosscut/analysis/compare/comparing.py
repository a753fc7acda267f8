"""Finds changes between two runs that are beyond noise and large enough to matter."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from crosscut.analysis.compare import conditions
from crosscut.analysis.compare.matching import Match, match, on_phases
from crosscut.analysis.figures import samples
from crosscut.analysis.figures.launches import of_launches
from crosscut.analysis.figures.limited import listed
from crosscut.analysis.figures.route_class import Groups
from crosscut.analysis.figures.series import Family, SampleColumns, Subject, columns
from crosscut.analysis.stats import permutation
from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.stats.shift import Shift, shift
from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.run.imported import MORE, imported
from crosscut.run.realm import is_exact, is_simulated
from crosscut.run.run import Run

# A node's median lies between routes that changed and routes that did not if those changed this many times as
# much (logarithms), and are at least this share of its routes.
_MUCH_MORE, _ABOUT_HALF = 1.5, 0.4
# Subjects whose rates may depend on few routes.
_NARROW = (Family.ROUTE, Family.PHASE)
_End = tuple[int, Family, int]
"""(size, OUT or IN, rank)"""


@dataclass(frozen=True)
class ComparisonSettings:
    error_rate: float = 0.01
    """Probability of reporting any change when nothing changed."""
    matters: float = 0.03
    """Changes smaller than this share are not reported, however clear."""


@dataclass(frozen=True)
class Difference:
    subject: Subject
    first: float
    """Median rate, bytes per second."""
    second: float
    shift: Shift
    doubt: float
    """Probability that chance alone produces a change this clear anywhere in the comparison."""
    explained_by: Subject | None = None

    @property
    def worse(self) -> bool:
        return self.shift.middle < 0


@dataclass(frozen=True)
class Comparison:
    changes: tuple[Difference, ...]
    """Significant changes that are large enough to matter; for each message size, the broadest first."""
    classes: tuple[Difference, ...]
    """Every class of routes, changed or not."""
    tests: int
    repetitions: tuple[int, int]
    """Repetitions of each run, as tested: a block of correlated neighbours counts as one."""
    conditions: tuple[str, ...]
    """Circumstances other than the network that may explain the changes."""
    notes: tuple[str, ...]
    computed: bool
    """Both runs were computed without noise, so every difference is real."""
    of_launches: bool = False
    """The repetitions of each run are launches."""
    single: str = ""
    """What to do about repetitions that are all of one run of a program; empty: each is of another run."""
    phase_labels: Mapping[int, str] = field(default_factory=dict)
    """The first run's labels, by the phase's number; only those that are text."""

    @property
    def worse(self) -> bool | None:
        """None: single routes are worse, which may be ordinary variation between two single runs."""
        if any(change.worse and not self.doubtful(change) for change in self.changes):
            return True
        return None if any(change.worse for change in self.changes) else False

    def doubtful(self, change: Difference) -> bool:
        """True for a change of single routes or phases between two single runs: connections, and how TCP
        shares a trunk, differ from one run to the next."""
        return bool(self.single) and not self.computed and change.subject.family in _NARROW


def compare(first: Run, second: Run, groups: Groups, asked: ComparisonSettings) -> Comparison:
    """Compares two runs. `groups`: of the ranks of `first`.

    Raises UsageError if the runs may not be compared or have too few repetitions, and UndecidedError if the
    machine limited all common phases or launches are too few.
    """
    matched = match(first, second)
    _refuse_limited(first, second, matched)
    one, other = _both(first, second, matched, groups)
    one, other = _common(one, other)
    if not one.subjects:
        raise UsageError(f"{first.path} and {second.path} have no measured route, node or phase in common")
    computed = _noiseless(first) and _noiseless(second)
    notes = list(matched.notes)
    rows1, rows2 = _complete(one.values), _complete(other.values)
    if not computed:
        rows1, rows2 = _independent(rows1, one, first, notes), _independent(rows2, other, second, notes)
        _enough(first, second, len(rows1), len(rows2), asked.error_rate)
        doubt = permutation.doubts(rows1, rows2)
    else:
        same = np.abs(np.median(rows1, axis=0) - np.median(rows2, axis=0)) < 1e-9
        doubt = np.where(same, 1.0, 0.0)
    changes = _changes(one.subjects, rows1, rows2, doubt, asked)
    told = [
        change for change in changes
        if change.doubt <= asked.error_rate and abs(math.expm1(change.shift.middle)) >= asked.matters
    ]  # fmt: skip
    return Comparison(
        changes=tuple(by_other_changes(told, _routes_of_ends(one.subjects), asked.matters)),
        classes=tuple(change for change in changes if change.subject.family is Family.CLASS),
        tests=len(one.subjects),
        repetitions=(len(rows1), len(rows2)),
        conditions=(
            *conditions.differences((first, second)),
            *conditions.overloaded((first, second)),
            *conditions.left_out((first, second), matched.sizes_bytes, matched.phases),
        ),
        notes=tuple(notes),
        computed=computed,
        of_launches=of_launches(first) > 0,
        single=_single(first, second),
        phase_labels=_phase_labels(first),
    )


def _phase_labels(run: Run) -> dict[int, str]:
    numbers, labels = run.dataset["phase"].values.tolist(), listed(run.attributes.get("phase_labels"))
    both = zip(numbers, labels, strict=False)
    return {number: label for number, label in both if isinstance(label, str) and label}


def _single(first: Run, second: Run) -> str:
    """Returns `Comparison.single`."""
    outputs = [imported(run.attributes) for run in (first, second)]
    if of_launches(first) or all(one is not None and len(one.files) > 1 for one in outputs):
        return ""
    return "measure each with --launches 5" if None in outputs else MORE


def _refuse_limited(first: Run, second: Run, matched: Match) -> None:
    """Raises UntoldError if the machine limited every common phase in at least one run."""
    both, sizes, phases = (first, second), matched.sizes_bytes, matched.phases
    if any(len(conditions.unlimited(both, size, phases)) for size in sizes):
        return
    alone = [run for run in both if conditions.is_all_limited(run, sizes, phases)]
    whose = " and of ".join(str(run.path) for run in alone) if alone else "one run or the other"
    raise conditions.UntoldError(whose, conditions.differences(both))


def _both(first: Run, second: Run, matched: Match, groups: Groups) -> tuple[SampleColumns, SampleColumns]:
    same = np.arange(first.ranks)
    node = first.node_indices
    parts: tuple[list[SampleColumns], list[SampleColumns]] = ([], [])
    for size in matched.sizes_bytes:
        phases = conditions.unlimited((first, second), size, matched.phases)
        if not len(phases):
            continue
        for run, ranks, found in ((first, same, parts[0]), (second, matched.ranks, parts[1])):
            taken = samples.load(on_phases(run, phases), run.size_index(size))
            found.append(columns(taken, ranks, node, groups))
    return _joined(parts[0]), _joined(parts[1])


def _joined(parts: Sequence[SampleColumns]) -> SampleColumns:
    rows = max(len(part.values) for part in parts)
    padded = [
        np.pad(part.values, ((0, rows - len(part.values)), (0, 0)), constant_values=np.nan) for part in parts
    ]
    return SampleColumns(tuple(s for part in parts for s in part.subjects), np.concatenate(padded, axis=1))


def _common(one: SampleColumns, other: SampleColumns) -> tuple[SampleColumns, SampleColumns]:
    """Returns both with only the subjects that both measured, in the same order."""
    there = {
        subject: at for at, subject in enumerate(other.subjects) if np.isfinite(other.values[:, at]).any()
    }
    kept = [at for at, s in enumerate(one.subjects) if s in there and np.isfinite(one.values[:, at]).any()]
    subjects = tuple(one.subjects[at] for at in kept)
    return (
        SampleColumns(subjects, one.values[:, kept]),
        SampleColumns(subjects, other.values[:, [there[subject] for subject in subjects]]),
    )


def _complete(values: Floats) -> Floats:
    """Returns the repetitions that measured everything (in an adaptive run, the first few)."""
    return values[np.isfinite(values).all(axis=1)]


def _noiseless(run: Run) -> bool:
    clock = run.attributes.get("clock")
    virtual = isinstance(clock, dict) and clock.get("name") == "virtual"
    return virtual and (is_exact(run.attributes) or not is_simulated(run.attributes))


def _independent(rows: Floats, found: SampleColumns, run: Run, notes: list[str]) -> Floats:
    """Returns the repetitions, or the means of blocks of neighbours if neighbours are correlated.

    The test assumes that repetitions are exchangeable, which those of a drifting host are not.
    """
    classes = [at for at, subject in enumerate(found.subjects) if subject.family is Family.CLASS] or [0]
    count = len(rows)
    if count < 8:
        return rows
    deviations = rows[:, classes] - rows[:, classes].mean(axis=0)
    power = (deviations**2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lags = np.where(power > 0, (deviations[1:] * deviations[:-1]).sum(axis=0) / power, 0.0)
    # Below 2.6 standard errors (1 %, Bartlett 1946) the correlation is not significant. A first-order
    # autoregression inflates the variance of the mean by (1 + r) / (1 - r).
    lag = float(np.max(lags))
    if lag * math.sqrt(count) < 2.6:
        return rows
    block = math.ceil((1 + min(lag, 0.9)) / (1 - min(lag, 0.9)))
    notes.append(
        f"{run.path}: neighbouring repetitions are correlated ({lag:.2f}), so blocks of {block} count as one"
    )
    blocks = count // block
    return np.asarray(rows[: blocks * block].reshape(blocks, block, -1).mean(axis=1), np.float64)


def refuse_unreachable(error_rate: float, of_tests: int = 1) -> None:
    """Raises UsageError if no number of samples reaches the error rate, which `of_tests` tests share."""
    lowest = of_tests / (permutation.MOST_EXACT + 1)
    if error_rate < lowest:
        raise UsageError(
            f"--error-rate {units.percent(error_rate)}: too low, because the test tries at most "
            f"{permutation.MOST_EXACT:,} permutations; give at least {units.percent(lowest)}"
        )


def _enough(first: Run, second: Run, one: int, other: int, error_rate: float) -> None:
    refuse_unreachable(error_rate)
    if min(one, other) >= 2 and permutation.smallest_doubt(one, other) <= error_rate:
        return
    need = next(n for n in range(3, 100) if permutation.smallest_doubt(n, n) <= error_rate)
    if of_launches(first):
        raise conditions.UndecidedError(
            f"{first.path} has {units.count(one, 'complete launch', 'complete launches')} and {second.path} "
            f"{other}: too few for any difference, however large, to be significant at "
            f"{units.percent(error_rate)}; measure {need} of each (crosscut run --resume FOLDER --launches "
            f"{need}), or raise --error-rate",
            conditions.differences((first, second)),
        )
    from_others = imported(first.attributes) is not None and imported(second.attributes) is not None
    more = f"measure at least {need} of each (--repetitions)"
    if from_others:
        more = f"{MORE}, at least {need} of each"
    raise UsageError(
        f"{first.path} has {units.count(one, 'independent repetition')} and {second.path} {other}: too few "
        f"for any difference, however large, to be significant at {units.percent(error_rate)}; {more}, or "
        "raise --error-rate"
    )


def _changes(
    subjects: Sequence[Subject], one: Floats, other: Floats, doubt: Floats, asked: ComparisonSettings
) -> list[Difference]:
    return [
        Difference(
            subject=subject,
            first=math.exp(float(np.median(one[:, at]))),
            second=math.exp(float(np.median(other[:, at]))),
            shift=shift(one[:, at], other[:, at]),
            doubt=float(doubt[at]),
        )
        for at, subject in enumerate(subjects)
        if subject.family is Family.CLASS or doubt[at] <= asked.error_rate
    ]


def _routes_of_ends(subjects: Iterable[Subject]) -> dict[_End, list[Subject]]:
    """Returns the routes from (OUT) and to (IN) each rank."""
    found: dict[_End, list[Subject]] = defaultdict(list)
    for one in subjects:
        if one.family is Family.ROUTE:
            for family, rank in zip((Family.OUT, Family.IN), one.ranks, strict=True):
                found[one.size_bytes, family, rank].append(one)
    return found


def by_other_changes(
    told: Sequence[Difference], routes: Mapping[_End, Sequence[Subject]], matters: float
) -> list[Difference]:
    """Marks changes that another change explains: a node's by a class or by some of its routes, a route's by
    its nodes or class, a phase's by any of these. `routes`: all that were compared, by end."""
    classes = {(c.subject.size_bytes, c.subject.name): c for c in told if c.subject.family is Family.CLASS}
    ends: dict[_End, Difference] = {
        (c.subject.size_bytes, c.subject.family, rank): c
        for c in told if c.subject.family in (Family.OUT, Family.IN)
        for rank in c.subject.ranks
    }  # fmt: skip
    others = [c for c in told if c.subject.family is not Family.PHASE]
    changed = {c.subject: c for c in told if c.subject.family is Family.ROUTE}
    through = {c.subject: _between_routes(c, routes, changed) for c in ends.values()}
    ends = {key: c for key, c in ends.items() if through[c.subject] is None}
    found = []
    for change in told:
        subject, size = change.subject, change.subject.size_bytes
        causes: list[Difference | None] = []
        if subject.family is Family.ROUTE:
            causes = [
                ends.get((size, Family.OUT, subject.ranks[0])), ends.get((size, Family.IN, subject.ranks[1])),
                classes.get((size, subject.within)),
            ]  # fmt: skip
        elif subject.family in (Family.OUT, Family.IN):
            causes = [c for (of, _), c in classes.items() if of == size]
        elif subject.family is Family.PHASE:  # a phase is as slow as its slowest rank
            causes = [c for c in others if c.subject.size_bytes == size]
        cause = through.get(subject) or next(
            (c for c in causes if c and alike(c.shift.middle, change.shift.middle, matters)), None
        )
        found.append(replace(change, explained_by=cause.subject) if cause is not None else change)
    return found


def _between_routes(
    change: Difference, routes: Mapping[_End, Sequence[Subject]], changed: Mapping[Subject, Difference]
) -> Difference | None:
    """Returns the most changed route of a node if the node itself is no cause.

    If about half of a node's routes changed, as behind a slow trunk, its median may lie anywhere between
    those and the others, so it changed much less than they did. `changed`: the changes of routes.
    """
    of = change.subject
    all_routes = [route for rank in of.ranks for route in routes.get((of.size_bytes, of.family, rank), ())]
    mine = [
        changed[route] for route in all_routes if route in changed and changed[route].worse == change.worse
    ]
    if not mine or len(mine) < _ABOUT_HALF * len(all_routes):
        return None
    middle = float(np.median([abs(one.shift.middle) for one in mine]))
    much_more = middle > _MUCH_MORE * abs(change.shift.middle)
    return max(mine, key=lambda one: abs(one.shift.middle)) if much_more else None


def alike(cause: float, change: float, matters: float) -> bool:
    """True if both logarithms of ratios have the same sign, and `change` is not much larger than `cause`."""
    return (cause < 0) == (change < 0) and abs(change) <= abs(cause) + max(2 * matters, 0.1)
