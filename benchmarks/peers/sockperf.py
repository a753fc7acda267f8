"""sockperf, ping-pong over TCP with blocking calls. Its shortest message is its own header, 14 bytes.

It stamps each message and reports half of (received - sent), without its work between two messages. The
figure is the fastest of the means of the three thirds of its log. crosscut's is the fastest of 3 repetitions
of n iterations, work between two messages included.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.processes import BenchmarkError, await_listener, free_port, output_of, pinned, running
from crosscut.imports import output, sockperf

MESSAGE_BYTES = 14
PARTS = 3
ITERATIONS = 8000
RUN_SECONDS = 1  # its minimum; half of it is warm-up and cool-down, not in the log


def half_trip_seconds(log: Path) -> list[float]:
    """Returns each message's time, in order. Raises UsageError."""
    seconds: list[float] = sockperf.FORMAT.parse(output.read(log)).message_seconds.ravel().tolist()
    return [value for value in seconds if np.isfinite(value)]


def fastest_part(seconds: Sequence[float]) -> float:
    if len(seconds) < PARTS:
        raise BenchmarkError(f"sockperf logged {len(seconds)} messages, too few")
    return min(float(np.mean(part)) for part in np.array_split(np.asarray(seconds), PARTS))


def sockperf_seconds(cores: Sequence[int]) -> float:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="crosscut-sockperf-") as folder:
        log = Path(folder) / "messages.csv"
        where = ["--tcp", "-i", "127.0.0.1", "-p", str(port)]
        server = ["sockperf", "server", *where]
        client = ["sockperf", "ping-pong", *where, "-m", str(MESSAGE_BYTES), "-t", str(RUN_SECONDS)]
        with running(pinned(cores[1], server), patience_seconds=0) as process:
            await_listener(port, process)
            output_of([*pinned(cores[0], client), "--full-log", str(log)])
        return fastest_part(half_trip_seconds(log))
