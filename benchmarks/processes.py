"""Starts programs, and ends them by process id, within a time limit."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import process_group

# Everything measured here takes a second or two; a program that takes longer hangs.
LIMIT_SECONDS = 60.0

LISTENING = "0A"  # TCP_LISTEN in /proc/net/tcp, proc(5)


class BenchmarkError(Exception):
    """A program to be measured failed; the message is one sentence."""


def pinned(core: int, words: Sequence[str]) -> list[str]:
    return ["taskset", "--cpu-list", str(core), *words]


def missing_programs(names: Sequence[str]) -> list[str]:
    return [name for name in names if shutil.which(name) is None]


def output_of(
    words: Sequence[str | Path],
    said: str = "",
    limit_seconds: float = LIMIT_SECONDS,
    variables: Mapping[str, str] | None = None,
) -> str:
    """Returns the output of a program that must succeed. Its input stays open after `said`, because end of
    file stops a session of crosscut."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(words), stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=variables
        )
        try:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(said.encode())
                process.stdin.flush()
            process.wait(limit_seconds)
        except subprocess.TimeoutExpired as error:
            raise BenchmarkError(f"{words[0]} did not end within {limit_seconds:.0f} s") from error
        finally:
            end(process)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if process.returncode != 0:
        tail = " ".join(text.split())[-400:]
        raise BenchmarkError(f"{shlex.join(map(str, words))} failed (status {process.returncode}): {tail}")
    return text


def crosscut(words: Sequence[str], limit_seconds: float, folder: Path | None = None) -> str:
    """Returns the output of a crosscut command that must succeed. It ends with this program, however that
    ends, and in this program's session, whose priority `preferred` sets."""
    process = process_group.start(
        [sys.executable, "-m", "crosscut", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=process_group.end_with_parent, cwd=folder,
    )  # fmt: skip
    said = shlex.join(["crosscut", *words])
    try:
        printed, complained = process.communicate(timeout=limit_seconds)
    except subprocess.TimeoutExpired as error:
        raise BenchmarkError(f"{said} did not end within {limit_seconds:.0f} s") from error
    finally:
        process_group.end(process)
    if process.returncode != 0:
        raise BenchmarkError(f"{said}: {complained.strip()[-600:]}")
    return str(printed)


def exit_when_terminated() -> None:
    """Lets SIGTERM unwind this program, so that it leaves neither a lab nor a command behind."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@dataclass(frozen=True)
class Used:
    """What a program and the children that it waited for took."""

    printed: str
    seconds: float
    processor_seconds: float
    memory_mb: float
    """Peak of the largest of these processes; 1 MB = 10^6 bytes."""


def used_by(words: Sequence[str], limit_seconds: float) -> Used:
    """Runs a program that must succeed and returns what it used."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            while (found := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                if time.monotonic() - began > limit_seconds:
                    raise BenchmarkError(f"{shlex.join(words)} did not end within {limit_seconds:.0f} s")
                time.sleep(0.01)
            _, status, usage = found
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            end(process)
        output.seek(0)
        printed = output.read().decode("utf-8", "replace")
    if process.returncode != 0:
        raise BenchmarkError(f"{shlex.join(words)} failed: {printed.strip()[-300:]}")
    return Used(
        printed, time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends the process with SIGTERM, then SIGKILL; harmless if it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(2)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


@contextlib.contextmanager
def running(words: Sequence[str | Path], patience_seconds: float = 2.0) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a server. At the end of the block it has `patience_seconds` to end by itself."""
    process = subprocess.Popen(
        list(words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_seconds)
    finally:
        end(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def await_listener(port: int, server: subprocess.Popen[bytes], limit_seconds: float = 5.0) -> None:
    """Waits until a server listens on the port. Looks it up without connecting: some servers serve only one
    client."""
    tables = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    deadline = time.monotonic() + limit_seconds
    while time.monotonic() < deadline:
        rows = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()]
        if any(row[1].endswith(f":{port:04X}") and row[3] == LISTENING for row in rows):
            return
        if server.poll() is not None:
            raise BenchmarkError(f"the server on port {port} ended with status {server.returncode}")
        time.sleep(0.005)
    raise BenchmarkError(f"nobody listens on port {port} after {limit_seconds:.0f} s")
