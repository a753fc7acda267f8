"""The order in which the ranks are now: as a file says, as the program was profiled, or in blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.base.host_list import read_ranks, short
from crosscut.network.paths import Ways
from crosscut.profile.program import Profile


@dataclass(frozen=True)
class RankOrder:
    per_host: int
    """Places on each host."""
    places: tuple[int, ...]
    """[rank]"""
    says: str
    """Where it comes from, in words."""


def of_names(network: Ways, names: Sequence[str], says: str, per_host: int = 0) -> RankOrder:
    """`names`: [rank] its host. Raises UsageError for a host that the network has not."""
    hosts = {host.name: at for at, host in enumerate(network.hosts)}
    by_short = {short(name): at for name, at in hosts.items()}
    numbers = [hosts.get(name, by_short.get(short(name), -1)) for name in names]
    if -1 in numbers:
        wrong = names[numbers.index(-1)]
        raise UsageError(f"{says}: host {wrong!r} is not in the network {network.name}")
    most = max(per_host or network.hosts[0].ranks, *Counter(numbers).values())
    there: Counter[int] = Counter()
    places = []
    for at in numbers:
        places.append(at * most + there[at])
        there[at] += 1
    return RankOrder(most, tuple(places), says)


def of_file(network: Ways, file: Path, ranks: int, per_host: int) -> RankOrder:
    """Raises UsageError unless the file has a host of the network for each rank."""
    names = read_ranks(file)
    if len(names) != ranks:
        raise UsageError(
            f"--present {file}: has places for {units.count(len(names), 'rank')}, but the program has "
            f"{ranks}; write each rank's host on a line of its own, rank 0 first (n1 slots=2 stands for two)"
        )
    return of_names(network, names, f"--present {file}", per_host)


def of_profile(network: Ways, found: Profile | None, ranks: int, per_host: int) -> RankOrder | None:
    """None if the profile does not tell, or its hosts are not those of the network."""
    if found is None or not found.complete or found.ranks != ranks:
        return None
    try:
        return of_names(network, [one.host for one in found.found], "as it was profiled", per_host)
    except UsageError:
        return None


def in_blocks(network: Ways, ranks: int, per_host: int) -> RankOrder:
    """Raises UsageError if the network has too few hosts."""
    each = per_host or network.hosts[0].ranks
    if ranks > (room := each * len(network.hosts)):
        raise UsageError(
            f"{network.file}: has room for {units.count(room, 'rank')}, but the program has {ranks}; "
            "--ranks-per-host puts more on each host"
        )
    return RankOrder(each, tuple(range(ranks)), "in blocks, in the order of the network's hosts")
