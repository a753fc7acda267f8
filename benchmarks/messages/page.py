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
REMOTE = "-rdma"
"""Ends the names of networks on which MVICH writes into the receiver's memory."""
NETWORKS = {
    "ethernet-tcp": "Ethernet, TCP", "ethernet-mvia": "Ethernet, M-VIA",
    f"ethernet-mvia{REMOTE}": "with remote writes", "giganet": "Giganet",
    f"giganet{REMOTE}": "with remote writes", "myrinet": "Myrinet",
}  # fmt: skip
BROKEN_DOWN = {"myrinet": "Myrinet", f"giganet{REMOTE}": "Giganet"}
"""Networks of figure 3."""
PAPERS = ("B", 16)
"""Class and ranks of the paper's tables."""
FEWER = 8
"""Ranks of some values of figure 2."""
ON_FEWER = ("is", "mg", "cg")
Row = Sequence[str]
Counts = Mapping[str, Counted]
Paper = Mapping[str, Any]


def page(counted: Sequence[Counted], paper: Paper, on_fewer: Sequence[Counted] = ()) -> str:
    """`on_fewer`: counts on FEWER ranks, if the others are the paper's."""
    first = counted[0]
    title = f"# Messages of the NAS benchmarks, class {first.problem_class} on {first.ranks} ranks"
    the_papers = (first.problem_class, first.ranks) == PAPERS
    its = paper["messages"] if the_papers else {}
    lines = [
        MADE, "", title, "", INTRODUCTION,
        "## Messages and bytes (as table 3)", "", *totals(counted, its), "",
    ]  # fmt: skip
    if the_papers:
        lines += [MEAN, *bandwidths(counted, paper), "", NEED]
    lines += [
        "## By size (as table 4)", "", *by_size(counted, its), "",
        COLLECTIVES, *calls(counted), "",
    ]  # fmt: skip
    if the_papers:
        ours, fewer = ({one.name: one for one in those} for those in (counted, on_fewer))
        lines += [
            BOUND, *bounds(ours, paper, "speedup", tuple(NETWORKS)), "", DIFFERENCES,
            EIGHT, *bounds(fewer, paper, "speedup_on_8", EIGHTS_NETWORKS), "", EXCEEDED,
            RATIOS, *ratios(ours, fewer, paper), "", EXPLAINED,
            PARTS, *parts(ours, paper), "", FITTING, RATES, BASIS,
        ]  # fmt: skip
    return "\n".join(lines)


def table(head: Row, rows: Sequence[Row]) -> list[str]:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]


def totals(counted: Sequence[Counted], published: Paper) -> list[str]:
    """Shows the paper's figures next to ours if `published` has them."""
    head = ["", "point to point", "collective, as messages", "all", "MiB", "mean size, KiB"]
    rows = []
    for one in counted:
        cells = [f"**{one.name.upper()}**"]
        cells += [f"{sum(sizes.messages):,}" for sizes in (one.point, one.collective, one.all)]
        cells += [mib(one.all), f"{mean_kib(one):,.2f}"]
        if published:
            theirs = published[one.name]
            cells += [f"{theirs['messages']:,}", f"{theirs['mib']:,}", f"{theirs['mean_kib']:,}"]
        rows.append(cells)
    more = ["paper: messages", "paper: MiB", "paper: KiB"] if published else []
    return table([*head, *more], rows)


def mib(sizes: Sizes) -> str:
    """Formats the bytes in MiB, with two decimals as in the paper, or three if there are few."""
    value = sum(sizes.bytes) / 2**20
    return f"{value:,.2f}" if value >= 0.1 else f"{value:.3f}"


def mean_kib(one: Counted) -> float:
    return sum(one.all.bytes) / sum(one.all.messages) / 2**10


def bandwidths(counted: Sequence[Counted], paper: Paper) -> list[str]:
    rows = []
    for one in counted:
        best, faster = best_network(one.name, paper), seconds(one.name, paper)
        printed = f"{paper['messages'][one.name]['mib_s']:.2f}"
        rows.append(
            [f"**{one.name.upper()}**", said(best), about(faster), f"{needed_mib_s(one, paper):.2f}", printed]
        )
    return table(["", "fastest on", "seconds there", "MiB/s of a processor", "paper"], rows)


