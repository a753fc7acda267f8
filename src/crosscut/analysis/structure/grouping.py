"""Which ranks belong together, from which routes are slow under load.

A stochastic block model (Holland, Laskey and Leinhardt, Social Networks 5, 1983): whether a route is slow
depends on the groups of its two ends alone; within a group it hardly ever is. Probabilities are integrated
out with beta priors, so that the marginal likelihood itself decides how many groups there are (Nowicki and
Snijders, Journal of the American Statistical Association 96, 2001). The search begins at average linkage of
the rows' likeness and moves single ranks and merges groups while that raises the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers
from crosscut.analysis.structure.tallies import Tallies, counts

# Prior of slow routes within a group: beta(1, 40), one in forty. Between groups: about as many as in all,
# known as well as from so many routes; networks are mostly built alike, and many small groups must not be
# dear.
_FAST_WITHIN = 40
_ALIKE_BETWEEN = 10
_MOST_SWEEPS = 30
_MOST_GROUPS = 96
# Cells of arrays [rank, group, group] at once: a few tens of megabytes.
_CELLS_AT_ONCE = 1 << 20
# Log odds against a rank's group: no more is told apart.
_MOST_DOUBT = 27.0


@dataclass(frozen=True)
class Grouping:
    labels: Integers
    """[rank] numbers from 0, in the order of the groups' first ranks"""
    confidence: Floats
    """[rank] probability that it belongs to its group, the others' being known"""
    log_likelihood: float
    log_likelihood_of_one_group: float

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1 if len(self.labels) else 0


def of_one(ranks: int) -> Grouping:
    """All ranks together."""
    return Grouping(np.zeros(ranks, np.int64), np.ones(ranks), 0.0, 0.0)


class _Blocks:
    """Log marginal likelihoods by table: arguments are counts, up to four times `most` (a group merged with
    itself, which is left out afterwards)."""

    def __init__(self, slow: Integers, total: Integers) -> None:
        most, slow_in_all = int(total.sum()) + 2, int(slow.sum())
        slow_prior = 1 + round(_ALIKE_BETWEEN * slow_in_all / most)
        fast_prior = 1 + _ALIKE_BETWEEN + 1 - slow_prior
        log_factorial = np.concatenate(
            [[0.0], np.cumsum(np.log(np.arange(1, 4 * most + _FAST_WITHIN + _ALIKE_BETWEEN + 5)))]
        )

        f, a, b, c = log_factorial, slow_prior, fast_prior, _FAST_WITHIN
        self._between = f[a - 1 :], f[b - 1 :], f[a + b - 1 :], float(f[a - 1] + f[b - 1] - f[a + b - 1])
        self._within = f, f[c - 1 :], f[c:], float(f[c - 1] - f[c])

    def between(self, slow: Integers, total: Integers) -> Floats:
        return _beta(slow, total, *self._between)

    def within(self, slow: Integers, total: Integers) -> Floats:
        return _beta(slow, total, *self._within)


def _beta(slow: Integers, total: Integers, of_slow: Floats, of_fast: Floats, of_all: Floats, none: float
) -> Floats:  # fmt: skip
    """Log of the beta function of the counts, by tables that begin at the prior's, less the prior's."""
    value: Floats = of_slow[slow] + of_fast[total - slow] - of_all[total] - none
    return value


@dataclass(frozen=True)
class _BlockTable:
    slow: Integers
    total: Integers
    blocks: _Blocks

    @classmethod
    def of(cls, slow: Integers, total: Integers) -> _BlockTable:
        return cls(slow, total, _Blocks(slow, total))


def group(slow: Integers, total: Integers) -> Grouping:
    """`slow`, `total`: [source, destination] how often the route was slow, and was measured."""
    ranks = len(slow)
    table = _BlockTable.of(slow, total)
    one = np.zeros(ranks, np.int64)
    alone = _likelihood(table, one)
    best, best_value = one, alone
    for start in _starts(table):
        labels = _climb(table, start)
        value = _likelihood(table, labels)
        if value > best_value + 1e-9:
            best, best_value = labels, value
    best = renumbered(best)
    return Grouping(best, _confidence(table, best), best_value, alone)


