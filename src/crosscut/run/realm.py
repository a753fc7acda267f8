"""Where a run was measured: on a real cluster, on an emulated one (a lab), or on a simulated one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Realm(StrEnum):
    """What carries the messages of a place; the values are the words of runs and of experiments."""

    HERE = "local"
    """The memory of this machine."""
    CLUSTER = "cluster"
    """A real network."""
    EMULATED = "lab"
    """A network that this machine emulates: faults can be planted and rates divided."""
    SIMULATED = "sim"
    """No network: a model under a virtual clock."""


def is_emulated(attributes: Mapping[str, object]) -> bool:
    """True for the attributes of a run that was measured on a lab."""
    return attributes.get("place") == Realm.EMULATED


def is_simulated(attributes: Mapping[str, object]) -> bool:
    """True for the attributes of a run that was computed under a virtual clock."""
    backend = attributes.get("backend")
    return isinstance(backend, Mapping) and backend.get("name") == Realm.SIMULATED