def said(network: str) -> str:
    """Names a network in a row."""
    plain = NETWORKS[network.removesuffix(REMOTE)]
    return f"{plain}, remote writes" if network.endswith(REMOTE) else plain


def about(value: float) -> str:
    """Formats seconds to three digits at least."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def best_network(name: str, paper: Paper) -> str:
    """Returns the network on which the benchmark has its largest speed-up in table 5."""
    ran = [network for network in NETWORKS if name in paper["speedup"][network]]
    return max(ran, key=lambda network: paper["speedup"][network][name])


def seconds(name: str, paper: Paper, network: str | None = None) -> float:
    """Returns the paper's time on 16 nodes: table 2 over table 5. Default: on the best network."""
    speedup = paper["speedup"][network or best_network(name, paper)][name]
    return float(paper["sequential_seconds"][name] / speedup)


def needed_mib_s(one: Counted, paper: Paper) -> float:
    """Returns our bytes of a processor over the paper's time on its fastest network."""
    return sum(one.all.bytes) / 2**20 / one.ranks / seconds(one.name, paper)


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


def rate(network: str, paper: Paper) -> float:
    """Returns bytes a second between two nodes."""
    return float(paper["rates_mbyte_s"][network.removesuffix(REMOTE)] * MEGABYTE)


def most(one: Counted, paper: Paper, network: str) -> float:
    """Returns the bound of its speed-up."""
    sequential = paper["sequential_seconds"][one.name]
    return bound(sequential, one.ranks, one.busiest_sent_bytes, rate(network, paper))


def bounds(counted: Counts, paper: Paper, key: str, networks: Sequence[str]) -> list[str]:
    """Shows the paper's speed-ups under `key`, each with its bound."""
    rows = []
    for one in counted.values():
        cells = [f"**{one.name.upper()}**", _bytes(one.busiest_sent_bytes)]
        for network in networks:
            measured = paper[key][network].get(one.name)
            shown = "–" if measured is None else f"{measured:.2f}"
            cells.append(f"{shown} of {most(one, paper, network):.1f}")
        rows.append(cells)
    return table(["", "the busiest process sends", *(NETWORKS[network] for network in networks)], rows)


EIGHTS_NETWORKS = ("ethernet-tcp", "ethernet-mvia", f"ethernet-mvia{REMOTE}")


def mvia_over_tcp(one: Counted, paper: Paper) -> float:
    """Returns the ratio of the bounds, as those below."""
    return most(one, paper, "ethernet-mvia") / most(one, paper, "ethernet-tcp")


def best_over_mvia(one: Counted, paper: Paper) -> float:
    return most(one, paper, best_network(one.name, paper)) / most(one, paper, "ethernet-mvia")


def giganet_over_myrinet(one: Counted, paper: Paper) -> float:
    return most(one, paper, "giganet") / most(one, paper, "myrinet")


RATIOS_OF = {
    "mvia_over_tcp": mvia_over_tcp, "best_over_mvia": best_over_mvia,
    "giganet_over_myrinet": giganet_over_myrinet,
}  # fmt: skip


def error(ours: float, published: float) -> str:
    return f"{100 * (ours / published - 1):+.1f} %".replace("-", "−")


def ratios(counted: Counts, fewer: Counts, paper: Paper) -> list[str]:
    """Shows IS on FEWER ranks where M-VIA is compared: on 16 nodes it did not run."""
    rows = []
    for name in NAMES:
        cells = [f"**{name.upper()}**"]
        for key, of in RATIOS_OF.items():
            on_fewer = name == "is" and key != "giganet_over_myrinet"
            ours = of((fewer if on_fewer else counted)[name], paper)
            published = paper["ratio"][key].get(name)
            beside = "" if published is None else f" ({error(ours, published)})"
            cells += ["–" if published is None else f"{published:.2f}", f"{ours:.2f}{beside}"]
        rows.append(cells)
    head = ["", "M-VIA over TCP", "bounds", "best over M-VIA", "bounds", "Giganet over Myrinet", "bounds"]
    return table(head, rows)


def named_seconds(name: str, network: str, paper: Paper) -> float:
    """Returns the sum of the parts that the text names; 0 if it names none."""
    return float(sum(paper["parts"][network].get(name, {}).values()))


def computing_seconds(name: str, network: str, paper: Paper) -> float:
    """Returns what the named parts leave of the paper's time."""
    return seconds(name, paper, network) - named_seconds(name, network, paper)


