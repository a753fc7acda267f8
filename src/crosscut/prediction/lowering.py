"""Rewrites a checked trace for replay: splits its collective calls into messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from crosscut.base.regular_file import open_regular
from crosscut.prediction import collectives
from crosscut.prediction.collectives import Round
from crosscut.prediction.trace import COLLECTIVE, FIRST_OWN_TAG, Trace

# Tags are reused in turn: SimGrid tells requests apart only by both ends and the tag (profile/tit.py).
_IN_FLIGHT = 4096


def write(trace: Trace, folder: Path) -> Path:
    """Writes each rank's trace under a name without blanks; returns the index that lists them."""
    names = []
    for rank, file in enumerate(trace.files):
        target = folder / f"rank-{rank:06d}.tit"
        with (
            open_regular(file, follow=True, buffering=-1) as source,
            target.open("w", encoding="ascii") as out,
        ):
            out.writelines(_lowered(source, rank, trace.ranks))
        names.append(f"{target}\n")
    index = folder / "trace.txt"
    index.write_text("".join(names), encoding="utf-8")
    return index


def _lowered(lines: Iterator[bytes], rank: int, ranks: int) -> Iterator[str]:
    counted: Counter[tuple[bool, int]] = Counter()
    for line in lines:
        words = line.split()
        if len(words) < 2 or words[1] not in COLLECTIVE:
            yield line.decode("ascii", "replace")
            continue
        name, numbers = words[1], [float(word) for word in words[2:]]
        for one in rounds(name, [int(number) for number in numbers], rank, ranks):
            yield from _messages(one, rank, counted)
        computed = {b"reduce": 1, b"allreduce": 1, b"reducescatter": ranks}.get(name)
        if computed is not None and numbers[computed] > 0:
            yield f"{rank} compute {numbers[computed]:.0f}\n"


def rounds(name: bytes, numbers: Sequence[int], rank: int, ranks: int) -> Iterator[Round]:
    """Returns the rank's messages in a collective action, whose numbers must have been checked."""
    return _ROUNDS[name](numbers, rank, ranks) if ranks > 1 else iter(())


def _root(numbers: Sequence[int], at: int) -> int:
    return numbers[at] if len(numbers) > at else 0


def _messages(one: Round, rank: int, counted: Counter[tuple[bool, int]]) -> Iterator[str]:
    """Yields a round's actions. A lone message blocks; several are started together, then waited for."""
    several = "i" if len(one.sends) + len(one.receives) > 1 else ""
    waits = []
    for source, count in one.receives:
        tag = _tag(counted, False, source)
        yield f"{rank} {several}recv {source} {tag} {max(count, 1)}\n"  # with 0 bytes SimGrid would probe
        waits.append(f"{rank} wait {source} {rank} {tag}\n")
    for to, count in one.sends:
        tag = _tag(counted, True, to)
        yield f"{rank} {several}send {to} {tag} {count}\n"
        waits.append(f"{rank} wait {rank} {to} {tag}\n")
    if several:
        yield from waits


def _tag(counted: Counter[tuple[bool, int]], sends: bool, peer: int) -> int:
    """Returns the next tag for a peer. Both ends count a pair's messages, so their tags agree."""
    counted[sends, peer] += 1
    return FIRST_OWN_TAG + counted[sends, peer] % _IN_FLIGHT


# Each function takes the action's numbers, the rank and the number of ranks.
_ROUNDS: dict[bytes, Callable[[Sequence[int], int, int], Iterator[Round]]] = {
    b"barrier": lambda _, rank, ranks: collectives.barrier(rank, ranks),
    b"bcast": lambda n, rank, ranks: collectives.bcast(rank, ranks, n[0], _root(n, 1)),
    b"reduce": lambda n, rank, ranks: collectives.reduce(rank, ranks, n[0], _root(n, 2)),
    b"allreduce": lambda n, rank, ranks: collectives.allreduce(rank, ranks, n[0]),
    b"gather": lambda n, rank, ranks: collectives.gather(rank, ranks, n[0], _root(n, 2)),
    b"scatter": lambda n, rank, ranks: collectives.scatter(rank, ranks, n[1], _root(n, 2)),
    b"allgather": lambda n, rank, ranks: collectives.allgather(rank, [n[0]] * ranks),
    b"allgatherv": lambda n, rank, ranks: collectives.allgather(rank, n[1 : 1 + ranks]),
    b"gatherv": lambda n, rank, ranks: collectives.gatherv(rank, n[1 : 1 + ranks], n[0], _root(n, 1 + ranks)),
    b"scatterv": lambda n, rank, ranks: collectives.scatterv(rank, n[:ranks], n[ranks], _root(n, 1 + ranks)),
    b"alltoall": lambda n, rank, ranks: collectives.alltoall(rank, ranks, n[0]),
    b"alltoallv": lambda n, rank, ranks: collectives.alltoallv(
        rank, n[1 : 1 + ranks], n[2 + ranks : 2 + 2 * ranks]
    ),
    b"reducescatter": lambda n, rank, ranks: collectives.reduce_scatter(rank, n[:ranks]),
}
