"""Ranks on the nodes of a Slurm allocation: the current one, or one that salloc gets.

srun starts one `crosscut-core node` per node and copies its standard input to all of them: the session's
first line with the ranks by node (`layout`); then, when rank 0 listens, a line with its address. The secret
thus travels in Slurm's own authenticated messages, never on a command line.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crosscut.base import programs
from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import HostEntry, share_out
from crosscut.base.job import Event
from crosscut.places import base, mpi
from crosscut.places.launchers import waiting_for_slurm

_COUNT = re.compile(r"([0-9]{1,7})(?:\(x([0-9]{1,6})\))?")
_NODES_WORD = re.compile(r"(?:--nodes=|-N=?)(0{0,5}[1-9][0-9]{0,5})")
CONTROLLER_SECONDS = 5


@dataclass(frozen=True)
class Allocation:
    """The current allocation, from Slurm's environment."""

    node_list: str
    tasks: tuple[int, ...]
    """Tasks requested, by node."""
    cpus: tuple[int, ...]
    """Cores allocated, by node."""


def parse_counts(text: str) -> tuple[int, ...]:
    """Parses `4(x2),3` as 4, 4, 3. Raises ValueError."""
    counts: list[int] = []
    for part in text.split(","):
        if (found := _COUNT.fullmatch(part)) is None:
            raise ValueError(f"'{text}' is not a list of counts such as 4(x2),3")
        counts += [int(found.group(1))] * int(found.group(2) or 1)
    return tuple(counts)


