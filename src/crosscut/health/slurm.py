"""What crosscut health asks of Slurm: states of nodes, idle nodes to itself for a while, drain and resume."""

from __future__ import annotations

import contextlib
import math
import os
import select
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

from crosscut.base import process_group
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.base.node_sets import folded
from crosscut.health.decide import Decision, NodeState, Verb, reason

HELD_AS = "crosscut-health"
"""Name of the job that holds nodes."""
_ANSWER_SECONDS = 20.0
_HELD = b"held\n"
_HOLDING = "echo held; exec cat"
_PATIENCE_SECONDS = 5


class SlurmSilent(CrosscutError):
    """Slurm did not answer, or refused."""


class SlurmRefused(SlurmSilent):
    """Slurm answered that it will not do what was asked."""


class NotFree(CrosscutError):
    """Nodes that were idle have been taken meanwhile."""


@dataclass(frozen=True)
class Slurm:
    """`partition`, `reservation`: where to look for idle nodes; empty: anywhere."""

    partition: str = ""
    reservation: str = ""

    def nodes(self) -> list[NodeState]:
        words = ["sinfo", "--noheader", "--Node", "--format=%N|%T|%E"]
        if self.partition:
            words.append(f"--partition={self.partition}")
        found: dict[str, NodeState] = {}
        for line in _ask(words).splitlines():
            name, state, why = [*line.split("|", 2), "", ""][:3]
            found.setdefault(name, NodeState(name, state.strip().lower(), why.strip()))
        if not found:
            if self.partition:
                raise UsageError(f"--partition {self.partition}: it has no node")
            raise SlurmSilent("sinfo names no node")
        if self.reservation:
            words = ["scontrol", "show", "reservation", "--oneliner", self.reservation]
            try:
                mine = set(expanded(_field(_ask(words), "Nodes")))
            except SlurmRefused as error:
                raise UsageError(f"--reservation {self.reservation}: {error}") from error
            return [_in_reservation(one) for name, one in found.items() if name in mine]
        return list(found.values())

    @contextmanager
    def holding(self, nodes: Sequence[str], seconds: float) -> Iterator[None]:
        """Keeps idle nodes to itself: nobody else's job starts there. Raises NotFree if one is idle no more.

        The nodes are given back when this process ends, however it ends.
        """
        if not nodes:
            yield
            return
        minutes = 1 + math.ceil(seconds / 60)
        words = ["salloc", "--quiet", f"--immediate={_PATIENCE_SECONDS}", "--exclusive",
                 f"--job-name={HELD_AS}", f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}",
                 f"--time={minutes}"]  # fmt: skip
        words += [
            f"--{name}={value}" for name in ("partition", "reservation") if (value := getattr(self, name))
        ]
        held = _start([*words, "sh", "-c", _HOLDING])
        assert held.stdin is not None
        assert held.stdout is not None
        try:
            ready, _, _ = select.select([held.stdout], [], [], _ANSWER_SECONDS)
            if not ready or held.stdout.readline() != _HELD:
                held.terminate()
                _, said = held.communicate()
                last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no answer"]
                raise NotFree(f"{folded(nodes)}: not idle any more, or not to be had: {last[0]}")
            yield
        finally:
            with contextlib.suppress(OSError):
                held.stdin.close()
            try:
                held.wait(_ANSWER_SECONDS)
            except subprocess.TimeoutExpired:
                held.kill()
                held.wait()
            held.stdout.close()
            if held.stderr is not None:
                held.stderr.close()

    def carry_out(self, decision: Decision) -> None:
        """Drains or resumes a node. Raises SlurmSilent if Slurm does not."""
        change = (
            ["State=RESUME"]
            if decision.verb is Verb.RESUME
            else ["State=DRAIN", f"Reason={reason(decision)}"]
        )
        _ask(["scontrol", "update", f"NodeName={decision.node}", *change])


def _in_reservation(node: NodeState) -> NodeState:
    """A node of the reservation that is asked for is free if nothing runs on it."""
    idle = node.word in ("reserved", "maint", "resv")
    return NodeState(node.name, "idle", node.reason) if idle and node.answers else node


@dataclass(frozen=True)
class JobContext:
    """The job for which Slurm runs this as a prolog or epilog."""

    number: str
    is_prolog: bool
    nodes: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.nodes[0] if self.nodes else ""


def context(environment: Mapping[str, str] = os.environ) -> JobContext | None:
    """Returns the job whose prolog or epilog this is; None if it is neither."""
    where = environment.get("SLURM_SCRIPT_CONTEXT", "")
    if where not in ("prolog_slurmd", "epilog_slurmd"):
        return None
    names = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST", "")
    number = environment.get("SLURM_JOB_ID", "")
    return JobContext(number, where == "prolog_slurmd", tuple(expanded(names)))


@dataclass(frozen=True)
class JobsThere:
    """Jobs by node."""

    numbers: frozenset[str] = field(default_factory=frozenset)
    names: frozenset[str] = field(default_factory=frozenset)


def jobs_on(nodes: Sequence[str]) -> dict[str, JobsThere]:
    """Returns the jobs on each of these nodes, with those that are about to begin or end."""
    listed = _ask(["squeue", "--noheader", f"--nodelist={','.join(nodes)}", "--states=R,CF,CG,S,SO",
                   "--format=%A|%N|%j"])  # fmt: skip
    found: dict[str, JobsThere] = {node: JobsThere() for node in nodes}
    for line in listed.splitlines():
        number, names, name = [*line.strip().split("|", 2), "", ""][:3]
        for node in expanded(names):
            if node in found:
                there = found[node]
                found[node] = JobsThere(there.numbers | {number}, there.names | {name})
    return found


def expanded(names: str) -> list[str]:
    """Returns the nodes of Slurm's notation, `n[0-3,7]`."""
    try:
        return list(NodeSet(names, resolver=RESOLVER_NOGROUP)) if names and names != "(null)" else []
    except NodeSetException as error:
        raise SlurmSilent(f"Slurm names nodes in a way that cannot be understood: {names!r}") from error


def _field(line: str, name: str) -> str:
    """Returns a value of `scontrol show --oneliner`."""
    return next((word.partition("=")[2] for word in line.split() if word.startswith(f"{name}=")), "")


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return process_group.start(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise SlurmSilent(f"{words[0]} cannot be started: {error.strerror}") from error


def _ask(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, timeout=_ANSWER_SECONDS, check=False)
    except OSError as error:
        raise SlurmSilent(f"{words[0]} cannot be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmSilent(
            f"Slurm does not answer: {words[0]} took more than {_ANSWER_SECONDS:g} s"
        ) from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).decode("utf-8", "replace").splitlines()
        raise SlurmRefused(f"`{shlex.join(words[:2])}` failed: {said[-1] if said else 'it gives no reason'}")
    return done.stdout.decode("utf-8", "replace")
