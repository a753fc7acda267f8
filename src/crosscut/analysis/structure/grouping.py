"""Groups ranks by which routes are slow under load.

The model is a stochastic block model (Holland, Laskey and Leinhardt, Social Networks 5, 1983): whether a
route is slow depends only on the groups of its two ends, and routes within a group are hardly ever slow.
Probabilities are integrated out with beta priors, so the marginal likelihood itself decides how many groups
there are (Nowicki and Snijders, Journal of the American Statistical Association 96, 2001). The search starts
from average linkage by the ranks' similarity, then moves single ranks and merges groups while that raises the
likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers
from crosscut.analysis.structure.tallies import SLOW, RouteCounts, Tallies, log_factorials

# Share of routes within a group that may be slow, because of noise or an unnoticed slow host.
SLOW_WITHIN_AT_MOST = 0.05
# Prior of slow routes within a group: beta(1, 40), about one in forty. Between groups: the overall share,
# with the weight of _ALIKE_BETWEEN routes, because most networks are regular, and many small groups must not
# cost much likelihood.
_FAST_WITHIN = 40
_ALIKE_BETWEEN = 10
_MOST_SWEEPS = 30
MOST_GROUPS = 96
# Cells of [rank, group, group] arrays at once: a few tens of megabytes.
_CELLS_AT_ONCE = 1 << 20
# Cap on the log odds against a rank's group.
_MOST_DOUBT = 27.0


@dataclass(frozen=True)
class Grouping:
    labels: Integers
    """[rank] number of its group, from 0 in the order of the groups' first ranks."""
    confidence: Floats
    """[rank] probability that it belongs to its group, given the groups of all others."""
    log_likelihood: float
    log_likelihood_of_one_group: float

    @property
    def count(self) -> int:
        return int(self.labels.max()) + 1 if len(self.labels) else 0

    @property
    def gain(self) -> float:
        """Log likelihood, less that of one group."""
        return self.log_likelihood - self.log_likelihood_of_one_group

    @property
    def doubt(self) -> float:
        """Probability that there is only one group."""
        return math.exp(-min(max(self.gain, 0.0), 600.0))


def of_one(ranks: int) -> Grouping:
    """Returns a grouping with all ranks in one group."""
    return Grouping(np.zeros(ranks, np.int64), np.ones(ranks), 0.0, 0.0)


class _Blocks:
    """Log marginal likelihoods from a table of log factorials.

    The table reaches four times the number of messages, which occurs if a group is merged with itself; that
    result is discarded.
    """

    def __init__(self, routes: RouteCounts) -> None:
        slow_in_all, most = routes.counts.sum(axis=1).tolist()
        most += 2
        slow_prior = 1 + round(_ALIKE_BETWEEN * slow_in_all / most)
        fast_prior = 1 + _ALIKE_BETWEEN + 1 - slow_prior
        f = log_factorials(4 * most + _FAST_WITHIN + _ALIKE_BETWEEN + 4)
        self.between = _beta(f, slow_prior, fast_prior)
        self.within = _beta(f, 1, _FAST_WITHIN)


def _beta(f: Floats, slow_prior: int, fast_prior: int) -> Callable[[Integers, Integers], Floats]:
    """Returns the function (slow, all counts): log beta function, less the prior's. `f`: log factorials."""
    a, b, both = slow_prior - 1, fast_prior - 1, slow_prior + fast_prior - 1
    of_slow, of_fast, of_all, none = f[a:], f[b:], f[both:], float(f[a] + f[b] - f[both])
    return lambda slow, total: of_slow[slow] + of_fast[total - slow] - of_all[total] - none


def group(routes: RouteCounts) -> Grouping:
    """Returns the likeliest grouping that the search finds."""
    blocks = _Blocks(routes)
    best = np.zeros(routes.ranks, np.int64)
    best_value = alone = _likelihood(routes, blocks, best)
    for start in _starts(routes, blocks):
        labels = _climb(routes, blocks, start)
        value = _likelihood(routes, blocks, labels)
        if value > best_value + 1e-9:
            best, best_value = labels, value
    best = renumbered(best)
    return Grouping(best, _confidence(routes, blocks, best), best_value, alone)


