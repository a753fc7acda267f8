"""Expected rate and latency of an adapter and a network: arithmetic line by line, with sources."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crosscut.base import units
from crosscut.base.nic import Adapter

# IEEE 802.3: header 14, check sequence 4, preamble and delimiter 8, gap 12.
FRAMING_BYTES = 38
SMALLEST_ON_WIRE_BYTES = 84  # a frame of 64, preamble 8, gap 12
# A transaction layer packet with 256 bytes of payload adds header 16, sequence 2, check 4 and framing 4, and
# about 2 of acknowledgements and flow control (PCI Express Base Specification; Neugebauer et al., SIGCOMM
# 2018, section 3).
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
    """What a network file says about the path between two hosts; NaN: unknown."""

    host_link_bits_per_second: float = math.nan
    efficiency: float = math.nan
    bisection_bits_per_second: float = math.nan
    """Per host of one half, in each direction."""
    switches: int = 1
    """On the longest path."""
    name: str = ""


@dataclass(frozen=True)
class Expected:
    lines: tuple[ExpectationLine, ...]
    route_bytes_per_second: float
    bisection_bytes_per_second: float
    """Per rank, with one rank per host; NaN: no network file."""
    latency_seconds: float
    limit: str
    """What bounds the rate."""


def expect(
    adapter: Adapter, path: Path, *, timestamps: bool, loopback_seconds: float, cable_metres: float
) -> Expected:
    """Derives the expectation. `loopback_seconds`: software of both ends; `cable_metres`: of each link."""
    sheet = _Sheet()
    link, limit = _link(adapter, path, sheet)
    payload = _payload(adapter, path, timestamps, sheet)
    rate = link * payload / 8
    arithmetic = f"{units.bit_rate(link)} / 8 × {payload:.4f}"
    sheet.add("rate of a route", arithmetic, units.rate(rate), "bytes per second and direction")
    pcie = _pcie(adapter, sheet)
    if math.isfinite(pcie) and pcie < rate:
        rate, limit = pcie, "PCI Express"
        source = "the bus is slower than the link"
        sheet.add("rate of a route", "the smaller of the two", units.rate(rate), source)
    bisection = math.nan
    if math.isfinite(path.bisection_bits_per_second):
        full = path.bisection_bits_per_second * payload / 8
        bisection = min(rate, full)
        arithmetic = f"{units.bit_rate(path.bisection_bits_per_second)} / 8 × {payload:.4f}"
        source = f"bisection of {path.name}: crosscut network show"
        sheet.add("half to half, each host", arithmetic, units.rate(full), source)
    latency = _latency(link, path, loopback_seconds, cable_metres, sheet)
    return Expected(tuple(sheet.lines), rate, bisection, latency, limit)


class _Sheet:
    def __init__(self) -> None:
        self.lines: list[ExpectationLine] = []

    def add(self, what: str, arithmetic: str, value: str, source: str) -> None:
        self.lines.append(ExpectationLine(what, arithmetic, value, source))


def _link(adapter: Adapter, path: Path, sheet: _Sheet) -> tuple[float, str]:
    link, limit = adapter.bits_per_second, f"the link of {adapter.name}"
    if math.isfinite(link):
        source = "/sys/class/net/*/speed, or --speed"
        sheet.add(f"link of {adapter.name}", "as negotiated, or as given", units.bit_rate(link), source)
    port = path.host_link_bits_per_second
    if math.isfinite(port):
        sheet.add("switch port", "rate of a host's link", units.bit_rate(port), path.name)
        if not link <= port:
            link, limit = port, "the switch's port"
    return link, limit


def _payload(adapter: Adapter, path: Path, timestamps: bool, sheet: _Sheet) -> float:
    if math.isfinite(path.efficiency):
        sheet.add("payload share", "as the network file says", f"{path.efficiency:.4f}", path.name)
        return path.efficiency
    headers = 20 + 20 + (12 if timestamps else 0)
    mtu = adapter.mtu_bytes
    share = (mtu - headers) / (mtu + FRAMING_BYTES)
    stamp = " + 12 (timestamps, RFC 7323)" if timestamps else ""
    source = f"IPv4 20 (RFC 791) + TCP 20 (RFC 9293){stamp}; framing {FRAMING_BYTES} (IEEE 802.3)"
    arithmetic = f"({mtu} − {headers}) / ({mtu} + {FRAMING_BYTES})"
    sheet.add("payload share", arithmetic, f"{share:.4f}", source)
    return share


def _pcie(adapter: Adapter, sheet: _Sheet) -> float:
    if not (math.isfinite(adapter.pcie_gigatransfers) and adapter.pcie_lanes):
        return math.nan
    # 8b/10b up to 5 GT/s, 128b/130b from 8 GT/s; from 64 GT/s flits, which cost about as little.
    coding, shown = (0.8, "8/10") if adapter.pcie_gigatransfers <= 5 else (128 / 130, "128/130")
    packet = PCIE_PAYLOAD_BYTES + PCIE_OVERHEAD_BYTES
    share = PCIE_PAYLOAD_BYTES / packet
    rate = adapter.pcie_gigatransfers * 1e9 * adapter.pcie_lanes * coding * share / 8
    arithmetic = (
        f"{adapter.pcie_gigatransfers:g} GT/s × {adapter.pcie_lanes} × {shown} × {PCIE_PAYLOAD_BYTES} / "
        f"{packet} / 8"
    )
    source = "PCI Express Base Specification; Neugebauer et al., SIGCOMM 2018"
    sheet.add("PCI Express", arithmetic, units.rate(rate), source)
    return rate


def _latency(link: float, path: Path, loopback: float, metres: float, sheet: _Sheet) -> float:
    wire = SMALLEST_ON_WIRE_BYTES * 8 / link
    hops = path.switches + 1
    cable = metres * hops * CABLE_SECONDS_A_METRE
    total = loopback + hops * wire + cable
    measured = "half a round trip of 1 B over loopback, measured now"
    sheet.add("both ends' software", measured, units.seconds(loopback), "TCP of this machine")
    arithmetic = f"{hops} × {SMALLEST_ON_WIRE_BYTES} B × 8 / {units.bit_rate(link)}"
    source = "smallest frame, IEEE 802.3; sent again by each store-and-forward switch"
    sheet.add("frames on the wire", arithmetic, units.seconds(hops * wire), source)
    source = "about two thirds of the speed of light"
    sheet.add("cables", f"{hops} × {metres:g} m × 5 ns/m", units.seconds(cable), source)
    source = "excludes time in switches and interrupt coalescing (ethtool -c)"
    sheet.add("latency, at least", "the sum", units.seconds(total), source)
    return total
