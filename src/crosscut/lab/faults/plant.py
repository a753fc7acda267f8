"""Plants and lifts faults in a lab that is up."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab import enter, holder, lifecycle, state
from crosscut.lab.faults import cables as switch_faults
from crosscut.lab.faults.catalogue import Fault, cable_of, cabled, check, from_json
from crosscut.lab.kernel import bulk, namespaces
from crosscut.lab.plan import addresses
from crosscut.lab.plan.plan import End, Entry, Plan
from crosscut.lab.plan.shaping import Bucket
from crosscut.lab.switch import process
from crosscut.network import switch_choice

# What is no matter of cables and switches.
_OF_NODES = ("mtu", "compute")
_WORKERS = ("flap", "loss", "compute")


def plant(name: str, fault: Fault) -> Mapping[str, Any]:
    """Returns what was recorded of it."""
    with state.locked(name) as folder:
        record = state.read(name)
        made = lifecycle.plan_of(record)
        in_kernel = switch_choice.parse(record.switch).in_kernel
        check(fault, made, in_kernel=in_kernel)
        refuse_overlap(record, fault)
        if _is_of_switch(record, fault):
            _tell_switch(record, made, folder, [*_faults(record), fault])
        else:
            holder.inside(record, partial(apply, made, folder, fault))
        taken = {entry["id"] for entry in record.faults}
        number = next(number for number in range(1, len(taken) + 2) if f"f{number}" not in taken)
        entry: dict[str, Any] = {"id": f"f{number}", **fault.as_json()}
        if fault.kind in _WORKERS and not _is_of_switch(record, fault):
            worker = _start_worker(record, folder, fault)
            entry["worker"] = {"pid": worker.pid, "start_ticks": worker.start_ticks}
        state.with_faults(record, (*record.faults, entry))
        return entry


def lift(name: str, which: str) -> list[Mapping[str, Any]]:
    """One fault by its number (`f1`), those of a node, or `all`; returns what was lifted."""
    with state.locked(name) as folder:
        record = state.read(name)
        made = lifecycle.plan_of(record)
        chosen = [entry for entry in record.faults if which in ("all", entry["id"], *entry["nodes"])]
        if not chosen and which != "all":
            there = "; ".join(f"{entry['id']}: {entry['says']}" for entry in record.faults)
            raise UsageError(
                f"lab {name} has no fault {which}; " + (f"planted is {there}" if there else "none is planted")
            )
        kept = tuple(entry for entry in record.faults if entry not in chosen)
        for entry in chosen:
            _end_worker(entry)
            if not _is_of_switch(record, from_json(entry)):
                holder.inside(record, partial(undo, made, folder, from_json(entry)))
        if any(_is_of_switch(record, from_json(entry)) for entry in chosen):
            _tell_switch(record, made, folder, map(from_json, kept))
        state.with_faults(record, kept)
        return chosen


def _is_of_switch(record: state.Record, fault: Fault) -> bool:
    """crosscut-switch plants it; else the parts of the kernel."""
    return not switch_choice.parse(record.switch).in_kernel and fault.kind not in _OF_NODES


def _faults(record: state.Record) -> list[Fault]:
    return [from_json(entry) for entry in record.faults]


def _tell_switch(record: state.Record, made: Plan, folder: Path, faults: Iterable[Fault]) -> None:
    if record.switch_process is None or not record.switch_process.alive():
        raise CrosscutError(f"lab {record.name} has no switch any more; crosscut lab down {record.name}")
    process.set_faults(record.switch_process, folder, switch_faults.text(faults, made))


def refuse_overlap(record: state.Record, fault: Fault) -> None:
    """Two on one cable would undo each other's settings when they are lifted."""
    for entry in record.faults:
        touched = cabled(entry["kind"], entry["nodes"]) & cabled(fault.kind, fault.nodes)
        if touched and "compute" not in (entry["kind"], fault.kind):
            raise UsageError(
                f"{min(touched)} has a fault already ({entry['id']}: {entry['says']}); "
                f"crosscut lab fault lift {record.name} {entry['id']} first"
            )


