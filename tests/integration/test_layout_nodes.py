"""Nodes as a launcher starts them, but without one: the reason why a rank cannot join is reported at once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import pytest

from crosscut.base import core
from crosscut.places.base import new_secret

SECRET = new_secret()


@contextmanager
def node(index: int, interface: str) -> Iterator[subprocess.Popen[bytes]]:
    """One of two nodes with a rank each, as srun starts them."""
    line = {"ranks": 2, "secret": SECRET, "backend": "null", "interface": interface, "timeout_seconds": 30}
    line |= {"place": "slurm", "layout": [1, 1], "launcher": "slurm", "pin": False}
    there = {**os.environ, "SLURM_NTASKS": "2", "SLURM_PROCID": str(index)}
    words = [core.load().executable, "node"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=there) as process:
        say(process.stdin, line)
        yield process


def say(stream: IO[bytes] | None, document: object) -> None:
    assert stream is not None
    stream.write(json.dumps(document).encode() + b"\n")
    stream.flush()


def heard(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "it ended without a word"
    event: dict[str, Any] = json.loads(line)
    return event


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURMD_NODENAME", raising=False)


def test_an_interface_that_the_first_node_lacks_is_named() -> None:
    with node(0, "nonesuch") as first, node(1, "nonesuch") as second:
        said = heard(first)
        assert (said["event"], said["kind"]) == ("error", "usage")
        assert said["message"].startswith(f"node {os.uname().nodename}: no interface 'nonesuch'")
        assert "choose one of: lo" in said["message"]
        printed, _ = second.communicate()  # it waits for the conductor's address
        assert printed == b"", "what the others miss is not the cause"


def test_an_interface_that_another_node_lacks_is_named() -> None:
    with node(0, "127.0.0.1") as first, node(1, "nonesuch") as second:
        say(second.stdin, {"conductor": heard(first)["address"]})
        said = heard(first)
        assert (said["event"], said["kind"]) == ("error", "usage")
        assert said["message"].startswith(f"node {os.uname().nodename}: no interface 'nonesuch'")
