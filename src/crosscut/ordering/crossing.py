"""What an order sends over the narrow links, for people: bytes, and the busiest of these links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crosscut.ordering.terrain import SharedWay, Terrain
from crosscut.ordering.traffic import RankTraffic


@dataclass(frozen=True)
class Crossing:
    bytes: float
    """All bytes that pass a narrow link."""
    busiest: SharedWay | None
    """The narrow link that needs most time; None if none is narrow."""
    busiest_bytes: float
    busiest_seconds: float
    """Its bytes at its rate, as if nothing else took time."""


def crossing(traffic: RankTraffic, terrain: Terrain, order: Sequence[int]) -> Crossing:
    between = terrain.between(traffic.bytes, order)
    loads = terrain.passes.T @ between
    narrow = np.flatnonzero(terrain.narrow)
    if not len(narrow):
        return Crossing(0, None, 0, 0)
    seconds = loads / np.array([way.bytes_per_second for way in terrain.ways])
    most = int(narrow[np.argmax(seconds[narrow])])
    over = float(between[terrain.passes @ terrain.narrow > 0].sum())
    return Crossing(over, terrain.ways[most], float(loads[most]), float(seconds[most]))