def given(routes: RouteCounts, labels: Integers) -> Grouping:
    """Returns a grouping with these labels, and the likelihood and confidence that `routes` give it.

    Confidence is 0 if there are more than MOST_GROUPS groups.
    """
    blocks, one = _Blocks(routes), np.zeros(routes.ranks, np.int64)
    few = int(labels.max()) < MOST_GROUPS
    confidence = _confidence(routes, blocks, labels) if few else np.zeros(routes.ranks)
    return Grouping(labels, confidence, _likelihood(routes, blocks, labels), _likelihood(routes, blocks, one))


def extended(routes: RouteCounts, members: Integers, found: Grouping) -> Grouping:
    """Extends `found`, a grouping of `members` only, to all ranks, each in its likeliest group.

    `routes`: between all ranks.
    """
    gains = gains_of_others(routes, members, found)
    labels, confidence = gains.argmax(axis=1), 1 / np.exp(gains - gains.max(axis=1)[:, None]).sum(axis=1)
    labels[members], confidence[members] = found.labels, found.confidence
    return replace(found, labels=labels, confidence=confidence)


def climbed(routes: RouteCounts, found: Grouping) -> Grouping:
    """Moves ranks and merges groups while that raises the likelihood."""
    return given(routes, renumbered(_climb(routes, _Blocks(routes), found.labels)))


def gains_of_others(routes: RouteCounts, members: Integers, found: Grouping) -> Floats:
    """Returns [rank, group] the log likelihood that a rank is in the group, up to a constant for each rank.

    0 for `members`, which `found` groups.
    """
    groups, blocks = found.count, _Blocks(routes)
    labels = np.full(routes.ranks, groups)  # the others, in none of the groups
    labels[members] = found.labels
    tallies = Tallies(routes, labels, groups + 1)
    between = tallies.between[:, :groups, :groups]
    gains = np.zeros((routes.ranks, groups))
    out, back = tallies.out[:, :, :groups], tallies.back[:, :, :groups]
    for rank in np.setdiff1d(np.arange(routes.ranks), members):
        gains[rank] = _gains_from(blocks, between, out[:, rank], back[:, rank])
    return gains


def merged_where_fast(routes: RouteCounts, found: Grouping, most_slow: float) -> Grouping:
    """Merges groups between which at most the share `most_slow` of messages is slow.

    The block model splits groups whose routes share a limit only in some phases. The pair of groups with the
    smallest share is merged first.
    """
    labels = found.labels.copy()
    while (groups := int(labels.max()) + 1) > 1:
        s, n = routes.between(labels, groups)
        share = (s + s.T) / np.maximum(n + n.T, 1)
        share[(n + n.T) == 0] = 1
        np.fill_diagonal(share, 1)
        a, b = divmod(int(np.argmin(share)), groups)
        if share[a, b] > most_slow:
            break
        labels = renumbered(np.where(labels == b, a, labels))
    return given(routes, labels)


def slow_within(routes: RouteCounts, labels: Integers) -> float:
    """Returns the share of messages within groups that are slow."""
    slow, measured = routes.within(labels, int(labels.max()) + 1).sum(axis=1).tolist()
    return float(slow / max(measured, 1))


def _starts(routes: RouteCounts, blocks: _Blocks) -> list[Integers]:
    """Returns the three likeliest cuts of the tree that average linkage builds."""
    levels = _linkage_levels(_likeness(routes))
    valued = [(_likelihood(routes, blocks, labels), index) for index, labels in enumerate(levels)]
    return [levels[index] for _, index in sorted(valued, reverse=True)[:3]]


