"""Ranks as processes of this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from crosscut.base import units
from crosscut.base.errors import UsageError
from crosscut.places import base, mpi, room
from crosscut.run.realm import Realm

_MOST_PROCESSES = 4096


class LocalPlace(base.Place):
    name = "local"
    help = "processes on this machine, each pinned to a core of its own if there are enough"
    realm = Realm.HERE
    starts_mpi = True
    one_each_as = "local:N"

    def runs(self, backend: str) -> bool:  # noqa: ARG002  # the simulator, too: all ranks are one process
        return True

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        return base.ranks_here()

    def start(self, options: base.PlaceOptions) -> base.Launched:
        if options.backend != Realm.SIMULATED:
            room.refuse_more(options.ranks)
        return base.spawn([options.executable, "node"], base.configuration(options, self.name, "127.0.0.1"))

    def mpi_site(self, launch: base.MpiLaunch) -> AbstractContextManager[base.MpiSite]:
        return nullcontext(mpi.LauncherSite(launch))

    def one_each(self, argument: str, folder: Callable[[], Path]) -> base.OneEach:  # noqa: ARG002
        """Lets processes, as many as the argument says, stand for nodes."""
        if (processes := units.whole(argument, 2, _MOST_PROCESSES)) is None:
            raise UsageError(
                f"--on local:{argument}: say how many processes, from 2 to {_MOST_PROCESSES}: local:4 (one "
                "reads, three write)"
            )
        return base.OneEach("", processes)


PLACE = LocalPlace()
