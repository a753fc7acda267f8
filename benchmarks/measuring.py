"""crosscut's side of a comparison: one job in a fresh session of the core, requested as a script would."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.processes import BenchmarkError, output_of
from crosscut.base.core import CORE, find_executable
from crosscut.places.base import new_secret
from crosscut.run.run import Run


@dataclass(frozen=True)
class Session:
    """How the ranks are started. docs/reference/session-protocol.md has the protocol."""

    command: tuple[str | Path, ...]
    ranks: int = 2
    backend: str = "tcp"
    pin: str | bool = True
    """Cores that the ranks take in turn; False: not pinned."""
    timeout_seconds: float = 30
    backend_parameters: Mapping[str, str] = field(default_factory=dict)

    def requests(self, job: Mapping[str, object]) -> str:
        config = {
            "ranks": self.ranks,
            "secret": new_secret(),
            "backend": self.backend,
            "interface": "127.0.0.1",
            "pin": self.pin,
            "timeout_seconds": self.timeout_seconds,
        }
        return "".join(
            json.dumps(line) + "\n" for line in (config, {"do": "run", "job": dict(job)}, {"do": "end"})
        )


def core() -> Path:
    found = find_executable(CORE)
    if found is None:
        raise BenchmarkError(f"{CORE} is not installed: `make install`")
    return found


def local(pin: str, ranks: int = 2, backend: str = "tcp") -> Session:
    return Session((core(), "node"), ranks, backend, pin)


def samples(
    session: Session,
    pattern: str,
    sizes: Sequence[int],
    repetitions: int,
    iterations: int,
    wait: str,
    window: int = 1,
    **given: str,
) -> dict[int, list[float]]:
    """Returns, by message size, seconds of each repetition on the first rank with a sample in phase 1."""
    with tempfile.TemporaryDirectory(prefix="crosscut-bench-") as folder:
        out = Path(folder) / "run.zarr"
        output_of(
            session.command,
            session.requests(
                {
                    "pattern": pattern,
                    "pattern_parameters": given,
                    "backend": session.backend,
                    "backend_parameters": dict(session.backend_parameters),
                    "sizes": list(sizes),
                    "repetitions": repetitions,
                    "iterations": iterations,
                    "wait": wait,
                    "window": window,
                    "out": str(out),
                }
            ),
        )
        run = Run.open(out)
        found = {}
        for index, size in enumerate(run.sizes_bytes):
            seconds = np.asarray(run.message_seconds(index).values)[:, 0].reshape(repetitions, -1)
            found[size] = [float(value) for value in seconds[np.isfinite(seconds)]]
        return found
