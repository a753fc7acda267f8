"""Ranks on a network that is only described: one process computes what all of them would do."""

from __future__ import annotations

from collections.abc import Mapping

from crosscut.network import description
from crosscut.places import base
from crosscut.run.realm import Realm


class SimPlace(base.Place):
    name = "sim"
    help = "hosts of a described network (crosscut network list), simulated under a virtual clock"
    argument = "NETWORK"
    realm = Realm.SIMULATED
    default_backend = "sim"
    options = (base.RANKS_PER_HOST,)
    unused = ("interface", "control_interface", "launcher", "launcher_arguments", "core_path")

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:
        """Returns the number of hosts times the ranks on each, as typed or as the network says."""
        return description.ranks(argument, base.ranks_per_host(own))

    def start(self, options: base.PlaceOptions) -> base.Launched:
        line = base.configuration(options, self.name, "127.0.0.1")
        line["network"] = options.argument
        if each := base.ranks_per_host(options.own):
            line["ranks_per_host"] = each
        return base.spawn([options.executable, "node"], line, environment=description.environment())


PLACE = SimPlace()
