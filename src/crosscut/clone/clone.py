"""Copies a file or device to many nodes along a chain (Rauch, Kurmann, Stricker: Dolly).

The session's ranks make the copies (core/src/clone); this is its client.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from crosscut.base import records
from crosscut.base.errors import SessionError
from crosscut.session.client import Session

COMPLETE, STOPPED, FAILED = "complete", "stopped", "failed"
VERIFIED = "verified"


@dataclass(frozen=True)
class Order:
    """What to copy, and where."""

    source: str
    """Path on the node of rank 0."""
    target: str
    """Path on every other node; may contain {rank} and {host}."""
    overwrite: bool = False
    """Allows replacing files."""
    resume: bool = False
    chunk_bytes: int | None = None
    confirmed: str = ""
    """The code of the block devices that may be overwritten, from the refusal that lists them."""

    def as_json(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Copy:
    """One node's copy at the end."""

    rank: int
    node: str
    target: str
    state: str
    """`verified`: on the disk, in its place, with the source's SHA-256; `differs`; `unfinished`; `lost`."""
    held_bytes: int
    """In chunks received or kept."""
    received_bytes: int
    kept_bytes: int
    """From an earlier attempt."""
    seconds: float
    """Until everything was on the disk; 0 if it never was."""
    sha256: str
    reason: str

    @property
    def bytes_per_second(self) -> float:
        """Rate at which bytes were received."""
        return self.received_bytes / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class CloneOutcome:
    state: str
    bytes: int
    seconds: float
    sha256: str
    """SHA-256 of the source; empty if it was not read to its end."""
    copies: tuple[Copy, ...]
    warnings: tuple[str, ...] = ()

    @property
    def verified(self) -> tuple[Copy, ...]:
        return tuple(copy for copy in self.copies if copy.state == VERIFIED)


def clone(session: Session, order: Order) -> CloneOutcome:
    """Copies and returns the outcome, even if nodes were lost. Raises UsageError, with the session's reason,
    if it refuses; then nothing is written."""
    warnings: list[str] = []
    for event in session.ask({"do": "clone", "job": order.as_json()}):
        if event["event"] == "warning":
            warnings.append(str(event.get("message", "")))
        elif event["event"] == "cloned":
            try:
                found = {**event, "copies": event.get("nodes"), "warnings": warnings}
                return records.parse(found, CloneOutcome)
            except ValueError as error:
                raise SessionError(f"the ranks' answer cannot be understood: {error}") from error
    raise AssertionError("the stream of events ends by an exception")
