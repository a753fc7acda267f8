"""Which of the two switches carries a lab, as typed: `kernel`, or `user,forwarding=cut,buffer=64KiB`."""

from __future__ import annotations

from dataclasses import dataclass

from crosscut.errors import UsageError

KERNEL, USER = "kernel", "user"
# Of crosscut-switch, those of network and hosts (docs/reference/user-switch.md); it judges the values.
OPTIONS = ("forwarding", "queues", "buffer", "buffer-frames", "host-queue", "bundle")
METAVAR = "kernel|user[,NAME=VALUE…]"


@dataclass(frozen=True)
class Choice:
    kind: str = KERNEL
    options: tuple[str, ...] = ()
    """Words for crosscut-switch."""

    @property
    def in_kernel(self) -> bool:
        return self.kind == KERNEL


def parse(text: str) -> Choice:
    """UsageError names what was wrong."""
    kind, *settings = text.split(",")
    if kind not in (KERNEL, USER):
        raise UsageError(f"'{kind}' is no switch; {KERNEL} (buckets and bridges) or {USER} (crosscut-switch)")
    if kind == KERNEL and settings:
        raise UsageError(f"'{settings[0]}': the kernel's switch takes no settings; {USER},{settings[0]} does")
    words: list[str] = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if name not in OPTIONS or not equals or not value:
            raise UsageError(f"'{setting}' is no setting of the switch; NAME=VALUE of {', '.join(OPTIONS)}")
        if f"--{name}" in words:
            raise UsageError(f"'{name}' is given twice")
        words += [f"--{name}", value]
    return Choice(kind, tuple(words))


def checked(text: str) -> str:
    """As typed, where it means something."""
    parse(text)
    return text
