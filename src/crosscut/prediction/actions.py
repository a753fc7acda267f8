"""The actions of SimGrid's time-independent format, and what may follow each name.

From src/smpi/internals/smpi_replay.cpp of SimGrid 3.32. Counts are of bytes, which is what a bare `init`
says; traces that count in MPI's datatypes (smpirun -trace-ti) are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# SimGrid holds counts, tags and ranks in an int.
LARGEST = 2**31 - 1
# Tags from here on are for the messages that collective calls become (lowering.py).
FIRST_OWN_TAG = 2**30


class BadAction(Exception):
    """What is wrong with an action's parameters."""


@dataclass(frozen=True, slots=True)
class ActionShape:
    """What the checks of a whole trace need of an action."""

    amount: float = 0
    """Operations of computing; bytes of a message."""
    partner: int = -1
    """The other rank of a message; the source of a wait."""
    root: int = -1
    """The root of a collective call; the destination of a wait."""
    tag: int = 0


def _count(word: bytes) -> int:
    if word.isdigit() and len(word) <= 10 and (value := int(word)) <= LARGEST:
        return value
    raise BadAction("not a count from 0 to 2^31 - 1")


def _rank(word: bytes, ranks: int) -> int:
    if (value := _count(word)) >= ranks:
        raise BadAction(f"of rank {value}, where there are {ranks}")
    return value


def _tag(word: bytes) -> int:
    if (value := _count(word)) >= FIRST_OWN_TAG:
        raise BadAction(f"tag {value}: those from {FIRST_OWN_TAG} on are taken for collective calls")
    return value


def _needs(parameters: Sequence[bytes], least: int, optional: int) -> None:
    if not least <= len(parameters) <= least + optional:
        most = "" if not optional else f" or {least + optional}"
        raise BadAction(
            f"{len(parameters)} numbers after its name, where {least}{most} belong (counts are of bytes, "
            "without datatypes)"
        )


def _ignored(parameters: Sequence[bytes], ranks: int) -> ActionShape:  # noqa: ARG001
    """Replaying does nothing with it."""
    return ActionShape()


def _amount(parameters: Sequence[bytes], ranks: int) -> ActionShape:  # noqa: ARG001
    _needs(parameters, 1, 0)
    try:
        value = float(parameters[0])
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise BadAction("not an amount from 0 on")
    return ActionShape(value)


def _message(parameters: Sequence[bytes], ranks: int) -> ActionShape:
    _needs(parameters, 3, 0)
    return ActionShape(_count(parameters[2]), partner=_rank(parameters[0], ranks), tag=_tag(parameters[1]))


def _wait(parameters: Sequence[bytes], ranks: int) -> ActionShape:
    _needs(parameters, 3, 0)
    return ActionShape(
        partner=_rank(parameters[0], ranks), root=_rank(parameters[1], ranks), tag=_tag(parameters[2])
    )


def _counts(counts: int, lists: int, *, rooted: bool) -> Callable[[Sequence[bytes], int], ActionShape]:
    """So many counts, and lists of one count a rank; then perhaps a root."""

    def check(parameters: Sequence[bytes], ranks: int) -> ActionShape:
        expected = counts + lists * ranks
        _needs(parameters, expected, int(rooted))
        for word in parameters[:expected]:
            _count(word)
        if not rooted:
            return ActionShape()
        return ActionShape(root=_rank(parameters[expected], ranks) if len(parameters) > expected else 0)

    return check


_nothing = _counts(0, 0, rooted=False)
# From an action's parameters and the number of ranks; raises BadAction.
ACTIONS: dict[bytes, Callable[[Sequence[bytes], int], ActionShape]] = {
    b"init": _nothing,
    b"finalize": _nothing,
    b"comm_size": _ignored,
    b"comm_split": _ignored,
    b"comm_dup": _ignored,
    b"location": _ignored,
    b"compute": _amount,
    b"sleep": _amount,
    b"send": _message,
    b"isend": _message,
    b"recv": _message,
    b"irecv": _message,
    b"wait": _wait,
    b"test": _wait,
    b"waitall": _nothing,
    b"barrier": _nothing,
    b"bcast": _counts(1, 0, rooted=True),
    b"reduce": _counts(2, 0, rooted=True),
    b"allreduce": _counts(2, 0, rooted=False),
    b"alltoall": _counts(2, 0, rooted=False),
    b"gather": _counts(2, 0, rooted=True),
    b"scatter": _counts(2, 0, rooted=True),
    b"allgather": _counts(2, 0, rooted=False),
    b"gatherv": _counts(1, 1, rooted=True),
    b"allgatherv": _counts(1, 1, rooted=False),
    b"scatterv": _counts(1, 1, rooted=True),
    b"reducescatter": _counts(1, 1, rooted=False),
    b"alltoallv": _counts(2, 2, rooted=False),
}
_COLLECTIVE = (b"barrier", b"bcast", b"reduce", b"all", b"gather", b"scatter")
COLLECTIVE = frozenset(name for name in ACTIONS if name.startswith(_COLLECTIVE))
