"""iperf3, one stream or several in one direction in writes of a fixed size: the same bytes in the same pieces
as crosscut's `pingpong --mode stream`, whose time ends when the receiver has acknowledged the last byte. With
several connections, crosscut's message has a piece for each."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.measuring import Session, samples
from benchmarks.processes import BenchmarkError, await_listener, free_port, output_of, pinned, running

PIECE_BYTES = 128 << 10  # iperf3's default
PIECES = 6000
STREAMS = 4


def iperf3_rate(cores: Sequence[int], streams: int = 1) -> float:
    """Bytes per second at the receiver."""
    port = str(free_port())
    server = ["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port]
    client = ["iperf3", "-c", "127.0.0.1", "-p", port, "-J", "-l", str(PIECE_BYTES), "-k", str(PIECES)]
    client += ["-P", str(streams)]
    with running(pinned(cores[1], server)) as process:
        await_listener(int(port), process)
        report = output_of(pinned(cores[0], client))
    try:
        return float(json.loads(report)["end"]["sum_received"]["bits_per_second"]) / 8
    except (ValueError, KeyError, TypeError) as error:
        raise BenchmarkError(f"iperf3 printed no report of the expected form: {error!r}") from error


def crosscut_rate(session: Session, wait: str, streams: int = 1) -> float:
    size = PIECE_BYTES * streams
    count = str(PIECES // streams)
    found = samples(
        session, "pingpong", [size], repetitions=1, iterations=1, wait=wait, mode="stream", count=count
    )
    return size / found[size][0]
