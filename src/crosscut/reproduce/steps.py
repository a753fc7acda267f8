"""Steps of an experiment that are no run of a pattern alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from crosscut.base.errors import SessionError
from crosscut.lab import state
from crosscut.lab.walk import walk as walking
from crosscut.network import paths
from crosscut.places import find_place
from crosscut.reproduce.experiment import Series
from crosscut.run.realm import Realm

WALK_SECONDS = 120.0
_SHOWN = 5


def walk(series: Series, on: str) -> tuple[float, ...]:
    """Routes by nodes that forward on the way, for each number that the series names: traced on a lab, else
    counted in the computed tables."""
    place, argument = find_place(on)
    by_gateways = _traced(argument) if place.realm is Realm.EMULATED else counted(argument)
    return tuple(float(by_gateways.get(int(number), 0)) for number in series.x)


def counted(network: str) -> Mapping[int, int]:
    return Counter(len(way) - 1 for way in walking.computed(paths.load(network)).values())


def _traced(lab: str) -> Mapping[int, int]:
    walked = walking.walk(state.read(lab), "", "", WALK_SECONDS)
    if walked.unlike or walked.not_walked:
        # Whatever is measured next would not be on the network of the file.
        said = [walking.sentence(one) for one in walked.unlike[:_SHOWN]]
        raise SessionError(
            "\n  ".join(
                [f"{len(walked.unlike)} routes are not as computed, {walked.not_walked} not walked", *said]
            )
        )
    return walked.by_gateways()
