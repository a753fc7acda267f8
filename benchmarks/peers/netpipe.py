"""NetPIPE (Debian: NPtcp, NPmpich2): the model of crosscut's own ping-pong.

It bounces a message n times in each of three trials and reports the fastest as one-way time (netpipe.c:
TRIALS 3, MIN). So crosscut does 3 repetitions of n iterations and takes the fastest, with `--buffers one`,
since NetPIPE receives into the memory that it sends from.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measuring import Session, samples
from benchmarks.processes import (
    await_listener,
    free_port,
    output_of,
    pinned,
    running,
)
from crosscut.imports import netpipe, output

TRIALS = 3


@dataclass(frozen=True)
class Sweep:
    """Sizes from `first` to `last` bytes as NetPIPE steps through them, each bounced `bounces` times."""

    first: int
    last: int
    bounces: int

    @property
    def sizes(self) -> list[int]:
        """As in netpipe.c without perturbation: after a power of two 2^k come 1.5 * 2^k, 2^(k+1), ..."""
        sizes, size, step = [], self.first, max(1, self.first // 2)
        while size <= self.last:
            sizes.append(size)
            if size >= 4 * step:
                step *= 2
            size += step
        return sizes

    def options(self, output: Path) -> list[str]:
        return [
            *("-l", str(self.first), "-u", str(self.last), "-p", "0"),
            *("-n", str(self.bounces), "-o", str(output)),
        ]


ONE_BYTE = Sweep(1, 1, 4000)
# The peak on loopback and in shared memory: calls dominate below, caches overflow above.
PEAK = Sweep(128 << 10, 768 << 10, 120)


def read_seconds(path: Path) -> dict[int, float]:
    """Returns seconds by bytes. Raises UsageError."""
    measured = netpipe.FORMAT.parse(output.read(path))
    return dict(zip(measured.size_bytes, measured.message_seconds[:, 0, 0, 0, 0].tolist(), strict=True))


def tcp_seconds(cores: Sequence[int], sweep: Sweep) -> dict[int, float]:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="crosscut-netpipe-") as folder:
        table = Path(folder) / "np.out"
        words = ["NPtcp", "-P", str(port), *sweep.options(table)]
        server = ["NPtcp", "-P", str(port), *sweep.options(Path(folder) / "receiver.out")]
        with running(pinned(cores[1], server)) as receiver:
            await_listener(port, receiver)
            output_of([*pinned(cores[0], words), "-h", "127.0.0.1"])
        return read_seconds(table)


def mpi_seconds(launcher: Sequence[str], sweep: Sweep) -> dict[int, float]:
    with tempfile.TemporaryDirectory(prefix="crosscut-netpipe-") as folder:
        table = Path(folder) / "np.out"
        output_of([*launcher, "NPmpich2", *sweep.options(table)])
        return read_seconds(table)


def crosscut_seconds(session: Session, sweep: Sweep, wait: str) -> dict[int, float]:
    found = samples(session, "pingpong", sweep.sizes, TRIALS, sweep.bounces, wait, buffers="one")
    return {size: min(seconds) for size, seconds in found.items()}


def latency(seconds: dict[int, float]) -> float:
    return seconds[min(seconds)]


def peak_rate(seconds: dict[int, float]) -> float:
    """Returns the bytes per second at the fastest size."""
    return max(size / time for size, time in seconds.items())
