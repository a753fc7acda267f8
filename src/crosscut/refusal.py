"""Whether a pattern can run with so many ranks, asked before any rank is started."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from crosscut.job import Job

TIMEOUT_SECONDS = 20
# `coordinates` looks at the ranks first; of a phase that there is not, it then has nothing to compute.
_NO_PHASE = "0"


def refusal(executable: Path, job: Job, ranks: int) -> str:
    """The core's own reason why not; empty where it has none. A core that cannot be asked refuses later, with
    the same words."""
    words = [str(executable), "coordinates", "--ranks", str(ranks), "--first", _NO_PHASE, "--last", "1"]
    request = json.dumps(job.as_json()).encode()
    try:
        answer = subprocess.run(
            words, input=request, capture_output=True, timeout=TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return _reason(answer.stderr.decode("utf-8", "replace").splitlines(), job.pattern)


def _reason(lines: Sequence[str], pattern: str) -> str:
    start = f"crosscut-core: pattern {pattern}: "
    return next((line.removeprefix(start) for line in lines if line.startswith(start)), "")
