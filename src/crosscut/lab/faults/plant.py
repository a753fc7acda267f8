"""Plants faults in a running lab, and lifts them.

The process that keeps a fault up is `python -m crosscut.lab.faults.plant LAB FAULT`, inside the lab. It is
killed when the fault is lifted; whoever kills it restores the settings that it changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab import enter, holder, lifecycle, removal, state
from crosscut.lab.faults.catalogue import as_json, check, for_switch, from_json, kind_of
from crosscut.lab.faults.fault import Fault
from crosscut.lab.plan.plan import LabPlan
from crosscut.lab.switch import program
from crosscut.network import switch_choice


def plant(name: str, fault: Fault) -> Mapping[str, Any]:
    """Plants a fault and returns its record."""
    with state.locked(name) as folder:
        record = state.read(name)
        made = lifecycle.plan_of(record)
        in_kernel = switch_choice.parse(record.switch).in_kernel
        check(fault, made, in_kernel=in_kernel)
        refuse_overlap(record, fault)
        if _is_of_switch(record, fault):
            _tell_switch(record, made, folder, [*_faults(record), fault])
        else:
            holder.inside(record, partial(kind_of(fault.kind).settle, made, folder, fault, planted=True))
        taken = {entry["id"] for entry in record.faults}
        number = next(number for number in range(1, len(taken) + 2) if f"f{number}" not in taken)
        entry: dict[str, Any] = {"id": f"f{number}", **as_json(fault)}
        if kind_of(fault.kind).worker and not _is_of_switch(record, fault):
            entry["worker"] = asdict(_start_worker(record, folder, fault))
        state.write(replace(record, faults=(*record.faults, entry)))
        return entry


def lift(name: str, which: str) -> list[Mapping[str, Any]]:
    """Lifts one fault by its id (`f1`), those of a node, or `all`. Returns the lifted faults' records."""
    with state.locked(name) as folder:
        record = state.read(name)
        made = lifecycle.plan_of(record)
        chosen = [entry for entry in record.faults if which in ("all", entry["id"], *entry["nodes"])]
        if not chosen and which != "all":
            there = "; ".join(f"{entry['id']}: {entry['says']}" for entry in record.faults)
            raise UsageError(
                f"lab {name} has no fault {which}; " + (f"planted: {there}" if there else "none is planted")
            )
        kept = tuple(entry for entry in record.faults if entry not in chosen)
        workers = [worker for worker in map(state.worker_of, chosen) if worker and worker.alive()]
        for worker in workers:
            _refuse_stranger(record, folder, worker)
        for worker in workers:
            worker.end()
        for entry in chosen:
            fault = from_json(entry)
            if not _is_of_switch(record, fault):
                holder.inside(record, partial(kind_of(fault.kind).settle, made, folder, fault, planted=False))
        if any(_is_of_switch(record, from_json(entry)) for entry in chosen):
            _tell_switch(record, made, folder, map(from_json, kept))
        state.write(replace(record, faults=kept))
        return chosen


def _is_of_switch(record: state.Record, fault: Fault) -> bool:
    """True if crosscut-switch plants the fault, false if it is planted in the kernel."""
    return not switch_choice.parse(record.switch).in_kernel and not kind_of(fault.kind).of_node


def _faults(record: state.Record) -> list[Fault]:
    return [from_json(entry) for entry in record.faults]


def _tell_switch(record: state.Record, made: LabPlan, folder: Path, faults: Iterable[Fault]) -> None:
    if not program.runs(record):
        raise CrosscutError(f"lab {record.name} has no switch any more; crosscut lab down {record.name}")
    program.set_faults(record, folder, for_switch(faults, made))


def refuse_overlap(record: state.Record, fault: Fault) -> None:
    """Raises UsageError for a second fault on a cable: lifting one would undo the settings for the other."""
    for entry in record.faults:
        touched = kind_of(entry["kind"]).cabled(entry["nodes"]) & kind_of(fault.kind).cabled(fault.nodes)
        if touched:
            raise UsageError(
                f"{min(touched)} has a fault already ({entry['id']}: {entry['says']}); "
                f"crosscut lab fault lift {record.name} {entry['id']} first"
            )


def _start_worker(record: state.Record, folder: Path, fault: Fault) -> state.Process:
    """Starts the process inside the lab, where `down` finds it."""
    node = fault.node if kind_of(fault.kind).of_node else enter.FABRIC
    words = [sys.executable, "-m", "crosscut.lab.faults.plant", record.name, json.dumps(as_json(fault))]
    command = enter.command(record, folder, node, words)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        environment = os.environ | {state.VARIABLE: str(folder.parent)}
        said_here = [(os.POSIX_SPAWN_DUP2, writing, descriptor) for descriptor in (1, 2)]
        worker = state.spawn(command, environment, said_here)
        os.close(writing)
        said = stream.readline().decode("utf-8", "replace").strip()
        if said != "planted":
            rest = stream.read().decode("utf-8", "replace").strip().splitlines()
            os.waitpid(worker.pid, 0)
            raise CrosscutError("the fault could not be planted: " + " ".join([said, *rest[-1:]]))
    return worker


def _refuse_stranger(record: state.Record, folder: Path, worker: state.Process) -> None:
    """Raises CrosscutError if the process is not in the lab: a record alone is no reason to kill it."""
    if not removal.contains(folder, record.holder, worker):
        raise CrosscutError(
            f"{folder / 'lab.json'}: process {worker.pid}, recorded as that of a fault, is not in the lab "
            f"and was left alone; crosscut lab down {record.name} clears the lab away"
        )


def keep_up(name: str, text: str) -> None:
    """The main function of the process that `_start_worker` starts; never returns."""
    fault = from_json(json.loads(text))
    work = kind_of(fault.kind).work(lifecycle.plan_of(state.read(name)), state.folder(name), fault)
    print("planted", flush=True)
    sys.stdout.close()
    with contextlib.suppress(OSError):
        sys.stderr.close()
    work()


if __name__ == "__main__":
    keep_up(*sys.argv[1:])
