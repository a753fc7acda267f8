"""Reads the nodes of each switch from Slurm's topology.conf, tree or block (topology.conf(5))."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crosscut.base.errors import UsageError
from crosscut.base.host_list import expand
from crosscut.cabling.model import MOST_PORTS, Cabling, Port

_WORD = re.compile(r"(\w+)=(\S+)")
_OUTSIDE = re.compile(r",(?![^\[]*\])")
_OF = {"switchname": "switch", "blockname": "block"}


def parse(text: str, name: str) -> Cabling:
    """Parses the file. A node below several switches gets the first. Raises UsageError with file and line."""
    switch_of: dict[str, str] = {}
    above: dict[str, str] = {}
    for number, line in _lines(text):
        words = {key.lower(): value for key, value in _WORD.findall(line)}
        who = next((words[key] for key in _OF if key in words), None)
        if who is None:
            if line.split("=")[0].strip().lower() in ("blocksizes", "planesize"):
                continue
            raise UsageError(f"{name}:{number}: no SwitchName= or BlockName=")
        if "nodes" not in words and "switches" not in words:
            raise UsageError(f"{name}:{number}: {who} has neither Nodes= nor Switches=")
        try:
            for node in _names(words.get("nodes", "")):
                switch_of.setdefault(node, who)
            for below in _names(words.get("switches", "")):
                above.setdefault(below, who)
        except ValueError as error:
            raise UsageError(f"{name}:{number}: {error}") from error
        if len(switch_of) + len(above) > MOST_PORTS:
            raise UsageError(f"{name}:{number}: more than {MOST_PORTS} names")
    return Cabling(tuple(Port(node, switch=switch) for node, switch in switch_of.items()), (), above)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields (number of its first line, line); a backslash at the end of a line continues it on the next."""
    held, first = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.partition("#")[0].rstrip()
        first = first or number
        if line.endswith("\\"):
            held += line[:-1]
            continue
        if (held + line).strip():
            yield first, held + line
        held, first = "", 0
    if held.strip():
        yield first, held


def _names(words: str) -> Iterator[str]:
    count = 0
    for word in _OUTSIDE.split(words) if words else ():
        for name in expand(word):
            count += 1
            if count > MOST_PORTS:
                raise ValueError(f"more than {MOST_PORTS} names")
            yield name
