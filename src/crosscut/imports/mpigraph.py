"""mpiGraph: the matrices of rates between all ranks, sent and received.

What it measures, from mpiGraph.c 1.5: in step d each rank sends a window of messages to rank + d and receives
one from rank - d, behind a barrier, like the pattern aapc. Sends and receives are timed separately, and times
divided by the window (`__TIME_USECS_RECV__ / (double) w`), so a time is that of one message. Rates are in
2^20 bytes per second (`MBsec = size * 1000000.0 / (1024.0*1024.0)` over microseconds), of the mean time over
all iterations (`MBsec * times / val`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from crosscut.imports.measured import Floats, Format, Measured, Method
from crosscut.imports.output import OutputFile
from crosscut.run.shape import Shape

_MEGABYTE = 1 << 20
_START = re.compile(r"START mpiGraph v(\S+)")
_HEADER = ("MsgSize", "Times", "Window", "Procs")
_MOST_RANKS = 1 << 14
_FEWEST_RANKS = 2


def _recognises(output: OutputFile) -> bool:
    return any(map(_START.match, output.lines[:200]))


def _parse(output: OutputFile) -> Measured:
    first = next((n for n, text in enumerate(output.lines[:200]) if _START.match(text)), None)
    if first is None:
        raise output.fault("no line 'START mpiGraph v…' in its first lines")
    size, times, window, ranks = _header(output, first)
    names, sent = _matrix(output, "Send", "to", ranks, first)
    again, received = _matrix(output, "Recv", "from", ranks, first)
    if names != again:
        raise output.fault("the two matrices name different hosts")
    # [phase, rank] the sender from which a rank receives in a phase, and the receiver to which it sends.
    phase, rank = np.arange(1, ranks)[:, None], np.arange(ranks)[None, :]
    source, target = (rank - phase) % ranks, (rank + phase) % ranks
    arriving, leaving = (size / (rate * _MEGABYTE) for rate in (received[rank, source], sent[rank, target]))
    found = _START.match(output.lines[first])
    each = f"{times:,} exchanges of {window:,} messages each way"
    return Measured(
        program=f"mpiGraph {found[1] if found else ''}".strip(),
        method=Method(
            "mpigraph", "In step s each rank sends to rank + s and receives from rank - s, several messages "
            "at once", "2 m / t_slowest, both directions", "mpiGraph, LLNL", Shape.DENSE, findings=True,
            latency=False,
        ),
        carrier="mpi", hosts=tuple(names), hosts_named=True, size_bytes=(size,),
        peer=source[..., None].astype(np.int32),
        message_seconds=arriving[None, None, ..., None],
        rank_seconds=np.maximum(arriving, leaving)[None, None],
        credited_bytes=np.full((1, ranks - 1), 2.0 * size),
        repetition=f"the mean of {each}", iterations=times * window,
        lacks=(
            "mpiGraph does not print how long a rank took to send and receive: the longer of its two means "
            "stands for it",
        ),
    )  # fmt: skip


def _header(output: OutputFile, first: int) -> tuple[int, ...]:
    values: dict[str, int] = {}
    for line in range(first + 1, min(first + 20, len(output.lines))):
        name, _, value = output.lines[line].partition("\t")
        if name in _HEADER:
            values[name] = output.whole(value.strip(), name, line, 1 << 40)
    if missing := [name for name in _HEADER if not values.get(name)]:
        raise output.fault(f"no {missing[0]} follows 'START mpiGraph'", first)
    if not _FEWEST_RANKS <= values["Procs"] <= _MOST_RANKS:
        raise output.fault(
            f"{values['Procs']:,} ranks; a matrix has {_FEWEST_RANKS} to {_MOST_RANKS:,}", first
        )
    return tuple(values[name] for name in _HEADER)


def _matrix(output: OutputFile, title: str, way: str, ranks: int, first: int) -> tuple[list[str], Floats]:
    """Returns the hosts and [rank, other rank] the rates, NaN on the diagonal."""
    start = f"{title}\t"
    heads = [n for n in range(first, len(output.lines)) if output.lines[n].startswith(start)]
    if not heads:
        raise output.fault(_cut(output, f"there is no matrix '{title}'"))
    if len(heads) > 1:
        raise output.fault(f"a second matrix '{title}': one output of mpiGraph a file", heads[1])
    names = _hosts(output, heads[0], ranks)
    rates = np.empty((ranks, ranks))
    for rank in range(ranks):
        line = heads[0] + 1 + rank
        label = f"{names[rank]}:{rank} {way}"
        words = output.lines[line].split("\t") if line < len(output.lines) else []
        if len(words) != ranks + 2 or words[0] != label:
            raise output.fault(_cut(output, f"expected the row '{label}' with {ranks} rates"), line)
        rates[rank] = _row(output, line, words[1:-1], rank)
    return names, rates


def _hosts(output: OutputFile, line: int, ranks: int) -> list[str]:
    words = output.lines[line].split("\t")[1:-1]
    names = [word.rpartition(":")[0] for word in words]
    numbers = [word.rpartition(":")[2] for word in words]
    if numbers != [str(rank) for rank in range(ranks)] or not all(names):
        raise output.fault(_cut(output, f"expected the names of ranks 0 to {ranks - 1}"), line)
    return names


def _row(output: OutputFile, line: int, words: Sequence[str], rank: int) -> Floats:
    """Returns the rates of a row, NaN at its own rank."""
    try:
        rates = np.array(words, np.float64)  # many times as fast as one by one
        rates[rank] = 1
        good = bool((np.isfinite(rates) & (rates > 0)).all())
    except ValueError:
        good = False
    if not good:
        for other, word in enumerate(words):
            if other != rank:
                output.number(word, f"the rate of column {other}", line)
        raise output.fault("a rate is no number", line)
    rates[rank] = np.nan
    return rates


def _cut(output: OutputFile, what: str) -> str:
    """Adds that the output is cut off, if so: mpiGraph prints its matrices at the end."""
    if any(text.startswith("END mpiGraph") for text in output.lines[-200:]):
        return what
    return f"{what}; the output is cut off: it must end in 'END mpiGraph'"


FORMAT = Format("mpigraph", "what mpiGraph prints", _recognises, _parse)
