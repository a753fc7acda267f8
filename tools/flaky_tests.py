"""Runs a pytest command several times and lists the tests that do not always pass.

    python tools/flaky_tests.py RUNS COMMAND [WORDS...]

Exit status: 0 if every test always had the same outcome and none failed, 2 for wrong usage, otherwise 1.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_USAGE = "usage: flaky_tests.py RUNS COMMAND [WORDS...]"


def outcomes(report: Path) -> dict[str, str]:
    """Returns each test's outcome in a JUnit report of pytest."""
    found: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  # our own pytest wrote it
        name = f"{case.get('classname')}::{case.get('name')}"
        tags = {child.tag for child in case}
        outcome = FAILED if tags & {"failure", "error"} else SKIPPED if "skipped" in tags else PASSED
        # A test whose teardown fails has two entries; failure wins.
        found[name] = FAILED if FAILED in (outcome, found.get(name)) else outcome
    return found


def unsteady(runs: list[dict[str, str]]) -> dict[str, Mapping[str, int]]:
    """Counts the outcomes of each test that failed at least once or differs between runs."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for run in runs:
        for name, outcome in run.items():
            counts[name][outcome] += 1
    return {
        name: dict(count)
        for name, count in sorted(counts.items())
        if count[FAILED] or max(count.values()) < len(runs)
    }


def main(words: list[str]) -> int:
    if len(words) < 2 or not words[0].isdigit() or int(words[0]) < 1:
        print(_USAGE, file=sys.stderr)
        return 2
    count, command = int(words[0]), words[1:]
    runs: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, count + 1):
            report = Path(folder) / f"{number}.xml"
            subprocess.run([*command, "--quiet", f"--junit-xml={report}"], check=False)
            if not report.exists():
                print(f"flaky_tests: run {number} wrote no report: not a pytest command?", file=sys.stderr)
                return 1
            runs.append(outcomes(report))
    found = unsteady(runs)
    for name, how_often in found.items():
        print(f"{name}: " + ", ".join(f"{outcome} {times}" for outcome, times in how_often.items()))
    print(f"{len(found)} of {len(set().union(*runs))} tests do not always pass, in {count} runs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
