"""Makes the text of docs/reference/lobosco.md from the counts and the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.messages.counting import Counted, Sizes
from crosscut.base import units

MADE = "<!-- Made by `make messages`: change benchmarks/messages, not this page. -->"
MEGABYTE = 1e6
# In the order of the paper's tables.
NAMES = ("is", "mg", "cg", "sp", "ep", "lu")
NETWORKS = {
    "ethernet-tcp": "Ethernet, TCP", "ethernet-mvia": "Ethernet, M-VIA", "giganet": "Giganet",
    "myrinet": "Myrinet",
}  # fmt: skip
PAPERS = ("B", 16)
"""Class and ranks of the paper's tables."""
Row = Sequence[str]


def page(counted: Sequence[Counted], paper: Mapping[str, Any]) -> str:
    first = counted[0]
    title = f"# Messages of the NAS benchmarks, class {first.problem_class} on {first.ranks} ranks"
    its = paper.get("messages", {}) if (first.problem_class, first.ranks) == PAPERS else {}
    lines = [
        MADE, "", title, "", INTRODUCTION,
        "## Messages and bytes (as table 3)", "", *totals(counted, its), "",
        "## By size (as table 4)", "", *by_size(counted, its), "",
        COLLECTIVES, *calls(counted), "",
    ]  # fmt: skip
    if (first.problem_class, first.ranks) == PAPERS:
        lines += [BOUND, *bounds(counted, paper), "", DIFFERENCES]
    return "\n".join(lines)


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def totals(counted: Sequence[Counted], published: Mapping[str, Any]) -> list[str]:
    """Shows the paper's figures next to ours if `published` has them."""
    head = ["", "point to point", "collective, as messages", "all", "MiB", "mean size"]
    rows = []
    for one in counted:
        cells = [f"**{one.name.upper()}**"]
        cells += [f"{sum(sizes.messages):,}" for sizes in (one.point, one.collective, one.all)]
        cells += [mib(one.all), _bytes(sum(one.all.bytes) / sum(one.all.messages))]
        if published:
            theirs = published[one.name]
            cells += [f"{theirs['messages']:,}", f"{theirs['mib']:,}"]
        rows.append(cells)
    return table([*head, *(["paper: messages", "paper: MiB"] if published else [])], rows)


def mib(sizes: Sizes) -> str:
    """Formats the bytes in MiB, with two decimals as in the paper, or three if there are few."""
    value = sum(sizes.bytes) / 2**20
    return f"{value:,.2f}" if value >= 0.1 else f"{value:.3f}"


PAPERS_SIZES = ("0 to 9 B", "10 to 99 B", "100 to 999 B", "1 to 10 KB", "10 to 100 KB", "above")


def in_papers_sizes(sizes: Sizes) -> tuple[int, ...]:
    """Returns messages in the classes of table 4."""
    empty, below_ten, *more = sizes.messages
    return (empty + below_ten, *more[:4], sum(more[4:]))


def by_size(counted: Sequence[Counted], published: Mapping[str, Any]) -> list[str]:
    """Shows ours, and the paper's in the row below if `published` has them."""
    rows = []
    for one in counted:
        rows.append([f"**{one.name.upper()}**", *map(_number, in_papers_sizes(one.all))])
        if published:
            rows.append(["paper", *map(_number, published[one.name]["by_size"])])
    return table(["messages", *PAPERS_SIZES], rows)


def _number(value: int) -> str:
    return f"{value:,}" if value else "–"


def calls(counted: Sequence[Counted]) -> list[str]:
    names = sorted({name for one in counted for name in one.collective_calls})
    rows = [
        [f"**{one.name.upper()}**"]
        + [f"{found:,}" if (found := one.collective_calls.get(name, 0)) else "–" for name in names]
        for one in counted
    ]
    return table(["", *(f"`{name}`" for name in names)], rows)


def bound(sequential_seconds: float, ranks: int, sent_bytes: float, bytes_per_second: float) -> float:
    """Returns the speed-up if only computing and the busiest process's bytes cost time: an upper bound."""
    return sequential_seconds / (sequential_seconds / ranks + sent_bytes / bytes_per_second)


