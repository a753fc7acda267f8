"""Can a pattern run with so many ranks, and in how many phases? Asked before any rank is started."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.base.job import Job

TIMEOUT_SECONDS = 20
# `coordinates` looks at the ranks first; of a phase that there is not, it then has nothing to compute.
_NO_PHASE = "0"
_PHASES = re.compile(r"crosscut-core: there are phases 1 to ([0-9]+)")


def refusal(executable: Path, job: Job, ranks: int) -> str:
    """The core's own reason why not; empty where it has none. A core that cannot be asked refuses later, with
    the same words."""
    return _reason(_said(executable, job, ranks), job.pattern)


def phases(executable: Path, job: Job, ranks: int) -> int:
    """How many the pattern has with so many ranks; 0 where the core cannot be asked. UsageError: its reason
    why it has none."""
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
