"""What a series runs in place of a pattern: which workload, how, and what it is held against."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Annotated

from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Between, Key, OneOf, Table
from crosscut.run.realm import Realm
from crosscut.workloads import applications

KEYS = ("workload", "class", "options", "base")
STEP = "workload"


def _workload(name: str) -> applications.Workload:
    return applications.find([name])[0]


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:  # a quotation that does not end
        raise UsageError(str(error)) from error


@dataclass(frozen=True)
class Base:
    ranks: Annotated[int, Between(1, applications.MOST_RANKS)]
    options: Annotated[tuple[str, ...], _words] | None = None
    """None: those of the series."""


@dataclass(frozen=True)
class Application:
    workload: Annotated[
        applications.Workload,
        OneOf(tuple(one.name for one in applications.WORKLOADS)),
        _workload,
    ]
    base: Base
    problem_class: Annotated[str, Key("class"), OneOf(applications.CLASSES)] = "S"
    options: Annotated[tuple[str, ...], _words] = ()
    """Further words for it."""

    @property
    def base_options(self) -> tuple[str, ...]:
        return self.options if self.base.options is None else self.base.options


def check(
    table: Table, application: Application | None, places: tuple[Realm, ...], step: str,
    counts: tuple[int, ...],
) -> None:  # fmt: skip
    """What does not go together."""
    if (step == STEP) != (application is not None):
        table.fail("workload", "names an application, and goes with 'time left' alone")
    if application is None:
        return
    if Realm.EMULATED in places:
        table.fail(
            "on", "nodes of a lab share this machine's cores, so that computing takes longer: sim or local"
        )
    workload = application.workload
    for ranks in (*counts, application.base.ranks):
        if not workload.takes(ranks):
            table.fail("ranks", f"{workload.name} takes {workload.ranks} of ranks, not {ranks}")
