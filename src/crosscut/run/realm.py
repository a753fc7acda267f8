"""Where a run was measured: this machine, a real cluster, an emulated one (a lab) or a simulated one."""

from __future__ import annotations

from collections.abc import Mapping
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
    return attributes.get("place") == Realm.EMULATED


# Backends with a virtual clock, by their names in runs. A damaged run may have a list for a name, so no set.
_VIRTUAL = ("null", Realm.SIMULATED.value)


def is_simulated(attributes: Mapping[str, object]) -> bool:
    """True if these are attributes of a run that was computed on a described network."""
    return _backend(attributes) == Realm.SIMULATED


def has_virtual_clock(attributes: Mapping[str, object]) -> bool:
    """True if no time passed on a machine, so that neither its cores nor its clock matter."""
    return _backend(attributes) in _VIRTUAL


def _backend(attributes: Mapping[str, object]) -> object:
    backend = attributes.get("backend")
    return backend.get("name") if isinstance(backend, Mapping) else None
