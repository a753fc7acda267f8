"""What rate and latency to expect of an adapter and a network: arithmetic, line by line, each with its
source."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crosscut.base import units
from crosscut.base.nic import Adapter

# IEEE 802.3: header 14, check sequence 4, preamble and delimiter 8, gap 12.
FRAMING_BYTES = 38
SMALLEST_ON_WIRE_BYTES = 84  # a frame of 64, preamble 8, gap 12
# A transaction layer packet of 256 bytes of payload: header 16, sequence 2, check 4, framing 4; and about 2
# of
# acknowledgements and flow control (PCI Express Base Specification; Neugebauer et al., SIGCOMM 2018, section
# 3).
PCIE_PAYLOAD_BYTES = 256
PCIE_OVERHEAD_BYTES = 28
CABLE_SECONDS_A_METRE = 5e-9


@dataclass(frozen=True)
class ExpectationLine:
    what: str
    arithmetic: str
    value: str
    source: str


@dataclass(frozen=True)
class Path:
    """What a network file says of the way between two hosts; NaN and 0: nothing."""

    host_link_bits_per_second: float = math.nan
    efficiency: float = math.nan
    bisection_bits_per_second: float = math.nan
    """Per host of one half, each direction."""
    switches: int = 1
    """On the longest way."""
    name: str = ""


@dataclass(frozen=True)
class Expected:
    lines: tuple[ExpectationLine, ...]
    route_bytes_per_second: float
    bisection_bytes_per_second: float
    """Per rank with one rank a host; NaN: no network file."""
    latency_seconds: float
    limit: str
    """What bounds the rate."""


def expect(
    adapter: Adapter, path: Path, *, timestamps: bool, loopback_seconds: float, cable_metres: float
) -> Expected:
    lines: list[ExpectationLine] = []
    link, limit = _link(adapter, path, lines)
    payload = _payload(adapter, path, timestamps, lines)
    rate = link * payload / 8
    lines.append(
        ExpectationLine(
            "rate of a route",
            f"{units.bit_rate(link)} / 8 × {payload:.4f}",
            units.rate(rate),
            "bytes per second and direction",
        )
    )
    pcie = _pcie(adapter, lines)
    if math.isfinite(pcie) and pcie < rate:
        rate, limit = pcie, "PCI Express"
        lines.append(
            ExpectationLine(
                "rate of a route",
                "the smaller of the two",
                units.rate(rate),
                "the bus is slower than the link",
            )
        )
    bisection = math.nan
    if math.isfinite(path.bisection_bits_per_second):
        full = path.bisection_bits_per_second * payload / 8
        bisection = min(rate, full)
        lines.append(
            ExpectationLine(
                "half to half, each host",
                f"{units.bit_rate(path.bisection_bits_per_second)} / 8 × {payload:.4f}",
                units.rate(full),
                f"bisection of {path.name}: crosscut network show",
            )
        )
    return Expected(
        tuple(lines + (waits := _latency(link, path, loopback_seconds, cable_metres))[0]),
        rate,
        bisection,
        waits[1],
        limit,
    )


def _link(adapter: Adapter, path: Path, lines: list[ExpectationLine]) -> tuple[float, str]:
    link, limit = adapter.bits_per_second, f"the link of {adapter.name}"
    if math.isfinite(link):
        lines.append(
            ExpectationLine(
                f"link of {adapter.name}",
                "as negotiated, or as given",
                units.bit_rate(link),
                "/sys/class/net/*/speed, or --speed",
            )
        )
    port = path.host_link_bits_per_second
    if math.isfinite(port):
        lines.append(ExpectationLine("switch port", "rate of a host's link", units.bit_rate(port), path.name))
        if not link <= port:
            link, limit = port, "the switch's port"
    return link, limit


def _payload(adapter: Adapter, path: Path, timestamps: bool, lines: list[ExpectationLine]) -> float:
    if math.isfinite(path.efficiency):
        lines.append(
            ExpectationLine("payload's share", "as the network says", f"{path.efficiency:.4f}", path.name)
        )
        return path.efficiency
    headers = 20 + 20 + (12 if timestamps else 0)
    mtu = adapter.mtu_bytes
    share = (mtu - headers) / (mtu + FRAMING_BYTES)
    stamp = " + 12 (timestamps, RFC 7323)" if timestamps else ""
    lines.append(
        ExpectationLine(
            "payload's share",
            f"({mtu} − {headers}) / ({mtu} + {FRAMING_BYTES})",
            f"{share:.4f}",
            f"IPv4 20 (RFC 791) + TCP 20 (RFC 9293){stamp}; framing {FRAMING_BYTES} (IEEE 802.3)",
        )
    )
    return share


def _pcie(adapter: Adapter, lines: list[ExpectationLine]) -> float:
    if not (math.isfinite(adapter.pcie_gigatransfers) and adapter.pcie_lanes):
        return math.nan
    # 8b/10b up to 5 GT/s, 128b/130b from 8 on; from 64 on flits, about as good.
    coding, shown = (0.8, "8/10") if adapter.pcie_gigatransfers <= 5 else (128 / 130, "128/130")
    share = PCIE_PAYLOAD_BYTES / (PCIE_PAYLOAD_BYTES + PCIE_OVERHEAD_BYTES)
    rate = adapter.pcie_gigatransfers * 1e9 * adapter.pcie_lanes * coding * share / 8
    lines.append(
        ExpectationLine(
            "PCI Express",
            f"{adapter.pcie_gigatransfers:g} GT/s × {adapter.pcie_lanes} × {shown} × {PCIE_PAYLOAD_BYTES} / "
            f"{PCIE_PAYLOAD_BYTES + PCIE_OVERHEAD_BYTES} / 8",
            units.rate(rate),
            "PCI Express Base Specification; Neugebauer et al., SIGCOMM 2018",
        )
    )
    return rate


def _latency(link: float, path: Path, loopback: float, metres: float) -> tuple[list[ExpectationLine], float]:
    wire = SMALLEST_ON_WIRE_BYTES * 8 / link
    hops = path.switches + 1
    cable = metres * hops * CABLE_SECONDS_A_METRE
    total = loopback + hops * wire + cable
    return [
        ExpectationLine(
            "both ends' software",
            "half a round trip of 1 B over loopback, measured now",
            units.seconds(loopback),
            "TCP of this machine",
        ),
        ExpectationLine(
            "frames on the wire",
            f"{hops} × {SMALLEST_ON_WIRE_BYTES} B × 8 / {units.bit_rate(link)}",
            units.seconds(hops * wire),
            "smallest frame, IEEE 802.3; a switch that stores and forwards sends it anew",
        ),
        ExpectationLine(
            "cables",
            f"{hops} × {metres:g} m × 5 ns/m",
            units.seconds(cable),
            "about two thirds of the speed of light",
        ),
        ExpectationLine(
            "latency, at least",
            "the sum",
            units.seconds(total),
            "without the time in switches, and without interrupts held back (ethtool -c)",
        ),
    ], total
