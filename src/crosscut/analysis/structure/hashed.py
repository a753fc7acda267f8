"""Hashed paths: a hash assigns each route between two groups to one of several equal cables.

ECMP and link aggregation do this. Routes that collide on one cable share it while other cables idle, so no
total of a group is constant, although the network may have full bisection.

The model is a leaf-spine network: every group has one cable to each of `cables` spines, and a route crosses
the spine that the hash of its ends picks. Paths are unknown, so single rates cannot be predicted, but their
distribution can: routes are placed at random, and rates are max-min fair (Bertsekas and Gallager, Data
Networks, section 6.5.2). Number and rate of the cables are chosen by maximum likelihood. The fit is accepted
only if networks drawn from the model fit as badly, and if rates depend as little as theirs on the two groups
that a message connects; on a torus or a dragonfly they do depend. The method is our own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.random import Generator

from crosscut.analysis.stats.intervals import Floats
from crosscut.analysis.structure.observed import Integers, Observed, some_phases
from crosscut.analysis.structure.unshared import Unshared

# Edges of bins of log(rate / rate of both ends), about as wide as the steps between tried cable rates.
_EDGES = np.log(np.geomspace(0.1, 0.96, 25))
# Tried rates of a cable over a host's; how many cable counts are tried, up to 1.6 times full bisection.
_CABLE_RATES = np.geomspace(0.5, 4.0, 19)
_COUNTS, _MOST_BISECTION, _FEWEST_CABLES = 12, 1.6, 2
# Fits above this multiple of full bisection are rejected; the number of cables is uncertain by a tenth.
_MOST_TOLD = 1.35
# Measured and drawn log rates are blurred to at least this standard deviation: rates without noise are
# spikes, and latencies, which the model lacks, could shift one into another bin.
_LEAST_NOISE = 0.03
# Second round: relative range of cable counts, how many of these at most, and factors of rates, around the
# best first guess.
_NEAR, _NEAR_COUNTS, _NEAR_RATES = 0.2, 15, (0.95, 0.975, 1.0, 1.025, 1.05)
# Placements drawn for each guess; networks drawn from the model to find their distances from its mean.
_DRAWS, _NETWORKS = 3, 20
# Distance between distributions (total variation) that is always accepted.
_CLOSE = 0.12
# Rates depend on the groups of their ends if they differ by more standard deviations of drawn networks than
# this; smallest standard deviation assumed (of a logarithm).
_MOST_DEVIATIONS, _SMALLEST_DIFFERENCE = 3.0, 0.02
# The share of slow messages may always differ by this from the expected one.
_AS_EXPECTED = 0.05
# Up to this multiple of the accepted misfit, one slow cable may be the cause.
_PERHAPS = 3.0
# Messages used, as more hardly sharpen the fit; messages used for the first guesses.
_MOST_MESSAGES, _FEW_MESSAGES = 20_000, 2_000
# If the best first guess is farther away than this, no other is tried.
_FAR = 0.45
# Fewer messages between groups do not show a distribution.
_FEWEST_MESSAGES = 100
# A smaller share of slow messages between groups means hardly any collisions.
_SMALLEST_SLOW = 0.05


@dataclass(frozen=True)
class Hashed:
    cables: int
    """Number of cables of each group."""
    bytes_per_second: float
    """Rate of one cable."""
    certain: bool
    """True if networks drawn from the model fit as badly. Otherwise a slow cable, or another kind of network,
    may be the cause of the misfit."""
    slow: float
    """Share of messages between groups that were slow."""
    slow_expected: float
    """The share expected by chance in the fitted model."""
    lost: float
    """Share of the possible rate between groups that collisions cost, in the measured phases."""

    @property
    def of_a_group(self) -> float:
        """Bytes per second of all cables of one group."""
        return self.cables * self.bytes_per_second


@dataclass(frozen=True)
class _Guess:
    cables: int
    rate: float
    """Bytes per second of a cable."""
    shares: Floats
    """[bin] expected share of messages."""
    likelihood: float
    """Log likelihood."""


def fit(observed: Observed, alone: Unshared, labels: Integers) -> Hashed | None:
    """Fits the model; None if collisions do not explain the rates between groups. `labels`: [rank] group."""
    across = observed.where(labels[observed.source] != labels[observed.destination])
    across = some_phases(across, _MOST_MESSAGES)
    own = alone.of(across)
    slow = float((alone.slowness(across) < alone.threshold).mean()) if len(across) else 0.0
    if len(across) < _FEWEST_MESSAGES or slow < _SMALLEST_SLOW:
        return None
    random = np.random.default_rng(len(across))
    paths = _Paths(across, own, labels, alone.noise)
    blur = math.sqrt(max(_LEAST_NOISE**2 - alone.noise**2, 0.0))
    seen = _binned(np.log(across.rate / own) + random.normal(0, blur, len(across)))
    largest = int(np.bincount(labels).max())
    tried = [
        (rate * alone.nominal, cables) for rate in _CABLE_RATES for cables in (1, *_counts(rate, largest))
    ]
    few = some_phases(across, _FEW_MESSAGES)
    few_paths = _Paths(few, alone.of(few), labels, alone.noise)
    few_seen = _binned(alone.slowness(few) + random.normal(0, blur, len(few)))
    first = max(
        (few_paths.expected(*guess, 1, few_seen, random) for guess in tried), key=attrgetter("likelihood")
    )
    if _distance(few_seen, first.shares) > _FAR:
        return None
    least, most = math.ceil(first.cables * (1 - _NEAR)), math.floor(first.cables * (1 + _NEAR))
    near = {round(cables) for cables in np.linspace(least, most, min(most - least + 1, _NEAR_COUNTS))}
    nearer = [(first.rate * times, cables) for times in _NEAR_RATES for cables in sorted(near)]
    best = max(
        (paths.expected(*guess, _DRAWS, seen, random) for guess in nearer), key=attrgetter("likelihood")
    )
    cables, rate, expected = best.cables, best.rate, best.shares
    if cables * rate > _MOST_TOLD * largest * alone.nominal:
        return None  # nobody builds such a network, so it is of another kind
    drawn = [paths.drawn(cables, rate, random) for _ in range(_NETWORKS)]
    own_distance = max(_distance(_binned(logs), expected) for logs in drawn)
    by_chance = np.array([(logs < alone.threshold).mean() for logs in drawn])
    misfits = np.array([
        _distance(seen, expected) / max(own_distance, _CLOSE),
        paths.dependence_on_ends(np.log(across.rate / own), drawn) / _MOST_DEVIATIONS,
        abs(slow - by_chance.mean()) / max(_MOST_DEVIATIONS * by_chance.std(), _AS_EXPECTED),
    ])  # fmt: skip
    if cables < _FEWEST_CABLES or misfits.max() > _PERHAPS:
        return None
    lost = 1 - float(across.rate.sum() / own.sum())
    return Hashed(cables, float(rate), bool(misfits.max() <= 1), slow, float(by_chance.mean()), lost)


def of_ranks(observed: Observed, alone: Unshared, labels: Integers) -> tuple[Observed, Unshared, Integers]:
    """Returns the same for ranks in place of nodes: each message of a node takes a path of its own."""
    each = observed.of_ranks.shape[1] if observed.of_ranks is not None else 1
    if observed.of_ranks is None or each == 1:
        return observed, alone, labels
    number = np.arange(each)
    source, destination = (
        (ends[:, None] * each + number).ravel() for ends in (observed.source, observed.destination)
    )
    messages = Observed(
        observed.ranks * each, np.repeat(observed.phase, each), source, destination, observed.of_ranks.ravel()
    )
    out_rate, in_rate = (np.repeat(rates / each, each) for rates in (alone.out_rate, alone.in_rate))
    # The noise of a total of independent messages is as much smaller.
    ranks = Unshared(alone.nominal / each, alone.noise * math.sqrt(each), out_rate, in_rate)
    return messages, ranks, np.repeat(labels, each)


def _counts(rate: float, hosts: int) -> list[int]:
    """Returns cable counts to try. `rate`: of a cable over a host's; `hosts`: in the largest group."""
    most = max(_FEWEST_CABLES, int(_MOST_BISECTION * hosts / rate))
    return sorted(set(np.geomspace(_FEWEST_CABLES, most, _COUNTS).round().astype(int).tolist()))


