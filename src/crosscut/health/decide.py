"""Decides, from all searches and the nodes' present states, which nodes to drain and which to resume.

Pure functions. Whatever Slurm or a person drained is left alone: crosscut resumes only nodes whose reason
begins with its own word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from crosscut.base import units
from crosscut.health.ledger import HealthSearch, NodeFault
from crosscut.health.policy import HealthAction, Policy, Severity

PREFIX = "crosscut: "
"""Begins the reason of every node that crosscut drained."""
_LONGEST_REASON = 400


@dataclass(frozen=True)
class NodeState:
    """A node as Slurm sees it (sinfo)."""

    name: str
    state: str
    """Slurm's compact word, such as `idle`, `drained`, `down*`."""
    reason: str = ""

    @property
    def word(self) -> str:
        """The state without the marks of nodes that do not answer, boot or are powered down."""
        return self.state.rstrip("*~#!%$@^-+")

    @property
    def drained(self) -> bool:
        return self.word in ("drained", "draining", "drain", "drng")

    @property
    def own(self) -> bool:
        """True if crosscut drained it."""
        return self.drained and self.reason.startswith(PREFIX)

    @property
    def answers(self) -> bool:
        return not self.state.endswith(("*", "~", "#", "!", "%", "^", "@"))

    @property
    def free(self) -> bool:
        """True if it runs no job, and would take one."""
        return self.answers and self.word == "idle"


class Verb(Enum):
    DRAIN = "drain"
    RESUME = "resume"
    REPORT = "report"
    """A fault that the policy only reports."""
    WAIT = "wait"
    """A fault that has not been found often enough."""
    HOLD = "hold back"
    """Would be drained, if not as many nodes were drained already as may be."""
    KEEP = "keep drained"
    LEAVE = "leave alone"
    """At fault, but drained or down for another's reason."""


@dataclass(frozen=True)
class Decision:
    node: str
    verb: Verb
    says: str
    """What was found; for DRAIN also the reason that Slurm gets."""
    share: float = math.nan


def decide(
    policy: Policy, searches: Sequence[HealthSearch], nodes: Sequence[NodeState], at_most: int | None = None
) -> list[Decision]:
    """Returns what to do with each node at fault, and with each that crosscut drained; the worst first.

    `searches`: in the order of their times. `at_most`: overrides the policy's.
    """
    found = [one for node in nodes if (one := _of_node(policy, searches, node)) is not None]
    drained = sum(node.own for node in nodes) - sum(one.verb is Verb.RESUME for one in found)
    room = (policy.at_most if at_most is None else at_most) - drained
    kept = []
    for one in sorted(found, key=lambda one: (math.isnan(one.share), one.share, one.node)):
        if one.verb is Verb.DRAIN and room <= 0:
            held = (
                f"{one.says}; not drained, as crosscut keeps {units.count(drained, 'node')} drained already"
            )
            kept.append(replace(one, verb=Verb.HOLD, says=held))
            continue
        if one.verb is Verb.DRAIN:
            room, drained = room - 1, drained + 1
        kept.append(one)
    return kept


def _of_node(policy: Policy, searches: Sequence[HealthSearch], node: NodeState) -> Decision | None:
    mine = _counting(policy, searches, node.name)
    if node.own:
        return _drained_by_us(policy, mine, node)
    faults = {at: worst for at, one in enumerate(mine) if (worst := _worst(policy, one, node.name))}
    if not faults:
        return None
    rank, fault = min(faults.values(), key=_severe)
    says = _found(fault, len(faults))
    if node.drained or node.word in ("down", "fail", "failing"):
        return Decision(node.name, Verb.LEAVE, f"{says}; {node.state} already: {node.reason}", fault.share)
    for at, severity in enumerate(policy.severities):
        these = [number for number, one in faults.items() if one[0] <= at]
        nights = {mine[number].night for number in these}
        if severity.action is HealthAction.DRAIN and _enough(severity, len(these), len(nights)):
            return Decision(node.name, Verb.DRAIN, _found(fault, len(these)), fault.share)
    severity = policy.severities[rank]
    if not any(one.action is HealthAction.DRAIN for one in policy.severities[rank:]):
        return Decision(node.name, Verb.REPORT, f"{says} ({severity.name}: only reported)", fault.share)
    needed = f"{severity.searches} searches on {units.count(severity.nights, 'night')}"
    return Decision(node.name, Verb.WAIT, f"{says} ({severity.name}: drained after {needed})", fault.share)


def _drained_by_us(policy: Policy, mine: Sequence[HealthSearch], node: NodeState) -> Decision:
    sound = 0
    for one in reversed(mine):
        if one.of(node.name):
            break
        sound += 1
    if sound >= policy.sound_searches:
        return Decision(node.name, Verb.RESUME, f"sound in {units.count(sound, 'search', 'searches')}")
    words = f"sound in {sound} of {policy.sound_searches} searches that clear it; {node.reason}"
    return Decision(node.name, Verb.KEEP, words)


def _counting(policy: Policy, searches: Sequence[HealthSearch], node: str) -> list[HealthSearch]:
    """The searches that judged a node, since it was last cleared."""
    mine = [one for one in searches if node in one.sound or one.of(node)]
    streak = 0
    for at in range(len(mine) - 1, -1, -1):
        streak = 0 if mine[at].of(node) else streak + 1
        if streak >= policy.sound_searches:
            return mine[at:]
    return mine


def _worst(policy: Policy, search: HealthSearch, node: str) -> tuple[int, NodeFault] | None:
    """Returns the most severe fault of a node in a search, with its severity's place."""
    ranked = [(rank, fault) for fault in search.of(node)
              if (rank := policy.rank(fault.kind, fault.share)) is not None]  # fmt: skip
    return min(ranked, key=_severe) if ranked else None


def _severe(ranked: tuple[int, NodeFault]) -> tuple[int, float]:
    rank, fault = ranked
    return rank, fault.share if math.isfinite(fault.share) else 1.0


def _enough(severity: Severity, searches: int, nights: int) -> bool:
    return searches >= severity.searches and nights >= severity.nights


def _found(fault: NodeFault, searches: int) -> str:
    parts = [fault.says, fault.where, f"in {units.count(searches, 'search', 'searches')}"]
    return "; ".join(filter(None, parts))


def reason(decision: Decision) -> str:
    """Returns the reason that Slurm keeps: one line of printable ASCII."""
    text = "".join(one if " " <= one <= "~" else "?" for one in decision.says.replace("–", "-"))
    return (PREFIX + text)[:_LONGEST_REASON]


def acting(decisions: Sequence[Decision]) -> Iterator[Decision]:
    """The decisions that change something in Slurm: those that free nodes first."""
    yield from (one for one in decisions if one.verb is Verb.RESUME)
    yield from (one for one in decisions if one.verb is Verb.DRAIN)
