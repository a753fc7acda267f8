"""Report of `crosscut profile`: MPI and computing time, messages and bytes by size, traffic between ranks,
and the bandwidth that a process needs. After figure 3 and tables 3 and 4 of Lobosco, Santos Costa and de
Amorim, ICCS 2002."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from crosscut.base import units
from crosscut.profile.format import WAYS, Counts
from crosscut.profile.program import Call, Profile, ended
from crosscut.reports.terminal.screen import Rows, Screen

MOST_CALLS = 14
MOST_EXACT_RANKS = 8
MOST_DRAWN_RANKS = 48
PAIRS_SHOWN = 8
BAR = 30
# Units that a table may have, the largest first, and the blanks between its columns.
_UNITS, _GAP = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (0, "bytes")), 3
_GROUPS = {
    "point to point": ("point", "persistent", "wait", "probe"),
    "collective": ("collective", "neighbour", "persistent collective", "persistent neighbour"),
    "one-sided": ("one-sided", "synchronisation"),
    "setting up": ("setup", "groups"),
}


def render(screen: Screen, profile: Profile) -> None:
    _header(screen, profile)
    _time(screen, profile)
    _calls(screen, profile)
    _sizes(screen, profile)
    _traffic(screen, profile)
    _needs(screen, profile)


def _header(screen: Screen, profile: Profile) -> None:
    first = profile.found[0]
    hosts = len({one.host for one in profile.found})
    screen.line(
        f"{first.program}: {units.count(profile.ranks, 'rank')} on {units.count(hosts, 'node')}", "bold"
    )
    screen.field("profile", str(profile.folder))
    command = profile.about.get("command")
    if isinstance(command, list):
        screen.field("command", " ".join(map(str, command)))
    screen.field("MPI", first.library)
    screen.field("took", f"{units.duration(float(profile.seconds.max()))}, {_of_what(profile)}")
    if sections := max(one.sections for one in profile.found):
        screen.field("counted", f"{units.count(sections, 'section')} that the program marked (MPI_Pcontrol)")
    for sentence in ended(profile):
        screen.warn(f"partial: {sentence}")
    if profile.threaded:
        screen.warn("several threads call MPI at once: their times add up")


def _of_what(profile: Profile) -> str:
    marked = any(one.sections for one in profile.found)
    return "in what was counted" if marked else "from the start to the last MPI call"


def _time(screen: Screen, profile: Profile) -> None:
    total = float(profile.seconds.sum())
    if total <= 0:
        return
    screen.title("Time, mean over ranks")
    computing = max(0.0, total - float(profile.mpi_seconds.sum()))
    parts = {"computing": computing}
    for group, kinds in _GROUPS.items():
        parts[group] = sum(float(call.seconds.sum()) for call in profile.calls if call.kind in kinds)
    table = Rows("<", "per rank", "share", "<")
    for name, seconds in parts.items():
        if seconds > 0:
            share = seconds / total
            bar = screen.glyphs.bar[-1] * round(min(share, 1.0) * BAR)
            table.add(name, units.seconds(seconds / len(profile.found)), units.percent(share), bar)
    screen.table(table)


def _calls(screen: Screen, profile: Profile) -> None:
    screen.title("MPI calls")
    total = float(profile.seconds.sum())
    table = Rows("<call", "calls", "time", "share", "per call", "?longest call", "?most on one rank")

    def cells(name: str, calls: Sequence[Call]) -> list[str]:
        seconds, count = sum(float(call.seconds.sum()) for call in calls), sum(call.count for call in calls)
        share = units.percent(seconds / total) if total > 0 else "–"
        each = units.seconds(seconds / count) if count else "–"
        return [name, f"{count:,}", units.seconds(seconds), share, each]

    for call in profile.calls[:MOST_CALLS]:
        table.add(*cells(call.name, [call]), units.seconds(call.longest_seconds), _worst(profile, call))
    if rest := profile.calls[MOST_CALLS:]:
        table.add(*cells(f"{len(rest)} others", rest)[:4], "", "", "")
    screen.table(table)


def _worst(profile: Profile, call: Call) -> str:
    worst = int(call.seconds.argmax())
    return f"{units.seconds(float(call.seconds[worst]))}, rank {profile.found[worst].rank}"


def decade_name(index: int, decades: int) -> str:
    """`0 B`, `1 to 9 B`, `10 to 99 B`, …, `1 to 10 KB`, …, `1 TB and more`"""
    if index == 0:
        return "0 B"
    low = 10 ** (index - 1)
    if index == decades - 1:
        return f"{units.size(low)} and more"
    for factor, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if low >= factor:
            return f"{low // factor} to {low * 10 // factor} {name}"
    return f"{low} to {low * 10 - 1} B"


def _sizes(screen: Screen, profile: Profile) -> None:
    """Counts collective calls as the messages that MPICH 1.2 made of them, as in the paper's tables."""
    titles = {"point": "point to point", "one-sided": "one-sided", "collective": "collective"}
    sizes = {titles[way]: counts for way in WAYS if (counts := profile.sizes(way)).any()}
    if not sizes:
        return
    screen.title("Messages and bytes by size; collective calls as the messages that MPICH 1.2 made of them")
    if len(sizes) > 1:
        sizes["all"] = np.sum(list(sizes.values()), axis=0)
    table = Rows("<size", *(heading for title in sizes for heading in (title, "bytes")))
    decades = len(next(iter(sizes.values())))
    for decade in range(decades):
        if any(counts[decade].any() for counts in sizes.values()):
            table.add(decade_name(decade, decades), *_cells(counts[decade] for counts in sizes.values()))
    table.add("all", *_cells(counts.sum(axis=0) for counts in sizes.values()), style="bold")
    screen.table(table)
    collective = [
        call for call in profile.calls if call.kind in _GROUPS["collective"] and call.as_called.any()
    ]
    if collective:
        _as_called(screen, collective)


