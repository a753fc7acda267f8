"""Makes a golden run: redacts names of this machine in a run, and records what readers must find in it.

python tests/golden/golden_run.py tests/golden/runs/NAME    (tests/golden/runs/README.md says when)
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from crosscut.cli import main
from crosscut.run.run import Run

LARGEST_CELLS = 1 << 20
"""Larger arrays are implied, that is computed from the pattern: only their shape is checked."""
_NAMED_BY_CROSSCUT = ("sim", "lab")
_PATH = re.compile(r'(?<=["\s=:])/(?:[\w.+-]+/)+')


def redacted(text: str) -> str:
    """Returns a run's zarr.json without names, ids, addresses and paths of the machine that made it."""
    attributes = json.loads(text)["attributes"]
    if attributes["place"] not in _NAMED_BY_CROSSCUT:
        for number, node in enumerate(attributes["nodes"], 1):
            text = re.sub(rf"(?<![\w.-]){re.escape(node['name'])}(?![\w-])", f"node{number}", text)
    text = _numbered(r'(?<="id": ")[0-9a-f]{16}(?=")', "{:016x}", text)
    text = _numbered(r'(?<="mac": ")[0-9a-f:]{17}(?=")', "02:00:00:00:00:{:02x}", text)
    text = _numbered(r"\b(?!127\.)\d+(?:\.\d+){3}\b", "192.0.2.{}", text)
    text = re.sub(r'(?<="kernel": ")[^"]*', "Linux 6.1.0", text)
    return _PATH.sub("", text)


def _numbered(pattern: str, alias: str, text: str) -> str:
    """Replaces equal matches by equal aliases, numbered in order of appearance."""
    known: dict[str, str] = {}
    return re.sub(pattern, lambda at: known.setdefault(at[0], alias.format(len(known) + 1)), text)


def summary(path: Path) -> dict[str, Any]:
    """Summarises what a reader finds: schema, state, arrays, cells by status, the table of `export`."""
    run = Run.open(path)
    (checked,) = (json.loads(line) for line in said("fsck", str(path), "--json").splitlines())
    rows = list(csv.DictReader(io.StringIO(said("export", str(path), "--format", "csv"))))
    return {
        "schema": run.attributes["schema"],
        "state": run.attributes["state"],
        "attributes": sorted(run.attributes),
        "arrays": {str(name): _array(run, str(name)) for name in sorted(run.dataset.variables, key=str)},
        "cells": checked["cells"],
        "phase_bytes_per_second": []
        if run.summarised
        else [_mean(run.phase_rates(size).values) for size in range(len(run.sizes_bytes))],
        "rows": len(rows),
        "first_row": dict(rows[0]),
        "headline": said("show", str(path)).splitlines()[0],
    }


def _array(run: Run, name: str) -> dict[str, Any]:
    array = run.dataset[name]
    found: dict[str, Any] = {"dimensions": dict(array.sizes)}
    if array.dtype.kind in "iuf" and array.size <= LARGEST_CELLS:
        found["mean"] = _mean(array.values)
    return found


def _mean(values: Any) -> float | None:
    """Returns the mean without NaNs, in 12 digits: libraries differ in the order of addition."""
    finite = values[np.isfinite(values)]
    return float(f"{finite.mean():.12g}") if finite.size else None


def said(*words: str) -> str:
    """Returns the standard output of a command that must succeed."""
    written = io.BytesIO()
    screen = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with redirect_stdout(screen):
        assert main(list(words)) == 0, words
    return written.getvalue().decode()


def expected(path: Path) -> Mapping[str, Any]:
    known: Mapping[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return known


def golden(path: Path) -> None:
    metadata = path / "zarr.json"
    metadata.write_text(redacted(metadata.read_text(encoding="utf-8")), encoding="utf-8")
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in summary(path).items())
    path.with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        golden(Path(name))
