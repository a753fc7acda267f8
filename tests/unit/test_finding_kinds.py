"""The kinds of findings: a contract in JSON, and the same in terminal and report."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from made_runs import aapc_view
from rich.console import Console

from crosscut.analysis.figures.digest import digest
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import Finding
from crosscut.base import records
from crosscut.reports.html import story
from crosscut.reports.html.pictures import run_pictures
from crosscut.reports.html.pictures.picture import RunAtSize
from crosscut.reports.terminal import findings as terminal
from crosscut.reports.terminal.glyphs import UNICODE
from crosscut.reports.terminal.screen import Screen

DOCUMENTED = Path(__file__).resolve().parents[2] / "docs" / "reference" / "findings.md"
WARNED_OF = (
    FindingKind.SETTINGS,
    FindingKind.OTHER_TRAFFIC,
    FindingKind.SUSPECT,
    FindingKind.UNSTABLE,
    FindingKind.STEP,
    FindingKind.PERIODIC,
    FindingKind.DRIFT,
)


def test_names_faults_and_order_are_those_of_the_reference() -> None:
    rows = re.findall(r"^\| `([a-z ]+)` \| (yes|no) \|", DOCUMENTED.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(kind.value, "yes" if kind.fault else "no") for kind in FindingKind]


@pytest.mark.parametrize(
    ("kind", "fault"),
    [(FindingKind.SLOW_HOST, True), (FindingKind.COUNTED, True), (FindingKind.DRIFT, False)],
)
def test_a_finding_in_json_says_whether_it_is_a_fault(kind: FindingKind, fault: bool) -> None:
    found = Finding(kind, "n1 is odd").as_json()
    assert (found["kind"], found["fault"]) == (kind.value, fault)
    assert records.parse(found, Finding) == Finding(kind, "n1 is odd")


@pytest.mark.parametrize("kind", FindingKind)
def test_terminal_and_report_warn_of_the_same_kinds(kind: FindingKind) -> None:
    found = [Finding(kind, "n1 is odd")]
    stream = io.StringIO()
    terminal.render(Screen(Console(file=stream, width=80, color_system=None), UNICODE), found, None)
    one = RunAtSize("run", aapc_view(), digest(aapc_view().dataset, 1))
    told = next(each for each in story.told(found, one, []) if each.text.endswith("n1 is odd."))
    assert (UNICODE.warning in stream.getvalue()) == told.warns == (kind.fault or kind in WARNED_OF)
    endings = {picture.name.removeprefix("run-") for picture in run_pictures.pictures(one, "run")}
    assert endings.intersection(told.proofs), f"no picture of a dense run proves {kind.value}"
