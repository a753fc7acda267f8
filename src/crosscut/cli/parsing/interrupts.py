"""Commands that start programs: how they end them when they are told to end, and what runs now."""

from __future__ import annotations

import argparse
import signal
import sys


def as_ctrl_c() -> None:
    """A batch system's end and the terminal's do what Ctrl-C does; what nohup has put off stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def tell_progress(args: argparse.Namespace, what: str) -> None:
    """On a terminal, what is being run; empty: gone, as a table or a complaint comes."""
    if not args.json and sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)
