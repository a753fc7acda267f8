"""Differences between a lab and the network of its file, as sentences to show and to record in every run."""

from __future__ import annotations

from collections.abc import Iterator

from crosscut.base import units
from crosscut.lab.plan.plan import LabPlan, host_bits_per_second
from crosscut.network.paths import Ways

# 32 nodes of 100 Mbit/s, all sending and receiving, kept two virtual cores half busy.
MOST_BITS_PER_SECOND_OF_A_CORE = 3e9
# One thread carries every frame. 16 nodes of 100 Mbit/s, all sending, load it 77 to 89 % on a busy machine.
MOST_BITS_PER_SECOND_OF_USER_SWITCH = 1.6e9


def differences(ways: Ways, made: LabPlan, cores: int, *, in_kernel: bool = True) -> tuple[str, ...]:
    """Lists the differences. `in_kernel`: bridges and buckets carry the frames, otherwise crosscut-switch."""
    of_switch = _of_bridges(ways) if in_kernel else _of_routers(ways)
    return (*of_switch, *_of_hosts(ways), *_of_speed(made, cores, in_kernel))


def _of_bridges(ways: Ways) -> Iterator[str]:
    latency = max(
        [edge.latency_seconds for edge in ways.edges]
        + [switch.latency_seconds for switch in ways.switches]
        + [host.forward_latency_seconds for host in ways.hosts]
    )
    if latency > 0:
        yield (
            f"latencies of links, switches and hosts (up to {units.seconds(latency, 2)} each) are left out: "
            "a lab on the kernel does not delay frames (--switch user delays them at links and switches)"
        )
    if ways.equal_ways:
        yield (
            "among equal paths the destination's number decides (destination-modulo), not a hash of the "
            "flow: a bridge looks only at the destination"
        )


def _of_routers(ways: Ways) -> Iterator[str]:
    latency = max((host.forward_latency_seconds for host in ways.hosts if host.forwards == "ip"), default=0.0)
    if latency > 0:
        yield (
            f"the latency that a forwarding node adds ({units.seconds(latency, 2)}) is left out: "
            "the node is an IP router in this machine's kernel"
        )


def _of_hosts(ways: Ways) -> Iterator[str]:
    overhead = max(host.overhead_seconds for host in ways.hosts)
    if overhead > 0:
        yield (
            f"the hosts' overhead per message ({units.seconds(overhead, 2)}) is left out: "
            "messages take as long as this machine's kernel needs"
        )
    if any(host.memory_bits_per_second < float("inf") for host in ways.hosts):
        yield "routes within a host are limited by this machine's memory, not by the file's memory_rate"
    if any(host.forwards == "hardware" for host in ways.hosts):
        yield "hosts whose adapters pass messages on do so as IP routers, in this machine's kernel"


def _of_speed(made: LabPlan, cores: int, in_kernel: bool) -> Iterator[str]:
    if made.dilation != 1:
        yield f"all rates are divided by {made.dilation:g}, but times that depend on no rate are unchanged"
    total = host_bits_per_second(made.cables)
    most = cores * MOST_BITS_PER_SECOND_OF_A_CORE if in_kernel else MOST_BITS_PER_SECOND_OF_USER_SWITCH
    if total > most:
        yield (
            f"together the hosts can send {total / 1e9:.3g} Gbit/s, more than "
            f"{f'{cores} cores of this machine carry' if in_kernel else 'crosscut-switch carries'}, so "
            "loaded phases would measure this machine; "
            f"--dilate {_dilation(total / most)} brings the load within reach"
        )


def _dilation(least: float) -> int:
    """Returns the smallest round factor that is at least `least`."""
    return next(step for step in (2, 5, 10, 20, 50, 100, 1000, 10**4, 10**5, 10**6, 10**9) if step >= least)
