"""A cluster's cables, as far as known from files of any format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from crosscut.base.host_list import short
from crosscut.base.node_sets import LIST_WIDTH, folded

MOST_PORTS = 1_000_000


@dataclass(frozen=True)
class Port:
    """The place where a host's adapter is plugged in; "" for each unknown part."""

    host: str
    adapter: str = ""
    rack: str = ""
    switch: str = ""
    port: str = ""
    cable: str = ""

    def text(self) -> str:
        """Formats `rack r3, switch leaf2 port 12, cable 4711`."""
        named = {name: getattr(self, name) for name in ("rack", "switch", "port", "cable")}
        rack, switch, port, cable = (f"{name} {value}" if value else "" for name, value in named.items())
        return ", ".join(filter(None, (rack, f"{switch} {port}".strip(), cable)))


@dataclass(frozen=True)
class Trunk:
    """A cable between two switches."""

    switch: str
    port: str
    to_switch: str
    to_port: str
    cable: str = ""

    def text(self) -> str:
        ends = [
            f"{s} port {p}" if p else s for s, p in ((self.switch, self.port), (self.to_switch, self.to_port))
        ]
        return " – ".join(ends) + (f" (cable {self.cable})" if self.cable else "")


@dataclass(frozen=True)
class Cabling:
    ports: tuple[Port, ...] = ()
    trunks: tuple[Trunk, ...] = ()
    above: Mapping[str, str] = field(default_factory=dict)
    """The switch above each switch, from files that name no ports."""
    disagreements: tuple[str, ...] = ()
    """Sentences about files that disagree."""
    counted: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    """By switch and port: counters of errors and loss, and their growth."""

    def of_host(self, name: str) -> list[Port]:
        """Returns a host's ports by its whole name, or by the first part if only that is known."""
        return self._by_host.get(name) or self._by_host.get(short(name), [])

    def stranger_to(self, hosts: Sequence[str]) -> str:
        """Returns a sentence if none of the hosts has a port here: another cluster's list; else ""."""
        if not hosts or any(self.of_host(host) for host in hosts):
            return ""
        own = folded(sorted({port.host for port in self.ports}), LIST_WIDTH) or "no host"
        return f"none of the hosts {folded(hosts, LIST_WIDTH)} is in the cabling, which names {own}"

    def switches_of(self, name: str) -> set[str]:
        return {port.switch for port in self.of_host(name) if port.switch}

    @cached_property
    def _by_host(self) -> dict[str, list[Port]]:
        found: dict[str, list[Port]] = {}
        for port in self.ports:
            for name in dict.fromkeys((port.host, short(port.host))):
                found.setdefault(name, []).append(port)
        return found


def merged(parts: Iterable[Cabling]) -> Cabling:
    """Merges files, each filling the others' gaps. If two disagree, the later one is used, which is noted."""
    ports: dict[tuple[str, str], Port] = {}
    trunks: dict[Trunk, None] = {}
    above: dict[str, str] = {}
    said: list[str] = []
    for part in parts:
        for port in part.ports:
            key = _key(port, ports)
            joined = _joined(ports[key], port, said) if key in ports else port
            # An entry without an adapter takes the first name it meets: a second adapter is another port.
            named = (key[0], port.adapter or key[1])
            if named != key:
                ports.pop(key, None)
            ports[named] = joined
        trunks |= dict.fromkeys(part.trunks)
        above |= part.above
        said += part.disagreements
    return Cabling(tuple(ports.values()), tuple(trunks), above, tuple(said))


def _key(port: Port, known: Mapping[tuple[str, str], Port]) -> tuple[str, str]:
    """Returns the key of a port; an entry without an adapter belongs to the host's only adapter."""
    exact = (short(port.host), port.adapter)
    if exact in known:
        return exact
    same = [key for key in known if key[0] == exact[0]] if not port.adapter else []
    unnamed = (exact[0], "")
    if len(same) == 1:
        return same[0]
    return unnamed if port.adapter and unnamed in known else exact


def _joined(old: Port, new: Port, said: list[str]) -> Port:
    for name in ("switch", "port", "rack", "cable"):
        was, now = getattr(old, name), getattr(new, name)
        if was and now and was != now:
            said.append(
                f"{new.host}: {name} is {was} in one file but {now} in a later one; the later one is used"
            )
    taken = {f.name: getattr(new, f.name) or getattr(old, f.name) for f in fields(Port)}
    return replace(old, **taken)
