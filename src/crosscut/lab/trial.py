"""Tries what a lab needs of the kernel, in namespaces that are gone with the process that tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from crosscut.base.errors import CrosscutError
from crosscut.lab import holder, state
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan.shaping import bucket, frames

_RATE_BITS_PER_SECOND = 1e8


def failure() -> str | None:
    """Why a lab cannot be built; None where all of its parts are there."""
    try:
        _inside(_parts)
    except CrosscutError as error:
        return str(error)
    return None


def delays() -> bool:
    """True if links can have a latency."""
    try:
        _inside(_delay)
    except CrosscutError:
        return False
    return True


def _inside(work: Callable[[], None]) -> None:
    if not holder.needed():
        namespaces.in_child(work)
        return
    keeper = holder.start()
    try:
        holder.inside(replace(state.Record("trial", ""), holder=keeper), work)
    finally:
        holder.end(keeper)


def _parts() -> None:
    from crosscut.lab.kernel.build import SETTINGS, set_kernel
    from crosscut.lab.kernel.links import Kernel, index_of

    namespaces.unshare(namespaces.NEW_NET | namespaces.NEW_UTS | namespaces.NEW_IPC)
    set_kernel(SETTINGS)
    size = frames(0, 0, 1.0)
    with Kernel() as kernel:
        kernel.add_bridge("s0", size.mtu_bytes)
        kernel.add_pair("p0", "eth0", None, size.mtu_bytes, 1)
        kernel.plug(index_of("p0"), index_of("s0"))
        shaped = bucket(_RATE_BITS_PER_SECOND, size, 1, "trial")
        kernel.shape(index_of("p0"), shaped)
        kernel.add_medium("m0", shaped)
        kernel.add_hooks(index_of("p0"))
        kernel.redirect(index_of("p0"), entering=True, medium=index_of("m0"))


def _delay() -> None:
    from crosscut.lab.kernel.links import Kernel, index_of

    namespaces.unshare(namespaces.NEW_NET)
    with Kernel() as kernel:
        kernel.add_pair("p0", "eth0", None, 1500, 1)
        kernel.delay(index_of("p0"), 1e-3)
