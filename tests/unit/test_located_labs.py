"""Which searches count as right in the benchmark of small emulated clusters."""

from __future__ import annotations

import pytest
from benchmarks.located_labs import CASES, judge

from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding, as_json

BY_NAME = {case.name: case for case in CASES}
SOUND, SLOW = BY_NAME["E7"], BY_NAME["a slow host"]
BESIDE, MTU = BY_NAME["another job on an uplink"], BY_NAME["a wrong MTU"]
UNKNOWN = Finding(FindingKind.INCONCLUSIVE, "no conclusion")


def told(kind: FindingKind, *hosts: str) -> Finding:
    return Finding(kind, f"{kind.value} {hosts}", hosts=hosts)


@pytest.mark.parametrize(
    ("case", "found", "right"),
    [
        (SOUND, [told(FindingKind.NOTHING)], True),
        (SOUND, [told(FindingKind.SLOW_HOST, "n0001")], False),
        (SLOW, [told(FindingKind.SLOW_HOST, "n0005")], True),
        (SLOW, [told(FindingKind.SLOW_HOST, "n0001")], False),
        (SLOW, [told(FindingKind.SLOW_HOST, "n0005"), told(FindingKind.SLOW_ROUTE, "n0001")], False),
        (SLOW, [told(FindingKind.SUSPECT, "n0005")], False),
        (SOUND, [UNKNOWN], False),
        (BESIDE, [told(FindingKind.OTHER_TRAFFIC, *BESIDE.hosts)], True),
        (BESIDE, [told(FindingKind.OTHER_TRAFFIC, *BESIDE.hosts), UNKNOWN], False),
        (MTU, [told(FindingKind.SETTINGS, *MTU.hosts), UNKNOWN], True),
    ],
)
def test_only_the_planted_fault_without_other_alarms_is_right(case, found, right):
    judged, alarms, _ = judge(case, as_json(found))
    assert judged is right
    assert len(alarms) == sum(one.kind.fault for one in found)
