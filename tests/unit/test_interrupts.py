"""Signals that end a command in order."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from crosscut import cli
from crosscut.base.errors import EXIT_INTERRUPTED

PATIENCE_SECONDS = 60


class Finalized:
    def __init__(self, number: int) -> None:
        self._number = number

    def __del__(self) -> None:
        signal.raise_signal(self._number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_that_python_ignores_in_a_finalizer_comes_again(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def command(_words: object) -> int:
        Finalized(number)
        threading.Event().wait(PATIENCE_SECONDS)
        return 0

    monkeypatch.setattr(cli, "_run", command)
    before = sys.unraisablehook, signal.getsignal(signal.SIGALRM)
    assert cli.main([]) == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "crosscut: interrupted\n"
    assert (sys.unraisablehook, signal.getsignal(signal.SIGALRM)) == before
