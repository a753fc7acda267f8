"""Bytes and messages between ranks, from a trace with collective calls split up, or from a profile."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base.regular_file import open_regular
from crosscut.profile.program import Profile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankTraffic:
    bytes: Floats
    """[from, to]"""
    messages: Floats
    """[from, to]"""

    @property
    def ranks(self) -> int:
        return len(self.bytes)

    @property
    def is_even(self) -> bool:
        """True if every rank sends as much to each of the others."""
        others = self.bytes[~np.eye(self.ranks, dtype=bool)]
        return bool(len(others)) and float(np.ptp(others)) <= 1e-3 * float(others.max())


def of_trace(index: Path, ranks: int) -> RankTraffic:
    """`index`: from `lowering.write`, so every message is a send."""
    sent, count = np.zeros((ranks, ranks)), np.zeros((ranks, ranks))
    for rank, name in enumerate(index.read_text(encoding="utf-8").splitlines()):
        with open_regular(Path(name), follow=True, buffering=-1) as lines:
            for line in lines:
                words = line.split()
                if words[1:2] in ([b"send"], [b"isend"]):
                    to = int(words[2])
                    sent[rank, to] += float(words[4])
                    count[rank, to] += 1
    return _between(sent, count)


def of_profile(found: Profile) -> RankTraffic:
    """Collective calls count as the messages that MPICH 1.2 made of them. UsageError for too many ranks."""
    matrix = found.matrix().astype(np.float64)
    return _between(matrix[:, :, 1], matrix[:, :, 0])


def _between(sent: Floats, count: Floats) -> RankTraffic:
    """Leaves out messages of ranks to themselves, which no order changes."""
    for matrix in (sent, count):
        np.fill_diagonal(matrix, 0)
    return RankTraffic(sent, count)