def bytes_seconds(one: Counted, network: str, paper: Paper) -> float:
    return one.busiest_sent_bytes / rate(network, paper)


def parts(counted: Counts, paper: Paper) -> list[str]:
    rows = []
    for name, one in counted.items():
        for network, called in BROKEN_DOWN.items():
            if name not in paper["shares"][network]:
                continue
            whole, named = seconds(name, paper, network), named_seconds(name, network, paper)
            alone = bytes_seconds(one, network, paper)
            kinds = ", ".join(
                f"{kind} {value:g}" for kind, value in paper["parts"][network].get(name, {}).items()
            )
            rows.append([
                f"**{name.upper()}**, {called}", about(whole), kinds or "–",
                f"{100 * named / whole:.1f} %" if named else "–", paper["shares"][network][name],
                f"{alone:.2f}", f"{100 * alone / whole:.1f} %",
            ])  # fmt: skip
    head = ["", "seconds", "named parts", "their share", "paper: share", "our bytes alone", "their share"]
    return table(head, rows)


def _bytes(value: float) -> str:
    return units.about_size(value).replace(" ", "\N{NO-BREAK SPACE}")


INTRODUCTION = """\
The messages of six NAS benchmarks and their sizes, which Lobosco, Santos Costa and de Amorim (ICCS 2002)
logged in their tables 3 and 4. Here the benchmarks are crosscut's own [workloads](../howto-workloads.md),
each verified, under [`crosscut profile`](../howto-profile.md). Counts depend only on class and ranks, not on
the machine or the time: `make messages` finds the same anywhere (7 minutes on two cores).

Counts are of what NPB times (`crosscut profile --section`), as the paper's are: without the untimed first
iteration, which every benchmark but EP has. **The messages are the paper's, one for one and size by size; so
are the bytes** of IS, MG, EP and LU, to the printed digit. CG's printed bytes lack those of its 2,400
messages of 16 bytes; SP's are 21 KB more than ours, of 15 GB, and we do not know why. A test
(`tests/golden/test_lobosco_messages.py`) computes the same numbers from the loops of NPB's sources.
"""
MEAN = """\
All printed mean sizes come out; LU's 2.979 KiB is cut off, not rounded. Nearly all of LU's messages are
smaller than its mean says: without the 12,000 large ones (208,080 bytes each) the mean is 1,000 bytes, where
the paper's text has about 2 Kb.

The bandwidth that a processor needs is, in table 3, that of the fastest network: our bytes over 16 processors
and over the time there, table 2 over the largest speed-up of table 5.
"""
NEED = """\
These come out too, SP's and LU's cut off. IS needs 17 × 10⁶ bytes a second, more than the 12.5 of a
Fast Ethernet link; no other of the six does. EP sends its 90 messages in 96 s on 16 nodes: the thousand
seconds of the paper's text are those of one node.
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
speed-up may even exceed it. It knows no remote writes, so it is the same with and without. – did not run, or
is not in the paper.
"""
DIFFERENCES = """\
Bytes alone put the benchmarks in the order that the paper found on Ethernet with TCP (EP, LU, MG, CG, IS),
and explain why all but IS, and LU on Myrinet, come close to 16 on fast networks. The remaining gaps show
where messages hurt for another reason. IS reaches a quarter of its bound on Ethernet with TCP: there all send
to all at once. LU reaches less than half of its bound on Myrinet, 7.22. It has the most messages by far, but
their number is not the reason: with the same messages Giganet is 3 % below its bound, and M-VIA is at its
bound. The paper suspects how MPICH-GM manages memory for small blocks.

IS with remote writes on Giganet, 13.95, is 3.4 % above its bound. [Figure 3](#where-the-time-goes-figure-3)
leaves 2.6 s for its computing on 16 nodes, not a sixteenth of 69.03 s, which is 4.3. With 2.6 s its bytes
would allow a speed-up of 20.
"""
EIGHT = """\
## On 8 nodes (figure 2)

The speed-ups on 8 nodes that the text names, each of the bound from our counts on 8 ranks.
"""
EXCEEDED = """\
IS with TCP reaches a third of its bound, as on 16 nodes a quarter. All speed-ups with M-VIA are above their
bounds: IS by 15 %, MG by 2 % (1 % with remote writes), CG by 11 % (2 %). IS computes faster than table 2 says
(above). A process of CG sends as much on 8 nodes as on 16, and takes 78 s for it at 11.2 MByte/s; the printed
7.00 leaves 257 s for the rest, 12 % less than an eighth of table 2, and we do not know why.
"""
RATIOS = """\
## Ratios of networks (section 2's analysis)

How many times faster the benchmarks are on one network than on another: the printed percentages as ratios,
beside the ratios of the bounds, with the error of these. Best: the fastest network of table 5. IS is on 8
nodes where it is compared with M-VIA, which did not run it on 16; all others are on 16. – the paper prints no
number ("similar").
"""
EXPLAINED = """\
- **Best over M-VIA.** Bytes explain what Fast Ethernet costs, within 4 %. IS on 16 nodes would have 2.22. The
  more bandwidth a benchmark needs (table 3), the more it loses on Ethernet, in the bounds as in print: EP,
  LU, MG, SP, CG, IS. So the paper's rule, Ethernet with M-VIA up to 5 MB/s of a processor, separates IS
  (16.18) from the others; but CG, just there with 5.03, already loses 45 %.
- **M-VIA over TCP.** The rates of figure 1 explain next to nothing of it: they differ by 7 %, so that no
  ratio of bounds exceeds 1.07. TCP costs these programs more than its rate for 31,487 bytes shows. The paper
  says that gains grow with the bandwidth needed. IS does gain most; but SP, with 1.8 MiB/s, gains as much as
  CG with 5.0, and LU, with 0.5, more than MG with 1.7.
- **Giganet over Myrinet.** Bytes put Myrinet ahead by up to 1.5 %. They explain neither IS nor LU; nor does
  the network's rate, says the paper, which suspects MPICH-GM.
"""
PARTS = """\
## Where the time goes (figure 3)

On 16 nodes. Seconds: table 2 over the speed-up of table 5, on Giganet with remote writes. Named parts: those
of figure 3 in the text, seconds of a process; and their share of the time, beside the share that the text
gives for communication, or for sending of LU. Our bytes alone: the busiest process's bytes at the rate
between two nodes, the least that communication takes unless it overlaps with computing.
"""
FITTING = """\
- **The parts fit the times** of IS, MG and CG. What they leave, computing, is the same on both networks: 2.7
  and 2.6 s (IS), 22.5 and 22.8 (MG), 143 and 144 (CG), 418 and 419 (LU).
- **LU's shares do not fit.** On Giganet the 13.5 % are all named parts; sending is 41 s, 8.5 %. On Myrinet
  sending is 50 % and all parts are 60 %; almost 40 % is what is left for computing. These parts are 565 s
  longer than on Giganet, 7.5 ms for each of the 75,750 messages of a process, which no network's latency
  explains.
- **Bytes are the least of it.** They take 2 to 5 % of the time of MG, CG and SP, less than the printed
  shares. The named parts of MG and CG are about three times as long, with waiting and copies. In IS bytes
  take 12 and 16 %, of the printed 55 and 48.
"""
RATES = """\
## Latency and rate (figure 1)

The experiment [`lobosco-figure-1`](../howto-reproduce.md) has the four rates at 31,487 bytes. They are inputs
here, and the networks `lobosco-ethernet-tcp`, `lobosco-ethernet-mvia`, `lobosco-giganet` and
`lobosco-myrinet` got their efficiency from them. Latencies are only printed relative to each other: M-VIA's
is 70 % of TCP's. This does not explain the two rates. If a message took its latency plus its bytes at one
rate for both, at most the link's 12.5 MByte/s, M-VIA's latency would be at most 61 % of TCP's. So TCP takes
longer for each byte, too.
"""
BASIS = """\
## What the counts rest on

- **NPB 2 and NPB 3.** Class B has the same sizes and iterations of these six in both. What NPB does before
  and after its timed part (an untimed iteration, parameters, times, verification) is not counted.
- **MPICH.** Until 1.2.4 collective calls were the trees and rings counted here; later versions choose by
  size, and send other numbers of messages for the same calls. Point-to-point messages do not depend on it:
  they are nearly all of the messages of MG, CG, SP and LU.
- **Messages to oneself** count if MPICH 1.2 sent them (all-to-all, gather): in IS 16 of the 256 of each
  all-to-all. They cross no network, and are not in the tables of bounds and of parts.
- **Bytes** are those of the data, without MPI's headers or the messages of a rendezvous.
"""
