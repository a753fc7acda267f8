"""The process behind a fault that flaps: `python -m crosscut.lab.faults.worker LAB FAULT`, in the lab.

It changes settings and is killed when the fault is lifted; whoever kills it restores them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from crosscut.lab import lifecycle, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.catalogue import Fault, cable_of, from_json
from crosscut.lab.kernel import build
from crosscut.lab.kernel import links as kernel
from crosscut.lab.plan.plan import Plan


def main() -> None:
    name, text = sys.argv[1:]
    fault = from_json(json.loads(text))
    made = lifecycle.plan_of(state.read(name))
    if fault.kind == "compute":
        _say_planted()
        compute()
    begin, end = _switches(name, made, fault)
    _say_planted()
    alternate(fault, begin, end)


def _say_planted() -> None:
    print("planted", flush=True)
    sys.stdout.close()
    with suppress(OSError):
        sys.stderr.close()


def compute() -> None:
    """For ever."""
    value = 1
    while True:
        value = value * 6364136223846793005 % 18446744073709551557


def alternate(fault: Fault, begin: Callable[[], None], end: Callable[[], None]) -> None:
    """By the clock, so that lateness does not add up."""
    start = time.monotonic()
    while True:
        begin()
        time.sleep(fault.seconds)
        end()
        start += fault.every
        time.sleep(max(0.0, start - time.monotonic()))


def _switches(name: str, made: Plan, fault: Fault) -> tuple[Callable[[], None], Callable[[], None]]:
    """What begins the trouble, and what ends it, with everything opened beforehand."""
    folder = state.folder(name)
    if fault.kind == "flap":
        port = kernel.index_of(cable_of(made, fault.nodes[0], fault.one_adapter)[2].name)
        fabric = kernel.Kernel()
        return (lambda: fabric.change(port, state="down")), (lambda: fabric.change(port, state="up"))
    places = []
    for end in plant.ends(made, fault):
        plant.go_to(made, folder, end)
        places.append((kernel.Kernel(), end))

    def lose() -> None:
        for here, end in places:
            plant.go_to(made, folder, end)
            build.shape_end(here, made, end, plant.nothing(made, end))

    def carry() -> None:
        for here, end in places:
            plant.go_to(made, folder, end)
            build.shape_end(here, made, end, made.bucket(min(end.bits_per_second, 1e9), end.name))

    return lose, carry


if __name__ == "__main__":
    main()
