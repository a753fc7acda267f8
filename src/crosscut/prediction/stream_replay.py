"""Replays with crosscut-core: each pair of ranks has a TCP stream, and streams share links."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.prediction import replay
from crosscut.prediction.replay import Limits, Replayed
from crosscut.prediction.trace import Trace
from crosscut.prediction.variants import Variant


@dataclass(frozen=True)
class Transport:
    """MPI's way of sending a message. The defaults are those of MPICH 5 over libfabric's tcp provider."""

    eager_bytes: int = 3 << 20
    """Longer messages wait for their receive. Measured with MPICH 5.0.2: 3.1 MB reach a rank that sleeps,
    3.6 MB do not."""
    inject_bytes: int = 128
    """The sender of a longer message waits until the receiver's library has taken it in and answered, which
    it does only inside MPI. Measured with MPICH 5.0.2: 128 bytes do not wait, 129 do. XNET_DEF_INJECT in
    prov/tcp/src/xnet.h of libfabric."""
    send_buffer_bytes: int | None = None
    """Bytes of a shorter message that may be unsent when its sender continues; None: all, as if the socket
    took any size. Linux's socket buffers grow to 4 MB (tcp_wmem) while nothing is lost."""
    header_bytes: int = 32
    """With remote data and a tag: struct xnet_tag_data_hdr, prov/tcp/src/xnet_proto.h in libfabric."""
    deep_queues: bool = False
    """Switches lose nothing, so links are shared in proportion to the senders' rates."""

    noise_seconds: float = 0
    """Mean extra time that each receive costs its rank (calibrating.py)."""


MPICH_TCP = Transport()


@dataclass(frozen=True)
class ReplayJob:
    """The common parameters of all replays of a trace on one network."""

    trace: Trace
    index: Path
    """From `lowering.write`; its folder takes all files."""
    network: str
    operations_per_second: float
    ranks_per_host: int
    transport: Transport
    limits: Limits
    order: tuple[int, ...] = ()
    """[rank] its place; place p is on host p // ranks per host. Empty: rank r is at place r."""
    noise_seed: int = 0
    """Another draw of the noise for each."""


def run(job: ReplayJob, variant: Variant) -> Replayed:
    """Replays one variant. Raises CrosscutError."""
    # The replay runs in another folder, so file names become absolute; catalogue names stay.
    network = str(Path(job.network).absolute()) if Path(job.network).exists() else job.network
    words = [str(core.load().executable), "replay", str(job.index), "--on", network, *_options(job, variant)]
    begin = time.perf_counter()
    status, text = replay.ended(words, job.index.parent, job.limits, job.network)
    if status != 0:
        raise CrosscutError(replay.why(text, status, job.limits, job.trace, job.network))
    found = json.loads(text)
    return Replayed(found["seconds"], time.perf_counter() - begin, tuple(found["ended"]))


def _options(job: ReplayJob, variant: Variant) -> Iterator[str]:
    # Computing that takes no time is expressed as an extremely fast processor.
    rate = job.operations_per_second / variant.compute if variant.compute > 0 else 1e30
    yield from ("--operations-per-second", f"{min(rate, 1e30):.17g}")
    yield from ("--ranks-per-host", str(job.ranks_per_host))
    if job.order:
        yield from ("--order", ",".join(map(str, job.order)))
    transport = job.transport
    yield from ("--eager", str(transport.eager_bytes), "--inject", str(transport.inject_bytes))
    yield from ("--header", str(transport.header_bytes))
    if transport.send_buffer_bytes is not None:
        yield from ("--send-buffer", str(transport.send_buffer_bytes))
    if transport.deep_queues:
        yield "--deep-queues"
    if transport.noise_seconds > 0:
        yield from ("--noise", f"{transport.noise_seconds * 1e9:.0f}ns", "--noise-seed", str(job.noise_seed))
    for name in ("latency", "bandwidth", "overhead"):
        value: float = getattr(variant, name)
        yield from (f"--{name}", "inf" if math.isinf(value) else f"{value:.17g}")
    if variant.alone:
        yield "--alone"