def _binned(logs: Floats) -> Floats:
    """Returns [bin] the number of messages."""
    return np.bincount(np.searchsorted(_EDGES, logs), minlength=len(_EDGES) + 1).astype(np.float64)


def _distance(counts: Floats, expected: Floats) -> float:
    """Returns the total variation distance between two distributions, each normalised."""
    return 0.5 * float(np.abs(counts / counts.sum() - expected / expected.sum()).sum())


class _Paths:
    """Messages between groups; each draw places their routes on cables anew."""

    def __init__(self, across: Observed, own: Floats, labels: Integers, noise: float) -> None:
        """`own`: [message] bytes per second of its ends; `noise`: standard deviation of a log rate."""
        self._own, self._noise = own, max(noise, _LEAST_NOISE)
        _, phase = np.unique(across.phase, return_inverse=True)
        groups = int(labels.max()) + 1
        self._out = phase * groups + labels[across.source]
        self._in = phase * groups + labels[across.destination]
        self._trunks = (int(phase.max()) + 1) * groups
        pair = labels[across.source] * groups + labels[across.destination]
        _, self._pair = np.unique(pair, return_inverse=True)
        _, place, count = np.unique(phase * groups**2 + pair, return_inverse=True, return_counts=True)
        self._in_company = count[place] > 1
        _, self._route = np.unique(across.source * across.ranks + across.destination, return_inverse=True)
        self._routes = int(self._route.max()) + 1

    def expected(self, rate: float, cables: int, draws: int, seen: Floats, random: Generator) -> _Guess:
        """Returns the guess's expected shares and the likelihood of `seen` ([bin] messages)."""
        counts = np.full(len(seen), 0.5)
        for _ in range(draws):
            counts += _binned(self.drawn(cables, rate, random))
        shares = counts / counts.sum()
        return _Guess(cables, rate, shares, float(seen @ np.log(shares)))

    def dependence_on_ends(self, logs: Floats, drawn: list[Floats]) -> float:
        """Returns how much more rates depend on the groups of their ends than in drawn networks.

        This is the larger of two deviations, in standard deviations of the drawn networks: of the differences
        between pairs of groups, and of the effect of company, which is other messages of the same pair in the
        phase. `drawn`: [network][message] logarithms, like `logs`.
        """
        own = np.array([self._by_ends(one) for one in drawn])
        spread = np.maximum(own.std(axis=0), _SMALLEST_DIFFERENCE)
        return float((np.abs(self._by_ends(logs) - own.mean(axis=0)) / spread).max())

    def _by_ends(self, logs: Floats) -> Floats:
        """Returns the standard deviation of the means of group pairs, and the mean effect of company."""
        count = np.bincount(self._pair)
        means = np.bincount(self._pair, logs) / count
        between = math.sqrt(float(count @ (means - logs.mean()) ** 2) / len(logs))
        some = 0 < self._in_company.sum() < len(logs)
        company = logs[self._in_company].mean() - logs[~self._in_company].mean() if some else 0.0
        return np.array([between, company])

    def drawn(self, cables: int, rate: float, random: Generator) -> Floats:
        """Returns [message] the log of its rate over the rate of its ends, in one draw.

        A route keeps to its cable in all phases.
        """
        cable = random.integers(0, cables, self._routes)[self._route]
        up, down = self._out * cables + cable, (self._trunks + self._in) * cables + cable
        count = len(self._own)
        used = np.zeros(2 * self._trunks * cables, bool)
        used[up] = used[down] = True
        number, cables_used = np.cumsum(used) - 1, int(used.sum())
        passed = np.stack([number[up], number[down], cables_used + np.arange(count)], axis=1)
        rates = max_min(passed, np.concatenate([np.full(cables_used, rate), self._own]))
        return np.asarray(np.log(rates / self._own) + random.normal(0, self._noise, count))


def max_min(passed: Integers, capacity: Floats) -> Floats:
    """Returns [message] its max-min fair rate in bytes per second.

    `passed`: [message, step] indices of the capacities it uses; `capacity`: bytes per second of each. Each
    step fills all capacities that are the bottleneck of each of their messages.
    """
    rates, open_, left = np.zeros(len(passed)), np.arange(len(passed)), capacity.astype(np.float64)
    steps = passed.shape[1]
    while len(open_):
        numbers = passed[open_]
        count = np.bincount(numbers.ravel(), minlength=len(left))
        share = left / np.maximum(count, 1)
        least = share[numbers].min(axis=1)
        smallest = np.full(len(left), np.inf)
        np.minimum.at(smallest, numbers.ravel(), np.repeat(least, steps))
        filled = (share <= smallest * (1 + 1e-9))[numbers].any(axis=1)
        rates[open_[filled]] = least[filled]
        taken = np.bincount(numbers[filled].ravel(), np.repeat(least[filled], steps), len(left))
        left, open_ = np.maximum(left - taken, 0.0), open_[~filled]
    return rates
