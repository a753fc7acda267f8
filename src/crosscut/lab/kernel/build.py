"""Builds a lab from its plan, in a child process that enters all namespaces in turn."""

from __future__ import annotations

import contextlib
import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from crosscut.base.errors import CrosscutError
from crosscut.lab.enter import FABRIC
from crosscut.lab.kernel import bulk, namespaces
from crosscut.lab.kernel.links import Kernel, gather_received, index_of
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import End, Entry, IpRoute, LabPlan, Neighbour, SwitchCapacity
from crosscut.lab.plan.shaping import Bucket

OfHost = TypeVar("OfHost", Neighbour, IpRoute)

# Kernel parameters of every namespace of a lab. Nodes learn neither addresses nor redirects, and TCP keeps no
# metrics.
SETTINGS = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
    # The only algorithm that every kernel offers to every namespace, whatever the kernel's default.
    "net.ipv4.tcp_congestion_control": "reno",
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
    # A gateway reports every packet that expires there (`lab walk`), not just 50 at once and 1,000 a second.
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv4.icmp_ratemask": "0",
}
_FORWARDING = {"net.ipv4.ip_forward": "1"}
_LINKS_SECONDS = 60.0
_SPACES = {"net": namespaces.NEW_NET, "uts": namespaces.NEW_UTS, "ipc": namespaces.NEW_IPC}


def build(plan: LabPlan, folder: Path) -> None:
    """Builds everything. On an exception the caller removes the pinned namespaces."""
    spaces(plan, folder)
    switches(plan, folder)
    nodes(plan, folder, shaped=True)


def spaces(plan: LabPlan, folder: Path) -> None:
    """Makes and pins the namespaces of the switches and of every node, with their names and settings.

    They have no adapters yet: `switches` makes those, or crosscut-switch (`lab/switch/`).
    """
    for kind in (*_SPACES, "shm"):
        (folder / kind).mkdir(exist_ok=True)
    namespaces.unshare(namespaces.NEW_NET)
    namespaces.pin("net", folder / FABRIC)
    set_kernel(SETTINGS)
    for host, name in enumerate(plan.hosts):
        space(folder, name, forwards=host in plan.forwarding)


def space(folder: Path, name: str, *, forwards: bool = False) -> None:
    """Makes and pins the namespaces of one host, and stays inside."""
    namespaces.unshare(namespaces.NEW_NET | namespaces.NEW_UTS | namespaces.NEW_IPC)
    namespaces.set_host_name(name)
    for kind in _SPACES:
        namespaces.pin(kind, folder / kind / name)
    (folder / "shm" / name).mkdir(exist_ok=True, mode=0o700)
    set_kernel(SETTINGS | (_FORWARDING if forwards else {}))


def switches(plan: LabPlan, folder: Path) -> None:
    """Makes the bridges, cables and capacities, and fills the forwarding databases."""
    with contextlib.ExitStack() as stack:
        there = opened(plan, folder, stack)
        namespaces.enter(folder / FABRIC, namespaces.NEW_NET)
        with Kernel() as fabric:
            for number in range(len(plan.bridges)):
                fabric.add_bridge(bridge_name(number), plan.frames.mtu_bytes)
            _cables(fabric, plan, there)
            for end in (end for cable in plan.cables for end in cable.ends if end.host is None):
                fabric.plug(end.name, bridge_name(end.bridge))
                shape_end(fabric, plan, end)
            _share(fabric, plan)
            forward(plan.entries)
        for host in {cable.a.host for cable in plan.cables if None not in (cable.a.host, cable.b.host)}:
            if host is not None:
                namespaces.enter_descriptor(there[host], namespaces.NEW_NET)
                with Kernel() as node:
                    _wires(node, plan, there, host)


