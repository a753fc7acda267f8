"""Models of measurement noise.

Each model draws the logarithm of the rate ratio for each message and instant. `size` is its scale: the
standard deviation, if it has one. Each repetition of a phase is an instant; a phase's rates are medians over
REPETITIONS, as in `crosscut locate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REPETITIONS = 3
# Instants that pass while a search waits a second, if a repetition takes a thirtieth of it.
_WAITED = 30
# Normal noise that other models add, as a share of `size`.
_BESIDE = 0.5


@dataclass
class Noise:
    """The noise of one network, through all its phases."""

    kind: str
    size: float
    ranks: int
    random: np.random.Generator

    def __post_init__(self) -> None:
        self._model: Callable[[Integers], Floats] = MODELS[self.kind](self.size, self.ranks, self.random)

    @classmethod
    def drawn(cls, ranks: int, random: np.random.Generator) -> Noise:
        """Draws a model and a size."""
        return cls(str(random.choice(list(MODELS))), float(random.choice(SIZES)), ranks, random)

    def repeated(self, rates: Floats, ends: Integers, repetitions: int = REPETITIONS) -> Floats:
        """Returns noisy rates [repetition, message] of one phase. `rates`: [message] without noise; `ends`:
        [message, 2] source and destination."""
        return np.asarray(rates * np.exp([self._model(ends) for _ in range(repetitions)]))

    def pass_time(self) -> None:
        """Lets the time pass that a search waits before a last look."""
        for _ in range(_WAITED):
            self._model(np.zeros((0, 2), np.int64))

    def seen(self, rates: Floats, ends: Integers) -> Floats:
        """Returns the medians [message] of one phase."""
        return np.asarray(np.median(self.repeated(rates, ends), axis=0))


Model = Callable[[Integers], Floats]


def _normal(size: float, ranks: int, random: np.random.Generator) -> Model:  # noqa: ARG001
    return lambda ends: size * random.standard_normal(len(ends))


def _student(size: float, ranks: int, random: np.random.Generator) -> Model:  # noqa: ARG001
    """Three degrees of freedom: outliers on both sides."""
    return lambda ends: size / math.sqrt(3) * random.standard_t(3, len(ends))


def _slowing(size: float, ranks: int, random: np.random.Generator) -> Model:
    """Exponential slowdown, and normal noise."""
    normal = _normal(_BESIDE * size, ranks, random)
    return lambda ends: normal(ends) - random.exponential(size, len(ends))


def _stalls(size: float, ranks: int, random: np.random.Generator) -> Model:
    """One to five of 100 messages take 1.5 to 5 times as long."""
    normal, share = _normal(_BESIDE * size, ranks, random), random.uniform(0.01, 0.05)

    def model(ends: Integers) -> Floats:
        stalled = random.random(len(ends)) < share
        return normal(ends) - np.where(stalled, np.log(random.uniform(1.5, 5, len(ends))), 0.0)

    return model


def _daemon(size: float, ranks: int, random: np.random.Generator) -> Model:
    """A daemon runs on every host at regular intervals and slows its messages by ten times `size`."""
    normal, at = _normal(_BESIDE * size, ranks, random), [0]
    period, length = int(random.integers(10, 100)), int(random.integers(1, 4))
    offset = random.integers(period, size=ranks)

    def model(ends: Integers) -> Floats:
        at[0] += 1
        runs = (at[0] + offset) % period < length
        return np.asarray(normal(ends) - 10 * size * runs[ends].any(axis=1))

    return model


def _correlated(size: float, ranks: int, random: np.random.Generator) -> Model:
    """First-order autoregressive noise of both ends of a message."""
    normal, memory = _normal(_BESIDE * size, ranks, random), random.uniform(0.5, 0.95)
    state = [random.standard_normal((2, ranks))]

    def model(ends: Integers) -> Floats:
        state[0] = memory * state[0] + math.sqrt(1 - memory**2) * random.standard_normal((2, ranks))
        out, back = state[0]
        return np.asarray(normal(ends) + size / math.sqrt(2) * (out[ends[:, 0]] + back[ends[:, 1]]))

    return model


def _neighbour(size: float, ranks: int, random: np.random.Generator) -> Model:
    """Other traffic takes half of one host's link, in one direction, for some instants at a time."""
    normal = _normal(size, ranks, random)
    host, way, busy = int(random.integers(ranks)), int(random.integers(2)), [False]

    def model(ends: Integers) -> Floats:
        busy[0] = random.random() < (0.75 if busy[0] else 0.08)
        return np.asarray(normal(ends) + math.log(0.5) * (busy[0] & (ends[:, way] == host)))

    return model


MODELS: dict[str, Callable[[float, int, np.random.Generator], Model]] = {
    "normal": _normal,
    "Student t3": _student,
    "only slows": _slowing,
    "stalls": _stalls,
    "daemon": _daemon,
    "correlated": _correlated,
    "noisy neighbour": _neighbour,
}
SIZES = (0.01, 0.02, 0.05)
