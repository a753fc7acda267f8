"""Runs `crosscut-switch` as a child of a test, without a lab."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from crosscut.lab.switch.program import (
    ANSWER_SECONDS,
    PROGRAM,
    READY_SECONDS,
    Tap,
    UserSwitchError,
    find_switch,
    taps_list,
)


@dataclass
class UserSwitch:
    """A running switch, as a context manager. It ends with this process in any case, because its standard
    input closes."""

    network: Path
    taps: tuple[Tap, ...]
    options: tuple[str, ...] = ()
    ready: Mapping[str, object] = field(init=False, default_factory=dict)
    last: Mapping[str, object] = field(init=False, default_factory=dict)
    """Statistics of the whole time, set at the end."""
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None, repr=False)
    _said: str = field(init=False, default=f"{PROGRAM} does not run", repr=False)
    _unread: bytes = field(init=False, default=b"", repr=False)

    def __enter__(self) -> UserSwitch:
        command = [str(find_switch()), str(self.network), "--taps", "-", *self.options]
        pipe = subprocess.PIPE
        # Its own process group: ctrl-C at the terminal must not end the network before its ranks.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        self._process = process
        try:
            assert process.stdin is not None
            process.stdin.write(taps_list(self.taps).encode())
            process.stdin.flush()
            self.ready = self._answer("ready", READY_SECONDS)
        except BaseException as error:
            self._end()
            if isinstance(error, BrokenPipeError):
                raise UserSwitchError(self._last_words()) from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def statistics(self) -> Mapping[str, object]:
        """Returns what has passed so far, by link, and how late deliveries were."""
        if self._process is None or not self.is_running:
            raise UserSwitchError(self._last_words())
        self._process.send_signal(signal.SIGUSR1)
        return self._answer("statistics", ANSWER_SECONDS)

    def _end(self) -> None:
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            self.last = self._answer("statistics", ANSWER_SECONDS)
        except UserSwitchError:
            process.kill()
        self._note_end(process)

    def _note_end(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for the process, keeps its last output and closes its pipes."""
        process.wait()
        assert process.stdout is not None
        assert process.stderr is not None
        if not process.stderr.closed:
            said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
            self._said = said[-1] if said else f"{PROGRAM} has ended with status {process.returncode}"
        process.stdout.close()
        process.stderr.close()

    def _answer(self, event: str, seconds: float) -> Mapping[str, object]:
        """Returns the next line with this event; skips others."""
        deadline = time.monotonic() + seconds
        while True:
            line = self._line(deadline)
            try:
                value = json.loads(line)
            except ValueError as error:
                raise UserSwitchError(f"{PROGRAM} printed {line[:80]!r}, which is no JSON") from error
            if isinstance(value, dict) and value.get("event") == event:
                return value

    def _line(self, deadline: float) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        if self._process.stdout.closed:
            raise UserSwitchError(self._said)
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise UserSwitchError(f"{PROGRAM} did not answer in time; is the machine overloaded?")
                got = os.read(self._process.stdout.fileno(), 1 << 16)
                if not got:
                    raise UserSwitchError(self._last_words())
                self._unread += got
        line, self._unread = self._unread.split(b"\n", 1)
        return line

    def _last_words(self) -> str:
        if self._process is not None:
            self._note_end(self._process)
        return self._said
