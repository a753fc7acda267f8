"""A platform as it is, and what it would be if something of the network were otherwise.

Of a platform that the core writes (core/backends/sim/platform.cpp) only lines of links are changed: `c…` are
capacities, which messages share, `w…` latencies, which they do not.
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

# Bytes a second where nothing bounds them (sim_platform.cpp has the same).
NO_BOUND = 1e15
_LINK = re.compile(r'<link id="([cw])(\d+)" bandwidth="([^"]+)Bps" latency="([^"]+)s"( [^>]*)?/>\n')
_OVERHEADS = ("smpi/os:", "smpi/ois:", "smpi/or:")
_FAT = ' sharing_policy="FATPIPE"'
CHANGED = ("latency", "bandwidth", "overhead", "compute")
"""What factors may be asked for, by names of `Variant`."""


@dataclass(frozen=True)
class Variant:
    """By what is multiplied what the network has."""

    latency: float = 1
    bandwidth: float = 1
    """Infinite: messages of any size pass at once."""
    overhead: float = 1
    """Factor on the processors' time for each message."""
    compute: float = 1
    alone: bool = False
    """Every message has each link for itself."""

    def __post_init__(self) -> None:
        for name in CHANGED:
            if math.isnan(value := getattr(self, name)) or value < 0:
                raise ValueError(f"{name} times {value}")


AS_IT_IS = Variant()
ALONE = Variant(alone=True)
LATENCY_ALONE = Variant(bandwidth=math.inf, alone=True)
"""Latency and overheads are all that messages take."""
IDEAL = Variant(latency=0, bandwidth=math.inf, overhead=0, alone=True)
"""Messages take no time: what is left is computing, and waiting for who computes longer."""


def parse(text: str) -> Variant:
    """`latency=0.5,bandwidth=2`; raises UsageError."""
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
                f"'{text}': write by what to multiply, such as latency=0.5,bandwidth=2; there is "
                f"{', '.join(CHANGED)}, each once, from 0 (bandwidth above 0) to 1e6"
            )
        values[name] = value
    return Variant(**values)


def words(variant: Variant) -> str:
    """`latency × 0.5, bandwidth × 2`"""
    changed = [(name, getattr(variant, name)) for name in CHANGED]
    return ", ".join(f"{name} × {value:g}" for name, value in changed if value != 1) or "as it is"


def write(platform: Platform, variant: Variant, speed: float, file: Path) -> Platform:
    """`speed`: operations of a host in a second."""
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
        raise CrosscutError(
            f"{platform.file}: a platform without links; is crosscut-core of another version?"
        )
    return Platform(file, platform.hosts, tuple(_options(platform.options, variant)))


def _changed_link(line: str, variant: Variant) -> str:
    found = _LINK.fullmatch(line)
    if found is None:
        raise CrosscutError(f"crosscut-core wrote a link that is not understood: {line.strip()[:200]}")
    kind, number, rate, latency, rest = found.groups()
    shared = kind == "c" and not variant.alone
    # Without a bound stays so, whatever the factor.
    bandwidth = min(float(rate) * variant.bandwidth, NO_BOUND) if kind == "c" else float(rate)
    seconds = float(latency) * variant.latency
    policy = (rest or "") if shared else _FAT
    return f'<link id="{kind}{number}" bandwidth="{bandwidth:.17g}Bps" latency="{seconds:.17g}s"{policy}/>\n'


def _options(options: Sequence[str], variant: Variant) -> Iterator[str]:
    """`smpi/os:0:2e-05:0`: from 0 bytes on so many seconds, and none for each byte."""
    for option in options:
        if not option.startswith(_OVERHEADS):
            yield option
            continue
        name, least, seconds, each = option.split(":")
        if (scaled := float(seconds) * variant.overhead) > 0:
            yield f"{name}:{least}:{scaled:.17g}:{each}"
