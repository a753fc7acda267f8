"""Where ranks are started. A place is one file in this folder and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from crosscut.base.errors import PlaceError, UsageError
from crosscut.places.base import Place

# Each module of this folder that is named here has a member `PLACE`.
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
    """How a place is named after `--on`: `hosts:FILE`."""
    return f"{place.name}:{place.argument}" if place.argument else place.name


def ready_place(text: str, does: Callable[[Place], bool], what: str) -> tuple[Place, str]:
    """As `find_place`, of the places for which `does` is true. UsageError names them, with `what` they
    do ("workloads run"); PlaceError says why this one cannot be used here."""
    place, argument = find_place(text)
    if not does(place):
        known = map(typed_as, filter(does, all_places()))
        raise UsageError(f"--on {text}: {what} on {', '.join(known)}")
    if (reason := place.available()) is not None:
        raise PlaceError(f"--on {text}: {reason}")
    return place, argument


def load_place(name: str) -> Place:
    """The place `name`; raises UsageError where this installation has none of that name."""
    try:
        place: Place = import_module(f"crosscut.places.{name}").PLACE
    except ModuleNotFoundError as error:
        if error.name != f"crosscut.places.{name}":
            raise
        raise UsageError(f"the place '{name}' is not part of this installation") from error
    return place


def all_places() -> list[Place]:
    """Every place of this installation."""
    places = []
    for name in PLACES:
        try:
            places.append(load_place(name))
        except UsageError:
            continue
    return places


def find_place(text: str) -> tuple[Place, str]:
    """The place and argument of what was typed after `--on`: `hosts:nodes.txt`."""
    name, _, argument = text.partition(":")
    if name not in PLACES:
        known = map(typed_as, all_places())
        raise UsageError(f"--on {text}: there is no place '{name}'; there is {', '.join(known)}")
    place = load_place(name)
    if place.argument and not argument:
        raise UsageError(f"--on {text}: say which {place.argument}: --on {name}:{place.argument}")
    if argument and not place.argument:
        raise UsageError(f"--on {text}: '{name}' takes nothing after a colon")
    return place, argument
