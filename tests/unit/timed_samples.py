"""Samples of an all-to-all with known slowdowns of hosts, routes and moments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crosscut.analysis.figures.samples import Samples

Slower = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""From (repetition, source, destination) of all messages to the factors of their times."""


def all_to_all(
    seed: int, *, ranks: int = 8, repetitions: int = 20, noise: float = 0.02, stalls: float = 0.0,
    slower: Slower | None = None, at: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Samples:  # fmt: skip
    """10 ms a message; `stalls`: the share of messages that take five times as long, by chance; `at`: what
    all messages of a moment (phase after phase, repetition after repetition, in seconds) are multiplied
    by."""
    random = np.random.default_rng(seed)
    phases = ranks - 1
    peer = np.array([[[(rank - d) % ranks] for rank in range(ranks)] for d in range(1, ranks)], np.int32)
    seconds = 0.01 * np.exp(noise * random.standard_normal((repetitions, phases, ranks)))
    seconds *= np.where(random.random(seconds.shape) < stalls, 5.0, 1.0)
    if slower is not None:
        repetition = np.broadcast_to(np.arange(repetitions)[:, None, None], seconds.shape)
        source = np.broadcast_to(peer[None, :, :, 0], seconds.shape)
        destination = np.broadcast_to(np.arange(ranks)[None, None, :], seconds.shape)
        seconds = seconds * slower(repetition, source, destination)
    if at is not None:
        moment = 0.0
        for repetition in range(repetitions):
            for phase in range(phases):
                seconds[repetition, phase] *= at(np.array([moment]))[0]
                moment += float(seconds[repetition, phase].max())
    return Samples(
        size_bytes=1_000_000, phase=np.arange(1, ranks), peer=peer, bytes=np.full(peer.shape, 1e6),
        message_seconds=seconds[..., None], rank_seconds=seconds, credited_bytes=np.full(phases, 2e6),
        node=np.arange(ranks, dtype=np.int32), iterations=1, summarised=False,
    )  # fmt: skip
