"""A requested measurement, as handed to a session (members and defaults: core/src/conduct/job.hpp)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Event = Mapping[str, object]
"""One line of a session's output, which says what happened (docs/reference/session-protocol.md)."""


@dataclass(frozen=True)
class Job:
    pattern: str
    out: Path
    pattern_parameters: Mapping[str, str] = field(default_factory=dict)
    backend: str = "tcp"
    backend_parameters: Mapping[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    """In bytes; empty for the pattern's own."""
    phases: tuple[int, int] | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    """Further members of the job, only where they differ from the core's defaults."""
    metadata: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Returns the job as the object in a `run` request."""
        return {
            "pattern": self.pattern,
            "pattern_parameters": dict(self.pattern_parameters),
            "backend": self.backend,
            "backend_parameters": dict(self.backend_parameters),
            "out": str(self.out),
            **({"sizes": list(self.sizes)} if self.sizes else {}),
            **({"phases": list(self.phases)} if self.phases is not None else {}),
            **self.options,
            **({"metadata": dict(self.metadata)} if self.metadata else {}),
        }
