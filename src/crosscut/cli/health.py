"""`crosscut health`: searches nodes of a Slurm cluster for faults, drains bad ones, resumes sound ones."""

from __future__ import annotations

import argparse
import os
import random
import shlex
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base import core, units
from crosscut.base.errors import EXIT_CODES, EXIT_FAILED, EXIT_OK, CrosscutError, UsageError
from crosscut.base.host_list import short
from crosscut.base.node_sets import LIST_WIDTH, folded
from crosscut.base.whole_file import need_folder
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import checked_words
from crosscut.cli.parsing.parser import actions, add_action, flag, option, run_action, tell, whole

if TYPE_CHECKING:
    from crosscut.health.choose import Chosen
    from crosscut.health.decide import Decision, NodeState
    from crosscut.health.judge import JudgedNodes
    from crosscut.health.policy import Policy
    from crosscut.health.search import HealthOptions
    from crosscut.health.slurm import JobContext, Slurm

EPILOG = """
examples:
  crosscut health night --dry-run            measure all idle nodes; say what would be drained
  crosscut health night --cabling cables.csv --history net.db
  crosscut health node                       this node: HealthCheckProgram, Prolog, Epilog
  crosscut health night --spec acceptance.toml --at-most 2
  crosscut health policy > health.toml       the default policy, to be changed

It needs root (or Slurm's own user), ssh to the nodes without a password, and at least four idle nodes. The
first five searches only learn what each node reaches, and drain no node. With --spec, nodes are judged from
the first search on.
More in docs/howto-health.md.
"""
LEDGER = Path("/var/lib/crosscut/health.jsonl")
_SIZE_BYTES = 1_000_000
_NIGHT_SECONDS, _NODE_SECONDS = 600.0, 20.0
# How often nodes are chosen anew because one of them was taken meanwhile.
_ATTEMPTS = 3
# Starting ranks, and asking which nodes answer.
_STARTING_SECONDS = 60.0

execute = run_action


def add_arguments(parser: argparse.ArgumentParser) -> None:
    commands = actions(parser)
    status = f"{EXIT_CODES}; a fault that was found is no failure"
    one = add_action(commands, "night", _night, "search all idle nodes, and those that crosscut drained",
                     epilog=status)  # fmt: skip
    _add_common(one, _NIGHT_SECONDS)
    one = add_action(
        commands, "node", _node, "search one node, with three idle partners or nodes of the same job",
        epilog=f"{status}. In a Prolog or Epilog always 0, since Slurm drains a node whose prolog fails",
    )  # fmt: skip
    one.add_argument("node", nargs="?", metavar="NODE", help="Node to search. Default: this one.")
    _add_common(one, _NODE_SECONDS)
    add_action(commands, "policy", _policy, "print the default policy")


def _add_common(one: argparse.ArgumentParser, seconds: float) -> None:
    group = one.add_argument_group("how to search")
    option(group, "--spec SPEC", options.folder,
           "Compare nodes with the promises of kind node in this specification, too, not only with what each "
           "of them reached in earlier searches.")  # fmt: skip
    option(group, "--size SIZE", units.parse_bytes, "Size of the messages. Default 1MB.", default=_SIZE_BYTES)
    option(group, "--time-limit TIME", units.parse_seconds,
           f"Measure for at most this long. Default {seconds:g}s.", default=seconds)  # fmt: skip
    option(group, "--interface NAME", str, "Address or interface that ranks listen on.", default="")
    option(group, "--launcher PATH", str, "What reaches the nodes in place of ssh.", default="")
    option(group, "--launcher-args WORDS", shlex.split, "Options for it.", default=[])
    option(group, "--core-path PATH", str, "Path of crosscut-core on the nodes. Default: the same as here.",
           default="")  # fmt: skip
    option(group, "--partition NAME", str, "Only nodes of this partition.", default="")
    option(group, "--reservation NAME", str, "Only nodes of this reservation.", default="")
    flag(group, "--busy", "Also measure nodes that run jobs, which this disturbs.")
    group = one.add_argument_group("what follows")
    option(group, "--policy FILE", options.folder, "Policy (TOML). Default: `crosscut health policy`.")
    option(group, "--at-most N", whole(0), "Keep at most N nodes drained. Default: as the policy says.")
    flag(
        group,
        "--dry-run",
        "Measure, but drain and resume nothing: say what would be done. The search is kept "
        "in the ledger and counts later.",
    )
    option(group, "--ledger FILE", Path,
           f"What searches found so far. Default {LEDGER}; in a lab, a file of the lab.")  # fmt: skip
    option(group, "--history DB", Path, "Add each search's run to this history. It is made if there is none.")
    option(group, "--cluster NAME", str, "Name of the cluster in the history.")
    option(group, "--keep DIR", Path, "Keep each search's run in this folder.")
    options.add_cabling(group)
    options.add_reading(group)
    flag(group, "--json", "Print one JSON object on standard output.")


