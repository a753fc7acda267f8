"""Which switches become one bridge.

Switches joined by links without a bound (the ASICs of a line card) are one bridge: every bridge that a frame
passes costs this machine time, and nothing would be shaped between them.
"""

from __future__ import annotations

import math

from crosscut.network.paths import Ways


def bridge_of_switch(ways: Ways) -> tuple[int, ...]:
    """The bridge's number, for each switch."""
    merged = _merged(ways)
    return merged if _agree(ways, merged) else tuple(range(len(ways.switches)))


def _merged(ways: Ways) -> tuple[int, ...]:
    hosts = len(ways.hosts)
    leader = list(range(len(ways.switches)))

    def find(switch: int) -> int:
        while leader[switch] != switch:
            switch = leader[switch]
        return switch

    for edge in ways.edges:
        if ways.is_host(edge.a) or ways.is_host(edge.b):
            continue
        bounded = not (math.isinf(edge.bits_per_second) and math.isinf(edge.back_bits_per_second))
        # What passes a backplane is counted at its ports, also those towards switches.
        through = any(ways.switches[vertex - hosts].is_through for vertex in (edge.a, edge.b))
        if not bounded and not through:
            a, b = find(edge.a - hosts), find(edge.b - hosts)
            leader[max(a, b)] = min(a, b)
    leaders = sorted({find(switch) for switch in range(len(leader))})
    return tuple(leaders.index(find(switch)) for switch in range(len(leader)))


def _agree(ways: Ways, bridge: tuple[int, ...]) -> bool:
    """True if the merged tables name one port for each destination."""
    hosts = len(ways.hosts)
    inside = {
        number
        for number, edge in enumerate(ways.edges)
        if not (ways.is_host(edge.a) or ways.is_host(edge.b))
        and bridge[edge.a - hosts] == bridge[edge.b - hosts]
    }
    for segment in ways.segments:
        port: dict[int, int] = {}
        for vertex, edge in segment.leaving:
            if edge not in inside and port.setdefault(bridge[vertex - hosts], edge) != edge:
                return False
    return True
