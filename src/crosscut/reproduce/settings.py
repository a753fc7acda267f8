"""How a series' ranks run beside the pattern: keys that few experiments need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crosscut.base.toml_fields import OneOf, Table, Writing
from crosscut.network import switch_choice
from crosscut.reproduce.application import Application
from crosscut.run.realm import Realm


def _switch(text: str) -> str:
    switch_choice.parse(text)
    return text


@dataclass(frozen=True)
class SeriesSettings:
    backend: Annotated[str, OneOf(("tcp", "mpi"))] = "tcp"
    """The backend of live places."""
    switch: Annotated[str, _switch] = switch_choice.KERNEL
    """What carries the lab's frames."""
    wait: Annotated[str, OneOf(("auto", "block", "poll"))] = "auto"
    worker: str = ""
    """A node of the lab on which a process computes, beside the ranks: computing.py."""
    application: Annotated[Application | None, Writing.SAME_TABLE] = None
    """In place of a pattern: applying.py."""

    def options(self) -> dict[str, object]:
        """Members of a live job, where they differ from the core's defaults."""
        return {} if self.wait == "auto" else {"wait": self.wait}


def check(table: Table, settings: SeriesSettings, places: tuple[Realm, ...], step: str) -> None:
    """What does not go together."""
    if (step == "computing") != bool(settings.worker):
        table.fail("worker", "names a node, and goes with 'computing left' and 'rate left' alone")
    if settings.worker and places != (Realm.EMULATED,):
        table.fail("on", 'a worker computes on a node of a lab: on = "lab"')
    if Realm.SIMULATED in places and settings != SeriesSettings(
        switch=settings.switch, application=settings.application
    ):
        table.fail("on", "neither 'backend' nor 'wait' nor 'worker' goes with the simulator")
    if Realm.HERE in places and settings.switch != switch_choice.KERNEL:
        table.fail("switch", "only a lab has one")