def apply(made: Plan, folder: Path, fault: Fault) -> None:
    """In a child process, which goes where the cable's ends are."""
    if fault.kind == "slow":
        for end in ends(made, fault):
            _shape(made, folder, end, made.bucket(end.bits_per_second * fault.share, end.name))
    elif fault.kind == "dead":
        for end in ends(made, fault):
            lose(made, folder, end)
    elif fault.kind == "mtu":
        _set_mtu(made, folder, fault, fault.bytes)
    elif fault.kind == "half-duplex":
        from crosscut.lab.kernel import build
        from crosscut.lab.kernel import links as kernel

        namespaces.enter(folder / enter.FABRIC, namespaces.NEW_NET)
        with kernel.Kernel() as fabric:
            build.share_directions(fabric, made, cable_of(made, fault.nodes[0], fault.one_adapter)[2])
    elif fault.kind == "swap":
        _exchange(made, folder, fault, exchanged=True)
    elif fault.kind == "miswire":
        _rewire(made, folder, fault, fault.nodes[1])


def undo(made: Plan, folder: Path, fault: Fault) -> None:
    """Everything as the plan has it."""
    if fault.kind in ("slow", "dead", "loss"):
        for end in ends(made, fault):
            _shape(made, folder, end, None)
    elif fault.kind == "mtu":
        _set_mtu(made, folder, fault, made.frames.mtu_bytes)
    elif fault.kind in ("flap", "half-duplex"):
        from crosscut.lab.kernel import links as kernel

        namespaces.enter(folder / enter.FABRIC, namespaces.NEW_NET)
        port = cable_of(made, fault.nodes[0], fault.one_adapter)[2].name
        with kernel.Kernel() as fabric:
            if fault.kind == "flap":
                fabric.change(kernel.index_of(port), state="up")
            else:
                fabric.remove_hooks(kernel.index_of(port))
                fabric.remove(kernel.index_of(f"h{port}"))
    elif fault.kind == "swap":
        _exchange(made, folder, fault, exchanged=False)
    elif fault.kind == "miswire":
        _rewire(made, folder, fault, fault.nodes[0])


def ends(made: Plan, fault: Fault) -> Iterator[End]:
    """Where to shape: what comes to a node leaves by the far end of its cable."""
    node = fault.nodes[0]
    is_node = fault.kind == "dead" and fault.adapter is None
    adapters = range(made.adapters[made.hosts.index(node)]) if is_node else [fault.one_adapter]
    for adapter in adapters:
        _, near, far = cable_of(made, node, adapter)
        if fault.direction != "in" or fault.kind == "dead":
            yield near
        if fault.direction != "out" or fault.kind == "dead":
            yield far


def go_to(made: Plan, folder: Path, end: End) -> None:
    pinned = folder / enter.FABRIC if end.host is None else folder / "net" / made.hosts[end.host]
    namespaces.enter(pinned, namespaces.NEW_NET)


def _shape(made: Plan, folder: Path, end: End, bucket: Bucket | None) -> None:
    """Without a bucket: as it was built."""
    from crosscut.lab.kernel import build
    from crosscut.lab.kernel import links as kernel

    go_to(made, folder, end)
    with kernel.Kernel() as here:
        if bucket is None and end.bits_per_second == float("inf"):
            here.unshape(kernel.index_of(end.name))
        else:
            build.shape_end(here, made, end, bucket)


def nothing(made: Plan, end: End) -> Bucket:
    """The end's own rate, and room for no frame."""
    return made.bucket(min(end.bits_per_second, 1e9), end.name).shut()


def lose(made: Plan, folder: Path, end: End) -> None:
    _shape(made, folder, end, nothing(made, end))


def _set_mtu(made: Plan, folder: Path, fault: Fault, mtu: int) -> None:
    from crosscut.lab.kernel import links as kernel

    near = cable_of(made, fault.nodes[0], fault.one_adapter)[1]
    go_to(made, folder, near)
    with kernel.Kernel() as node:
        node.change(kernel.index_of(near.name), mtu=mtu)