def _cells(rows: Iterable[Counts]) -> list[str]:
    return [text for row in rows for text in (f"{int(row[0]):,}", units.about_size(float(row[1])))]


def _as_called(screen: Screen, calls: list[Call]) -> None:
    screen.title("Collective calls as made by the program")
    table = Rows("<call", "calls", "passed in", "per call", "as messages", "bytes")
    for call in calls:
        count, handed = (int(value) for value in call.as_called.sum(axis=0))
        messages, moved = (int(value) for value in call.decomposed.sum(axis=0))
        table.add(
            call.name,
            f"{count:,}",
            units.about_size(handed),
            units.about_size(handed / count) if count else "–",
            f"{messages:,}",
            units.about_size(moved),
        )
    screen.table(table)


def _traffic(screen: Screen, profile: Profile) -> None:
    if profile.ranks < 2:
        return
    if profile.ranks > MOST_DRAWN_RANKS:
        _pairs(screen, profile)
        return
    moved = profile.matrix()[:, :, 1].astype(np.float64)
    if not moved.any():
        return
    sums = np.column_stack([moved, moved.sum(axis=1)])
    factor, unit = next((max(factor, 1), unit) for factor, unit in _UNITS if sums.max() >= factor)
    cells = [[f"{value / factor:.3g}" if value else "–" for value in row] for row in sums.tolist()]
    exact = len(str(profile.ranks)) + sum(_GAP + max(map(len, column)) for column in zip(*cells, strict=True))
    if exact <= screen.width and profile.ranks <= MOST_EXACT_RANKS:
        screen.title(f"{unit} from rank (row) to rank (column): point to point, one-sided and collective")
        table = Rows("<", *(str(rank) for rank in range(profile.ranks)), "all", dash="no bytes")
        for rank, row in enumerate(cells):
            table.add(str(rank), *row)
        screen.table(table)
        return
    screen.title("Bytes from rank (row) to rank (column): point to point, one-sided and collective")
    density = screen.glyphs.density
    scaled = np.ceil(moved / moved.max() * (len(density) - 1)).astype(int)
    lines = [f"{rank:>4} " + " ".join(density[level] for level in row) for rank, row in enumerate(scaled)]
    screen.show(screen.drawing(lines))
    screen.line(f"{density[-1]}: up to {units.about_size(float(moved.max()))}", "dim")
    _pairs(screen, profile)


def _pairs(screen: Screen, profile: Profile) -> None:
    pairs = [
        (int(amounts[:, 1].sum()), int(amounts[:, 0].sum()), one.rank, int(peer))
        for one in profile.found
        for peer, amounts in zip(one.peers, one.traffic, strict=True)
    ]
    screen.title("Pairs that move the most")
    table = Rows("<", "messages", "bytes")
    for moved, messages, rank, peer in sorted(pairs, reverse=True)[:PAIRS_SHOWN]:
        target = "others" if peer < 0 else str(peer)
        table.add(f"{rank} {screen.glyphs.arrow} {target}", f"{messages:,}", units.about_size(moved))
    screen.table(table)


def _needs(screen: Screen, profile: Profile) -> None:
    """Prints bandwidth over the whole time and over computing time alone: the need if no rank ever waited."""
    sent, seconds = profile.sent_bytes(), profile.seconds
    computing = np.maximum(seconds - profile.mpi_seconds, 0)
    if not sent.any() or not (seconds > 0).all():
        return
    screen.title("Bandwidth needed per process")
    table = Rows("<", "median", "most", "<on")
    for name, time in (("bytes over the whole time", seconds), ("bytes over computing alone", computing)):
        if (time > 0).all():
            rates = sent / time
            worst = int(rates.argmax())
            table.add(name, units.rate(float(np.median(rates))), units.rate(float(rates[worst])),
                      f"rank {profile.found[worst].rank}")  # fmt: skip
    screen.table(table)
