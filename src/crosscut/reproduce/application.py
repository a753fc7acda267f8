"""What a series runs in place of a pattern: which workload, how, and what it is held against."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Table
from crosscut.run.realm import Realm
from crosscut.workloads import applications

KEYS = ("workload", "class", "options", "base")
STEP = "workload"
_BASE = ("ranks", "options")


@dataclass(frozen=True)
class Application:
    workload: applications.Workload
    problem_class: str
    options: tuple[str, ...]
    """Further words for it."""
    base_ranks: int
    base_options: tuple[str, ...]


def read(table: Table) -> Application | None:
    if "workload" not in table:
        return None
    base = table.table("base")
    base.only(_BASE)
    options = _words(table)
    return Application(
        workload=_workload(table),
        problem_class=table.text("class", "S", applications.CLASSES),
        options=options,
        base_ranks=base.whole("ranks", None, 1, applications.MOST_RANKS),
        base_options=_words(base) if "options" in base else options,
    )


def _workload(table: Table) -> applications.Workload:
    try:
        return applications.find(
            [table.text("workload", choices=[one.name for one in applications.WORKLOADS])]
        )[0]
    except UsageError as error:
        table.fail("workload", str(error))


def _words(table: Table) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(table.text("options", "")))
    except ValueError as error:  # a quotation that does not end
        table.fail("options", str(error))


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
    for ranks in (*counts, application.base_ranks):
        if not workload.takes(ranks):
            table.fail("ranks", f"{workload.name} takes {workload.ranks} of ranks, not {ranks}")
