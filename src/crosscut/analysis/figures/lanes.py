"""What the kernel told of TCP's lanes: how long each waited for its receiver or for buffers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FEWEST_BUSY_SECONDS = 0.01
"""A lane that was busy for less tells nothing."""
_ROWS = 65_536


@dataclass(frozen=True)
class Lane:
    source: int
    destination: int
    """Ranks."""
    busy_seconds: float
    """Time with data to send, during the run."""
    receiver_share: float
    """Share of that time in which the receiver's window was full."""
    buffer_share: float
    """Share in which the sender's buffer was."""

    @property
    def waiting_share(self) -> float:
        return max(self.receiver_share, self.buffer_share)


def lanes(attributes: Mapping[str, Any], ranks: int) -> list[Lane]:
    """Reads the attribute `lanes` of a run (docs/reference/run-format.md); skips damage and idle lanes."""
    told = attributes.get("lanes")
    fields, rows = (told.get(key) for key in ("fields", "rows")) if isinstance(told, dict) else (None, None)
    if not isinstance(fields, list) or not isinstance(rows, list):
        return []
    found = []
    for row in rows[:_ROWS]:
        known = dict(zip(map(str, fields), row, strict=False)) if isinstance(row, list) else {}
        wanted = [known.get(key) for key in _FIELDS]
        if not all(type(number) is int and 0 <= number < _LIMIT for number in wanted):
            continue
        source, destination, busy, receiver, buffer = (int(number) for number in wanted if number is not None)
        if busy * 1e-6 >= FEWEST_BUSY_SECONDS and max(source, destination) < ranks:
            found.append(
                Lane(source, destination, busy * 1e-6, min(1, receiver / busy), min(1, buffer / busy))
            )
    return found


_LIMIT = 1 << 63
_FIELDS = ("rank", "peer", "busy_us", "receiver_limited_us", "buffer_limited_us")