def allocation(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """Returns the current allocation, or None. Raises PlaceError if the environment makes no sense."""
    if "SLURM_JOB_ID" not in environment:
        return None
    try:
        nodes = int(environment["SLURM_JOB_NUM_NODES"])
        cpus = parse_counts(environment.get("SLURM_JOB_CPUS_PER_NODE") or f"1(x{nodes})")
        tasks = parse_counts(environment.get("SLURM_TASKS_PER_NODE") or f"1(x{nodes})")
    except (KeyError, ValueError) as error:
        raise PlaceError(
            f"Slurm's environment (SLURM_JOB_ID is set) cannot be understood: {error}"
        ) from error
    if len(cpus) != nodes:
        raise PlaceError(f"SLURM_JOB_CPUS_PER_NODE names {len(cpus)} nodes, SLURM_JOB_NUM_NODES {nodes}")
    if len(tasks) != nodes:  # inside `srun --pty` the variable is that step's, not the job's
        tasks = (1,) * nodes
    return Allocation(environment.get("SLURM_JOB_NODELIST", ""), tasks, cpus)


def layout_in(found: Allocation, ranks: int) -> list[int]:
    """Returns ranks by node, spread as evenly as the tasks allow; with too few tasks, as the cores allow."""
    slots = found.tasks if ranks <= sum(found.tasks) else found.cpus
    if ranks > sum(slots):
        raise PlaceError(
            f"{ranks} ranks do not fit this allocation: {len(slots)} nodes with {sum(slots)} cores; "
            "ask Slurm for more (--nodes, --ntasks-per-node) or give a smaller -n"
        )
    hosts = [HostEntry(str(node), count) for node, count in enumerate(slots) if count > 0]
    return [share.count for share in share_out(ranks, hosts)]


def nodes_asked(words: Sequence[str]) -> int | None:
    """Returns the number of nodes in Slurm's options: `--nodes=4`, `-N4`, `-N 4`; None if they name none."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in ("--nodes", "-N"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    for word in joined:
        if found := _NODES_WORD.fullmatch(word):
            return int(found.group(1))
        if word.startswith(("--nodes", "-N")):
            raise UsageError(f"{word}: crosscut needs a single number of nodes, such as --nodes=4")
    return None


def layout_outside(ranks: int, words: Sequence[str]) -> list[int]:
    """Returns ranks by node for an allocation to be requested: one per node, or as the options say."""
    nodes = nodes_asked(words) or ranks
    if nodes > ranks:
        raise UsageError(
            f"--nodes={nodes} with {ranks} ranks would leave nodes without a rank; give -n {nodes}"
        )
    return [ranks // nodes + (1 if node < ranks % nodes else 0) for node in range(nodes)]


def srun_command(layout: Sequence[int], name: str) -> list[str]:
    """Returns the command for one `node` process per node, free to use all cores allocated there."""
    nodes = len(layout)
    return [
        "srun",
        f"--job-name={name}",
        f"--nodes={nodes}",
        f"--ntasks={nodes}",
        "--ntasks-per-node=1",
        "--distribution=block",
        "--cpu-bind=none",
        "--overlap",
        "--mpi=none",
        "--kill-on-bad-exit=0",  # rank 0 decides whether to go on without a node
    ]


def salloc_command(layout: Sequence[int], words: Sequence[str], name: str) -> list[str]:
    asked = [] if nodes_asked(words) is not None else [f"--nodes={len(layout)}"]
    return ["salloc", "--quiet", f"--job-name={name}", *words, *asked, f"--ntasks-per-node={max(layout)}"]


def cancel(name: str) -> None:
    """Ends this user's steps and jobs of that name. A killed srun leaves its step running, because slurmstepd
    waits for it to come back."""
    for steps in (["--steps"], []):
        listed = programs.said(["squeue", "--noheader", "--me", *steps, "--format=%i %j"])
        ids = [words[0] for line in listed.splitlines() if (words := line.split()) and words[-1] == name]
        if ids:
            programs.said(["scancel", *ids])


def second_host(node_list: str) -> str:
    """Returns the second host, towards which rank 0's node chooses its address; empty if there is none."""
    names = programs.said(["scontrol", "show", "hostnames", node_list]).split()
    return names[1] if len(names) > 1 else ""


class SlurmPlace(base.Place):
    name = "slurm"
    help = "nodes of the current Slurm allocation, or of a new one from salloc; started by srun"
    takes_batch_jobs = True
    ranks_over_mpi = True
    starts_mpi = True
    one_each_as = "slurm"

    def available(self) -> str | None:
        if shutil.which("srun") is None:
            return "srun was not found; on a Slurm cluster, load Slurm's module"
        if "SLURM_JOB_ID" not in os.environ and shutil.which("salloc") is None:
            return "salloc was not found; start crosscut within an allocation"
        return None

    def condition(self) -> base.PlaceCondition:
        """Also asks whether a controller answers, because the programs alone do not make a cluster."""
        if (reason := self.available()) is not None:
            return base.PlaceCondition(False, self.help, reason)
        try:
            said = subprocess.run(
                ["scontrol", "ping"], capture_output=True, timeout=CONTROLLER_SECONDS, check=False
            )
        except OSError:
            reason = "no scontrol here to ask whether a controller answers"
            return base.PlaceCondition(None, self.help, reason)
        except subprocess.TimeoutExpired:
            status, text = 1, f"no answer in {CONTROLLER_SECONDS} s"
        else:
            status, text = said.returncode, (said.stdout + said.stderr).decode("utf-8", "replace")
        if status == 0 and "UP" in text.split():
            return base.PlaceCondition(True, self.help)
        # `scontrol ping` says "Slurmctld(primary) at host is DOWN", or what is wrong with the configuration.
        words = (text.strip().splitlines() or ["nothing"])[-1].strip()[:200]
        return base.PlaceCondition(
            False,
            "installed, but no controller answers",
            f"'scontrol ping' says: {words}\nstart crosscut on a machine of the cluster, or ask its admins",
        )

    def default_ranks(self, argument: str, own: Mapping[str, object]) -> int:  # noqa: ARG002
        """Returns the allocation's tasks, but at least 2; without one, 2: one on each of two nodes."""
        found = allocation()
        return max(2, sum(found.tasks)) if found else 2

    def start(self, options: base.PlaceOptions) -> base.Launched:
        if options.over_mpi:
            return mpi.PLACE.start(replace(options, launcher=options.launcher or "srun"))
        found = allocation()
        line = base.configuration(options, self.name, "auto")
        name = f"crosscut-{secrets.token_hex(4)}"
        if found is not None:
            if nodes_asked(options.launcher_arguments) is not None:
                raise UsageError(
                    "--nodes: the allocation's nodes are already fixed; use -n to choose the number of ranks"
                )
            layout = layout_in(found, options.ranks)
            command = [*srun_command(layout, name), *options.launcher_arguments]
            if len(layout) > 1 and (towards := second_host(found.node_list)):
                line["towards"] = towards
        else:
            layout = layout_outside(options.ranks, options.launcher_arguments)
            allocate = salloc_command(layout, options.launcher_arguments, name)
            command = [*allocate, *srun_command(layout, name)]
        core = options.core_path or str(options.executable.absolute())
        line |= {"layout": layout, "launcher": "slurm"}
        step = _Step([*command, core, "node"], name, len(layout))
        if lab := lab_around():
            return _spawn_in_lab(step, line, lab, max(layout))
        return _spawn(step, line, base.Hooks())

    def mpi_site(self, launch: base.MpiLaunch) -> contextlib.AbstractContextManager[base.MpiSite]:
        return contextlib.nullcontext(mpi.LauncherSite(launch, default_launcher="srun", is_here=False))

    def one_each(self, argument: str, folder: Callable[[], Path]) -> base.OneEach:  # noqa: ARG002
        """Uses the nodes of the current allocation, which do not change meanwhile."""
        found = allocation()
        if found is None:
            raise UsageError("--on slurm: this needs an allocation (salloc); there is none here")
        return base.OneEach("", len(found.tasks))


@dataclass(frozen=True)
class _Step:
    command: Sequence[str]
    name: str
    tasks: int


def _spawn(step: _Step, first_line: Mapping[str, object], further: base.Hooks) -> base.Launched:
    """Starts the command, and tells all nodes rank 0's address. Leaves no step behind if srun is killed.

    `further`: hooks that are called, too.
    """

    def tell(event: Event) -> None:
        further.observe(event)
        stdin = launched.process.stdin
        if event["event"] == "listening" and stdin is not None:
            # If the step has ended meanwhile, the session reports that, with its standard error.
            with contextlib.suppress(OSError, ValueError):
                stdin.write(json.dumps({"conductor": event["address"]}).encode() + b"\n")
                stdin.flush()

    def release() -> None:
        if (launched.process.returncode or 0) < 0:
            cancel(step.name)
        further.release()

    # salloc reads no input while it waits for nodes: it would wait on, for nobody.
    hooks = replace(further, observe=tell, release=release, waiting=waiting_for_slurm(step.tasks))
    launched = base.spawn(step.command, first_line, hooks, ends_with_us=step.command[0] == "salloc")
    return launched


def lab_around() -> str:
    """Returns the lab on whose nodes this Slurm runs; empty if it is a real cluster."""
    from crosscut.lab import state
    from crosscut.lab.slurm import configuration

    return configuration.lab_of(os.environ.get("SLURM_CONF", ""), state.root())


def _spawn_in_lab(step: _Step, line: Mapping[str, object], lab: str, each: int) -> base.Launched:
    """Starts the command in a lab as the place `lab` does: over its links, by ranks that outnumber the cores,
    and watched."""
    from crosscut.places import lab as lab_place

    interfaces, hooks = lab_place.watching(lab, each)
    try:
        interface = line["interface"] if line["interface"] != "auto" else interfaces
        return _spawn(step, {**line, "interface": interface, "pin": False, "oversubscribed": True}, hooks)
    except BaseException:
        hooks.release()
        raise


PLACE = SlurmPlace()
