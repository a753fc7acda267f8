"""Tries the kernel features that a lab needs, in namespaces that vanish with the process."""

from __future__ import annotations

from crosscut.base.errors import CrosscutError
from crosscut.lab import holder, state
from crosscut.lab.kernel import namespaces
from crosscut.lab.plan.shaping import bucket, frames

_RATE_BITS_PER_SECOND = 1e8


def failure() -> str | None:
    """Returns why a lab cannot be built, or None if the kernel has everything needed."""
    keeper = None
    try:
        keeper = holder.start() if holder.needed() else None
        holder.inside(state.Record("trial", "", holder=keeper), _parts)
    except CrosscutError as error:
        return str(error)
    finally:
        if keeper is not None:
            keeper.end()
    return None


def _parts() -> None:
    from crosscut.lab.kernel.build import SETTINGS, set_kernel
    from crosscut.lab.kernel.links import Kernel

    namespaces.unshare(namespaces.NEW_NET | namespaces.NEW_UTS | namespaces.NEW_IPC)
    set_kernel(SETTINGS)
    size = frames(0, 0, 1.0)
    with Kernel() as kernel:
        kernel.add_bridge("s0", size.mtu_bytes)
        kernel.add_pair("p0", "eth0", None, size.mtu_bytes, 1)
        kernel.plug("p0", "s0")
        shaped = bucket(_RATE_BITS_PER_SECOND, size, 1, "trial")
        kernel.shape("p0", shaped)
        kernel.add_medium("m0", shaped)
        kernel.add_hooks("p0")
        kernel.redirect("p0", entering=True, medium="m0")
