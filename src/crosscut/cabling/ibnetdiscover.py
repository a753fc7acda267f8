"""Reads ibnetdiscover's topology file (infiniband-diags): every switch, and the neighbour at each port."""

from __future__ import annotations

import re

from crosscut.base.errors import UsageError
from crosscut.cabling.model import MOST_PORTS, Cabling, Port, Trunk

_SWITCH = re.compile(r'Switch\s+\d+\s+"(S-[0-9a-fA-F]+)"\s*#\s*"([^"]*)"')
_OTHER = re.compile(r"(Ca|Rt)\s")
_PORT = re.compile(r'\[(\d+)\](?:\([0-9a-fA-F]+\))?\s+"([SHR])-([0-9a-fA-F]+)"\[(\d+)\][^#]*#\s*"([^"]*)"')
# `MF0;leaf1:MSB7700/U1`: how a managed switch describes itself.
_MANAGED = re.compile(r"MF\d+;([^:;]+):.*")


def parse(text: str, name: str) -> Cabling:
    """Parses the file. A cable listed at both switches is kept once. Raises UsageError with file and line."""
    ports: list[Port] = []
    trunks: dict[tuple[tuple[str, str], tuple[str, str]], Trunk] = {}
    switch: tuple[str, str] | None = None  # GUID, name
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if match := _SWITCH.match(line):
            switch = (match[1].lower(), switch_name(match[2]) or match[1])
        elif _OTHER.match(line):
            switch = None
        elif line.startswith("[") and switch is not None:
            found = _PORT.match(line)
            if found is None:
                raise UsageError(f"{name}:{number}: not a switch port as ibnetdiscover writes it")
            port, kind, guid, far_port, about = found.groups()
            if kind == "S":
                here, there = (switch[0], port), (f"s-{guid.lower()}", far_port)
                trunks.setdefault(
                    (min(here, there), max(here, there)),
                    Trunk(switch[1], port, switch_name(about) or f"S-{guid}", far_port),
                )
            elif kind == "H":
                host, _, adapter = about.strip().partition(" ")
                ports.append(Port(host, adapter.strip(), switch=switch[1], port=port))
            if len(ports) + len(trunks) > MOST_PORTS:
                raise UsageError(f"{name}:{number}: more than {MOST_PORTS} cables")
    return Cabling(tuple(ports), tuple(trunks.values()))


def switch_name(description: str) -> str:
    match = _MANAGED.fullmatch(description.strip())
    return match[1] if match else description.strip()
