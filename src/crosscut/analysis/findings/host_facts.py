"""Facts about hosts besides rates: gains of counters, TCP retransmissions, settings, and other traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from crosscut.analysis.findings import counters, lossy_hosts, other_traffic, settings
from crosscut.analysis.findings.counters import Gained
from crosscut.analysis.findings.lossy_hosts import Losses
from crosscut.analysis.findings.model import Finding
from crosscut.analysis.findings.other_traffic import Traffic
from crosscut.analysis.findings.settings import Settings
from crosscut.run.run import Run


@dataclass(frozen=True)
class HostFacts:
    """Facts by node."""

    gained: Mapping[str, Gained] = field(default_factory=dict)
    settings: Mapping[str, Settings] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)
    traffic: Mapping[str, Traffic] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> HostFacts:
        about = run.attributes
        losses, traffic = Losses.of(about, run.node_names), other_traffic.of(about, run.node_names)
        return cls(counters.gained(about), settings.of_nodes(about), losses, traffic)

    def __add__(self, later: HostFacts) -> HostFacts:
        """Joins the facts of two runs of one session."""
        return HostFacts(
            counters.added(self.gained, later.gained), {**self.settings, **later.settings},
            self.losses + later.losses, other_traffic.added(self.traffic, later.traffic),
        )  # fmt: skip

    def tied(
        self, found: Sequence[Finding], nodes: Sequence[str], *, is_limited: bool = False
    ) -> list[Finding]:
        """Returns the findings, with the facts about their hosts added, and findings from facts alone.

        `nodes`: [rank] name. `is_limited`: the emulating machine was the bottleneck.
        """
        gained = self.gained
        if self.losses.again:  # counted by connection: a host's total may be another host's fault
            gained = {name: replace(node, retransmitted=0) for name, node in gained.items()}
        sound = other_traffic.tied(found, self.traffic, nodes)
        told = lossy_hosts.tied(sound, self.losses, nodes, is_limited=is_limited)
        return settings.tied(counters.tied(told, gained, nodes), self.settings, nodes)
