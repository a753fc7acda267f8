"""Computes token buckets that make the kernel's links look to TCP like links of a given rate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from crosscut.base import units
from crosscut.base.errors import UsageError

DEFAULT_MTU_BYTES = 1500
# Ethernet's bytes beyond the MTU. TBF counts the header (14); the wire carries 24 more (IEEE 802.3: checksum
# 4, preamble 8, gap 12), so 38 in all.
HEADER_BYTES = 14
FRAMING_BYTES = 38
# IPv4, TCP and the TCP timestamps, which Linux sends (RFC 791, RFC 9293, RFC 7323).
TCP_HEADERS_BYTES = 52
# The burst that a bucket holds. With less, a late timer leaves the link idle; with more, longer messages pass
# unshaped.
BURST_SECONDS = 1.3e-3
# A sender's bundle must fit in the bucket, or TBF segments it again, at great cost.
SEGMENT_SECONDS = 1.0e-3
MOST_SEGMENTS = 42  # 64 kB, TCP's own limit for a bundle
QUEUE_SECONDS = 50e-3
LEAST_QUEUE_BYTES = 64_000
_NO_ROOM_BYTES = 1
# TBF stores the rate in 32 bits, as bytes per second.
MOST_BITS_PER_SECOND = 8.0 * (2**32 - 1)
LEAST_BITS_PER_SECOND = 64e3
# Two cores carry this many bits per second, over all hosts, in the smallest bundles of a 100 Mbit/s network:
# 34,000 bundles per second. A single frame costs hardly less than a bundle, and several bridges cost more
# than one, so a dilated lab uses only half as many.
FINE_BITS_PER_SECOND = 3.3e9
FINE_BUNDLES_PER_SECOND = 17e3


@dataclass(frozen=True)
class Frames:
    """Frame sizes, as the network's protocol and as the kernel counts them."""

    mtu_bytes: int
    tokens_per_bit: float
    """TBF tokens for each bit of the link. Frames are longer on the wire than TBF counts them."""

    def bundle_bytes(self, segments: int) -> int:
        """Size of a sender's bundle of `segments` frames, as TBF counts it."""
        return segments * (self.mtu_bytes + HEADER_BYTES)


@dataclass(frozen=True)
class Bucket:
    bits_per_second: float
    burst_bytes: int
    limit_bytes: int
    """Bytes that may wait."""

    def shut(self) -> Bucket:
        """Returns this bucket with room for no frame, so that nothing passes."""
        return replace(self, limit_bytes=_NO_ROOM_BYTES)

    @property
    def is_shut(self) -> bool:
        return self.limit_bytes <= _NO_ROOM_BYTES


def frames(mtu: int, framing: int, efficiency: float) -> Frames:
    """`mtu` 0: the file gives only the fraction of a rate that is payload (`efficiency`)."""
    if mtu == 0:
        size = DEFAULT_MTU_BYTES
        return Frames(size, efficiency * (size + HEADER_BYTES) / (size - TCP_HEADERS_BYTES))
    return Frames(mtu, (mtu + HEADER_BYTES) / (mtu + (framing or FRAMING_BYTES)))


def segments(
    lowest_bits_per_second: float, mtu_bytes: int, all_bits_per_second: float, dilation: float = 1.0
) -> int:
    """Number of frames that a sender may hand down at once (1 to MOST_SEGMENTS), given the slowest link.

    Bundles grow if all hosts together are too fast for this machine's cores. They also grow in a dilated lab
    (the rates are the dilated ones), but never beyond those of the lab without dilation.
    """
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
    """Frames in a bundle that delays others by SEGMENT_SECONDS, or up to four times that on fast networks."""
    coarse = min(4, max(1, math.ceil(all_bits_per_second / FINE_BITS_PER_SECOND)))
    return round(coarse * lowest_bits_per_second * SEGMENT_SECONDS / frame_bits)


def bucket(bits_per_second: float, size: Frames, segments_at_once: int, where: str) -> Bucket:
    """The bucket of a link or switch of this rate. Raises UsageError if the kernel cannot shape it."""
    rate = bits_per_second * size.tokens_per_bit
    if not LEAST_BITS_PER_SECOND <= rate <= MOST_BITS_PER_SECOND:
        way_out = (
            "a larger --dilate N, which divides all rates by N, brings it into reach"
            if rate > MOST_BITS_PER_SECOND
            else "give it a higher rate, or a smaller --dilate, by which all rates are divided"
        )
        raise UsageError(
            f"{where}: {units.bit_rate(bits_per_second)} cannot be shaped here; rates from "
            f"{units.bit_rate(LEAST_BITS_PER_SECOND)} to {units.bit_rate(MOST_BITS_PER_SECOND)} can; "
            f"{way_out}"
        )
    frame = size.mtu_bytes + HEADER_BYTES
    burst = max((segments_at_once + 1) * frame, math.ceil(rate * BURST_SECONDS / 8))
    limit = max(LEAST_QUEUE_BYTES, 4 * burst, math.ceil(rate * QUEUE_SECONDS / 8))
    return Bucket(rate, burst, limit)
