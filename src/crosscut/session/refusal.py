"""Asks the core, before ranks start, whether a pattern can run with that many, and in how many phases."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.base.job import Job

TIMEOUT_SECONDS = 20
# `coordinates` checks the ranks first; for a phase that does not exist it then has nothing to compute.
_NO_PHASE = "0"
_PHASES = re.compile(r"crosscut-core: there are phases 1 to ([0-9]+)")


def refusal(executable: Path, job: Job, ranks: int) -> str:
    """Returns the core's reason to refuse; empty if it has none. A core that cannot be asked here refuses
    later, with the same words."""
    return _reason(_said(executable, job, ranks), job.pattern)


def phases(executable: Path, job: Job, ranks: int) -> int:
    """Returns how many phases the pattern has with this many ranks; 0 if the core cannot be asked. Raises
    UsageError with the core's reason if it refuses."""
    lines = _said(executable, job, ranks)
    if reason := _reason(lines, job.pattern):
        raise UsageError(reason)
    counted = (_PHASES.fullmatch(line) for line in lines)
    return next((int(match[1]) for match in counted if match), 0)


def _said(executable: Path, job: Job, ranks: int) -> list[str]:
    words = [str(executable), "coordinates", "--ranks", str(ranks), "--first", _NO_PHASE, "--last", "1"]
    request = json.dumps(job.as_json()).encode()
    try:
        answer = subprocess.run(
            words, input=request, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return answer.stderr.decode("utf-8", "replace").splitlines()


def _reason(lines: Sequence[str], pattern: str) -> str:
    start = f"crosscut-core: pattern {pattern}: "
    return next((line.removeprefix(start) for line in lines if line.startswith(start)), "")