def _policy(_: argparse.Namespace) -> int:
    from crosscut.health import policy

    sys.stdout.write(policy.DEFAULT.read_text(encoding="utf-8"))
    return EXIT_OK


def _night(args: argparse.Namespace) -> int:
    from crosscut.health import choose, slurm

    number = os.environ.get("SLURM_JOB_ID", "")

    def chosen(states: Sequence[NodeState]) -> Chosen:
        if not number:
            return choose.all_idle(states, busy=args.busy)
        mine = slurm.expanded(os.environ.get("SLURM_JOB_NODELIST", ""))
        return choose.of_job(mine, states, slurm.jobs_on(mine), number)

    return _searched(args, chosen)


def _node(args: argparse.Namespace) -> int:
    from crosscut.health import slurm

    job = slurm.context()
    try:
        return _searched(args, lambda states: _around(args, states, job))
    except CrosscutError as error:
        if job is None:
            raise
        print(f"crosscut: error: {error}", file=sys.stderr)
        return EXIT_OK


def _around(args: argparse.Namespace, states: Sequence[NodeState], job: JobContext | None) -> Chosen:
    from crosscut.health import choose, slurm

    draw = random.Random()  # noqa: S311  # no secret
    node = args.node or os.environ.get("SLURMD_NODENAME") or short(socket.gethostname())
    choose.state_of(node, states)
    if job is None:
        return choose.around(node, states, draw, busy=args.busy)
    there = slurm.jobs_on(list(dict.fromkeys([node, *job.nodes])))
    return choose.in_context(node, states, job, there, draw)


def _searched(args: argparse.Namespace, choose: Callable[[Sequence[NodeState]], Chosen]) -> int:
    from crosscut.health.slurm import Slurm

    args.ledger = args.ledger or _default_ledger()
    how, policy = _read(args)
    slurm = Slurm(args.partition, args.reservation)
    found, why_not, quiet = _measured(args, slurm, choose, how)
    if quiet:
        return EXIT_OK
    decisions, failures = _acted(args, policy, how.ledger)
    _tell(args, found, why_not, decisions)
    for failure in failures:
        print(f"crosscut: error: {failure}", file=sys.stderr)
    return EXIT_FAILED if failures else EXIT_OK


def _default_ledger() -> Path:
    """Nodes of a lab do not belong among those of the machine's own cluster."""
    from crosscut.lab import state
    from crosscut.places.slurm import lab_around

    lab = lab_around()
    return state.folder(lab) / LEDGER.name if lab else LEDGER


def _read(args: argparse.Namespace) -> tuple[HealthOptions, Policy]:
    """Reads all files, and tries those that will be written, before anything is measured."""
    from crosscut.analysis.compare import spec
    from crosscut.health import judge, ledger, policy
    from crosscut.health.search import HealthOptions
    from crosscut.history import database

    if args.size < 1:
        raise UsageError("--size must be at least 1 byte: a node is judged by its rate")
    chosen = policy.read(args.policy)
    promised = spec.read(args.spec) if args.spec is not None else None
    if promised is not None and not judge.of_spec(promised, []):
        raise UsageError(
            f'{args.spec}: has no promise of kind = "node" for the pattern {judge.PATTERN}, which is what a '
            "search measures; crosscut check judges the others"
        )
    if args.ledger != LEDGER:
        need_folder("--ledger", args.ledger)
    with ledger.locked(args.ledger):
        ledger.read(args.ledger)
    if args.history is not None:
        with database.writing(args.history):
            pass
    if args.keep is not None:
        need_folder("--keep", args.keep)
    how = HealthOptions(
        policy=chosen, ledger=args.ledger, size_bytes=args.size, time_limit_seconds=args.time_limit,
        metadata={"command_line": checked_words(args.words)}, spec=promised, history=args.history,
        cluster=args.cluster, cabling=options.cabling_of(args), kept=args.keep is not None,
    )  # fmt: skip
    return how, chosen


