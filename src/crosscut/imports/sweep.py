"""One pair of ranks over message sizes, like the pattern pingpong. Samples are at rank 0, which receives the
answers; those of a stream are at rank 1, which receives its messages."""

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
    receiver = 1 if mode == "stream" else 0
    for at, size in enumerate(sizes):
        seconds[at, : len(times[size]), 0, receiver, 0] = times[size]
    taken = _SPANS[mode] * seconds[..., receiver : receiver + 1, 0]
    peer = np.full((1, 2, 1), -1, np.int32)
    peer[0, receiver, 0] = 1 - receiver
    return {
        "size_bytes": sizes,
        "peer": peer,
        "message_seconds": seconds,
        "rank_seconds": np.broadcast_to(taken, seconds.shape[:-1]),
        "credited_bytes": _CREDITED[mode] * np.array(sizes, np.float64)[:, None],
    }
