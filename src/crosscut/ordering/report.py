"""Reports an order of ranks: tables for a terminal, or one JSON object."""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Sequence

from crosscut.base import units
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import spans
from crosscut.network.description import without_latency
from crosscut.ordering.crossing import Crossing
from crosscut.ordering.judging import Judged
from crosscut.ordering.placing import Placement
from crosscut.ordering.reasons import ratio, why_not
from crosscut.prediction.report import name_of, tell_noise
from crosscut.reports.terminal.screen import Rows, Screen

_SHOWN_HOSTS = 16


def tell(screen: Screen, name: str, placed: Placement, lacks: str) -> None:
    """`lacks`: what the trace leaves out, in words."""
    ranks, hosts = len(placed.hosts), len(placed.terrain.used)
    screen.title(
        f"{name}: {units.count(ranks, 'rank')} on {units.count(hosts, 'host')} of "
        f"{name_of(placed.terrain.network)}"
    )
    screen.field("hosts", folded([placed.terrain.hosts[at] for at in placed.terrain.used], LIST_WIDTH))
    screen.field("at present", placed.present.says)
    screen.field("narrow links", _narrow(placed))
    if lacks and placed.is_traced:
        screen.field("left out", lacks)
    if placed.noise is not None:
        tell_noise(screen, placed.noise)
    if placed.doubt:
        screen.warn(f"replayed without noise: {placed.doubt}")
    if not placed.is_traced:
        why = lacks or "crosscut profile --trace makes one"
        screen.warn(f"time was not predicted: this profile has no trace ({why})")
    if placed.is_traced and not placed.terrain.latency.any():
        screen.warn(without_latency([name_of(placed.terrain.network)]))
    if placed.terrain.spreads:
        screen.warn(
            "the network spreads messages over equal paths by a hash; bytes of single links are those of "
            "forwarding by destination"
        )
    _table(screen, placed)
    screen.line()
    screen.line(sentence(placed), "bold")
    if placed.helps:
        if placed.judged is not None and placed.before.busiest and placed.after.bytes >= placed.before.bytes:
            screen.warn(
                "as much passes the narrow links as before: the gain comes from when messages meet, of which "
                "the model knows least; measure it"
            )
        _hosts(screen, placed.hosts)


def sentence(placed: Placement) -> str:
    if not placed.helps:
        return f"No order helps: {why_not(placed)}."
    judged = placed.judged
    if judged is None:
        return (
            f"This order sends {units.about_size(placed.after.bytes)} over the narrow links instead of "
            f"{units.about_size(placed.before.bytes)}."
        )
    certain = "" if judged.gain.has_interval else " (no noise was fitted, so there is no interval)"
    return f"This order is predicted to take {ratio(judged.gain)} of the present time{certain}."


def _narrow(placed: Placement) -> str:
    narrow = [way for way in placed.terrain.ways if way.is_narrow]
    if not narrow:
        return "none: no link is narrower than the hosts behind it"
    worst = max(narrow, key=lambda way: way.narrowness)
    rate = units.rate(worst.bytes_per_second)
    return (
        f"{len(narrow)}; narrowest {worst.name}: {rate} of payload for hosts that can send "
        f"{worst.narrowness:.3g} times as much"
    )


def _table(screen: Screen, placed: Placement) -> None:
    judged = placed.judged
    screen.title("Orders of the ranks")
    rows = Rows("<order", "time", "ratio", "over narrow links", "busiest narrow link",
                dash="not counted for random orders")  # fmt: skip

    def add(name: str, seconds: float | None, crossing: Crossing | None) -> None:
        first = judged.present_seconds if judged is not None else 0
        time = (
            ("–", "–")
            if seconds is None
            else (units.seconds(seconds), f"{seconds / first:.3f}" if first else "–")
        )
        rows.add(name, *time, *_cells(crossing))

    add("present", judged.present_seconds if judged else None, placed.before)
    if placed.made_by:
        add(f"best tried ({placed.made_by})", judged.best_seconds if judged else None, placed.after)
    if judged is not None:
        median = statistics.median(judged.random_seconds)
        add(f"at random (median of {len(judged.random_seconds)})", median, None)
    screen.table(rows)


def _cells(crossing: Crossing | None) -> tuple[str, str]:
    if crossing is None:
        return "–", "–"
    if crossing.busiest is None:
        return "0 B", "none"
    seconds = units.seconds(crossing.busiest_seconds)
    return units.about_size(crossing.bytes), f"{units.about_size(crossing.busiest_bytes)} in {seconds}"


def _hosts(screen: Screen, hosts: Sequence[str]) -> None:
    ranks = defaultdict[str, list[int]](list)
    for rank, host in enumerate(hosts):
        ranks[host].append(rank)
    screen.title("Ranks of each host")
    rows = Rows("<host", "<ranks")
    for host in sorted(ranks)[:_SHOWN_HOSTS]:
        said = (str(a) if a == b else f"{a} to {b}" for a, b in spans(ranks[host]))
        rows.add(host, ", ".join(said))
    screen.table(rows)
    if len(ranks) > _SHOWN_HOSTS:
        screen.line(f"and {len(ranks) - _SHOWN_HOSTS} hosts more; -o FILE writes all", "dim")


def as_json(placed: Placement, lacks: str) -> dict[str, object]:
    terrain = placed.terrain
    return {
        "network": terrain.network,
        "ranks": len(placed.hosts),
        "hosts": folded([terrain.hosts[at] for at in terrain.used]),
        "lacks": lacks or None,
        "helps": placed.helps,
        "says": sentence(placed),
        "order": list(placed.hosts),
        "present": {
            "says": placed.present.says,
            "hosts": list(placed.hosts_in(placed.present.places)),
            **_crossing(placed.before),
        },
        "best": {
            "made_by": placed.made_by or None,
            "hosts": list(placed.hosts_in(placed.best)),
            **_crossing(placed.after),
        },
        "prediction": None if placed.judged is None else _judged(placed.judged),
        "doubt": placed.doubt or None,
        "noise": None if placed.noise is None else dataclasses.asdict(placed.noise),
    }


def _crossing(crossing: Crossing) -> dict[str, object]:
    return {
        "narrow_bytes": crossing.bytes,
        "busiest": None if crossing.busiest is None else crossing.busiest.name,
        "busiest_bytes": crossing.busiest_bytes,
        "busiest_seconds": crossing.busiest_seconds,
    }


def _judged(judged: Judged) -> dict[str, object]:
    return {
        "present_seconds": judged.present_seconds,
        "best_seconds": judged.best_seconds,
        "random_seconds": list(judged.random_seconds),
        **dataclasses.asdict(judged.gain),
        "replayed": judged.replayed,
    }