def extended(slow: Integers, total: Integers, members: Integers, found: Grouping) -> Grouping:
    """All ranks, where `found` is of `members` alone: each of the others where it is likeliest among those
    groups. `slow`, `total` are of all ranks."""
    gains = gains_of_others(slow, total, members, found)
    labels, confidence = gains.argmax(axis=1), 1 / np.exp(gains - gains.max(axis=1)[:, None]).sum(axis=1)
    labels[members], confidence[members] = found.labels, found.confidence
    return Grouping(labels, confidence, found.log_likelihood, found.log_likelihood_of_one_group)


def gains_of_others(slow: Integers, total: Integers, members: Integers, found: Grouping) -> Floats:
    """[rank, group] log likelihood of a rank being there, but for a constant of the rank; 0 for `members`, of
    whom `found` is."""
    ranks, groups = len(slow), found.count
    blocks = _Blocks(slow, total)
    labels = np.full(ranks, groups)  # the others, in none of the groups
    labels[members] = found.labels
    tallies = [Tallies(values, labels, groups + 1) for values in (slow, total)]
    s, n = (tally.between[:groups, :groups] for tally in tallies)
    outs = [tally.out[:, :groups] for tally in tallies]
    backs = [tally.back[:, :groups] for tally in tallies]
    gains = np.zeros((ranks, groups))
    for rank in np.setdiff1d(np.arange(ranks), members):
        gains[rank] = _gains_from(
            blocks, s, n, (outs[0][rank], outs[1][rank]), (backs[0][rank], backs[1][rank])
        )
    return gains


def merged_where_fast(slow: Integers, total: Integers, found: Grouping, most_slow: float) -> Grouping:
    """Groups between which hardly any route is slow, made one: routes that share a limit only in some phases
    differ among themselves, which the model of blocks takes for groups. Complete linkage: all pairs of a
    union are fast."""
    labels = found.labels.copy()
    while (groups := int(labels.max()) + 1) > 1:
        s, n = counts(slow, labels, groups), counts(total, labels, groups)
        share = (s + s.T) / np.maximum(n + n.T, 1)
        share[(n + n.T) == 0] = 1
        np.fill_diagonal(share, 1)
        a, b = divmod(int(np.argmin(share)), groups)
        if share[a, b] > most_slow:
            break
        labels = renumbered(np.where(labels == b, a, labels))
    table = _BlockTable.of(slow, total)
    return Grouping(
        labels, _confidence(table, labels), _likelihood(table, labels),
        found.log_likelihood_of_one_group,
    )  # fmt: skip


def slow_within(slow: Integers, total: Integers, labels: Integers) -> float:
    """Share of routes within groups that are slow."""
    groups = int(labels.max()) + 1
    s, n = counts(slow, labels, groups), counts(total, labels, groups)
    return float(np.trace(s) / max(int(np.trace(n)), 1))


def _starts(table: _BlockTable) -> list[Integers]:
    """The likeliest cuts of the tree of likeness."""
    levels = _linkage_levels(_likeness(table.slow, table.total))
    valued = [(_likelihood(table, labels), index) for index, labels in enumerate(levels)]
    valued.sort(reverse=True)
    return [levels[index] for _, index in valued[:3]]