def _likeness(routes: RouteCounts) -> Floats:
    """Returns [rank, rank] the log odds that two ranks are in one group.

    They come from the routes between the two, and from how similar their routes to all others are.
    """
    slow = routes.counts[SLOW] > 0
    fast, bad = routes.dense(~slow), routes.dense(slow)
    share = float(bad.sum() / max(fast.sum() + bad.sum(), 1.0))
    outside = min(max(share * 1.3, 0.05), 0.95)  # probability of slow between groups
    inside, near = 0.02, 0.25  # probability of slow within; share of ranks that are in one's own group
    direct = fast * math.log((1 - inside) / (1 - outside)) + bad * math.log(inside / outside)
    same_ff = near + (1 - near) * (1 - outside) ** 2
    diff_ff = 2 * near * (1 - outside) + (1 - 2 * near) * (1 - outside) ** 2
    same_fs = (1 - near) * outside * (1 - outside)
    diff_fs = near * outside + (1 - 2 * near) * outside * (1 - outside)
    same_ss, diff_ss = (1 - near), (1 - 2 * near)  # without the common factor outside ** 2
    score = (direct + direct.T).astype(np.float64)
    for f, s in ((fast, bad), (fast.T, bad.T)):
        differ = f @ s.T
        score += (f @ f.T) * math.log(same_ff / diff_ff) + (s @ s.T) * math.log(same_ss / diff_ss)
        score += (differ + differ.T) * math.log(same_fs / diff_fs)
    np.fill_diagonal(score, -np.inf)
    return score


def _linkage_levels(score: Floats) -> list[Integers]:
    """Returns labels before each merge of average linkage (Sokal and Michener 1958).

    Only levels with at most MOST_GROUPS groups are returned.
    """
    ranks = len(score)
    similar = score.copy()
    sizes = np.ones(ranks)
    labels = np.arange(ranks)
    nearest = similar.argmax(axis=1)
    closest = similar.max(axis=1)
    levels: list[Integers] = []
    for groups in range(ranks, 1, -1):
        if groups <= MOST_GROUPS:
            levels.append(renumbered(labels))
        a = int(np.argmax(closest))
        b = int(nearest[a])
        similar[a] = (sizes[a] * similar[a] + sizes[b] * similar[b]) / (sizes[a] + sizes[b])
        similar[a, a], similar[b] = -np.inf, -np.inf
        similar[:, a], similar[:, b] = similar[a], -np.inf
        sizes[a] += sizes[b]
        labels[labels == b] = a
        # The nearest group changes if it was one of the two, or if the union is nearer.
        again = (nearest == a) | (nearest == b)
        again[[a, b]] = True
        nearer = ~again & ((similar[a] > closest) | ((similar[a] == closest) & (a < nearest)))
        nearest[nearer], closest[nearer] = a, similar[a, nearer]
        rows = np.nonzero(again)[0]
        nearest[rows], closest[rows] = similar[rows].argmax(axis=1), similar[rows].max(axis=1)
    return levels


def _likelihood(routes: RouteCounts, blocks: _Blocks, labels: Integers) -> float:
    # By the prior, each rank is in any group with equal probability.
    groups = int(labels.max()) + 1
    between = blocks.between(*routes.across(labels, groups))
    within = blocks.within(*routes.within(labels, groups))
    return float(between.sum() + within.sum() - len(labels) * np.log(groups))


def _climb(routes: RouteCounts, blocks: _Blocks, start: Integers) -> Integers:
    labels = start.copy()
    for _ in range(_MOST_SWEEPS):
        moved = _move_ranks(routes, blocks, labels)
        labels = renumbered(labels)
        if (merged := _merge_groups(routes, blocks, labels)) is not None:
            labels = merged
        elif not moved:
            break
    return labels


def _gains_from(blocks: _Blocks, between: Integers, out: Integers, back: Integers) -> Floats:
    """Returns [..., group] the log likelihood gained if a rank joins the group.

    `between`: [SLOW or ALL, ..., group, group] without the rank. `out`, `back`: [SLOW or ALL, ..., group] the
    rank's routes to the group, and from it.
    """
    every = np.arange(between.shape[-1])
    now = blocks.between(*between)
    rows = blocks.between(*(between + out[..., None, :])) - now
    columns = blocks.between(*(between + back[..., :, None])) - now
    rows[..., every, every] = 0  # routes within groups count below
    columns[..., every, every] = 0
    own = between[..., every, every]
    within = blocks.within(*(own + out + back)) - blocks.within(*own)
    return np.asarray(rows.sum(-1) + columns.sum(-2) + within, np.float64)


