"""Keys that few series need: how ranks run, and workloads that they run in place of a pattern."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Between, Key, OneOf, Table, Writing
from crosscut.network import switch_choice
from crosscut.places import smpi
from crosscut.run.realm import Realm
from crosscut.workloads import applications

APPLICATION_KEYS = ("workload", "class", "options", "compute", "base")
APPLICATION_STEP = "workload"


def _workload(name: str) -> applications.Workload:
    return applications.find([name])[0]


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:  # an unclosed quotation
        raise UsageError(str(error)) from error


def _compute(text: str) -> str:
    smpi.compute_options(text)
    return text


@dataclass(frozen=True)
class Base:
    ranks: Annotated[int, Between(1, applications.MOST_RANKS)]
    options: Annotated[tuple[str, ...], _words] | None = None
    """None: those of the series."""
    network: str = ""
    """Name of a network in the catalogue; empty: that of the series."""


@dataclass(frozen=True)
class Application:
    """A workload that a series runs in place of a pattern, its options, and the base to compare it with."""

    workload: Annotated[
        applications.Workload,
        OneOf(tuple(one.name for one in applications.WORKLOADS)),
        _workload,
    ]
    base: Base
    problem_class: Annotated[str, Key("class"), OneOf(applications.CLASSES)] = "S"
    options: Annotated[tuple[str, ...], _words] = ()
    """Further command-line words for it."""
    compute: Annotated[str, _compute] = "host"
    """How long computing takes in a simulation (see `smpi.SimulationSettings`)."""

    @property
    def base_options(self) -> tuple[str, ...]:
        return self.options if self.base.options is None else self.base.options


def _switch(text: str) -> str:
    switch_choice.parse(text)
    return text


@dataclass(frozen=True)
class SeriesSettings:
    backend: Annotated[str, OneOf(("tcp", "mpi"))] = "tcp"
    """Backend at live places."""
    switch: Annotated[str, _switch] = switch_choice.KERNEL
    """The lab's switch, as typed."""
    wait: Annotated[str, OneOf(("auto", "block", "poll"))] = "auto"
    worker: str = ""
    """Node of the lab on which a process computes beside the ranks (computing.py)."""
    application: Annotated[Application | None, Writing.SAME_TABLE] = None
    """Runs in place of a pattern (applying.py)."""

    def options(self) -> dict[str, object]:
        """Options of a live job that differ from the core's defaults."""
        return {} if self.wait == "auto" else {"wait": self.wait}


def check(
    table: Table, settings: SeriesSettings, places: tuple[Realm, ...], step: str, counts: tuple[int, ...]
) -> None:
    """Refuses settings that do not go together."""
    application = settings.application
    if (step == "computing") != bool(settings.worker):
        table.fail(
            "worker", "names a node; it is needed with 'computing left' and 'rate left', and only with these"
        )
    if settings.worker and places != (Realm.EMULATED,):
        table.fail("on", 'a worker computes on a node of a lab: on = "lab"')
    if Realm.SIMULATED in places and settings != SeriesSettings(
        switch=settings.switch, application=application
    ):
        table.fail("on", "neither 'backend' nor 'wait' nor 'worker' goes with the simulator")
    if Realm.HERE in places and settings.switch != switch_choice.KERNEL:
        table.fail("switch", "only a lab has one")
    if (step == APPLICATION_STEP) != (application is not None):
        table.fail("workload", "names an application; it is needed with 'time left', and only with it")
    if application is None:
        return
    if places != (Realm.SIMULATED,) and (application.base.network or application.compute != "host"):
        table.fail("on", "'compute' and a base's 'network' are for simulations: on = \"sim\"")
    if Realm.EMULATED in places:
        table.fail(
            "on",
            "a workload cannot run on a lab, whose nodes share this machine's cores; write sim or local",
        )
    workload = application.workload
    for ranks in (*counts, application.base.ranks):
        if not workload.takes(ranks):
            table.fail("ranks", f"{workload.name} cannot run on {ranks} ranks; it takes {workload.ranks}")
