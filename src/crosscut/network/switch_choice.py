"""The choice of switch that carries a lab, as typed: `kernel,queues=fair`, `user,buffer=64KiB`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from crosscut.base import units
from crosscut.base.errors import UsageError

KERNEL, USER = "kernel", "user"
METAVAR = "kernel|user[,NAME=VALUE…]"


class Queues(Enum):
    """The order in which the kernel's buckets serve senders."""

    FIFO = "fifo"
    """First come, first served, everywhere."""
    ROUTERS = "routers"
    """Senders in turn at hosts that forward, as in Linux; first come, first served at switches."""
    FAIR = "fair"
    """Senders in turn, everywhere: max-min sharing (Hahne 1991), which Ethernet switches do not do."""


def _one_of(*words: str) -> Callable[[str], str]:
    def word(value: str) -> str:
        if value not in words:
            raise UsageError(f"either {' or '.join(words)}")
        return value

    return word


def _within(read: Callable[[str], int], most: int) -> Callable[[str], str]:
    def word(value: str) -> str:
        if not 1 <= (found := read(value)) <= most:
            raise UsageError(f"from 1 to {most}")
        return str(found)  # a bare number, which both programs read alike

    return word


def _whole(value: str) -> int:
    if not (value.isascii() and value.isdecimal()):
        raise UsageError("a whole number")
    return int(value)


# Options of crosscut-switch for network and hosts (docs/reference/user-switch.md). It checks them itself
# (core/user_switch/options.cpp), but only after half of the lab is built.
_WORDS: dict[str, Callable[[str], str]] = {
    "forwarding": _one_of("store", "cut"),
    "queues": _one_of("output", "input"),
    "buffer": _within(units.parse_bytes, 2**40),
    "buffer-frames": _within(_whole, 2**40),
    "host-queue": _within(_whole, 100_000),
    "bundle": _within(_whole, 64),
}
OPTIONS = tuple(_WORDS)
_QUEUES = "queues"


@dataclass(frozen=True)
class SwitchChoice:
    kind: str = KERNEL
    options: tuple[str, ...] = ()
    """Words for crosscut-switch's command line."""
    queues: Queues = Queues.ROUTERS
    """The queues of the kernel's switch."""

    @property
    def in_kernel(self) -> bool:
        return self.kind == KERNEL


def parse(text: str) -> SwitchChoice:
    """Parses the value of `--switch`. Raises UsageError that names the mistake."""
    kind, *settings = text.split(",")
    if kind not in (KERNEL, USER):
        raise UsageError(f"'{kind}' is not a switch; {KERNEL} (bridges, buckets) or {USER} (crosscut-switch)")
    if kind == KERNEL:
        return SwitchChoice(kind, queues=_queues(settings))
    words: list[str] = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name not in OPTIONS or not equals or not value:
            raise UsageError(
                f"'{setting}' is not a setting of crosscut-switch; write NAME=VALUE, with NAME one of "
                f"{', '.join(OPTIONS)}"
            )
        if f"--{name}" in words:
            raise UsageError(f"'{name}' is given twice")
        try:
            words += [f"--{name}", _WORDS[name](value)]
        except UsageError as error:
            raise UsageError(f"'{setting}': {error}") from error
    return SwitchChoice(kind, tuple(words))


def refuse_small_buffer(choice: SwitchChoice, frame_bytes: int) -> None:
    """Raises UsageError if a buffer has no room for one full frame, because then hardly anything passes.
    `frame_bytes`: size of a full frame, with its header."""
    if "--buffer" not in choice.options:
        return
    given = int(choice.options[choice.options.index("--buffer") + 1])
    if given < frame_bytes:
        raise UsageError(
            f"--switch {choice.kind},buffer={given}: too small for one frame of this network "
            f"({frame_bytes:,} bytes); give a larger size with a unit, such as buffer=64KiB"
        )


def _queues(settings: list[str]) -> Queues:
    found = Queues.ROUTERS
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name != _QUEUES or not equals:
            also = f"; write {USER},{setting}" if name in OPTIONS and value else ""
            raise UsageError(f"'{setting}': the kernel's switch takes only {_QUEUES}={also}")
        try:
            found = Queues(value)
        except ValueError:
            known = ", ".join(one.value for one in Queues)
            raise UsageError(f"'{setting}': the kernel's {_QUEUES} are one of {known}") from None
    return found


def checked(text: str) -> str:
    """Returns the text as typed. Raises UsageError if it does not parse."""
    parse(text)
    return text
