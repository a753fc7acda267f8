"""One pair of ranks over message sizes, like the pattern pingpong: rank 0 times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from crosscut.imports.measured import Floats

Mode = Literal["pingpong", "stream", "bidirectional"]
FORMULAS: Mapping[Mode, str] = {
    "pingpong": "m / half round trip",
    "stream": "m count / t",
    "bidirectional": "2 m / t",
}
# Messages that a rank's time covers, over the time of one: there and back, or one way.
_SPANS: Mapping[Mode, int] = {"pingpong": 2, "stream": 1, "bidirectional": 1}
_CREDITED: Mapping[Mode, int] = {"pingpong": 2, "stream": 1, "bidirectional": 2}


def arrays(times: Mapping[int, Floats], mode: Mode) -> dict[str, object]:
    """Returns members of `Measured`. `times`: by size, the time of one message in each repetition."""
    sizes = tuple(sorted(times))
    repetitions = max(map(len, times.values()))
    seconds = np.full((len(sizes), repetitions, 1, 2, 1), np.nan)
    for at, size in enumerate(sizes):
        seconds[at, : len(times[size]), 0, 0, 0] = times[size]
    ranks = np.broadcast_to(_SPANS[mode] * seconds[..., :1, 0], seconds.shape[:-1]).copy()
    return {
        "size_bytes": sizes,
        "peer": np.array([[[1], [-1]]], np.int32),
        "message_seconds": seconds,
        "rank_seconds": ranks,
        "credited_bytes": _CREDITED[mode] * np.array(sizes, np.float64)[:, None],
    }
