"""From a link's rate to a token bucket: what the kernel is told so that TCP sees that link."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from crosscut.base import units
from crosscut.base.errors import UsageError

DEFAULT_MTU_BYTES = 1500
# Ethernet beyond the MTU: TBF counts 14 bytes of header; the wire has 24 more (IEEE 802.3: check sum 4,
# preamble 8, gap 12), hence 38 in all.
HEADER_BYTES = 14
FRAMING_BYTES = 38
# IPv4, TCP and its time stamps, which Linux sends (RFC 791, RFC 9293, RFC 7323).
TCP_HEADERS_BYTES = 52
# A bucket holds 1.3 ms: with less, a timer that is late leaves the link idle; with more, longer messages
# pass unshaped.
BURST_SECONDS = 1.3e-3
# What a sender hands down at once must fit in the bucket, or TBF takes it apart again, at great cost.
SEGMENT_SECONDS = 1.0e-3
MOST_SEGMENTS = 42  # 64 kB, TCP's own limit
QUEUE_SECONDS = 50e-3
LEAST_QUEUE_BYTES = 64_000
_NO_ROOM_BYTES = 1
# TBF's rate is 32 bits of bytes a second.
MOST_BITS_PER_SECOND = 8.0 * (2**32 - 1)
LEAST_BITS_PER_SECOND = 64e3
# As many bits a second, of all hosts together, go through two cores in bundles of the smallest size for 100
# Mbit/s: 34,000 a second. A frame by itself costs hardly less than a bundle, and switches of several bridges
# cost more than one: in slow motion there is room for that.
FINE_BITS_PER_SECOND = 3.3e9
FINE_BUNDLES_PER_SECOND = 17e3


@dataclass(frozen=True)
class Frames:
    """How the file's protocol counts, and how the kernel does."""

    mtu_bytes: int
    tokens_per_bit: float
    """TBF's tokens for each bit of the link: frames on the wire are longer than TBF counts them."""

    def bundle_bytes(self, segments: int) -> int:
        """As TBF counts what a sender hands down at once."""
        return segments * (self.mtu_bytes + HEADER_BYTES)


@dataclass(frozen=True)
class Bucket:
    bits_per_second: float
    burst_bytes: int
    limit_bytes: int
    """Bytes that may wait."""

    def shut(self) -> Bucket:
        """With room for no frame: nothing passes."""
        return replace(self, limit_bytes=_NO_ROOM_BYTES)

    @property
    def is_shut(self) -> bool:
        return self.limit_bytes <= _NO_ROOM_BYTES


def frames(mtu: int, framing: int, efficiency: float) -> Frames:
    """`mtu` 0: the file says what share of a rate is payload, and nothing else."""
    if mtu == 0:
        size = DEFAULT_MTU_BYTES
        return Frames(size, efficiency * (size + HEADER_BYTES) / (size - TCP_HEADERS_BYTES))
    return Frames(mtu, (mtu + HEADER_BYTES) / (mtu + (framing or FRAMING_BYTES)))


def segments(
    lowest_bits_per_second: float, mtu_bytes: int, all_bits_per_second: float, dilation: float = 1.0
) -> int:
    """Bytes that a sender may hand down at once, in a lab with this slowest link. Where the hosts are
    together too fast for this machine's cores, frames go in larger bundles; in slow motion, of which these
    are the rates, too, but never larger than without."""
    if math.isinf(lowest_bits_per_second):
        return MOST_SEGMENTS
    frame_bits = 8 * (mtu_bytes + HEADER_BYTES)
    count = _bundled(lowest_bits_per_second, all_bits_per_second, frame_bits)
    if dilation > 1:
        largest = _bundled(lowest_bits_per_second * dilation, all_bits_per_second * dilation, frame_bits)
        needed = math.ceil(all_bits_per_second / frame_bits / FINE_BUNDLES_PER_SECOND)
        count = max(count, min(needed, largest))
    return max(1, min(count, MOST_SEGMENTS))


def _bundled(lowest_bits_per_second: float, all_bits_per_second: float, frame_bits: int) -> int:
    """Frames of a bundle that delays others by no more than SEGMENT_SECONDS, or a few times that where the
    network is fast."""
    coarse = min(4, max(1, math.ceil(all_bits_per_second / FINE_BITS_PER_SECOND)))
    return round(coarse * lowest_bits_per_second * SEGMENT_SECONDS / frame_bits)


def bucket(bits_per_second: float, size: Frames, segments_at_once: int, where: str) -> Bucket:
    """For a link (or switch) of this rate. UsageError where the kernel has none for it."""
    rate = bits_per_second * size.tokens_per_bit
    if not LEAST_BITS_PER_SECOND <= rate <= MOST_BITS_PER_SECOND:
        way_out = (
            "a larger --dilate N, which divides all rates by N, brings it into reach"
            if rate > MOST_BITS_PER_SECOND
            else "give it a higher rate, or a smaller --dilate, by which all rates are divided"
        )
        raise UsageError(
            f"{where}: {units.bit_rate(bits_per_second)} cannot be shaped here; between "
            f"{units.bit_rate(LEAST_BITS_PER_SECOND)} and {units.bit_rate(MOST_BITS_PER_SECOND)} can; "
            f"{way_out}"
        )
    frame = size.mtu_bytes + HEADER_BYTES
    burst = max((segments_at_once + 1) * frame, math.ceil(rate * BURST_SECONDS / 8))
    limit = max(LEAST_QUEUE_BYTES, 4 * burst, math.ceil(rate * QUEUE_SECONDS / 8))
    return Bucket(rate, burst, limit)
