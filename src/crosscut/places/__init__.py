"""Places: where ranks are started. A place is one file in this folder and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from crosscut.base import spelling
from crosscut.base.errors import PlaceError, UsageError
from crosscut.network import description
from crosscut.places.base import Place

# Each module of this folder named here has a member `PLACE`.
PLACES = (
    "local",
    "hosts",
    "mpi",
    "slurm",
    "sim",
    "lab",
)


DEFAULT = "local"


def typed_as(place: Place) -> str:
    """Returns a place as typed after `--on`: `hosts:FILE`."""
    return f"{place.name}:{place.argument}" if place.argument else place.name


def ready_place(text: str, does: Callable[[Place], bool], what: str) -> tuple[Place, str]:
    """Finds a place like `find_place`, and checks that it can be used.

    Raises UsageError if `does` is false for it; the message says `what` is done on which other places
    ("workloads run"). Raises PlaceError, with the reason, if it cannot be used here.
    """
    place, argument = find_place(text)
    if not does(place):
        known = map(typed_as, filter(does, all_places()))
        raise UsageError(f"--on {text}: {what} on {', '.join(known)}")
    if (reason := place.available()) is not None:
        raise PlaceError(f"--on {text}: {reason}")
    return place, argument


def load_place(name: str) -> Place:
    """Returns the place `name`. Raises UsageError if it is unknown, or this installation does not have it."""
    if name not in PLACES:
        known = ", ".join(map(typed_as, all_places()))
        raise UsageError(f"--on: unknown place '{name}'; {_meant(name) or f'known: {known}'}")
    try:
        place: Place = import_module(f"crosscut.places.{name}").PLACE
    except ModuleNotFoundError as error:
        if error.name != f"crosscut.places.{name}":
            raise
        raise UsageError(f"the place '{name}' is not part of this installation") from error
    return place


def _meant(name: str) -> str:
    """Says what to write in place of a network or a file of hosts without a place's name before it."""
    if name.endswith(".toml") or name in description.catalogue_names():
        return f"to simulate this network, write --on sim:{name}"
    if Path(name).is_file():
        return f"if this file lists hosts, write --on hosts:{name}"
    longer = next((f"did you mean {place}?" for place in PLACES if name.startswith(place)), "")
    return spelling.hint(name, PLACES).removeprefix("; ") or longer


def all_places() -> list[Place]:
    """Returns every place of this installation."""
    places = []
    for name in PLACES:
        try:
            places.append(load_place(name))
        except UsageError:
            continue
    return places


def find_place(text: str) -> tuple[Place, str]:
    """Returns (place, argument) for the value of `--on`, such as `hosts:nodes.txt`. Raises UsageError."""
    name, _, argument = text.partition(":")
    place = load_place(name)
    if place.argument and not argument:
        raise UsageError(f"--on {text} needs a {place.argument}: write --on {name}:{place.argument}")
    if argument and not place.argument:
        raise UsageError(f"--on {text}: '{name}' takes nothing after a colon")
    return place, argument
