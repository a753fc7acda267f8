"""Ranks as processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping

from crosscut.places.base import Launched, Place, PlaceOptions, configuration, spawn
from crosscut.run.realm import Realm

# More ranks than this say little more about one machine's own paths.
MOST_DEFAULT_RANKS = 8


def cores() -> int:
    """Cores that this process may use (an affinity mask or a batch system may leave fewer than there are)."""
    return len(os.sched_getaffinity(0))


class LocalPlace(Place):
    name = "local"
    help = "processes on this machine, each pinned to a core while there are enough"
    realm = Realm.HERE

    def runs(self, backend: str) -> bool:  # noqa: ARG002  # the simulator, too: all ranks are one process
        return True

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        """A rank a core, between 2 and 8."""
        return max(2, min(cores(), MOST_DEFAULT_RANKS))

    def start(self, options: PlaceOptions) -> Launched:
        return spawn([options.executable, "node"], configuration(options, self.name, "127.0.0.1"))


PLACE = LocalPlace()