def _measured(
    args: argparse.Namespace,
    slurm: Slurm,
    choose: Callable[[Sequence[NodeState]], Chosen],
    how: HealthOptions,
) -> tuple[JudgedNodes | None, str, bool]:
    """Returns (what was found, why nothing was measured, whether nobody needs to hear of that)."""
    from crosscut.health.slurm import NotFree, SlurmSilent

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            chosen = choose(slurm.nodes())
        except SlurmSilent as error:
            raise SlurmSilent(
                f"{error}; nothing was measured. Run this on a machine of the Slurm cluster; crosscut doctor "
                "says what it finds of Slurm here"
            ) from error
        if not chosen.nodes:
            return None, chosen.why_not, chosen.quiet
        try:
            with slurm.holding(chosen.hold, how.time_limit_seconds + _STARTING_SECONDS):
                return (*_of_nodes(args, chosen.nodes, how), False)
        except NotFree as error:
            if attempt == _ATTEMPTS:
                return None, str(error), False
    return None, "", False


def _of_nodes(
    args: argparse.Namespace, nodes: Sequence[str], how: HealthOptions
) -> tuple[JudgedNodes | None, str]:
    from crosscut.health import ledger, search
    from crosscut.places.base import PlaceOptions
    from crosscut.places.named_nodes import NamedNodes, unreachable
    from crosscut.session.measure import Decided, ready_session

    known = core.load()
    asked = PlaceOptions(
        executable=known.executable, ranks=len(nodes), interface=args.interface, launcher=args.launcher,
        launcher_arguments=tuple(args.launcher_args), core_path=args.core_path,
    )  # fmt: skip
    silent = unreachable(nodes, asked)
    if silent:
        print(
            f"crosscut: {folded(silent, LIST_WIDTH)}: no command can be started there; left out",
            file=sys.stderr,
        )
        nodes = [node for node in nodes if node not in silent]
    if len(nodes) < search.FEWEST_NODES:
        there = folded(nodes, LIST_WIDTH) or "no node"
        return None, f"only {there} can be reached, and a search needs {search.FEWEST_NODES} nodes"
    nodes = search.in_order(nodes, random.Random())  # noqa: S311  # no secret
    decided = Decided(NamedNodes(nodes), "hosts", replace(asked, ranks=len(nodes)))
    with _folder(args.keep) as folder:
        out = folder / f"{ledger.now().replace(':', '')}-{os.getpid()}.zarr"
        found = search.search(lambda: ready_session(decided, lambda _: None), decided, nodes, out, how)
    return found, ""


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(exist_ok=True)
        yield keep.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="crosscut-") as temporary:
        yield Path(temporary)


def _acted(args: argparse.Namespace, policy: Policy, path: Path) -> tuple[list[Decision], list[str]]:
    """Decides from all searches and the present states, and carries it out. Returns also what failed."""
    from crosscut.health import decide, ledger
    from crosscut.health.slurm import Slurm, SlurmSilent

    slurm = Slurm()  # all nodes count against the most that may be drained
    kept = f"what the searches found is kept in {path}, and the next call acts on it"
    with ledger.locked(path):
        try:
            states = slurm.nodes()
        except SlurmSilent as error:
            return [], [f"{error}; no node was drained or resumed; {kept}"]
        decisions = decide.decide(policy, ledger.read(path), states, args.at_most)
        failures = []
        for one in () if args.dry_run else decide.acting(decisions):
            try:
                slurm.carry_out(one)
            except SlurmSilent as error:
                failures.append(f"{one.node}: {one.verb.value}: {error}; {kept}")
    return decisions, failures


def _tell(
    args: argparse.Namespace, found: JudgedNodes | None, why_not: str, decisions: Sequence[Decision]
) -> None:
    from crosscut.health.words import document, lines

    def render(screen: Any) -> None:
        for text, style in lines(found, why_not, decisions, dry_run=args.dry_run):
            screen.line(text, style)

    tell(args, lambda: document(found, why_not, decisions, dry_run=args.dry_run), render)
