"""The management network of a lab: one more host, with a bridge that every node is plugged into, unshaped."""

from __future__ import annotations

import contextlib
from pathlib import Path

from crosscut.lab.kernel import namespaces
from crosscut.lab.kernel.build import opened, space
from crosscut.lab.kernel.links import Kernel
from crosscut.lab.plan import addresses
from crosscut.lab.plan.management import DEVICE, LOGIN, address, login_address
from crosscut.lab.plan.plan import LabPlan

_MTU_BYTES = 1500
_SEGMENTS = 64
"""Bundles of a full 64 KiB: nothing here has a rate."""


def build(plan: LabPlan, folder: Path) -> None:
    """Makes the host `login`, and an adapter on every node. The nodes exist by now.

    Nobody waits for the adapters to come up: the daemons try again until they are.
    """
    space(folder, LOGIN)
    with contextlib.ExitStack() as stack:
        there = opened(plan, folder, stack)
        with Kernel() as login:
            login.change("lo", state="up")
            login.add_bridge(DEVICE, _MTU_BYTES)
            login.add_address(DEVICE, login_address(), addresses.PREFIX_LENGTH)
            for host, node in enumerate(there):
                login.add_pair(f"m{host}", DEVICE, node, _MTU_BYTES, _SEGMENTS)
                login.join(f"m{host}", DEVICE)
        for host, node in enumerate(there):
            namespaces.enter_descriptor(node, namespaces.NEW_NET)
            with Kernel() as here:
                here.add_address(DEVICE, address(host), addresses.PREFIX_LENGTH)
                here.change(DEVICE, state="up")