def bounds(counted: Sequence[Counted], paper: Mapping[str, Any]) -> list[str]:
    rows = []
    for one in counted:
        sequential = paper["sequential_seconds"][one.name]
        cells = [f"**{one.name.upper()}**", _bytes(one.busiest_sent_bytes)]
        for network in NETWORKS:
            rate = paper["rates_mbyte_s"][network] * MEGABYTE
            most = bound(sequential, one.ranks, one.busiest_sent_bytes, rate)
            measured = paper["speedup"][network].get(one.name)
            cells.append(f"{'–' if measured is None else f'{measured:.2f}'} of {most:.1f}")
        rows.append(cells)
    return table(["", "the busiest process sends", *NETWORKS.values()], rows)


def _bytes(value: float) -> str:
    return units.about_size(value).replace(" ", "\N{NO-BREAK SPACE}")


INTRODUCTION = """\
The messages of six NAS benchmarks and their sizes, which Lobosco, Santos Costa and de Amorim (ICCS 2002)
logged in their tables 3 and 4. Here the benchmarks are crosscut's own [workloads](../howto-workloads.md),
each verified, under [`crosscut profile`](../howto-profile.md). Counts depend only on class and ranks, not on
the machine or the time: `make messages` finds the same anywhere (6 minutes on two cores).

Counts are of what NPB times (`crosscut profile --section`), as the paper's are: without the untimed first
iteration, which every benchmark but EP has. **The messages are the paper's, one for one and size by size; so
are the bytes** of IS, MG, EP and LU, to the printed digit. CG's printed bytes lack those of its 2,400
messages of 16 bytes; SP's are 21 KB more than ours, of 15 GB, and we do not know why. A test
(`tests/golden/test_lobosco_messages.py`) computes the same numbers from the loops of NPB's sources.
"""
COLLECTIVES = """\
## Collective calls

Calls of all ranks together. The tables above count them as the messages that MPICH 1.2 made of them
([how](../howto-profile.md#what-is-counted)): on 16 ranks an all-reduce is 30 messages, an all-to-all 256, of
which 16 go from a rank to itself.
"""
BOUND = """\
## Do bytes explain table 5?

The paper's speed-ups on 16 nodes, each *of* the bound from our counts. The bound assumes that 16 nodes take a
sixteenth of the sequential time of table 2, plus the time in which the busiest process's bytes leave it at
the rate between two nodes (10.5, 11.2, 98.28 and 108.44 MByte/s, taken as 10⁶ bytes). It ignores latency,
contention and waiting; also caches, which hold a sixteenth of the data better than all of it, so that a
speed-up may even exceed it. – did not run, or is not in the paper.
"""
DIFFERENCES = """\
Bytes alone put the benchmarks in the order that the paper found on Ethernet with TCP (EP, LU, MG, CG, IS),
and explain why all but IS, and LU on Myrinet, come close to 16 on fast networks. The remaining gaps show
where messages hurt for another reason. IS reaches a quarter of its bound on Ethernet with TCP: there all send
to all at once. LU reaches half of its bound on Myrinet. It has the most messages by far, 1.2 million, nearly
all of less than 1.1 KB, but they cost Giganet and M-VIA hardly anything; the paper suspects how MPICH-GM
manages memory for small blocks.

## What the counts rest on

- **NPB 2 and NPB 3.** Class B has the same sizes and iterations of these six in both. What NPB does before
  and after its timed part (an untimed iteration, parameters, times, verification) is not counted.
- **MPICH.** Until 1.2.4 collective calls were the trees and rings counted here; later versions choose by
  size, and send other numbers of messages for the same calls. Point-to-point messages do not depend on it:
  they are nearly all of the messages of MG, CG, SP and LU.
- **Messages to oneself** count if MPICH 1.2 sent them (all-to-all, gather): in IS 16 of the 256 of each
  all-to-all. They cross no network, and are not in the last table.
- **Bytes** are those of the data, without MPI's headers or the messages of a rendezvous.
"""