def _exchange(made: Plan, folder: Path, fault: Fault, *, exchanged: bool) -> None:
    """Ports of two nodes change places: bridge, switch capacity, and where other switches send frames."""
    from crosscut.lab.kernel import build
    from crosscut.lab.kernel import links as kernel

    a, b = (cable_of(made, node, fault.one_adapter)[2] for node in fault.nodes)
    namespaces.enter(folder / enter.FABRIC, namespaces.NEW_NET)
    with kernel.Kernel() as fabric:
        for port, place in ((a, b), (b, a)) if exchanged else ((a, a), (b, b)):
            index = kernel.index_of(port.name)
            fabric.plug(index, kernel.index_of(build.bridge_name(place.bridge)))
            build.pass_switches(fabric, made, port.name, place.name)
    macs = [addresses.mac(made.hosts.index(node), fault.one_adapter) for node in fault.nodes]
    entries = exchanged_entries(made, (a.name, b.name), (macs[0], macs[1])) if exchanged else made.entries
    others = [entry for entry in entries if entry.port in (a.name, b.name) or entry.mac in macs]
    bulk.send(bulk.forwarding(kernel.index_of(entry.port), entry.mac) for entry in others)


def _rewire(made: Plan, folder: Path, fault: Fault, at: str) -> None:
    """The first node's port goes to the switch of the node `at`. A bridge forgets its entries of a port that
    leaves it, so nothing is sent to the node any more; only where it belongs are they made again."""
    from crosscut.lab.kernel import build
    from crosscut.lab.kernel import links as kernel

    port, place = (cable_of(made, node, fault.one_adapter)[2] for node in (fault.nodes[0], at))
    namespaces.enter(folder / enter.FABRIC, namespaces.NEW_NET)
    index = kernel.index_of(port.name)
    with kernel.Kernel() as fabric:
        fabric.change(index, master=0)
        fabric.plug(index, kernel.index_of(build.bridge_name(place.bridge)))
        build.pass_switches(fabric, made, port.name, place.name)
    if port == place:
        bulk.send(bulk.forwarding(index, entry.mac) for entry in made.entries if entry.port == port.name)


def exchanged_entries(made: Plan, ports: tuple[str, str], macs: tuple[str, str]) -> tuple[Entry, ...]:
    """The databases of switches that were told of the exchange: frames for one node go where those for the
    other went, and at the last switch leave by the node's own port."""
    port = dict(zip(ports, reversed(ports), strict=True))
    mac = dict(zip(macs, reversed(macs), strict=True))
    return tuple(
        Entry(port.get(entry.port, entry.port), mac[entry.mac]) if entry.mac in mac else entry
        for entry in made.entries
    )


def _start_worker(record: state.Record, folder: Path, fault: Fault) -> state.Process:
    """A process in the lab: `down` finds it there."""
    node = fault.nodes[0] if fault.kind == "compute" else enter.FABRIC
    words = [sys.executable, "-m", "crosscut.lab.faults.worker", record.name, json.dumps(fault.as_json())]
    command = enter.command(record, folder, node, words)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        # Not subprocess: it lives on when this command has ended.
        pid = os.posix_spawnp(
            command[0], command, os.environ | {state.VARIABLE: str(folder.parent)}, setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, writing, 2),
            ],
        )  # fmt: skip
        os.close(writing)
        said = stream.readline().decode("utf-8", "replace").strip()
        if said != "planted":
            rest = stream.read().decode("utf-8", "replace").strip().splitlines()
            os.waitpid(pid, 0)
            raise CrosscutError("the fault could not be planted: " + " ".join([said, *rest[-1:]]))
    return state.Process(pid, state.start_ticks(pid) or 0)


def _end_worker(entry: Mapping[str, Any]) -> None:
    if "worker" in entry:
        state.Process(**entry["worker"]).end()
