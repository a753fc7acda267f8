"""A cluster network as the core describes it: figures, and the graph to draw.

The core reads the TOML file (docs/reference/network-format.md); Python reads the core's answer.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from crosscut.base import core, records, toml_fields
from crosscut.base.errors import CrosscutError, UsageError

TIMEOUT_SECONDS = 300
CATALOGUE_VARIABLE = "CROSSCUT_NETWORKS"
_USAGE_STATUS = 2


@dataclass(frozen=True)
class Vertex:
    name: str
    kind: str
    """`host` or `switch`"""
    group: int | None = None
    level: int = 0
    """Level of a switch: 0 if hosts are attached to it."""
    capacity_bits_per_second: float = 0
    """A switch's own capacity; 0 if only its links limit it."""

    @property
    def is_host(self) -> bool:
        return self.kind == "host"


@dataclass(frozen=True)
class DescribedLink:
    a: int
    b: int
    cables: int
    half_duplex: bool
    bits_per_second: float = math.inf
    """Rate of all its cables together, from a to b; infinite if it sets no limit of its own."""
    back_bits_per_second: float = math.inf


@dataclass(frozen=True)
class Graph:
    hosts: int
    """Number of hosts, which are the first vertices."""
    vertices: tuple[Vertex, ...]
    edges: tuple[DescribedLink, ...]
    group_word: str


@dataclass(frozen=True)
class Network:
    figures: Mapping[str, Any]
    """Output of `crosscut-core network show --json`, without the graph."""
    graph: Graph | None

    @property
    def name(self) -> str:
        return str(self.figures["name"])

    @property
    def hosts(self) -> int:
        return int(self.figures["counts"]["hosts"])


def gives_latency(figures: Mapping[str, Any]) -> bool:
    """True if the network's file gives any time for a message of no bytes. `figures`: as Network.figures."""
    return _any_of(_LATENCIES, toml_fields.document(Path(str(figures["file"])), "a network").values)


def without_latency(networks: Sequence[str]) -> str:
    """`networks`: names of those whose files give no latency."""
    return f"no latency is given in the files of {', '.join(networks)}: short messages are too fast there"


# Keys of a network file.
_LATENCIES = ("latency", "send_overhead", "receive_overhead")


def _any_of(keys: Sequence[str], value: Any) -> bool:
    if isinstance(value, dict):
        return any(key in keys or _any_of(keys, inner) for key, inner in value.items())
    return isinstance(value, list) and any(_any_of(keys, inner) for inner in value)


def catalogue() -> Path | None:
    """Returns the folder that CROSSCUT_NETWORKS names, else that of the networks that came with crosscut."""
    if named := os.environ.get(CATALOGUE_VARIABLE):
        return Path(named)
    for folder in (Path(__file__).parents[1] / "networks", Path(__file__).parents[3] / "networks"):
        if any(folder.glob("*.toml")):
            return folder
    return None


def catalogue_names() -> list[str]:
    folder = catalogue()
    return sorted(path.stem for path in folder.glob("*.toml")) if folder else []


def environment() -> dict[str, str]:
    """Returns an environment in which the core knows the catalogue's names."""
    folder = catalogue()
    return os.environ | ({CATALOGUE_VARIABLE: str(folder)} if folder else {})


def ask(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Runs `crosscut-core network WORDS`. Raises UsageError for wrong input, CrosscutError if it fails."""
    executable = core.load().executable
    answer = core.ask([executable, "network", *words], TIMEOUT_SECONDS, environment())
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip()
        lines = [line.removeprefix("crosscut-core: ") for line in said.splitlines()]
        text = "\n".join(lines) or f"{executable} network ended with status {answer.returncode}"
        raise UsageError(text) if answer.returncode == _USAGE_STATUS else CrosscutError(text)
    return answer


@lru_cache(maxsize=4)
def load(file: str, *, graph: bool = False) -> Network:
    """Loads a network from a file, or by its name in the catalogue."""
    words = ["show", file, "--json", *(["--graph"] if graph else [])]
    document = json.loads(ask(*words).stdout)
    drawn = records.parse(document.pop("graph"), Graph) if graph else None
    return Network(document, drawn)


def text(file: str) -> str:
    """Returns the description itself. Raises UsageError if it is no network's."""
    return Path(str(load(file).figures["file"])).read_text(encoding="utf-8")


def ranks(file: str, ranks_per_host: int = 0) -> int:
    """Returns the default for `-n`: `ranks_per_host` on every host; 0: as many as the network says."""
    ask("check", file)  # reports every mistake
    checked = json.loads(ask("check", file, "--json").stdout)
    return int(checked["hosts"]) * (ranks_per_host or int(checked["ranks_per_host"]))
