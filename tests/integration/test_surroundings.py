"""What the machine around a run may do to it: clocks that are set, names that do not resolve, IPv6 alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from crosscut.base import core
from crosscut.run import fsck
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

LIBRARIES = ("/usr/lib/x86_64-linux-gnu/faketime", "/usr/lib/aarch64-linux-gnu/faketime")
QUICK = ("aapc", "-n", "3", "--size", "1KB", "--quiet", "--out", "run.zarr")
LONGEST_SECONDS = 60
"""No message of a test takes as long."""


def run(folder: Path, *words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "crosscut", "run", *QUICK, *words],
        cwd=folder, env=os.environ | (environment or {}), text=True, stderr=subprocess.PIPE,
    )  # fmt: skip


def check_whole(path: Path) -> Run:
    assert fsck.check(path).problems == ()
    found = Run.open(path)
    assert found.attributes["state"] == "complete"
    seconds = found.dataset["message_seconds"].values
    assert (seconds[found.dataset["peer"].values[None, None].repeat(seconds.shape[1], 1) >= 0] > 0).all()
    return found


@pytest.mark.parametrize("steps", [("+30d", "-40d", "+1h"), ("-1h", "+2h", "-3h")])
def test_steps_of_the_clock_change_no_measurement(tmp_path: Path, steps: tuple[str, ...]) -> None:
    """As NTP, a person, or a virtual machine that is resumed set it. Durations need the other clock."""
    library = next((Path(f) / "libfaketime.so.1" for f in LIBRARIES if Path(f).is_dir()), None)
    if library is None:
        pytest.skip("no libfaketime: apt-get install faketime")
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    settings = {
        "LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": 1,
        "FAKETIME_DONT_FAKE_MONOTONIC": 1,
    }  # fmt: skip
    words = " ".join(f"{name}={value}" for name, value in settings.items())
    wrapper = tmp_path / "crosscut-core"  # for the ranks alone: libfaketime breaks sleeping in Python
    wrapper.write_text(f'#!/bin/sh\nexec env {words} {core.find_executable(core.CORE)} "$@"\n')
    wrapper.chmod(0o755)
    environment = {"CROSSCUT_CORE": str(wrapper)}
    with run(tmp_path, "--repetitions", "10000", "--iterations", "1", environment=environment) as process:
        while not (tmp_path / "run.zarr" / "zarr.json").exists() and process.poll() is None:
            time.sleep(0.01)
        for step in steps:
            clock.write_text(f"{step}\n")
            time.sleep(0.2)
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 0, said
    found = check_whole(tmp_path / "run.zarr")
    begin, end = (datetime.fromisoformat(str(found.attributes[name])) for name in ("start", "end"))
    assert abs((end - begin).total_seconds()) > 1800, "the clock was set before the run ended"
    assert float(found.dataset["rank_seconds"].max()) < LONGEST_SECONDS


@pytest.mark.parametrize("backend", ["tcp", "udp"])
def test_a_machine_with_ipv6_alone_is_measured(tmp_path: Path, backend: str) -> None:
    with run(tmp_path, "--interface", "::1", "--repetitions", "3", "--backend", backend) as process:
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode == 0, said
    check_whole(tmp_path / "run.zarr")


def test_a_host_whose_name_does_not_resolve_is_named(tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        pytest.skip("no ssh: apt-get install openssh-client")
    (tmp_path / "hosts").write_text("no-such-host.invalid slots=3\n")
    with run(tmp_path, "--on", "hosts:hosts", "--repetitions", "3", "--timeout", "5") as process:
        assert process.stderr is not None
        said = process.stderr.read()
    assert process.returncode in (1, 2)
    assert "no-such-host.invalid" in said
    assert "Traceback" not in said
    assert not (tmp_path / "run.zarr").exists()
