"""Variants of a platform, with properties of the network and the hosts' speed changed.

In a platform written by the core (core/backends/sim/platform.cpp), links `c…` are capacities, which messages
share; links `w…` are latencies, which they do not share.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.places.smpi import Platform

# Bytes per second where there is no limit; the same value as in core/backends/sim/platform.cpp.
NO_BOUND = 1e15
_LINK = re.compile(r'<link id="([cw])(\d+)" bandwidth="([^"]+)Bps" latency="([^"]+)s"( [^>]*)?/>\n')
_OVERHEADS = ("smpi/os:", "smpi/ois:", "smpi/or:")
_FAT = ' sharing_policy="FATPIPE"'
CHANGED = ("latency", "bandwidth", "overhead", "compute")
"""Members of `Variant` for which a factor can be given."""


@dataclass(frozen=True)
class Variant:
    """Factors on properties of the network and the processors."""

    latency: float = 1
    bandwidth: float = 1
    """Infinite: messages of any size take no time on links."""
    overhead: float = 1
    """Factor on the processors' time for each message."""
    compute: float = 1
    alone: bool = False
    """Every message has each link to itself."""

    def __post_init__(self) -> None:
        for name in CHANGED:
            if math.isnan(value := getattr(self, name)) or value < 0:
                raise ValueError(f"{name} times {value}")


AS_IT_IS = Variant()
ALONE = Variant(alone=True)
LATENCY_ALONE = Variant(bandwidth=math.inf, alone=True)
"""Messages take only latency and overhead."""
IDEAL = Variant(latency=0, bandwidth=math.inf, overhead=0, alone=True)
"""Messages take no time; only computing, and waiting for ranks that compute longer, remains."""


def parse(text: str) -> Variant:
    """Parses text like `latency=0.5,bandwidth=2`. Raises UsageError."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        is_known = name in CHANGED and name not in values
        if not is_known or not 0 <= value <= 1e6 or (name == "bandwidth" and not value):
            raise UsageError(
                f"'{text}': write factors such as latency=0.5,bandwidth=2, each at most once, of "
                f"{', '.join(CHANGED)}, from 0 (bandwidth: above 0) to 1e6"
            )
        values[name] = value
    return Variant(**values)


def words(variant: Variant) -> str:
    """Formats the factors: `latency × 0.5, bandwidth × 2`."""
    changed = [(name, getattr(variant, name)) for name in CHANGED]
    return ", ".join(f"{name} × {value:g}" for name, value in changed if value != 1) or "as it is"


def write(platform: Platform, variant: Variant, speed: float, file: Path) -> Platform:
    """Writes a variant of the platform to `file`. `speed`: operations per second of a host."""
    changed = 0
    with platform.file.open(encoding="ascii") as source, file.open("w", encoding="ascii") as target:
        for line in source:
            if line.startswith("<link "):
                changed += 1
                target.write(_changed_link(line, variant))
            elif line.startswith("<host "):
                target.write(re.sub(r'speed="[^"]*"', f'speed="{speed:.17g}f"', line))
            else:
                target.write(line)
    if not changed:
        raise CrosscutError(f"{platform.file}: the platform has no links; is crosscut-core another version?")
    return Platform(file, platform.hosts, tuple(_options(platform.options, variant)))


def _changed_link(line: str, variant: Variant) -> str:
    found = _LINK.fullmatch(line)
    if found is None:
        raise CrosscutError(f"crosscut-core wrote a link that is not understood: {line.strip()[:200]}")
    kind, number, rate, latency, rest = found.groups()
    shared = kind == "c" and not variant.alone
    # An unlimited capacity stays unlimited, whatever the factor.
    bandwidth = min(float(rate) * variant.bandwidth, NO_BOUND) if kind == "c" else float(rate)
    seconds = float(latency) * variant.latency
    policy = (rest or "") if shared else _FAT
    return f'<link id="{kind}{number}" bandwidth="{bandwidth:.17g}Bps" latency="{seconds:.17g}s"{policy}/>\n'


def _options(options: Sequence[str], variant: Variant) -> Iterator[str]:
    """Scales overheads, in options like `smpi/os:0:2e-05:0`: from 0 bytes, 2e-05 s and 0 s a byte."""
    for option in options:
        if not option.startswith(_OVERHEADS):
            yield option
            continue
        name, least, seconds, each = option.split(":")
        if (scaled := float(seconds) * variant.overhead) > 0:
            yield f"{name}:{least}:{scaled:.17g}:{each}"