def _likeness(slow: Integers, total: Integers) -> Floats:
    """[rank, rank] log odds that two ranks are of one group: by the routes between them, and by how alike
    they are towards all others."""
    ranks = len(slow)
    fast = ((total > 0) & (slow == 0)).astype(np.float64)
    bad = (slow > 0).astype(np.float64)
    share = float(bad.sum() / max(fast.sum() + bad.sum(), 1.0))
    outside = min(max(share * 1.3, 0.05), 0.95)  # slow, given different groups
    inside, near = 0.02, 0.25  # slow within; share of ranks that are of one's own group
    direct = fast * np.log((1 - inside) / (1 - outside)) + bad * np.log(inside / outside)
    same_ff = near + (1 - near) * (1 - outside) ** 2
    diff_ff = 2 * near * (1 - outside) + (1 - 2 * near) * (1 - outside) ** 2
    same_fs = (1 - near) * outside * (1 - outside)
    diff_fs = near * outside + (1 - 2 * near) * outside * (1 - outside)
    same_ss, diff_ss = (1 - near), (1 - 2 * near)  # both times outside squared
    score = direct + direct.T
    for f, s in ((fast, bad), (fast.T, bad.T)):
        score = score + (f @ f.T) * np.log(same_ff / diff_ff) + (s @ s.T) * np.log(same_ss / diff_ss)
        score = score + (f @ s.T + s @ f.T) * np.log(same_fs / diff_fs)
    score[np.arange(ranks), np.arange(ranks)] = -np.inf
    return np.asarray(score, np.float64)


def _linkage_levels(score: Floats) -> list[Integers]:
    """Labels after each merge of average linkage (Sokal and Michener 1958), from _MOST_GROUPS groups down."""
    ranks = len(score)
    similar = score.copy()
    sizes = np.ones(ranks)
    labels = np.arange(ranks)
    alive = np.ones(ranks, bool)
    levels: list[Integers] = []
    for groups in range(ranks, 1, -1):
        if groups <= _MOST_GROUPS:
            levels.append(renumbered(labels))
        a, b = divmod(int(np.argmax(similar)), ranks)
        merged = (sizes[a] * similar[a] + sizes[b] * similar[b]) / (sizes[a] + sizes[b])
        similar[a], similar[:, a] = merged, merged
        similar[b], similar[:, b] = -np.inf, -np.inf
        similar[a, a] = -np.inf
        similar[a, ~alive], similar[~alive, a] = -np.inf, -np.inf
        alive[b] = False
        sizes[a] += sizes[b]
        labels[labels == b] = a
    return levels


def _likelihood(table: _BlockTable, labels: Integers) -> float:
    # A prior that spends a rank's choice among the groups there are.
    groups = int(labels.max()) + 1
    s, n = counts(table.slow, labels, groups), counts(table.total, labels, groups)
    between = table.blocks.between(s, n)
    within = table.blocks.within(np.diag(s), np.diag(n))
    return float(between.sum() - np.trace(between) + within.sum() - len(labels) * np.log(groups))


def _climb(table: _BlockTable, start: Integers) -> Integers:
    labels = start.copy()
    for _ in range(_MOST_SWEEPS):
        moved = _move_ranks(table, labels)
        labels = renumbered(labels)
        merged = _merge_groups(table, labels)
        if merged is not None:
            labels = merged
        elif not moved:
            break
    return labels


def _gains_from(
    blocks: _Blocks, s: Integers, n: Integers, out: tuple[Integers, Integers], back: tuple[Integers, Integers]
) -> Floats:
    """[..., group] log likelihood gained by a rank that joins it; `s`, `n`: [..., group, group] without the
    rank; `out`, `back`: [..., group] slow and all, to and from the rank."""
    every = np.arange(s.shape[-1])
    now = blocks.between(s, n)
    rows = blocks.between(s + out[0][..., None, :], n + out[1][..., None, :]) - now
    columns = blocks.between(s + back[0][..., :, None], n + back[1][..., :, None]) - now
    rows[..., every, every] = 0  # what is within counts below
    columns[..., every, every] = 0
    ss, nn = s[..., every, every], n[..., every, every]
    within = blocks.within(ss + out[0] + back[0], nn + out[1] + back[1]) - blocks.within(ss, nn)
    return np.asarray(rows.sum(-1) + columns.sum(-2) + within, np.float64)


