"""Simulated rates on random networks satisfy the definition of max-min fairness.

Routes and capacities come from the SimGrid platform that the core writes, rates from the run.
"""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crosscut.base import core
from crosscut.network import description
from crosscut.run.run import Run

SLACK = 1e-6
Pairs = dict[tuple[int, int], float]
RATES = st.integers(1, 400).map(lambda tens: f"{10 * tens} Mbit/s")


@st.composite
def networks(draw: st.DrawFn) -> tuple[str, int]:
    """Draws (file, hosts): switches joined at random, some with a capacity, and links of all kinds."""
    switches = draw(st.integers(1, 5))
    hosts = draw(st.integers(2, 12))
    lines = [
        f"[[hosts]]\nnames = 'n[0-{hosts - 1}]'" if hosts <= 10 else f"[[hosts]]\nnames = 'n[00-{hosts - 1}]'"
    ]
    for switch in range(switches):
        capacity = draw(st.none() | RATES)
        lines.append(f"[[switches]]\nnames = 's{switch}'")
        if capacity is not None:
            bounds = draw(st.sampled_from(["host-facing", "through"]))
            lines.append(f"capacity = '{capacity}'\nbounds = '{bounds}'")
    digits = 1 if hosts <= 10 else 2
    ends = [(f"n{host:0{digits}}", f"s{draw(st.integers(0, switches - 1))}") for host in range(hosts)]
    ends += [(f"s{switch}", f"s{draw(st.integers(0, switch - 1))}") for switch in range(1, switches)]
    more = [(f"s{a}", f"s{b}") for a, b in itertools.combinations(range(switches), 2)]
    ends += draw(st.lists(st.sampled_from(more), max_size=4)) if more else []
    for a, b in ends:
        lines.append(f"[[links]]\nbetween = ['{a}', '{b}']\nrate = '{draw(RATES)}'")
        kind = draw(st.sampled_from(["plain", "plain", "one way slower", "half duplex"]))
        if kind == "one way slower":
            lines.append(f"back_rate = '{draw(RATES)}'")
        elif kind == "half duplex":
            lines.append("half_duplex = true")
    return "\n".join(lines) + "\n", hosts


def ways(platform: Path) -> tuple[dict[str, float], dict[tuple[int, int], list[str]]]:
    """Returns the capacities in bytes per second, and those that each pair passes."""
    zone = ElementTree.parse(platform).getroot().find("zone")
    assert zone is not None
    capacities = {
        link.attrib["id"]: float(link.attrib["bandwidth"].removesuffix("Bps"))
        for link in zone.findall("link")
        if link.attrib.get("sharing_policy") != "FATPIPE"
    }
    passed = {
        (int(route.attrib["src"][1:]), int(route.attrib["dst"][1:])): [
            use.attrib["id"] for use in route.findall("link_ctn") if use.attrib["id"] in capacities
        ]
        for route in zone.findall("route")
    }
    return capacities, passed


def simulated(file: Path, hosts: int, out: Path) -> list[Pairs]:
    """Returns [phase] the rate of each pair in bytes per second."""
    subprocess.run(
        [core.load().executable, "run", "random-pairwise", "--random-phases", "3", "-n", str(hosts),
         "--backend", "sim", "--network", file, "--size", "1MB", "--out", out],
        check=True, capture_output=True,
    )  # fmt: skip
    run = Run.open(out)
    rates = run.message_rates(0).values[0]
    phases = []
    for phase, peers in enumerate(run.dataset["peer"].values):
        rank, slot = np.nonzero(peers >= 0)
        sources = peers[rank, slot]
        phases.append(
            {(int(s), int(d)): float(rates[phase, d, i]) for s, d, i in zip(sources, rank, slot, strict=True)}
        )
    return phases


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(networks())
def test_no_capacity_is_exceeded_and_every_route_has_a_bottleneck(made: tuple[str, int]) -> None:
    text, hosts = made
    with tempfile.TemporaryDirectory(prefix="crosscut-fair-") as folder:
        file, platform = Path(folder) / "network.toml", Path(folder) / "platform.xml"
        file.write_text(text)
        description.ask("platform", str(file), "--ranks", str(hosts), "--out", str(platform))
        capacities, passed = ways(platform)
        for rates in simulated(file, hosts, Path(folder) / "run.zarr"):
            load = dict.fromkeys(capacities, 0.0)
            fastest = dict.fromkeys(capacities, 0.0)
            for pair, rate in rates.items():
                for use in passed[pair]:
                    load[use] += rate
                    fastest[use] = max(fastest[use], rate)
            full = {use for use, limit in capacities.items() if load[use] >= limit * (1 - SLACK)}
            assert all(load[use] <= limit * (1 + SLACK) for use, limit in capacities.items())
            for pair, rate in rates.items():
                assert any(use in full and rate >= fastest[use] * (1 - SLACK) for use in passed[pair]), pair
