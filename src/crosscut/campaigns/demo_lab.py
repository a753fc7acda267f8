"""The emulated cluster of `make demo`: a limit inside, and a fault planted that nobody is told of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from crosscut.lab import lifecycle
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault

NETWORK = "two-leaves-16"
FAULT = Fault("slow", ("n0005",), share=0.4, direction="in")


@contextmanager
def faulty_lab() -> Iterator[str]:
    """Its name, while it is up. Raises CrosscutError with the reason where none can be built."""
    record = lifecycle.up(NETWORK, lifecycle.for_one_run(NETWORK))
    try:
        plant.plant(record.name, FAULT)
        yield record.name
    finally:
        lifecycle.taking_down(record)()
