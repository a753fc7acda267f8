"""Launches on disk: one measurement made by several sessions, each with new processes and connections.

The folder holds an ordinary run per launch (`launch-1.zarr`, …) and `launches.json`: the job and the orders,
written before anything is measured, so that a resumed folder measures the same as the first attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import crosscut
from crosscut.base import records, whole_file
from crosscut.base.errors import UsageError, plainly
from crosscut.run.format import DamagedRun, load_json

MANIFEST = "launches.json"
SCHEMA = {"name": "crosscut-launches", "version": 1}
MOST_LAUNCHES = 1000
# The order seeds of one folder are consecutive; those from two different seeds never overlap.
_ORDERS_A_SEED = 1 << 20
_MOST_SEED = (1 << 63) - 1


@dataclass(frozen=True)
class LaunchPlan:
    """One launch, measured or not."""

    name: str
    """Name of its run's folder."""
    order_seed: int
    """Seed for the order of its sizes and phases."""


@dataclass(frozen=True)
class Manifest:
    path: Path
    job: Mapping[str, Any]
    """The job of every launch, as in a `run` request, without `out` and `order_seed`."""
    launches: tuple[LaunchPlan, ...]

    def out(self, launch: LaunchPlan) -> Path:
        return self.path / launch.name

    @property
    def there(self) -> tuple[Path, ...]:
        """The runs of the launches begun so far, in order."""
        return tuple(out for out in map(self.out, self.launches) if (out / "zarr.json").exists())


def order_seed(seed: int, number: int) -> int:
    """Returns the seed for the order of launch `number`, counted from 1."""
    return seed % (_MOST_SEED // _ORDERS_A_SEED) * _ORDERS_A_SEED + number


def planned(count: int, seed: int) -> tuple[LaunchPlan, ...]:
    return tuple(LaunchPlan(f"launch-{at}.zarr", order_seed(seed, at)) for at in range(1, count + 1))


def is_launches(folder: Path) -> bool:
    """True if a folder holds launches with a manifest, not one run."""
    return (folder / MANIFEST).is_file()


def save(manifest: Manifest) -> None:
    """Replaces the manifest as a whole or not at all."""
    document = {
        "schema": SCHEMA,
        "crosscut": crosscut.__version__,
        "job": dict(manifest.job),
        "launches": [asdict(launch) for launch in manifest.launches],
    }
    whole_file.write(manifest.path / MANIFEST, (json.dumps(document, indent=2) + "\n").encode())


def load(folder: Path) -> Manifest:
    """Loads a folder's manifest. Raises UsageError that says what is wrong with it."""
    file = folder / MANIFEST
    try:
        document = load_json(file)
        if document.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {document.get('schema')}; this crosscut reads {SCHEMA}")
        job = document.get("job")
        if not isinstance(job, dict) or not all(
            isinstance(job.get(key), str) for key in ("pattern", "backend")
        ):
            raise ValueError("it records no job")
        launches = records.parse(document.get("launches"), list[LaunchPlan])
        _check(launches)
    except (ValueError, DamagedRun) as error:
        why = plainly(error).removeprefix(f"{file}: ")
        raise UsageError(f"{file}: the manifest cannot be read: {why}") from error
    return Manifest(folder, job, tuple(launches))


def _check(launches: Sequence[LaunchPlan]) -> None:
    names = {launch.name for launch in launches}
    if not 1 <= len(launches) <= MOST_LAUNCHES or len(names) < len(launches):
        raise ValueError(f"it must name between 1 and {MOST_LAUNCHES} launches, each once")
    for launch in launches:  # a name becomes that of a folder, which must not lie elsewhere
        if (
            launch.name in ("", "..")
            or Path(launch.name).name != launch.name
            or not 0 <= launch.order_seed <= _MOST_SEED
        ):
            raise ValueError(
                f"{launch.name[:100]!r} is not a valid launch: its name must be that of a folder here, and "
                "its order_seed must not be negative"
            )
