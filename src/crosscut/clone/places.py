"""Where copies are made: the places of measuring, with one rank a node, and the source before all others."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.base.host_list import read_host_file
from crosscut.places.base import RANKS_PER_HOST
from crosscut.places.hosts import is_this_machine
from crosscut.places.slurm import allocation
from crosscut.session.measure import Decided, Launch, decide

PLACES = ("local:N", "hosts:FILE", "slurm", "lab:NETWORK")
# The session's, in the place of what measures (core/src/commands/node_main.cpp).
BACKEND = "clone"


@contextmanager
def decided(launch: Launch) -> Iterator[Decided]:
    """How the ranks are to be started, while inside. Raises UsageError for what cannot be had."""
    name, _, argument = launch.on.partition(":")
    if name not in {place.partition(":")[0] for place in PLACES}:
        raise UsageError(f"--on {launch.on}: copies can be made on {', '.join(PLACES)}")
    if name == "local":
        yield _decide(replace(launch, on="local", ranks=_processes(argument)))
    elif name == "hosts":
        with tempfile.TemporaryDirectory(prefix="crosscut-clone-") as folder:
            hosts = source_first([host.name for host in read_host_file(Path(argument))])
            file = Path(folder) / "hosts"
            file.write_text("".join(f"{host}\n" for host in hosts), encoding="ascii")
            yield _decide(replace(launch, on=f"hosts:{file}", ranks=len(hosts)))
    elif name == "lab":
        yield _decide(replace(launch, own={**launch.own, RANKS_PER_HOST.name: 1}))
    else:
        found = allocation()
        if found is None:
            raise UsageError(
                "--on slurm: copies need an allocation (salloc) with their nodes; there is none here"
            )
        yield _decide(replace(launch, ranks=len(found.tasks)))


def _decide(launch: Launch) -> Decided:
    found = decide(core.load(), replace(launch, backend="tcp"))
    return replace(found, options=replace(found.options, backend=BACKEND))


def _processes(argument: str) -> int:
    """Of `local:N`."""
    if not (argument.isascii() and argument.isdigit() and 2 <= int(argument[:6]) <= 4096):
        raise UsageError(
            f"--on local:{argument}: say how many processes, from 2 to 4096: local:4 (one reads, three write)"
        )
    return int(argument)


def source_first(hosts: list[str]) -> list[str]:
    """This machine, which has the source and gets no copy, then all others."""
    here = sorted(filter(is_this_machine, hosts), key=lambda host: host != "localhost")[:1] or ["localhost"]
    others = [host for host in hosts if host not in here]
    if not others:
        raise UsageError("the hosts file names no host but this one, which has the source already")
    return [*here, *others]
