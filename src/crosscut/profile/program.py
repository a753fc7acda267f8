"""Puts together an MPI program's profile from the counters of its ranks. Reads files, starts nothing."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crosscut.base import bounded_file
from crosscut.base.errors import UsageError, plainly
from crosscut.profile.format import ABORTED, FINALIZED, WAYS, Counts, RankProfile, read

ABOUT = "profile.json"
AGAIN = "again"
"""A file that the library makes if there is a profile of another job (profiler/profile_file.h)."""
OTHER_MPI = "other-mpi"
"""A file that the library makes if it was built for another MPI than the program's, which the file names."""
LARGEST_ABOUT_BYTES = 64 << 20
# No matrix is made for more ranks than this, only a list of the pairs that communicate.
MOST_MATRIX_RANKS = 4096
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Call:
    """One MPI function, over all ranks."""

    name: str
    kind: str
    count: int
    seconds: Floats
    """By rank found."""
    longest_seconds: float
    as_called: Counts
    """[decade, messages or bytes]"""
    decomposed: Counts


@dataclass(frozen=True)
class Profile:
    folder: Path
    ranks: int
    """Ranks of the program; some may have left no profile."""
    found: tuple[RankProfile, ...]
    calls: tuple[Call, ...]
    """Functions that were called, the one with most time first."""
    about: Mapping[str, object] = field(default_factory=dict)
    """How it was made, as `crosscut profile` wrote it; empty if that file is missing."""

    @property
    def missing(self) -> tuple[int, ...]:
        there = {one.rank for one in self.found}
        return tuple(rank for rank in range(self.ranks) if rank not in there)

    @property
    def complete(self) -> bool:
        return not self.missing and all(one.state == FINALIZED for one in self.found)

    @property
    def threaded(self) -> bool:
        return any(one.threaded for one in self.found)

    @property
    def seconds(self) -> Floats:
        """By rank found: time from the start of MPI_Init to the last call."""
        return np.array([one.seconds for one in self.found])

    @property
    def mpi_seconds(self) -> Floats:
        """By rank found: time in MPI, summed over threads."""
        return np.array([one.call_seconds.sum() for one in self.found])

    def sizes(self, way: str) -> Counts:
        """Returns [decade, messages or bytes] of one of WAYS, over all ranks; collective: as decomposed."""
        decades = self.found[0].as_called.shape[1]
        counts = [
            call.decomposed if way == "collective" else call.as_called
            for call in self.calls
            if way == "collective" or call.kind in _AS_CALLED[way]
        ]
        return sum(counts, np.zeros((decades, 2), np.uint64))

    def sent_bytes(self) -> Floats:
        """By rank found: bytes that it sends, and bytes that it moves one-sided in either direction."""
        return np.array([float(one.traffic[:, :, 1].sum()) for one in self.found])

    def matrix(self, way: str | None = None) -> Counts:
        """Returns [from, to, messages or bytes] of one way, or of all. UsageError for too many ranks."""
        if self.ranks > MOST_MATRIX_RANKS:
            raise UsageError(f"{self.folder}: a matrix of {self.ranks} ranks is too large")
        total = np.zeros((self.ranks, self.ranks, 2), np.uint64)
        for one in self.found:
            inside = one.peers >= 0
            chosen = one.traffic[inside]
            total[one.rank, one.peers[inside]] += (
                chosen.sum(axis=1) if way is None else chosen[:, WAYS.index(way)]
            )
        return total


_AS_CALLED: Mapping[str, tuple[str, ...]] = {
    "point": ("point", "persistent"),
    "one-sided": ("one-sided",),
}


def load(folder: Path) -> Profile:
    """Loads a profile. Raises UsageError if there is none, or it cannot be read."""
    files = sorted(folder.glob("rank-*.profile"))
    if not files:
        raise UsageError(f"{folder}: has no profile (files rank-000000.profile and so on)")
    found = tuple(sorted((read(file) for file in files), key=lambda one: one.rank))
    first = found[0]
    for before, one in itertools.pairwise(found):
        if one.rank == before.rank:
            raise UsageError(f"{one.file}: belongs to rank {one.rank}, and so does {before.file}")
        if one.ranks != first.ranks or one.names != first.names or one.kinds != first.kinds:
            raise UsageError(
                f"{one.file}: comes from another program or another crosscut than {first.file} "
                f"({one.ranks} ranks, {len(one.names)} functions; {first.ranks}, {len(first.names)})"
            )
    return Profile(folder, first.ranks, found, _calls(found), read_about(folder))


def _calls(found: Sequence[RankProfile]) -> tuple[Call, ...]:
    first = found[0]
    calls = []
    for index, (name, kind) in enumerate(zip(first.names, first.kinds, strict=True)):
        as_called = sum((one.as_called[index] for one in found), np.zeros_like(first.as_called[index]))
        decomposed = sum((one.decomposed[index] for one in found), np.zeros_like(first.decomposed[index]))
        count = sum(int(one.calls[index]) for one in found)
        if count or as_called.any() or decomposed.any():
            seconds = np.array([one.call_seconds[index] for one in found])
            longest = max(float(one.longest_seconds[index]) for one in found)
            calls.append(Call(name, kind, count, seconds, longest, as_called, decomposed))
    return tuple(sorted(calls, key=lambda call: -float(call.seconds.sum())))


def read_about(folder: Path) -> Mapping[str, object]:
    """Returns how a profile was made; empty if the file is missing. Raises UsageError if it is damaged."""
    file = folder / ABOUT
    if not file.exists():
        return {}
    try:
        value = json.loads(
            bounded_file.read_regular(file, LARGEST_ABOUT_BYTES, "what says how a profile was made")
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {plainly(error)}") from error
    if not isinstance(value, dict):
        raise UsageError(f"{file}: is not an object")
    return value


def ended(profile: Profile) -> tuple[str, ...]:
    """Returns sentences about ranks that did not end as they should; empty if all did."""
    said = []
    if profile.missing:
        few = ", ".join(map(str, profile.missing[:8])) + (", …" if len(profile.missing) > 8 else "")
        said.append(f"{len(profile.missing)} of {profile.ranks} ranks left no profile: {few}")
    aborted = [one for one in profile.found if one.state == ABORTED]
    said += [f"rank {one.rank} called MPI_Abort with code {one.error_code}" for one in aborted[:8]]
    within: dict[str, list[int]] = {}
    for one in profile.found:
        if one.state not in (FINALIZED, ABORTED):
            name = "computing" if one.current_call is None else f"in {one.names[one.current_call]}"
            within.setdefault(name, []).append(one.rank)
    for name, ranks in within.items():
        who = "rank" if len(ranks) == 1 else "ranks"
        few = ", ".join(map(str, ranks[:16])) + (", …" if len(ranks) > 16 else "")
        said.append(f"{who} {few} ended before MPI_Finalize, {name}")
    return tuple(said)
