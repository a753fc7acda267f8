"""The life of a lab: built completely or not at all, and removable from any state."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.lab import enter, holder, removal, state
from crosscut.lab.plan import addresses, management
from crosscut.lab.plan.plan import LabPlan, plan
from crosscut.lab.plan.unlike import differences
from crosscut.lab.slurm import daemons
from crosscut.lab.switch import program
from crosscut.network import paths, switch_choice

# Programs that enter nodes; from util-linux, except sh.
PROGRAMS = ("nsenter", "unshare", "mount", "sh")


@dataclass(frozen=True)
class Choices:
    """The caller's choices besides the network."""

    name: str | None = None
    """None: named after the network."""
    dilation: float = 1.0
    exact: bool = False
    """Refuse a network from which the lab would differ."""
    owner: state.Process | None = None
    switch: str = switch_choice.KERNEL
    """As typed: see switch_choice.py."""
    slurm: bool = False
    """Run Slurm on the nodes."""


def unavailable() -> str | None:
    """Returns why no lab can be built here, or None if one can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not found; install util-linux"
    try:
        import pyroute2  # noqa: F401
    except ImportError:
        return "the Python package pyroute2 is not installed; pip install 'pyroute2>=0.9'"
    if os.geteuid() != 0 and not Path("/proc/self/ns/user").exists():
        return "not root, and this kernel has no user namespaces"
    return None


def up(file: str, choices: Choices) -> state.Record:
    """Builds a lab; a failure leaves nothing behind."""
    if (reason := unavailable()) is not None:
        raise CrosscutError(f"no lab can be built: {reason}")
    document = paths.ask(file)
    described = paths.parse(document)
    switch = switch_choice.parse(choices.switch)
    in_kernel = switch.in_kernel
    if not in_kernel and (reason := program.unavailable()):
        raise program.UserSwitchError(
            f"--switch {choices.switch}: {reason}; --switch kernel works without it"
        )
    made = plan(described, choices.dilation, shaped=in_kernel, queues=switch.queues)
    switch_choice.refuse_small_buffer(switch, made.frames.bundle_bytes(1))
    unlike = differences(described, made, len(os.sched_getaffinity(0)), in_kernel=in_kernel)
    if choices.exact and unlike:
        raise UsageError(f"--exact: a lab of {file} would differ from it: " + "; ".join(unlike))
    name = state.checked_name(_as_name(described.name) if choices.name is None else choices.name)
    if choices.slurm:
        daemons.refuse(made, state.folder(name))
    _clear_behind_killed_runs()
    with state.locked(name, make=True) as folder:
        _refuse_second(name)
        try:
            removal.clear(folder, _holder_of(name))
            record = state.Record(
                name=name,
                network=file,
                dilation=choices.dilation,
                switch=choices.switch,
                description=Path(described.file).read_text(encoding="utf-8"),
                unlike=unlike,
                owner=choices.owner,
            )
            state.write(record)
            return _build(record, made, document, folder, slurm=choices.slurm)
        except BaseException:
            _remove(name, folder)
            raise


def _build(
    record: state.Record, made: LabPlan, document: dict[str, object], folder: Path, *, slurm: bool
) -> state.Record:
    from crosscut.lab.kernel import build  # imports pyroute2

    start = time.monotonic()
    state.write_network(record.name, document)
    names = [(addresses.ip(host, 0), name) for host, name in enumerate(made.hosts)]
    if slurm:
        names.append((management.login_address(), management.LOGIN))
    (folder / "hosts").write_text(enter.hosts_file(names), encoding="ascii")
    if holder.needed():
        keeper = holder.start(lambda keeper: state.write(replace(record, holder=keeper)))
        record = replace(record, holder=keeper)
    if switch_choice.parse(record.switch).in_kernel:
        holder.inside(record, partial(build.build, made, folder))
    else:
        holder.inside(record, partial(build.spaces, made, folder))
        process = program.start(record, folder, made, Path(str(document["file"])))
        record = replace(record, switch_process=process)
        state.write(record)
        holder.inside(record, partial(build.nodes, made, folder, shaped=False))
    if slurm:
        cores = len(os.sched_getaffinity(0))
        ranks = [host.ranks for host in paths.parse(document).hosts]
        record = daemons.start(record, folder, made, [max(cores, count) for count in ranks])
    script = folder / "enter"
    script.write_text(enter.script(record, folder), encoding="utf-8")
    script.chmod(0o755)
    record = replace(
        record, condition="up", settings=build.SETTINGS, seconds_to_build=time.monotonic() - start
    )
    state.write(record)
    return record


def _clear_behind_killed_runs() -> None:
    """Takes down labs that were built for one run whose process is gone."""
    for name in state.names():
        with contextlib.suppress(CrosscutError, OSError):  # broken, or another process clears it
            owner = state.read(name).owner
            if owner is not None and not owner.alive():
                down(name)


def down(name: str) -> list[str]:
    """Takes a lab down, even one that is broken, half built or half removed.

    Returns sentences about processes left alone: the record names them, but they are not in the lab.
    """
    with state.locked(name) as folder:
        with contextlib.suppress(CrosscutError, OSError):
            # Tells a measurement on this lab why its ranks end (`is_gone`).
            state.write(replace(state.read(name), condition="leaving"))
        return _remove(name, folder)


def _remove(name: str, folder: Path) -> list[str]:
    keeper = _holder_of(name)
    named = [keeper] if keeper else []
    with contextlib.suppress(CrosscutError, OSError):
        named += state.read(name).helpers()
    removal.remove(folder, keeper)  # ends every process in the lab
    strangers = []
    for process in named:
        if process.alive():
            strangers.append(
                f"process {process.pid}, which lab {name} named as its own, is not in it and was left alone"
            )
        else:
            process.reap()
    return strangers


def why_busy(name: str) -> str:
    """Returns a clause about the runs under way, which would lose their lab; empty if there is none."""
    with contextlib.suppress(CrosscutError):  # a broken record names no owner
        owner = state.read(name).owner
        if owner is not None and owner.alive():
            return f"process {owner.pid} built it for a run and will take it down afterwards"
    pids = [str(process.pid) for process in state.measuring(name)]
    if not pids:
        return ""
    several = len(pids) > 1
    return (
        f"{'runs are' if several else 'a run is'} under way on it (process{'es' * several} {', '.join(pids)})"
    )


def is_gone(name: str) -> bool:
    """True if the lab was taken down or is being taken down."""
    try:
        return state.read(name).condition == "leaving"
    except CrosscutError:
        return True


def plan_of(record: state.Record) -> LabPlan:
    """Recomputes the plan that a lab was built from."""
    switch = switch_choice.parse(record.switch)
    described = paths.parse(state.read_network(record.name))
    return plan(described, record.dilation, shaped=switch.in_kernel, queues=switch.queues)


def _refuse_second(name: str) -> None:
    """Raises CrosscutError if the lab is up, or may be. The remains of a crash may be removed."""
    try:
        condition = state.read(name).condition
    except state.OtherVersionError:
        raise
    except CrosscutError:
        return
    if condition == "up":
        raise UsageError(
            f"lab {name} is already up; take it down with crosscut lab down {name}, or choose another --name"
        )


def _holder_of(name: str) -> state.Process | None:
    """The holder of a lab; None if it has none or its record is broken."""
    with contextlib.suppress(CrosscutError):
        return state.read(name).holder
    return None


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:64].lstrip("._-") or "lab"


def name_of(argument: str) -> str:
    """Finds a lab by its name or by the network that it was built from; empty if there is none."""
    if state.exists(argument):
        return argument
    stem = _as_name(Path(argument).name.removesuffix(".toml"))
    return stem if state.exists(stem) and state.read(stem).network == argument else ""


def for_one_run(argument: str, switch: str = switch_choice.KERNEL, dilation: float = 1.0) -> Choices:
    """Choices for a lab whose name no other has, and which this process takes down."""
    stem = _as_name(Path(argument).name.removesuffix(".toml"))
    name = f"{stem[:48]}-{os.getpid()}"
    return Choices(name=name, dilation=dilation, owner=state.this_process(), switch=switch)


def taking_down(record: state.Record) -> Callable[[], None]:
    def release() -> None:
        with contextlib.suppress(UsageError):  # already taken down
            down(record.name)

    return release
