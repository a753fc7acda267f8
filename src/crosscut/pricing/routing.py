"""How a network may spread traffic over paths of equal length, where its file does not say.

A switch may choose by a hash of each flow (ECMP), by the destination's number (D-mod-k), or packet by packet,
as adaptive routing and packet spraying do. The first depends on the hash, so several are tried. The last is
taken as perfect: on a leaf-and-spine network, a leaf's uplinks are then one capacity.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from crosscut.base import toml_fields
from crosscut.pricing.resizing import changed

HASHES = 5
# Generators whose networks have several paths of equal length.
_CHOOSING = ("clos", "fat-tree", "dragonfly", "rail-optimised")
# As the network format's `spread` calls them.
_BY_HASH, _BY_DESTINATION = "ecmp", "destination-modulo"
_QUANTITY = re.compile(r"\s*([0-9.]+)\s*([A-Za-z]+/s)\s*")


class Routing(Enum):
    """Values are the words of a mix's key `routing`."""

    HASHED = "hashed"
    BY_DESTINATION = "by destination"
    PACKETS = "packets"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Routing.HASHED: "with flows hashed",
    Routing.BY_DESTINATION: "with paths chosen by destination",
    Routing.PACKETS: "with packets spread evenly",
}


def variants(path: Path) -> Mapping[Routing, tuple[str, ...]]:
    """Returns descriptions of the network under each routing that it may have; none if only one path is
    shortest, or if the file says how it is chosen and no hash is involved."""
    document = toml_fields.document(path, "a description of a network")
    generator, routing = (document.values.get(key) for key in ("generator", "routing"))
    kind = generator.get("kind") if isinstance(generator, dict) else ""
    said = routing.get("spread") if isinstance(routing, dict) else None
    if (generator and kind not in _CHOOSING) or said == _BY_DESTINATION:
        return {}
    first = _seed(routing, document.values)
    hashes = range(first, first + HASHES)
    found = {
        Routing.HASHED: tuple(
            changed(document, "routing", {"spread": _BY_HASH, "seed": seed}) for seed in hashes
        )
    }
    if said is None:
        found[Routing.BY_DESTINATION] = (changed(document, "routing", {"spread": _BY_DESTINATION}),)
        if isinstance(generator, dict) and (pooled := _pooled(generator)):
            found[Routing.PACKETS] = (changed(document, "generator", pooled),)
    return found


def _seed(routing: object, values: Mapping[str, Any]) -> int:
    seed = routing.get("seed") if isinstance(routing, dict) else None
    seed = values.get("seed", 1) if seed is None else seed
    return seed if type(seed) is int else 1


def _pooled(generator: Mapping[str, Any]) -> dict[str, int | str]:
    """Returns parameters of a leaf-and-spine network whose spines are one; none if it is no such network."""
    spines, cables = generator.get("spines"), generator.get("uplinks", 1)
    rate = _QUANTITY.fullmatch(str(generator.get("uplink_rate", generator.get("rate", ""))))
    if generator.get("kind") != "clos" or type(spines) is not int or type(cables) is not int or not rate:
        return {}
    return {"spines": 1, "uplinks": 1, "uplink_rate": f"{float(rate[1]) * spines * cables:g} {rate[2]}"}
