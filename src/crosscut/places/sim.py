"""Ranks on a network that is described, not built: one process computes what all of them would do."""

from __future__ import annotations

from crosscut.network import description
from crosscut.places.base import Launched, PlaceOptions, configuration, spawn


class SimPlace:
    name = "sim"
    help = "hosts of a described network, computed under a virtual clock (crosscut network list)"
    argument = "NETWORK"

    def available(self) -> str | None:
        return None

    def default_ranks(self, argument: str) -> int:
        """All hosts of the network, with as many ranks on each as it says."""
        return self.ranks(argument, 0)

    def ranks(self, argument: str, ranks_per_host: int) -> int:
        return description.ranks(argument, ranks_per_host)

    def start(self, options: PlaceOptions) -> Launched:
        line = configuration(options, self.name, "127.0.0.1")
        line["network"] = options.argument
        if options.ranks_per_host:
            line["ranks_per_host"] = options.ranks_per_host
        return spawn([options.executable, "node"], line, environment=description.environment())


PLACE = SimPlace()
