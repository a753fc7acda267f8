"""Parameters of HPL, and hpcc's input file for them (hpcc's README, section 3; HPL's tuning.html)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import CrosscutError, UsageError

INPUT = "hpccinf.txt"
OUTPUT = "hpccoutf.txt"
# HPL's algorithms to broadcast a panel along a row of the grid, in the order of their numbers (HPL_bcast).
BROADCASTS = ("1rg", "1rM", "2rg", "2rM", "Lng", "LnM")
BROADCAST_NAMES = {
    "1rg": "increasing ring",
    "1rM": "increasing ring, modified",
    "2rg": "increasing two-ring",
    "2rM": "increasing two-ring, modified",
    "Lng": "spread and roll",
    "LnM": "spread and roll, modified",
}
# HPL_MAX_PARAM: the most values that hpcc takes for a parameter.
MOST_VALUES = 20
# hpcc's other benchmarks derive their sizes from the order. With smaller ones they crash or never end (1 and
# 10, hpcc 1.5.0).
SMALLEST_ORDER, LARGEST_ORDER = 100, 1_000_000
LARGEST_BLOCK = 1024
MOST_RANKS = 4096
BYTES_A_NUMBER = 8
# HPL's own limit: scaled residuals below it pass.
THRESHOLD = 16.0


@dataclass(frozen=True)
class HplInput:
    order: int
    """N, the order of the matrix."""
    blocks: tuple[int, ...]
    """NB, the columns of a panel."""
    rows: int
    """Rows of the grid of ranks, P; `columns` is Q."""
    columns: int
    broadcasts: tuple[str, ...]
    repeat: int

    def __post_init__(self) -> None:
        if len(self.broadcasts) * self.repeat > MOST_VALUES:
            raise UsageError(
                f"--repeat {self.repeat}: hpcc takes at most {MOST_VALUES} broadcasts, so with "
                f"{len(self.broadcasts)} of them {MOST_VALUES // len(self.broadcasts)} repetitions each"
            )

    @property
    def ranks(self) -> int:
        return self.rows * self.columns

    @property
    def solves(self) -> int:
        return len(self.blocks) * len(self.broadcasts) * self.repeat


@dataclass(frozen=True)
class Memory:
    """Memory for the matrix: a share of this machine's, or a number of bytes."""

    share: float = 0.0
    in_bytes: int = 0


def parse_order(text: str) -> int:
    if units.whole(text, SMALLEST_ORDER, LARGEST_ORDER) is None:
        raise UsageError(
            f"'{text[:40]}' is not an order that hpcc takes: give a number from {SMALLEST_ORDER} to "
            f"{LARGEST_ORDER:,}"
        )
    return int(text)


def parse_memory(text: str) -> Memory:
    """Parses `10%` of free memory, or `2GB`."""
    if not text.strip().endswith("%"):
        return Memory(in_bytes=units.parse_bytes(text))
    share = units.parse_fraction(text)
    if not 0 < share <= 0.9:
        raise UsageError(f"'{text[:40]}': from 1% to 90%; hpcc itself and the machine need the rest")
    return Memory(share=share)


def parse_blocks(text: str) -> tuple[int, ...]:
    """Parses `80` or `64,128`."""
    words = text.split(",")
    if not all(units.whole(word, 1, LARGEST_BLOCK) for word in words):
        raise UsageError(f"'{text[:40]}': give block sizes from 1 to {LARGEST_BLOCK}, such as 80 or 64,128")
    found = tuple(dict.fromkeys(map(int, words)))
    if len(found) > MOST_VALUES:
        raise UsageError(f"'{text[:40]}': at most {MOST_VALUES} block sizes")
    return found


def parse_grid(text: str) -> tuple[int, int]:
    """Parses `2x4`: two rows of four."""
    first, cross, last = text.partition("x")
    if not cross or not all(units.whole(word, 1, MOST_RANKS) for word in (first, last)):
        raise UsageError(f"'{text[:40]}' is not a grid of ranks: give rows and columns, such as 2x4")
    return int(first), int(last)


def parse_broadcasts(text: str) -> tuple[str, ...]:
    """Parses `1rg,2rg`, or HPL's numbers."""
    numbered = {str(number): name for number, name in enumerate(BROADCASTS)}
    found = []
    for word in text.split(","):
        name = numbered.get(word, word)
        if name not in BROADCASTS:
            raise UsageError(
                f"there is no broadcast '{word[:40]}'; there is "
                + ", ".join(f"{name} ({BROADCAST_NAMES[name]})" for name in BROADCASTS)
            )
        found.append(name)
    return tuple(dict.fromkeys(found))


def grid_of(ranks: int) -> tuple[int, int]:
    """The grid closest to a square with no more rows than columns, as HPL's tuning guide advises."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def order_for(matrix_bytes: float, block: int) -> int:
    """The largest order whose matrix fits, a multiple of the block size if one fits. Raises UsageError."""
    order = min(LARGEST_ORDER, math.isqrt(int(matrix_bytes) // BYTES_A_NUMBER))
    if order < SMALLEST_ORDER:
        raise UsageError(
            f"--memory: {units.exact_bytes(int(matrix_bytes))} cannot hold a matrix of order "
            f"{SMALLEST_ORDER}, the smallest that hpcc takes"
        )
    whole = order // block * block
    return whole if whole >= SMALLEST_ORDER else order


def free_bytes(file: Path = Path("/proc/meminfo")) -> int:
    """This machine's memory available without swapping (proc(5): MemAvailable), in bytes."""
    try:
        for line in file.read_text(encoding="ascii", errors="replace").splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError) as error:
        raise CrosscutError(
            f"{file}: cannot find out how much memory is free; give -N instead of --memory"
        ) from error
    raise CrosscutError(f"{file}: no MemAvailable there; give -N instead of --memory")


def input_file(asked: HplInput) -> str:
    """Returns the text of hpcc's input file.

    Repetitions are written as further broadcasts, interleaved, so that drift of the machine affects all
    alike. hpcc's other benchmarks cannot be left out; PTRANS takes sizes from the same lines.
    """
    broadcasts = [BROADCASTS.index(name) for name in asked.broadcasts] * asked.repeat
    lines = (
        ("", "written by crosscut"),
        ("", "all values: HPL's tuning.html; its defaults where nothing was asked"),
        (OUTPUT, "ignored by hpcc"),
        ("8", "ignored by hpcc"),
        *_listed([asked.order], "N"),
        *_listed(asked.blocks, "NB"),
        ("0", "ranks by rows of the grid"),
        ("1", "number of grids"),
        (str(asked.rows), "P"),
        (str(asked.columns), "Q"),
        (f"{THRESHOLD:g}", "threshold"),
        *_listed([2], "PFACT: right-looking"),
        *_listed([4], "NBMIN"),
        *_listed([2], "NDIV"),
        *_listed([1], "RFACT: Crout"),
        *_listed(broadcasts, "BCAST"),
        *_listed([1], "DEPTH"),
        ("2", "SWAP: mix"),
        ("64", "threshold of swapping"),
        ("0", "L1: transposed"),
        ("0", "U: transposed"),
        ("1", "equilibration"),
        ("8", "alignment, in numbers"),
        ("", "ignored by hpcc"),
        ("0", "further N of PTRANS"),
        ("0", "N"),
        ("0", "further NB of PTRANS"),
        ("0", "NB"),
    )
    return "".join(f"{value:<12} {comment}\n" for value, comment in lines)


def _listed(values: list[int] | tuple[int, ...], name: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (str(len(values)), f"number of {name}"), (" ".join(map(str, values)), name)
