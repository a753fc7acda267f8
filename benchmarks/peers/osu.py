"""The OSU micro-benchmarks over MPI: bandwidth, message rate, collectives and one-sided puts of two ranks.

They are built by hand with Debian's MPICH, as NPmpich2 is, and found on PATH:
`./configure CC=mpicc.mpich CXX=mpicxx.mpich && make`. crosscut's side is made alike: as many messages in
flight, each with memory of its own (`-b multiple`), and an answer after each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measuring import Session, samples
from benchmarks.processes import BenchmarkError, output_of

WINDOW = 64


@dataclass(frozen=True)
class Twin:
    """One OSU program at one message size, and the pattern that does the same."""

    launcher: Sequence[str]
    session: Session
    program: str
    size_bytes: int
    iterations: int
    pattern: str
    given: tuple[tuple[str, str], ...] = ()
    """Parameters of the pattern."""
    window: int = 1
    options: tuple[str, ...] = ()
    """Options of the OSU program."""

    def printed(self) -> list[float]:
        """Returns the figures in the only row of the program's table, after the size."""
        words = ["-m", f"{self.size_bytes}:{self.size_bytes}", "-i", str(self.iterations)]
        words += ["-x", str(self.iterations // 10), *self.options]
        said = output_of([*self.launcher, self.program, *words])
        rows = [line.split() for line in said.splitlines() if line.strip() and not line.startswith("#")]
        try:
            (row,) = (row for row in rows if row[0] == str(self.size_bytes))
            return [float(word) for word in row[1:]]
        except ValueError as error:
            raise BenchmarkError(f"{self.program} printed no table of the expected form: {error}") from error

    def peer_seconds(self) -> float:
        """Reads a program that prints microseconds."""
        return self.printed()[0] * 1e-6

    def peer_rate(self) -> float:
        """Reads a program that prints MB/s."""
        return self.printed()[0] * 1e6

    def peer_seconds_per_message(self) -> float:
        """Reads a program that prints MB/s and messages per second."""
        return 1 / self.printed()[1]

    def crosscut_seconds(self) -> float:
        found = samples(
            self.session, self.pattern, [self.size_bytes], 1, self.iterations, "poll", self.window,
            **dict(self.given),
        )  # fmt: skip
        return found[self.size_bytes][0]

    def crosscut_rate(self) -> float:
        """Adds up both directions, if messages go both ways at once."""
        directions = 2 if ("mode", "bidirectional") in self.given else 1
        return directions * self.size_bytes / self.crosscut_seconds()
