"""Applies faults to the kernel's network. Callers are child processes, which enter the cables' namespaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from crosscut.lab import enter
from crosscut.lab.faults.fault import Fault
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan.plan import End, LabPlan
from crosscut.lab.plan.shaping import Bucket

if TYPE_CHECKING:
    from crosscut.lab.kernel.links import Kernel


def fabric(folder: Path) -> Kernel:
    """Enters the switches' namespace and opens its kernel interface."""
    from crosscut.lab.kernel import links

    namespaces.enter(folder / enter.FABRIC, namespaces.NEW_NET)
    return links.Kernel()


def go_to(made: LabPlan, folder: Path, end: End) -> None:
    pinned = folder / enter.FABRIC if end.host is None else folder / "net" / made.hosts[end.host]
    namespaces.enter(pinned, namespaces.NEW_NET)


def shape(made: LabPlan, folder: Path, end: End, bucket: Bucket | None) -> None:
    """Shapes an end with this bucket; None restores the bucket it was built with."""
    from crosscut.lab.kernel import build, links

    go_to(made, folder, end)
    with links.Kernel() as here:
        if bucket is None and end.bits_per_second == float("inf"):
            here.unshape(end.name)
        else:
            build.shape_end(here, made, end, bucket)


def nothing(made: LabPlan, end: End) -> Bucket:
    """A bucket with the end's own rate, but without room for a single frame."""
    return made.bucket(min(end.bits_per_second, 1e9), end.name).shut()


def alternate(fault: Fault, begin: Callable[[], None], end: Callable[[], None]) -> NoReturn:
    """Begins and ends outages on a fixed schedule, so that delays do not accumulate.

    If a busy machine ends an outage too late, at least half a pause follows.
    """
    start = time.monotonic()
    while True:
        begin()
        time.sleep(fault.seconds)
        end()
        start = max(start + fault.every, time.monotonic() + (fault.every - fault.seconds) / 2)
        time.sleep(max(0.0, start - time.monotonic()))