class _Moving:
    """Tallies of a table, kept up to date while ranks move."""

    def __init__(self, table: _BlockTable, labels: Integers, groups: int) -> None:
        self._blocks = table.blocks
        self._slow, self._total = (Tallies(values, labels, groups) for values in (table.slow, table.total))

    def gains(self, rank: int, here: int) -> Floats:
        """[group] log likelihood of the rank being there, the others staying."""
        s, n = self._slow, self._total
        return _gains_from(
            self._blocks, s.without(rank, here), n.without(rank, here), (s.out[rank], n.out[rank]),
            (s.back[rank], n.back[rank]),
        )  # fmt: skip

    def all_gains(self, labels: Integers) -> Floats:
        """[rank, group] the same of every rank."""
        groups = len(self._slow.between)
        step = max(1, _CELLS_AT_ONCE // groups**2)
        parts = [np.arange(at, min(at + step, len(labels))) for at in range(0, len(labels), step)]
        return np.concatenate([self._gains_of(part, labels[part]) for part in parts])

    def _gains_of(self, ranks: Integers, here: Integers) -> Floats:
        s, n = self._slow, self._total
        return _gains_from(
            self._blocks, s.without_each(ranks, here), n.without_each(ranks, here),
            (s.out[ranks], n.out[ranks]), (s.back[ranks], n.back[ranks]),
        )  # fmt: skip

    def move(self, rank: int, here: int, there: int) -> None:
        self._slow.move(rank, here, there)
        self._total.move(rank, here, there)


def _move_ranks(table: _BlockTable, labels: Integers) -> bool:
    """Moves each rank where it is likeliest; changes `labels`. Whether any moved."""
    groups = int(labels.max()) + 2  # one is empty: a rank may leave for a group of its own
    moving = _Moving(table, labels, groups)
    gains, every = moving.all_gains(labels), np.arange(len(labels))
    any_moved = False
    for rank in np.nonzero(gains.max(axis=1) > gains[every, labels] + 1e-9)[0].tolist():
        here = int(labels[rank])
        gain = moving.gains(rank, here)
        there = int(np.argmax(gain))
        if there != here and gain[there] > gain[here] + 1e-9:
            any_moved = True
            moving.move(rank, here, there)
            labels[rank] = there
    return any_moved


def _merge_groups(table: _BlockTable, labels: Integers) -> Integers | None:
    """The best merge of two groups, where one raises the likelihood."""
    groups = int(labels.max()) + 1
    if groups < 2:
        return None
    s, n = counts(table.slow, labels, groups), counts(table.total, labels, groups)
    gains = np.array([_merge_gains(table.blocks, s, n, a) for a in range(groups)])
    np.fill_diagonal(gains, -np.inf)
    a, b = divmod(int(np.argmax(gains)), groups)
    if gains[a, b] + len(labels) * np.log(groups / (groups - 1)) <= 1e-9:
        return None
    return renumbered(np.where(labels == b, a, labels))


def _merge_gains(blocks: _Blocks, s: Integers, n: Integers, a: int) -> Floats:
    """[group] log likelihood gained by making it one with group a; of a itself it means nothing."""
    every = np.arange(len(s))
    now = blocks.between(s, n)
    gain = np.zeros(len(s))
    for ss, nn, before in ((s, n, now), (s.T, n.T, now.T)):  # rows, then columns
        change = blocks.between(ss + ss[a], nn + nn[a]) - before - before[a]
        change[every, every] = 0  # what is within the union counts below
        change[:, a] = 0
        gain += change.sum(1)
    ss, nn = np.diag(s), np.diag(n)
    union = blocks.within(ss + ss[a] + s[a] + s[:, a], nn + nn[a] + n[a] + n[:, a])
    apart = blocks.within(ss, nn)
    found: Floats = gain + union - apart - apart[a] - now[a] - now[:, a]
    return found


def _confidence(table: _BlockTable, labels: Integers) -> Floats:
    gains = _Moving(table, labels, int(labels.max()) + 1).all_gains(labels)
    over = gains - gains[np.arange(len(labels)), labels][:, None]
    return np.asarray(1 / np.exp(np.minimum(over, _MOST_DOUBT)).sum(axis=1), np.float64)


def renumbered(labels: NDArray[np.int64]) -> Integers:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[inverse], np.int64)
