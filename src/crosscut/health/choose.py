"""Chooses the nodes of a search: never one that another's job uses, unless people ask for that."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from crosscut.base.errors import UsageError
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.spelling import hint
from crosscut.health.decide import NodeState
from crosscut.health.search import FEWEST_NODES
from crosscut.health.slurm import HELD_AS, JobContext, JobsThere

_PARTNERS = FEWEST_NODES - 1


@dataclass(frozen=True)
class Chosen:
    nodes: tuple[str, ...] = ()
    """Nodes to measure; none if there are too few."""
    hold: tuple[str, ...] = ()
    """Those of them that Slurm must keep free of jobs meanwhile."""
    why_not: str = ""
    """Why nothing is measured."""
    quiet: bool = field(default=False)
    """Nothing needs to be said about that."""


def all_idle(states: Sequence[NodeState], *, busy: bool = False) -> Chosen:
    """All idle nodes, and those that crosscut drained, which no job can use."""
    free = [one.name for one in states if one.free]
    drained = [one.name for one in states if one.own and one.answers and one.word == "drained"]
    others = [one.name for one in states if busy and one.answers and one.word in ("allocated", "mixed")]
    return _enough([*free, *drained, *others], free)


def of_job(
    mine: Sequence[str], states: Sequence[NodeState], jobs: Mapping[str, JobsThere], number: str
) -> Chosen:
    """The nodes of this job's allocation that it has for itself, and those that crosscut drained."""
    drained = [one.name for one in states if one.own and one.answers and one.word == "drained"]
    return _enough([*_alone(mine, jobs, number), *(node for node in drained if node not in mine)], [])


def around(node: str, states: Sequence[NodeState], draw: random.Random, *, busy: bool = False) -> Chosen:
    """A node that runs no job, with some idle partners."""
    here = state_of(node, states)
    can = here.free or (here.own and here.word == "drained") or busy
    if not can:
        return Chosen(
            why_not=f"{node} is {here.state}: measuring would disturb it (--busy measures it all the same)"
        )
    return _with_partners(node, states, draw, hold_it=here.free)


def in_context(
    node: str,
    states: Sequence[NodeState],
    job: JobContext,
    jobs: Mapping[str, JobsThere],
    draw: random.Random,
) -> Chosen:
    """In a prolog: nodes of the job, chosen by its first node. In an epilog: the node, with idle partners.

    In an epilog the job's other nodes may be given to another job at any moment.
    """
    if HELD_AS in jobs[node].names:
        return Chosen(quiet=True)  # the job that holds nodes for another search
    if not job.is_prolog:
        if _alone([node], jobs, job.number):
            return _with_partners(node, states, draw, hold_it=False)
        return Chosen(why_not=f"{node} runs other jobs, too")
    if node != job.first:
        return Chosen(quiet=True)
    alone = _alone(job.nodes, jobs, job.number)
    if node not in alone:
        return Chosen(why_not=f"{node} runs other jobs, too")
    partners = [one for one in alone if one != node]
    return _enough([node, *draw.sample(partners, min(_PARTNERS, len(partners)))], [])


def state_of(node: str, states: Sequence[NodeState]) -> NodeState:
    """Raises UsageError if Slurm does not know the node."""
    for one in states:
        if one.name == node:
            return one
    raise UsageError(f"{node}: Slurm has no such node{hint(node, [one.name for one in states])}")


def _alone(nodes: Sequence[str], jobs: Mapping[str, JobsThere], number: str) -> list[str]:
    """The nodes on which no job but this one is."""
    return [node for node in nodes if jobs[node].numbers <= {number}]


def _with_partners(node: str, states: Sequence[NodeState], draw: random.Random, *, hold_it: bool) -> Chosen:
    idle = [one.name for one in states if one.free and one.name != node]
    partners = draw.sample(idle, min(_PARTNERS, len(idle)))
    return _enough([node, *partners], [*([node] if hold_it else []), *partners])


def _enough(nodes: Sequence[str], hold: Sequence[str]) -> Chosen:
    if len(nodes) >= FEWEST_NODES:
        return Chosen(tuple(nodes), tuple(hold))
    there = (
        f"there {'is' if len(nodes) == 1 else 'are'} only {folded(nodes, LIST_WIDTH)}"
        if nodes
        else "there is none"
    )
    return Chosen(why_not=f"a search needs {FEWEST_NODES} nodes that run no other job, and {there}")
