"""Random networks of up to 16 hosts, of every family that labs support, as network files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

HOST_MBIT = 100
MOST_HOSTS = 16
# A full Ethernet frame carries 1448 bytes of payload in 1538 on the wire, since Linux sends TCP time stamps
# (IEEE 802.3; RFC 791, RFC 9293, RFC 7323).
PROTOCOL = "[protocol]\nmtu = 1500\nheaders = 52\nframing = 38\n"

Parameters = dict[str, object]


@dataclass(frozen=True)
class Network:
    name: str
    text: str


def _upto(random: np.random.Generator, least: int, most: int) -> int:
    return int(random.integers(least, most + 1))


def _trunk(random: np.random.Generator, full_mbit: float) -> str:
    """Draws a rate between a third of `full_mbit`, at which the trunk limits nobody, and 1.1 times that, but
    at least a host's."""
    return f"{max(HOST_MBIT, round(full_mbit * random.uniform(1 / 3, 1.1)))} Mbit/s"


def _crossbar(random: np.random.Generator) -> Parameters:
    return {"hosts": _upto(random, 6, MOST_HOSTS)}


def _stacked_tree(random: np.random.Generator) -> Parameters:
    leaves = _upto(random, 2, 4)
    each = _upto(random, 2, MOST_HOSTS // leaves)
    return {"leaves": leaves, "hosts_per_leaf": each, "uplink_rate": _trunk(random, each * HOST_MBIT)}


def _clos(random: np.random.Generator) -> Parameters:
    leaves = _upto(random, 2, 4)
    each = _upto(random, 2, MOST_HOSTS // leaves)
    return {"leaves": leaves, "hosts_per_leaf": each, "spines": _upto(random, 1, 3)}


def _fat_tree(random: np.random.Generator) -> Parameters:
    return {"down": [_upto(random, 2, 4), _upto(random, 2, 4)], "up": [_upto(random, 1, 3)]}


def _chassis(random: np.random.Generator) -> Parameters:
    modules, each = _upto(random, 2, 3), _upto(random, 2, 5)
    return {
        "modules": modules,
        "asics_per_module": 1,
        "hosts_per_asic": each,
        "asic_capacity": _trunk(random, each * HOST_MBIT),
        "module_rate": _trunk(random, each * HOST_MBIT / modules),
    }


def _torus(random: np.random.Generator) -> Parameters:
    dimensions = [_upto(random, 2, 4), _upto(random, 2, 4)]
    return {"dimensions": dimensions, "hosts_per_switch": 1, "host_rate": f"{HOST_MBIT} Mbit/s"}


def _ring(random: np.random.Generator) -> Parameters:
    return {"length": _upto(random, 3, 8), "hosts_per_switch": 2, "host_rate": f"{HOST_MBIT} Mbit/s"}


def _hypercube(random: np.random.Generator) -> Parameters:
    return {
        "dimensions": _upto(random, 2, 3),
        "hosts_per_switch": _upto(random, 1, 2),
        "host_rate": f"{HOST_MBIT} Mbit/s",
    }


def _hyperx(random: np.random.Generator) -> Parameters:
    return {
        "dimensions": [_upto(random, 2, 3), _upto(random, 2, 3)],
        "hosts_per_switch": 1,
        "trunk_rate": _trunk(random, 1.5 * HOST_MBIT),
    }


def _meta_node(random: np.random.Generator) -> Parameters:
    groups = _upto(random, 2, 4)
    ports = _upto(random, 1, MOST_HOSTS // groups // (groups - 1)) * (groups - 1)
    return {"meta_nodes": groups, "ports": ports, "wires": 1}


FAMILIES: dict[str, Callable[[np.random.Generator], Parameters]] = {
    "crossbar": _crossbar, "stacked-tree": _stacked_tree, "clos": _clos, "fat-tree": _fat_tree,
    "module-chassis": _chassis, "torus": _torus, "ring": _ring, "hypercube": _hypercube,
    "hyperx": _hyperx, "meta-node": _meta_node,
}  # fmt: skip


def random_network(seed: int) -> Network:
    """Draws a network; ten consecutive seeds give the ten families."""
    random = np.random.default_rng(seed)
    kind = list(FAMILIES)[seed % len(FAMILIES)]
    lines = [f'title = "{kind}, drawn with seed {seed}"', "[generator]", f'kind = "{kind}"',
             f'rate = "{HOST_MBIT} Mbit/s"']  # fmt: skip
    lines += [f"{key} = {_toml(value)}" for key, value in FAMILIES[kind](random).items()]
    # A lab's bridges choose among equal paths by destination, so the simulator must do the same.
    lines += ["[routing]", 'kind = "hosts"' if kind == "meta-node" else 'spread = "destination-modulo"']
    return Network(f"{kind}-{seed}", "\n".join([*lines, PROTOCOL]))


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
