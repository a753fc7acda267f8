"""Looks after a lab while a session measures on it, and writes into each run how far it could be trusted."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosscut.base import spelling
from crosscut.base.errors import CrosscutError
from crosscut.base.job import Event
from crosscut.lab import describe, lifecycle, state
from crosscut.lab.switch import process
from crosscut.lab.watching import reference, trust
from crosscut.run.format import load_json

_PATIENCE_SECONDS = 5.0
# What was measured after one run serves as `before` of the next that begins so soon.
_REFERENCE_SECONDS = 1.0


@dataclass
class Observer:
    """Watches one session, whose jobs come one after the other."""

    name: str
    """The lab's."""
    ranks_per_host: int
    _watcher: subprocess.Popen[str] | None = field(init=False, default=None)
    _begin: float = field(init=False, default=0.0)
    _marks: list[trust.ProgressMark] = field(init=False, default_factory=list)
    _before: dict[str, object] = field(init=False, default_factory=dict)
    _measured_at: float = field(init=False, default=-1e9)
    _switch: Mapping[str, Any] = field(init=False, default_factory=dict)

    def begin(self) -> Mapping[str, object]:
        """When a job is about to start: what the run records of the lab."""
        record = state.read(self.name)
        if time.monotonic() - self._measured_at > _REFERENCE_SECONDS:
            self._before = self._reference(record)
        self._switch = _statistics(record)
        self._marks = []
        self.end()
        self._watcher = _watch()
        self._begin = time.monotonic()
        return describe.attributes(record, self.ranks_per_host)

    def observe(self, event: Event) -> None:
        """Every event of the session."""
        if event["event"] == "progress":
            numbers = [event.get(key) for key in ("size", "phase", "repetition")]
            size, phase, repetition = (number if isinstance(number, int) else 0 for number in numbers)
            self._marks.append(trust.ProgressMark(time.monotonic(), size, phase, repetition))
        elif event["event"] == "finished" and self._watcher is not None:
            with contextlib.suppress(CrosscutError):  # what was measured is worth more than its judgement
                self._record(Path(str(event["out"])))
        elif event["event"] == "error":
            self.end()

    def end(self) -> dict[str, Any]:
        """Ends the watching and returns what was seen; does nothing if it was never begun."""
        watcher, self._watcher = self._watcher, None
        if watcher is None:
            return {}
        try:
            said, _ = watcher.communicate(timeout=_PATIENCE_SECONDS)
            found: dict[str, Any] = json.loads(said)
            return found
        except (subprocess.TimeoutExpired, ValueError):
            watcher.kill()
            watcher.communicate()
            return {}

    def _reference(self, record: state.Record) -> dict[str, object]:
        made = lifecycle.plan_of(record)
        hosts = reference.pair(made, record.faults)
        measured = reference.measure(record, made, hosts)
        self._measured_at = time.monotonic()
        return {"nodes": [made.hosts[host] for host in hosts], **measured}

    def _record(self, out: Path) -> None:
        end = time.monotonic()
        document = self.end()
        record = state.read(self.name)
        about: dict[str, Any] = {"error": "the machine was not watched"}
        if document:
            seen = trust.parse(document)
            first, last = _phases(out)
            limited = trust.limited_phases(seen, self._begin, self._marks, first, last)
            about = trust.figures(seen, self._begin, end) | {
                "limited": [
                    {"size": size, "phases": spelling.spans(limited[size])} for size in sorted(limited)
                ]
            }
        after, before = _statistics(record), self._switch
        if before and after:
            about["switch"] = trust.of_switch(before, after)
        about["reference_before"], self._before = self._before, self._reference(record)
        about["reference_after"] = self._before
        _append(out, about)


def _watch() -> subprocess.Popen[str]:
    """Its standard input is its life-line."""
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", "crosscut.lab.watching.watch"]
    watcher = subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, process_group=0
    )
    assert watcher.stdout is not None
    watcher.stdout.readline()  # it watches
    return watcher


def _statistics(record: state.Record) -> Mapping[str, Any]:
    """What crosscut-switch counted; empty if it does not carry this lab, or cannot say."""
    if record.switch_process is None:
        return {}
    try:
        return process.statistics(record)
    except CrosscutError:
        return {}


def _phases(out: Path) -> tuple[int, int]:
    """First and last of the run, by the pattern's numbers."""
    value: object = load_json(out / "zarr.json")
    for key in ("attributes", "job", "phases"):
        value = value.get(key) if isinstance(value, dict) else None
    chosen = value
    if isinstance(chosen, list) and len(chosen) == 2 and all(isinstance(number, int) for number in chosen):
        return chosen[0], chosen[1]
    shape = load_json(out / "phase" / "zarr.json").get("shape")
    return 1, shape[0] if isinstance(shape, list) and shape and isinstance(shape[0], int) else 1


def _append(out: Path, about: Mapping[str, Any]) -> None:
    """One for each session that measured part of the run. Whole or not at all, as the core writes it."""
    path = out / "zarr.json"
    document = load_json(path)
    attributes = document.get("attributes")
    if not isinstance(attributes, dict):
        return
    before = attributes.get("trust")
    attributes["trust"] = [*(before if isinstance(before, list) else []), about]
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    unfinished.replace(path)
