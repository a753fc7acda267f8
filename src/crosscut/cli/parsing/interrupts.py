"""Commands that start programs end them however they themselves are told to end."""

from __future__ import annotations

import signal
from types import FrameType

_NUMBERS = (signal.SIGTERM, signal.SIGHUP)


def as_ctrl_c() -> None:
    """A batch system's end and the terminal's do what Ctrl-C does; what nohup has put off stays so."""
    for number in _NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