def nodes(plan: LabPlan, folder: Path, *, shaped: bool) -> None:
    """Sets up the adapters, which exist by now: addresses, neighbours, routes and, if `shaped`, buckets."""
    neighbours, routes = _by_host(plan.neighbours), _by_host(plan.routes)
    with contextlib.ExitStack() as stack:
        for host, there in enumerate(opened(plan, folder, stack)):
            namespaces.enter_descriptor(there, namespaces.NEW_NET)
            with Kernel() as node:
                _node(node, plan, host, shaped=shaped)
            index = [index_of(addresses.interface(adapter)) for adapter in range(plan.adapters[host])]
            bulk.send(bulk.neighbour(index[one.adapter], one.ip, one.mac) for one in neighbours[host])
            bulk.send(bulk.route(index[one.adapter], one.to, one.via) for one in routes[host])
    _await_links(plan, folder, ports=shaped)


def _await_links(plan: LabPlan, folder: Path, *, ports: bool) -> None:
    """Waits until every adapter, and every port of the bridges, passes frames.

    The kernel activates a new device only when its link watch runs: up to a second later, or later still
    while other namespaces are being removed. Until then frames are silently dropped.
    """
    until = time.monotonic() + _LINKS_SECONDS
    for host, name in enumerate(plan.hosts):
        names = [addresses.interface(adapter) for adapter in range(plan.adapters[host])]
        # The taps of crosscut-switch are active from the start. Their state stays UNKNOWN.
        allowed = {"UP"} if ports else {"UP", "UNKNOWN"}
        called = {device: f"{device} of {name}" for device in names}
        _await_states(folder / "net" / name, called, allowed, until)
    if ports:
        ends = [end.name for cable in plan.cables for end in cable.ends if end.host is None]
        _await_states(folder / FABRIC, {end: f"switch port {end}" for end in ends}, {"UP"}, until)


def _await_states(space: Path, devices: Mapping[str, str], allowed: Collection[str], until: float) -> None:
    """Waits for the states of a namespace's devices. `devices`: what an error calls each of them."""
    namespaces.enter(space, namespaces.NEW_NET)
    with Kernel() as here:
        for device, called in devices.items():
            while here.state(device) not in allowed:
                if time.monotonic() > until:
                    raise CrosscutError(
                        f"{called} is not up after {_LINKS_SECONDS:g} s; try crosscut lab up again"
                    )
                time.sleep(0.01)
        # The link watch activates a device after it set its state, both under the lock that a change needs.
        here.change("lo", state="up")


def opened(plan: LabPlan, folder: Path, stack: contextlib.ExitStack) -> list[int]:
    """Opens the nodes' network namespaces; returns their descriptors."""
    namespaces.make_room(len(plan.hosts))
    return [stack.enter_context(namespaces.opened(folder / "net" / name)) for name in plan.hosts]


def _by_host(items: Sequence[OfHost]) -> dict[int, list[OfHost]]:
    found: dict[int, list[OfHost]] = defaultdict(list)
    for item in items:
        found[item.host].append(item)
    return found


def set_kernel(settings: dict[str, str]) -> None:
    """Sets kernel parameters in this process's network namespace."""
    for name, value in settings.items():
        path = Path("/proc/sys") / name.replace(".", "/")
        # A kernel without IPv6 has nothing to disable.
        if path.exists() or not name.startswith("net.ipv6"):
            path.write_text(value, encoding="ascii")


def forward(entries: Iterable[Entry]) -> None:
    """Adds forwarding entries to the bridges of this process's network namespace."""
    bulk.send(bulk.forwarding(index_of(entry.port), entry.mac) for entry in entries)


def bridge_name(number: int) -> str:
    return f"s{number}"


def _cables(fabric: Kernel, plan: LabPlan, nodes: Sequence[int]) -> None:
    """Makes the cables with an end at a switch. Wires between two hosts are made in a host's namespace."""
    for cable in plan.cables:
        port, other = (cable.a, cable.b) if cable.a.host is None else (cable.b, cable.a)
        if port.host is None:
            there = None if other.host is None else nodes[other.host]
            fabric.add_pair(port.name, other.name, there, plan.frames.mtu_bytes, plan.segments)