def _all_gains(blocks: _Blocks, tallies: Tallies, labels: Integers) -> Floats:
    """Returns [rank, group] the log likelihood gained by a rank in that group while all others stay."""
    step = max(1, _CELLS_AT_ONCE // tallies.between.shape[-1] ** 2)
    parts = [np.arange(at, min(at + step, len(labels))) for at in range(0, len(labels), step)]
    return np.concatenate([
        _gains_from(
            blocks, tallies.without_each(part, labels[part]), tallies.out[:, part], tallies.back[:, part]
        )
        for part in parts
    ])  # fmt: skip


def _move_ranks(routes: RouteCounts, blocks: _Blocks, labels: Integers) -> bool:
    """Moves each rank to its likeliest group, in place in `labels`. Returns True if any moved."""
    groups = int(labels.max()) + 2  # one is empty, so that a rank may form a group of its own
    tallies = Tallies(routes, labels, groups)
    gains, every = _all_gains(blocks, tallies, labels), np.arange(len(labels))
    any_moved = False
    for rank in np.nonzero(gains.max(axis=1) > gains[every, labels] + 1e-9)[0].tolist():
        here = int(labels[rank])
        gain = _gains_from(blocks, tallies.without(rank, here), tallies.out[:, rank], tallies.back[:, rank])
        there = int(np.argmax(gain))
        if there != here and gain[there] > gain[here] + 1e-9:
            any_moved = True
            tallies.move(rank, here, there)
            labels[rank] = there
    return any_moved


def _merge_groups(routes: RouteCounts, blocks: _Blocks, labels: Integers) -> Integers | None:
    """Returns the labels after the best merge of two groups; None if no merge raises the likelihood."""
    groups = int(labels.max()) + 1
    if groups < 2:
        return None
    s, n = routes.between(labels, groups)
    step = max(1, _CELLS_AT_ONCE // groups**2)
    some = [np.arange(at, min(at + step, groups)) for at in range(0, groups, step)]
    gains = np.concatenate([_merge_gains(blocks, s, n, each) for each in some])
    np.fill_diagonal(gains, -np.inf)
    a, b = divmod(int(np.argmax(gains)), groups)
    if gains[a, b] + len(labels) * np.log(groups / (groups - 1)) <= 1e-9:
        return None
    return renumbered(np.where(labels == b, a, labels))


def _merge_gains(blocks: _Blocks, s: Integers, n: Integers, some: Integers) -> Floats:
    """Returns [some, group] the log likelihood gained by merging them; meaningless for one with itself."""
    every, each = np.arange(len(s)), np.arange(len(some))
    now = blocks.between(s, n)
    gain = np.zeros((len(some), len(s)))
    for ss, nn, before in ((s, n, now), (s.T, n.T, now.T)):  # rows, then columns
        change = blocks.between(ss + ss[some, None], nn + nn[some, None]) - before - before[some, None]
        change[:, every, every] = 0  # routes within the union count below
        change[each, :, some] = 0
        gain += change.sum(-1)
    ss, nn = np.diag(s), np.diag(n)
    union = blocks.within(
        ss + ss[some, None] + s[some] + s[:, some].T, nn + nn[some, None] + n[some] + n[:, some].T
    )
    apart = blocks.within(ss, nn)
    found: Floats = gain + union - apart - apart[some, None] - now[some] - now[:, some].T
    return found


def _confidence(routes: RouteCounts, blocks: _Blocks, labels: Integers) -> Floats:
    gains = _all_gains(blocks, Tallies(routes, labels, int(labels.max()) + 1), labels)
    over = gains - gains[np.arange(len(labels)), labels][:, None]
    return np.asarray(1 / np.exp(np.minimum(over, _MOST_DOUBT)).sum(axis=1), np.float64)


def renumbered(labels: NDArray[np.int64]) -> Integers:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return np.asarray(order[inverse], np.int64)
