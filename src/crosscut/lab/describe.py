"""Describes a lab, for `status` and for the runs measured on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError
from crosscut.lab import enter, holder, lifecycle, removal, state
from crosscut.lab.plan import addresses, management
from crosscut.lab.plan.plan import host_bits_per_second
from crosscut.lab.slurm import configuration, daemons
from crosscut.lab.switch import program

# Conditions in which nothing is wrong.
SOUND = ("up", "being built", "being taken down")


def attributes(record: state.Record, ranks_per_host: int) -> dict[str, Any]:
    """Attributes of a run on this lab (docs/reference/run-format.md)."""
    document = state.read_network(record.name)
    made = lifecycle.plan_of(record)
    return {
        "network": {
            "name": document["name"],
            "title": document["title"],
            "kind": document["kind"],
            "path": document["file"],
            "hosts": len(made.hosts),
            "switches": len(document["switches"]),
            "ranks_per_host": ranks_per_host,
            "description": record.description,
        },
        "lab": {
            "name": record.name,
            "switch": record.switch,
            "dilation": record.dilation,
            "unlike": list(record.unlike),
            "segments_at_once": made.segments,
            "mtu_bytes": made.frames.mtu_bytes,
            "sysctl": dict(record.settings),
        },
        "faults": [dict(fault) for fault in record.faults],
    }


def status(record: state.Record) -> dict[str, Any]:
    """Returns the object that `status --json` prints for a lab."""
    folder = state.folder(record.name)
    found: dict[str, Any] = {
        "name": record.name,
        "network": record.network,
        "condition": condition(record),
        "folder": str(folder),
        "dilation": record.dilation,
        "switch": record.switch,
        "seconds_to_build": record.seconds_to_build,
        "unlike": list(record.unlike),
        "faults": [dict(fault) for fault in record.faults],
        "processes": _processes(record, folder),
        "rootless": record.holder is not None,
    }
    if record.condition == "up":
        made = lifecycle.plan_of(record)
        found["bridges"] = list(made.bridges)
        found["host_bits_per_second"] = host_bits_per_second(made.cables)
        found["segments_at_once"] = made.segments
        if record.switch_process is not None:
            found["switch_statistics"] = _switch(record)
        if record.slurm:
            found["slurm"] = {
                "login": management.LOGIN,
                "configuration": str(configuration.file_of(folder)),
                "ended": daemons.ended(record.slurm),
            }
        found["nodes"] = [_node(made.adapters[host], host, name, host in made.forwarding)
                          for host, name in enumerate(made.hosts)]  # fmt: skip
    return found


def _processes(record: state.Record, folder: Path) -> list[int]:
    """Processes in the lab, except the switch and the holder."""
    own = {
        helper.pid
        for helper in (record.switch_process, record.holder, *record.slurm.values())
        if helper is not None
    }
    return [pid for pid in removal.processes(folder, record.holder) if pid not in own]


def _switch(record: state.Record) -> Mapping[str, Any]:
    """Statistics of crosscut-switch since the lab was built."""
    try:
        return program.trust_of(program.statistics(record))
    except program.UserSwitchError as error:
        return {"error": str(error)}


def _node(adapters: int, host: int, name: str, forwards: bool) -> Mapping[str, Any]:
    count = 1 if forwards else adapters
    return {
        "name": name,
        "addresses": [addresses.ip(host, adapter) for adapter in range(count)],
        "interfaces": [addresses.interface(adapter) for adapter in range(adapters)],
        "forwards": forwards,
    }


def condition(record: state.Record) -> str:
    """Returns one of `SOUND`, or what is wrong with the lab."""
    folder = state.folder(record.name)
    if (lost := _lost_holder(record)) is not None:
        return f"broken: {lost}"
    if record.condition != "up":
        return _unsettled(record)
    if lost := _lost_namespaces(record, folder) or program.failure(record):
        return f"broken: {lost}"
    if record.owner is not None and not record.owner.alive():
        return "left behind: the run that made it is gone"
    return "up"


def _unsettled(record: state.Record) -> str:
    """Condition of a lab that is not up: being changed, or abandoned when a command was killed."""
    leaves = record.condition == "leaving"
    if _is_free(record.name):
        return "broken: it was only partly taken down" if leaves else "broken: it was never finished"
    return "being taken down" if leaves else "being built"


def _lost_holder(record: state.Record) -> str | None:
    if record.holder is None or holder.keeps(record.holder):
        return None
    if not record.holder.alive():
        return "the process that kept it is gone"
    return f"process {record.holder.pid}, which should keep it, has no user namespace of this user"


def _lost_namespaces(record: state.Record, folder: Path) -> str | None:
    """Names the namespaces that are no longer pinned; None if all are."""
    pinned = set(removal.mounts_under(folder, record.holder))
    if not pinned:
        return "its namespaces are gone"
    if str(folder / enter.FABRIC) not in pinned:
        return "the namespace of its switches is gone"
    lost = sorted(path.name for path in (folder / "net").iterdir() if str(path) not in pinned)
    if not lost:
        return None
    if len(lost) == 1:
        return f"the namespace of {lost[0]} is gone"
    return f"the namespaces of {len(lost)} nodes are gone, among them that of {lost[0]}"


def remedy(name: str, condition: str) -> str:
    """Returns a clause about what to do in this condition; empty if nothing is wrong."""
    command = f"crosscut lab down {name}"
    return "" if condition in SOUND or command in condition else f"{command} clears it away"


def condition_of_name(name: str) -> str:
    """Condition of a lab, even one with a broken record."""
    state.folder(name)  # raises if others could write to it: such a folder is not merely a broken lab
    try:
        return condition(state.read(name))
    except CrosscutError as error:
        return f"broken: {error}" if _is_free(name) else "being built"


def _is_free(name: str) -> bool:
    try:
        with state.locked(name):
            return True
    except CrosscutError:
        return False
