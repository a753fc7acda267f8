"""Splits collective calls into the messages that MPICH sends, rank by rank.

SMPI has MPICH's algorithms too, but most of them corrupt memory when it replays a trace (SimGrid 3.32: bcast,
reduce, allreduce, gather and scatter of `smpi/coll-selector:mpich`), so SMPI is given messages instead. The
algorithms, and the sizes at which they change, are MPICH's for ranks on nodes of their own (src/mpi/coll;
Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", Int. J. High
Performance Computing Applications 19, 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

# From MPICH's MPIR_CVAR_…; in bytes or ranks.
BCAST_SHORT, BCAST_LONG, BCAST_LEAST_RANKS = 12_288, 524_288, 8
REDUCE_SHORT = ALLREDUCE_SHORT = 2_048
ALLGATHER_SHORT, ALLGATHER_LONG = 81_920, 524_288
ALLTOALL_SHORT, ALLTOALL_MEDIUM, ALLTOALL_LEAST_RANKS = 256, 32_768, 8
ALLTOALL_THROTTLE = 32


@dataclass(frozen=True, slots=True)
class Round:
    """Messages that a rank starts together; the next round begins when all are complete."""

    sends: tuple[tuple[int, int], ...] = ()
    """(destination, bytes)."""
    receives: tuple[tuple[int, int], ...] = ()
    """(source, bytes)."""


def send(to: int, count: int) -> Round:
    return Round(sends=((to, count),))


def receive(source: int, count: int) -> Round:
    return Round(receives=((source, count),))


def exchange(to: int, out: int, source: int, into: int) -> Round:
    return Round(((to, out),), ((source, into),))


def barrier(rank: int, ranks: int) -> Iterator[Round]:
    """Dissemination (Hensgen, Finkel and Manber 1988)."""
    for step in _powers(ranks):
        yield exchange((rank + step) % ranks, 0, (rank - step) % ranks, 0)


def bcast(rank: int, ranks: int, count: int, root: int) -> Iterator[Round]:
    if count < BCAST_SHORT or ranks < BCAST_LEAST_RANKS:
        yield from _down(rank, ranks, root, lambda _: count)
        return
    block = -(-count // ranks)
    yield from _down(rank, ranks, root, lambda members: block * members)
    relative = (rank - root) % ranks
    doubling = count < BCAST_LONG and _is_power(ranks)
    gathered = _doubling_allgather if doubling else _ring_allgather
    for one in gathered(relative, [block] * ranks):
        yield _moved(one, root, ranks)


def reduce(rank: int, ranks: int, count: int, root: int) -> Iterator[Round]:
    if count <= REDUCE_SHORT or count < _floor_power(ranks):
        yield from _up(rank, ranks, root, lambda _: count)
        return
    # The root stays if it is in the pair, else the even rank.
    group = _Power(rank, ranks, lambda pair: root if root // 2 == pair else 2 * pair)
    yield from group.fold(count)
    if group.number is None:
        return
    yield from group.halve(count)
    own, goal = group.number, group.number_of(root)
    assert goal is not None, "the root stays"
    for step in reversed(list(_powers(group.size))):
        part = -(-count // (2 * step))
        if own & step != goal & step:
            yield send(group.member(own ^ step), part)
            return
        yield receive(group.member(own ^ step), part)


def allreduce(rank: int, ranks: int, count: int) -> Iterator[Round]:
    group = _Power(rank, ranks, lambda pair: 2 * pair + 1)
    yield from group.fold(count)
    if group.number is not None:
        if count <= ALLREDUCE_SHORT or count < group.size:
            for step in _powers(group.size):
                other = group.member(group.number ^ step)
                yield exchange(other, count, other, count)
        else:
            yield from group.halve(count)
            yield from group.double(count)
    yield from group.unfold(count)


def gather(rank: int, ranks: int, count: int, root: int) -> Iterator[Round]:
    yield from _up(rank, ranks, root, lambda members: count * members)


def scatter(rank: int, ranks: int, count: int, root: int) -> Iterator[Round]:
    yield from _down(rank, ranks, root, lambda members: count * members)


def allgather(rank: int, blocks: Sequence[int]) -> Iterator[Round]:
    """All-gather of blocks in bytes, which may differ in size."""
    total = sum(blocks)
    if total < ALLGATHER_LONG and _is_power(len(blocks)):
        return _doubling_allgather(rank, blocks)
    return (_bruck_allgather if total < ALLGATHER_SHORT else _ring_allgather)(rank, blocks)


def gatherv(rank: int, blocks: Sequence[int], own: int, root: int) -> Iterator[Round]:
    """Sends straight to the root, the only rank that knows all blocks."""
    return map(_turned, scatterv(rank, blocks, own, root))


def scatterv(rank: int, blocks: Sequence[int], own: int, root: int) -> Iterator[Round]:
    if rank != root:
        yield receive(root, own)
        return
    yield from _batches([Round(sends=((one, blocks[one]),)) for one in range(len(blocks)) if one != root])


def alltoall(rank: int, ranks: int, block: int) -> Iterator[Round]:
    if block <= ALLTOALL_SHORT and ranks >= ALLTOALL_LEAST_RANKS:
        return _bruck_alltoall(rank, ranks, block)
    if block <= ALLTOALL_MEDIUM:
        return alltoallv(rank, [block] * ranks, [block] * ranks)
    return _pairwise_alltoall(rank, ranks, block)


def alltoallv(rank: int, out: Sequence[int], into: Sequence[int]) -> Iterator[Round]:
    """Exchanges with all others, ALLTOALL_THROTTLE at a time, beginning with the neighbour."""
    ranks = len(out)
    steps = [((rank - step) % ranks, (rank + step) % ranks) for step in range(1, ranks)]
    return _batches([exchange(to, out[to], source, into[source]) for source, to in steps])


def reduce_scatter(rank: int, blocks: Sequence[int]) -> Iterator[Round]:
    """Pairwise exchange, which MPICH uses for long messages."""
    ranks = len(blocks)
    for step in range(1, ranks):
        to, source = (rank + step) % ranks, (rank - step) % ranks
        yield exchange(to, blocks[to], source, blocks[rank])


def _turned(one: Round) -> Round:
    """The round in the opposite direction."""
    return Round(one.receives, one.sends)


def _back(rounds: Iterable[Round]) -> Iterator[Round]:
    """The rounds in reverse order and direction."""
    return map(_turned, reversed(list(rounds)))


def _batches(rounds: Sequence[Round]) -> Iterator[Round]:
    """Merges every ALLTOALL_THROTTLE rounds into one."""
    for at in range(0, len(rounds), ALLTOALL_THROTTLE):
        batch = rounds[at : at + ALLTOALL_THROTTLE]
        yield Round(
            tuple(message for one in batch for message in one.sends),
            tuple(message for one in batch for message in one.receives),
        )


def _powers(limit: int) -> Iterator[int]:
    """Powers of two below the limit, from 1."""
    step = 1
    while step < limit:
        yield step
        step *= 2


def _floor_power(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0


def _members(relative: int, ranks: int) -> int:
    """Number of ranks in the subtree of `relative`, itself included: at most its lowest set bit."""
    return min(relative & -relative if relative else ranks, ranks - relative)


def _down(rank: int, ranks: int, root: int, size: Callable[[int], int]) -> Iterator[Round]:
    """Sends down a binomial tree, farthest child first. `size(members)` is the bytes for a subtree."""
    relative = (rank - root) % ranks
    if relative:
        yield receive((root + (relative & (relative - 1))) % ranks, size(_members(relative, ranks)))
    for step in reversed(list(_powers(_members(relative, ranks)))):
        yield send((rank + step) % ranks, size(_members(relative + step, ranks)))


def _up(rank: int, ranks: int, root: int, size: Callable[[int], int]) -> Iterator[Round]:
    return _back(_down(rank, ranks, root, size))


def _moved(one: Round, root: int, ranks: int) -> Round:
    """The round with absolute ranks in place of ranks relative to the root."""
    return Round(
        tuple(((to + root) % ranks, count) for to, count in one.sends),
        tuple(((source + root) % ranks, count) for source, count in one.receives),
    )


def _doubling_allgather(rank: int, blocks: Sequence[int]) -> Iterator[Round]:
    for step in _powers(len(blocks)):
        other = rank ^ step
        mine, theirs = rank & -step, other & -step
        yield exchange(other, sum(blocks[mine : mine + step]), other, sum(blocks[theirs : theirs + step]))


def _ring_allgather(rank: int, blocks: Sequence[int]) -> Iterator[Round]:
    ranks = len(blocks)
    for step in range(ranks - 1):
        passed, coming = blocks[(rank - step) % ranks], blocks[(rank - step - 1) % ranks]
        yield exchange((rank + 1) % ranks, passed, (rank - 1) % ranks, coming)


def _bruck_allgather(rank: int, blocks: Sequence[int]) -> Iterator[Round]:
    ranks = len(blocks)
    for step in _powers(ranks):
        many = min(step, ranks - step)
        out = sum(blocks[(rank + at) % ranks] for at in range(many))
        into = sum(blocks[(rank + step + at) % ranks] for at in range(many))
        yield exchange((rank - step) % ranks, out, (rank + step) % ranks, into)


def _bruck_alltoall(rank: int, ranks: int, block: int) -> Iterator[Round]:
    for step in _powers(ranks):
        count = block * sum(1 for number in range(1, ranks) if number & step)
        yield exchange((rank + step) % ranks, count, (rank - step) % ranks, count)


def _pairwise_alltoall(rank: int, ranks: int, block: int) -> Iterator[Round]:
    for step in range(1, ranks):
        to, source = (rank + step) % ranks, (rank - step) % ranks
        if _is_power(ranks):
            to = source = rank ^ step
        yield exchange(to, block, source, block)


class _Power:
    """The largest power of two of ranks (Rabenseifner): of each of the first pairs, one rank drops out."""

    def __init__(self, rank: int, ranks: int, stays: Callable[[int], int]) -> None:
        self.rank, self.stays = rank, stays
        self.size = _floor_power(ranks)
        self.pairs = ranks - self.size
        self.number = self.number_of(rank)
        """Number of this rank among those that stay; None if it drops out."""

    def number_of(self, rank: int) -> int | None:
        if rank >= 2 * self.pairs:
            return rank - self.pairs
        return rank // 2 if self.stays(rank // 2) == rank else None

    def member(self, number: int) -> int:
        return self.stays(number) if number < self.pairs else number + self.pairs

    def fold(self, count: int) -> Iterator[Round]:
        """Ranks that drop out hand over their data."""
        if self.rank < 2 * self.pairs:
            yield (send if self.number is None else receive)(self.rank ^ 1, count)

    def unfold(self, count: int) -> Iterator[Round]:
        """Ranks that dropped out receive the result."""
        return map(_turned, self.fold(count))

    def halve(self, count: int) -> Iterator[Round]:
        """Reduce-scatter; each step halves the data."""
        assert self.number is not None
        for step in _powers(self.size):
            other, part = self.member(self.number ^ step), -(-count // (2 * step))
            yield exchange(other, part, other, part)

    def double(self, count: int) -> Iterator[Round]:
        """All-gather, which reverses the steps of `halve`."""
        return _back(self.halve(count))
