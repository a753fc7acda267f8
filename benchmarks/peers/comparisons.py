"""The comparisons, one entry each; both sides run on the same two cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measuring import local, samples
from benchmarks.peers import iperf3, libfabric, netpipe, osu, sockperf
from benchmarks.peers.mpich import crosscut_mpi, launcher
from benchmarks.peers.netpipe import (
    ONE_BYTE,
    PEAK,
    crosscut_seconds,
    latency,
    mpi_seconds,
    peak_rate,
    tcp_seconds,
)
from benchmarks.ratios import Measure


@dataclass(frozen=True)
class Comparison:
    name: str
    peer: str
    what: str
    unit: str
    """`us` for half a round trip, less is better; or `GB/s`."""
    programs: tuple[str, ...]
    ours: Measure
    theirs: Measure
    limit_seconds: float
    """No further pair starts after this."""

    @property
    def less_is_better(self) -> bool:
        return self.unit == "us"

    def reached(self, low: float, high: float) -> bool:
        """True if the interval reaches the peer: a ratio of 1 or less for times, 1 or more for rates."""
        return low <= 1 if self.less_is_better else high >= 1


def two_cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[1 % len(cores)]


def over_tcp(cores: tuple[int, int]) -> list[Comparison]:
    shared = (cores[1], cores[1])
    apart = local(f"{cores[0]},{cores[1]}")
    on_one = local(str(cores[1]))

    def sockperf_twin() -> float:
        size = sockperf.MESSAGE_BYTES
        return min(samples(on_one, "pingpong", [size], sockperf.PARTS, sockperf.ITERATIONS, "block")[size])

    return [
        Comparison(
            "netpipe-tcp-latency",
            "NPtcp",
            "half round trip, 1 byte, both on one core",
            "us",
            ("NPtcp",),
            lambda: latency(crosscut_seconds(on_one, ONE_BYTE, "block")),
            lambda: latency(tcp_seconds(shared, ONE_BYTE)),
            40,
        ),
        Comparison(
            "netpipe-tcp-latency-apart",
            "NPtcp",
            "half round trip, 1 byte, a core each",
            "us",
            ("NPtcp",),
            lambda: latency(crosscut_seconds(apart, ONE_BYTE, "block")),
            lambda: latency(tcp_seconds(cores, ONE_BYTE)),
            50,
        ),
        Comparison(
            "netpipe-tcp-peak",
            "NPtcp",
            "peak rate, a core each",
            "GB/s",
            ("NPtcp",),
            lambda: peak_rate(crosscut_seconds(apart, PEAK, "block")),
            lambda: peak_rate(tcp_seconds(cores, PEAK)),
            60,
        ),
        Comparison(
            "sockperf-latency",
            "sockperf",
            f"half round trip, {sockperf.MESSAGE_BYTES} bytes, both on one core",
            "us",
            ("sockperf",),
            sockperf_twin,
            partial(sockperf.sockperf_seconds, shared),
            60,
        ),
        Comparison(
            "iperf3-rate",
            "iperf3",
            "one stream, writes of 128 KiB, a core each",
            "GB/s",
            ("iperf3",),
            lambda: iperf3.crosscut_rate(apart, "block"),
            partial(iperf3.iperf3_rate, cores),
            50,
        ),
        Comparison(
            "iperf3-parallel",
            "iperf3",
            f"{iperf3.STREAMS} streams, writes of 128 KiB, a core each",
            "GB/s",
            ("iperf3",),
            lambda: iperf3.crosscut_rate(
                replace(apart, backend_parameters={"connections": str(iperf3.STREAMS)}),
                "block",
                iperf3.STREAMS,
            ),
            partial(iperf3.iperf3_rate, cores, iperf3.STREAMS),
            50,
        ),
    ]


def over_libfabric(cores: tuple[int, int]) -> list[Comparison]:
    return [*_fabric(cores, "rxm", "tcp;ofi_rxm", 20_000), *_fabric(cores, "shm", "shm", 40_000)]


def _window(name: str, windowed: libfabric.Bandwidth) -> Comparison:
    program = libfabric.BANDWIDTH[windowed.transfer][0]
    size = f"{windowed.size_bytes >> 10} KiB"
    kind = {"tagged": "tagged", "write": "written"}[windowed.transfer]
    return Comparison(
        f"fabric-{name}-{windowed.transfer}-{windowed.size_bytes >> 10}k",
        program,
        f"{windowed.provider}: rate of {size}, {kind}, {libfabric.WINDOW} in flight, a core each",
        "GB/s",
        (program,),
        windowed.crosscut_rate,
        windowed.peer_rate,
        60,
    )


def _fabric(cores: tuple[int, int], name: str, provider: str, bounces: int) -> list[Comparison]:
    short = libfabric.PingPong(cores, provider, libfabric.SHORT_BYTES, bounces)
    long = libfabric.PingPong(cores, provider, 256 << 10, bounces // 4)
    return [
        *(
            _window(name, libfabric.Bandwidth(cores, provider, size << 10, windows, transfer))
            for transfer in libfabric.BANDWIDTH
            for size, windows in ((8, 3000), (256, 200))
        ),
        Comparison(
            f"fabric-{name}-latency",
            libfabric.PROGRAM,
            f"{provider}: half round trip, {libfabric.SHORT_BYTES} bytes, a core each",
            "us",
            (libfabric.PROGRAM,),
            short.crosscut_seconds,
            short.peer_seconds,
            60,
        ),
        Comparison(
            f"fabric-{name}-rate",
            libfabric.PROGRAM,
            f"{provider}: rate of 256 KiB to and fro, a core each",
            "GB/s",
            (libfabric.PROGRAM,),
            long.crosscut_rate,
            long.peer_rate,
            60,
        ),
    ]


def over_mpi(cores: tuple[int, int], core_mpi: Path) -> list[Comparison]:
    words = launcher(cores)
    session = crosscut_mpi(words, core_mpi)
    programs = ("NPmpich2",)

    def theirs(sweep: netpipe.Sweep) -> dict[int, float]:
        return mpi_seconds(words, sweep)

    def ours(sweep: netpipe.Sweep) -> dict[int, float]:
        return crosscut_seconds(session, sweep, "poll")

    one_byte = netpipe.Sweep(1, 1, 50_000)
    peak = netpipe.Sweep(PEAK.first, PEAK.last, 40)
    return [
        Comparison(
            "netpipe-mpich-latency",
            "NPmpich2",
            "half round trip, 1 byte, a core each",
            "us",
            programs,
            lambda: latency(ours(one_byte)),
            lambda: latency(theirs(one_byte)),
            45,
        ),
        Comparison(
            "netpipe-mpich-peak",
            "NPmpich2",
            "peak rate, a core each",
            "GB/s",
            programs,
            lambda: peak_rate(ours(peak)),
            lambda: peak_rate(theirs(peak)),
            45,
        ),
    ]


def over_osu(cores: tuple[int, int], core_mpi: Path) -> list[Comparison]:
    words = launcher(cores)
    two_sided, one_sided = (crosscut_mpi(words, core_mpi, backend=backend) for backend in ("mpi", "rma"))
    apart = ("-W", str(osu.WINDOW), "-b", "multiple")

    def twin(program: str, size: int, iterations: int, pattern: str, **more: Any) -> osu.Twin:
        return osu.Twin(words, more.pop("session", two_sided), program, size, iterations, pattern, **more)

    def rate(name: str, mode: str, size: int, iterations: int) -> Comparison:
        one = twin(name, size, iterations, "pingpong", window=osu.WINDOW, options=apart,
                   given=(("mode", mode), ("count", "1")))  # fmt: skip
        what = f"{size // 1024} KiB, {osu.WINDOW} in flight, a core each"
        return Comparison(
            f"osu-{mode}-{size}", name, what, "GB/s", (name,), one.crosscut_rate, one.peer_rate, 60
        )

    def collective(name: str, operation: str, size: int, *options: str) -> Comparison:
        one = twin(name, size, 20_000, "collective", options=options,
                   given=(("operation", operation), ("library", "only")))  # fmt: skip
        what = f"the library's, {size} bytes, a core each"
        return Comparison(
            f"osu-{operation}", name, what, "us", (name,), one.crosscut_seconds, one.peer_seconds, 60
        )

    def put(name: str, size: int, iterations: int) -> osu.Twin:
        return twin(name, size, iterations, "pingpong", session=one_sided,
                    given=(("mode", "stream"), ("count", "100")))  # fmt: skip

    short = twin("osu_mbw_mr", 8, 20_000, "message-rate", window=osu.WINDOW, options=("-W", str(osu.WINDOW)))
    latency, long = put("osu_put_latency", 8, 2_000), put("osu_put_bw", 65536, 200)
    return [
        *(rate("osu_bw", "stream", size, iterations) for size, iterations in ((8192, 3000), (1 << 20, 30))),
        rate("osu_bibw", "bidirectional", 8192, 3000),
        Comparison(
            "osu-message-rate",
            "osu_mbw_mr",
            "time per message of 8 bytes, one pair, 64 in flight",
            "us",
            ("osu_mbw_mr",),
            short.crosscut_seconds,
            short.peer_seconds_per_message,
            60,
        ),
        collective("osu_allreduce", "all-reduce", 1024, "-T", "mpi_int"),
        collective("osu_alltoall", "all-to-all", 1024),
        Comparison(
            "osu-put-latency",
            "osu_put_latency",
            "8 bytes, one after another; crosscut's also notify the receiver",
            "us",
            ("osu_put_latency",),
            latency.crosscut_seconds,
            latency.peer_seconds,
            60,
        ),
        Comparison(
            "osu-put-rate",
            "osu_put_bw",
            "64 KiB; crosscut's one after another, each notified; 64 in flight",
            "GB/s",
            ("osu_put_bw",),
            long.crosscut_rate,
            long.peer_rate,
            60,
        ),
    ]


def chosen(all_of_them: Sequence[Comparison], only: str) -> list[Comparison]:
    return [one for one in all_of_them if only in one.name]