def shape_end(kernel: Kernel, plan: LabPlan, end: End, bucket: Bucket | None = None) -> None:
    """Shapes an end in this process's network namespace: with the planned bucket, unless one is given."""
    if bucket is None and math.isinf(end.bits_per_second):
        return
    bucket = bucket or plan.bucket(end.bits_per_second, end.name)
    kernel.shape(end.name, bucket)
    if plan.serves_in_turn(end.host):
        if bucket.is_shut:  # a queue for each sender would still have room
            bulk.send([bulk.first_come(index_of(end.name), bucket.limit_bytes)])
        else:
            _take_turns(kernel, plan, end.name, bucket)


def _take_turns(kernel: Kernel, plan: LabPlan, name: str, bucket: Bucket) -> None:
    kernel.take_turns(name, bucket, len(plan.hosts), plan.frames.bundle_bytes(plan.segments))


def _share(fabric: Kernel, plan: LabPlan) -> None:
    """Sets up switches' own capacities, and links whose two directions share one rate."""
    for number, capacity in enumerate(plan.capacities):
        bucket = plan.bucket(capacity.bits_per_second, capacity.name)
        _medium(fabric, plan, f"in{number}", bucket)
        if not capacity.is_through:
            _medium(fabric, plan, f"out{number}", bucket)
        for port in capacity.ports:
            _pass(fabric, port, number, capacity)
    for cable in plan.cables:
        ports = [end for end in cable.ends if end.host is None]
        if cable.half_duplex and ports:
            share_directions(fabric, plan, ports[0])


def _medium(kernel: Kernel, plan: LabPlan, name: str, bucket: Bucket) -> None:
    kernel.add_medium(name, bucket)
    if plan.serves_in_turn(None):
        _take_turns(kernel, plan, name, bucket)


def _pass(fabric: Kernel, port: str, number: int, capacity: SwitchCapacity) -> None:
    fabric.add_hooks(port)
    fabric.redirect(port, entering=True, medium=f"in{number}")
    if not capacity.is_through:
        fabric.redirect(port, entering=False, medium=f"out{number}")


def pass_switches(fabric: Kernel, plan: LabPlan, port: str, place: str) -> None:
    """Puts a port under the capacity of the switch that has the port `place`, which may be the same port."""
    if any(port in capacity.ports for capacity in plan.capacities):
        with contextlib.suppress(CrosscutError):  # an earlier exchange may have left it without hooks
            fabric.remove_hooks(port)
    for number, capacity in enumerate(plan.capacities):
        if place in capacity.ports:
            _pass(fabric, port, number, capacity)


def share_directions(kernel: Kernel, plan: LabPlan, end: End) -> None:
    """Sends both directions of a cable through one bucket, at this end."""
    medium = f"h{end.name}"
    _medium(kernel, plan, medium, plan.bucket(end.bits_per_second, end.name))
    kernel.add_hooks(end.name)
    for entering in (True, False):
        kernel.redirect(end.name, entering=entering, medium=medium)


def _wires(node: Kernel, plan: LabPlan, nodes: Sequence[int], host: int) -> None:
    """Makes the wires from this host to others; each wire is made at its `a` end."""
    for cable in plan.cables_of(host):
        a, b = cable.ends
        if a.host == host and b.host is not None:
            node.add_pair(a.name, b.name, nodes[b.host], plan.frames.mtu_bytes, plan.segments)
            if cable.half_duplex:
                node.change(a.name, state="up")
                share_directions(node, plan, a)


def _node(node: Kernel, plan: LabPlan, host: int, *, shaped: bool) -> None:
    """Sets up a node's adapters: addresses, state, shaping."""
    node.change("lo", state="up")
    for adapter in range(plan.adapters[host]):
        name = addresses.interface(adapter)
        node.change(name, address=addresses.mac(host, adapter))
        if host not in plan.forwarding:
            node.add_address(name, addresses.ip(host, adapter), addresses.PREFIX_LENGTH)
        elif adapter == 0:
            node.add_address(name, addresses.ip(host, -1), 32)
        node.change(name, state="up")
        gather_received(name)
    for cable in plan.cables_of(host) if shaped else ():
        for end in cable.ends:
            if end.host == host:
                shape_end(node, plan, end)
