"""Places where copies can be made: those for measuring, with one rank per node and the source first."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.places import all_places
from crosscut.places.base import Place
from crosscut.session.measure import Decided, Launch, decide

# Stands in place of a backend and makes the session a copying one (core/src/commands/node_main.cpp).
BACKEND = "clone"


def names() -> list[str]:
    """Returns the places as typed after `--on`."""
    return [place.one_each_as for place in all_places() if place.one_each_as]


def find(on: str) -> tuple[Place, str]:
    """Returns the place and its argument. Raises UsageError if copies cannot be made there."""
    name, _, argument = on.partition(":")
    for place in all_places():
        if place.name == name and place.one_each_as:
            return place, argument
    raise UsageError(f"--on {on}: copies can be made on {', '.join(names())}")


@contextlib.contextmanager
def decided(launch: Launch) -> Iterator[Decided]:
    """Decides how to start the ranks. Its files exist inside the context. Raises UsageError if it cannot."""
    place, argument = find(launch.on)
    with contextlib.ExitStack() as kept:

        def folder() -> Path:
            return Path(kept.enter_context(tempfile.TemporaryDirectory(prefix="crosscut-clone-")))

        each = place.one_each(argument, folder)
        on = f"{place.name}:{each.argument}" if each.argument else place.name
        nodes = replace(launch, on=on, ranks=each.ranks, backend="tcp", own={**launch.own, **each.own})
        found = decide(core.load(), nodes)
        yield replace(found, options=replace(found.options, backend=BACKEND))
