"""Where a run was measured: this machine, a real cluster, an emulated one (a lab) or a simulated one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Realm(StrEnum):
    """What carries the messages of a place. Runs and experiments record the values."""

    HERE = "local"
    """The memory of this machine."""
    CLUSTER = "cluster"
    """A real network."""
    EMULATED = "lab"
    """A network that this machine emulates: faults can be planted and rates divided."""
    SIMULATED = "sim"
    """No network: a model under a virtual clock."""


def is_emulated(attributes: Mapping[str, object]) -> bool:
    """True if these are attributes of a run that was measured on a lab."""
    return attributes.get("place") == Realm.EMULATED or isinstance(attributes.get("lab"), Mapping)


# Backends with a virtual clock, by their names in runs. A damaged run may have a list for a name, so no set.
_VIRTUAL = ("null", Realm.SIMULATED.value)


def is_simulated(attributes: Mapping[str, object]) -> bool:
    """True if these are attributes of a run that was computed on a described network."""
    return _backend(attributes) == Realm.SIMULATED


def is_exact(attributes: Mapping[str, object]) -> bool:
    """True if these are attributes of a run that was computed without random shares: repetitions are equal,
    so an interval would say nothing."""
    backend = attributes.get("backend")
    given = backend.get("parameters") if isinstance(backend, Mapping) else None
    spread = given.get("share-spread") if isinstance(given, Mapping) else None
    return is_simulated(attributes) and str(spread or "0") in ("0", "0.0")


def has_virtual_clock(attributes: Mapping[str, object]) -> bool:
    """True if no time passed on a machine, so that neither its cores nor its clock matter."""
    return _backend(attributes) in _VIRTUAL


@dataclass(frozen=True)
class DescribedNetwork:
    digest: str
    """SHA-256 of the description."""
    hosts: int
    """0 if the run does not say."""


def described_network(attributes: Mapping[str, object]) -> DescribedNetwork | None:
    """Returns the network of a simulated or emulated run; None if the network is not described."""
    network = attributes.get("network")
    if not isinstance(network, Mapping):
        return None
    text, hosts = network.get("description"), network.get("hosts")
    if not isinstance(text, str):
        return None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return DescribedNetwork(digest, hosts if type(hosts) is int else 0)


def _backend(attributes: Mapping[str, object]) -> object:
    backend = attributes.get("backend")
    return backend.get("name") if isinstance(backend, Mapping) else None
