"""Benchmarks leave no command behind, however they end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARK = """
import sys
from benchmarks import processes
processes.exit_when_terminated()
sys.executable = sys.argv[1]
processes.crosscut(["locate"], 60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_benchmark_that_is_ended_ends_its_command(number: signal.Signals, tmp_path: Path) -> None:
    told, program = tmp_path / "pid", tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho $$ > {told}.new; mv {told}.new {told}; exec sleep 600\n")
    program.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", BENCHMARK, program], cwd=ROOT, stderr=subprocess.DEVNULL
    ) as benchmark:
        while not told.exists():
            assert benchmark.poll() is None
            time.sleep(0.001)
        benchmark.send_signal(number)
    while Path(f"/proc/{told.read_text().strip()}/exe").exists():  # no other process reaps it
        time.sleep(0.001)
