"""Describes the switch that carried a lab, from `--switch` as typed or as recorded by a run (untrusted)."""

from __future__ import annotations

from crosscut.base.errors import UsageError
from crosscut.network.switch_choice import KERNEL, Queues, parse

_MOST_LETTERS = 80
_KERNELS = "the kernel's"
_SERVED = {
    Queues.FIFO: "first come, first served (queues=fifo)",
    Queues.ROUTERS: "",
    Queues.FAIR: "senders in turn (queues=fair)",
}


def clause(switch: str) -> str:
    """Returns `carried by crosscut-switch (forwarding=cut)`; empty for the default switch."""
    named = noun(switch)
    if named.startswith(_KERNELS):
        return named.removeprefix(_KERNELS).removeprefix(", ")
    return f"carried by {named}"


def noun(switch: str) -> str:
    """Returns the switch's name, to compare with another's; the default has one, too."""
    try:
        chosen = parse(switch or KERNEL)
    except UsageError:
        return f"a switch unknown here ({_shortened(switch)})"
    if not chosen.in_kernel:
        return _program(switch)
    served = _SERVED[chosen.queues]
    return _KERNELS + (f", {served}" if served else "")


def identity(switch: str) -> object:
    """Returns a value that is equal for equal choices, regardless of the order and units as typed."""
    try:
        chosen = parse(switch or KERNEL)
    except UsageError:
        return switch
    settings = frozenset(zip(chosen.options[::2], chosen.options[1::2], strict=True))
    return (chosen.kind, settings, chosen.queues)


def _program(switch: str) -> str:
    settings = switch.partition(",")[2].replace(",", ", ")
    return "crosscut-switch" + (f" ({settings})" if settings else "")


def _shortened(switch: str) -> str:
    """Returns the text truncated, with control characters escaped."""
    return repr(switch if len(switch) <= _MOST_LETTERS else switch[:_MOST_LETTERS] + "…")
