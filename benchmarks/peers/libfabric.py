"""Programs that send messages between reliable endpoints (FI_EP_RDM) of libfabric.

fi_pingpong comes with libfabric. It polls the completion queue, has a buffer for each direction, injects what
is short enough, and reports half of the mean of n round trips, of which the first connects the two: n is
large. So crosscut's ranks poll, with two buffers, and take the mean of n iterations.

fi_rdm_tagged_bw and fi_rma_bw are of the fabtests, which must be built from source. They keep 64 messages in
flight, from one buffer, and wait for an answer after each 64. Each of crosscut's messages has its own buffer.
fi_rma_bw (writedata) writes to the same memory again and again; crosscut's receiver offers memory for each
message first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measuring import Session, core, samples
from benchmarks.processes import BenchmarkError, await_listener, free_port, output_of, pinned, running

PROGRAM = "fi_pingpong"
# By how the bytes travel: the program and its options.
BANDWIDTH = {"tagged": ("fi_rdm_tagged_bw",), "write": ("fi_rma_bw", "-o", "writedata")}
WINDOW = 64
# It injects what is shorter than the provider's limit, which is 64 bytes for tcp;ofi_rxm; crosscut also what
# has just that size.
SHORT_BYTES = 32
# It has no option for the interface: without this, both ends have the address of another one.
ON_LOOPBACK = "FI_TCP_IFACE=lo"
COLUMN = "usec/xfer"


def seconds_each(printed: str) -> float:
    """Returns the time of a message, half a round trip in a ping-pong, in the table's only row."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    try:
        head = next(i for i, line in enumerate(lines) if COLUMN in line)
        return float(lines[head + 1][lines[head].index(COLUMN)]) * 1e-6
    except (StopIteration, IndexError, ValueError) as error:
        raise BenchmarkError(
            f"libfabric's program printed no table of the expected form: {error!r}"
        ) from error


@dataclass(frozen=True)
class PingPong:
    cores: Sequence[int]
    provider: str
    size_bytes: int
    bounces: int

    def peer_seconds(self) -> float:
        port = str(free_port())
        words = ["env", ON_LOOPBACK, PROGRAM, "-p", self.provider, "-e", "rdm", "-m", "tagged"]
        words += ["-I", str(self.bounces), "-S", str(self.size_bytes)]
        with running(pinned(self.cores[1], [*words, "-B", port])) as server:
            await_listener(int(port), server)
            return seconds_each(output_of(pinned(self.cores[0], [*words, "-P", port, "127.0.0.1"])))

    def crosscut_seconds(self) -> float:
        pin = ",".join(map(str, self.cores))
        session = Session((core(), "node"), 2, "fabric", pin, backend_parameters={"provider": self.provider})
        return samples(session, "pingpong", [self.size_bytes], 1, self.bounces, "poll")[self.size_bytes][0]

    def peer_rate(self) -> float:
        return self.size_bytes / self.peer_seconds()

    def crosscut_rate(self) -> float:
        return self.size_bytes / self.crosscut_seconds()


@dataclass(frozen=True)
class Bandwidth:
    cores: Sequence[int]
    provider: str
    size_bytes: int
    windows: int
    transfer: str = "tagged"

    def peer_rate(self) -> float:
        port = str(free_port())
        words = ["env", ON_LOOPBACK, *BANDWIDTH[self.transfer], "-p", self.provider, f"-b={port}"]
        words += ["-S", str(self.size_bytes), "-W", str(WINDOW), "-w", str(WINDOW)]
        words += ["-I", str(self.windows * WINDOW), "-s", "127.0.0.1"]
        with running(pinned(self.cores[1], words)) as server:
            await_listener(int(port), server)
            printed = output_of(pinned(self.cores[0], [*words, "127.0.0.1"]))
        return self.size_bytes / seconds_each(printed)

    def crosscut_rate(self) -> float:
        parameters = {"provider": self.provider, "transfer": self.transfer}
        pin = ",".join(map(str, self.cores))
        session = Session((core(), "node"), 2, "fabric", pin, backend_parameters=parameters)
        found = samples(
            session, "pingpong", [self.size_bytes], 1, self.windows, "poll", WINDOW, mode="stream", count="1"
        )
        return self.size_bytes / found[self.size_bytes][0]
