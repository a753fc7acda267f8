"""An emulated cluster that its machine limited gets no verdict, and every output says why."""

from __future__ import annotations

import html
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from changed_runs import aapc
from rich.console import Console

from crosscut.analysis.compare import spec
from crosscut.analysis.compare.promises import Verdict
from crosscut.analysis.compare.promises import verdicts as judge_all
from crosscut.cli.check import status
from crosscut.reports import junit, protocol, redaction
from crosscut.reports.json import check as json_check
from crosscut.reports.terminal import check as terminal_check
from crosscut.reports.terminal.screen import Screen, screen_for
from crosscut.reports.words import check_cautions

MB = 1_000_000
TEXT = """
[[promise]]
name = "routes"
kind = "route"
at_least = "{0} MB/s"
[[promise]]
name = "nodes"
kind = "node"
at_least = "{0} MB/s"
[[promise]]
name = "phases"
kind = "phase"
at_least = "{0} MB/s"
pattern = "aapc"
"""
NAMES = tuple(f"n{rank:03}" for rank in range(8))
FAULT = {"id": "f1", "says": "the cable of n003 carries 50 % of its rate"}


def busy(*spans: list[int], seed: int = 1, size: int = MB, **more):
    """A run of 8 ranks, 100 MB/s, in 7 phases."""
    trust = {"cpu_busy_share": 0.9, "limited": [{"size": size, "phases": list(spans)}]}
    about = {"place": "lab", "trust": [trust], "faults": [FAULT]}
    return aapc(seed, repetitions=20, attributes=about, **more)


def judged(bound: int, *runs):
    promised = spec.parse(TEXT.format(bound), Path("spec.toml"))
    return promised, judge_all(promised, runs)


@pytest.mark.parametrize("bound", [90, 110])
def test_no_promise_is_kept_or_broken_if_the_machine_limited_every_phase(bound):
    _, checked = judged(bound, busy([1, 7]))
    assert {one.verdict for one in checked.judged} == {Verdict.UNDECIDED}
    assert {one.reason for one in checked.judged} == {
        "no conclusion about the network: this machine's CPU was the bottleneck in every phase"
    }
    assert status(checked.judged) == 3


def test_a_slow_phase_that_the_machine_limited_leaves_the_promise_undecided():
    slow = {(source, (source + 2) % 8): 0.5 for source in range(8)}  # all of phase 2
    _, watched = judged(90, busy(route=slow))
    assert watched.judged[2].verdict is Verdict.FAIL
    _, checked = judged(90, busy([2, 2], route=slow))
    routes, nodes, phases = checked.judged
    assert (routes.verdict, nodes.verdict, phases.verdict) == (
        Verdict.UNDECIDED, Verdict.PASS, Verdict.UNDECIDED,
    )  # fmt: skip
    assert routes.broken == ()
    assert routes.left_out == "this machine's CPU was the bottleneck in 1 of 7 phases"
    assert routes.worst > 90e6


def test_another_run_on_a_quieter_machine_decides():
    _, checked = judged(90, busy([1, 7]), busy(seed=2))
    assert {one.verdict for one in checked.judged} == {Verdict.PASS}
    assert checked.judged[0].left_out == "this machine's CPU was the bottleneck in 7 of 14 phases"


def test_slowness_in_phases_that_the_machine_did_not_limit_still_breaks_a_promise():
    _, checked = judged(90, busy([2, 2], route={(0, 1): 0.5}))
    assert checked.judged[0].broken == ((0, 1),)


def test_a_run_limited_at_another_size_or_not_in_a_lab_is_judged():
    assert judged(90, busy([1, 7], size=5))[1].judged[0].verdict is Verdict.PASS
    elsewhere = busy([1, 7])
    elsewhere.dataset.attrs["place"] = "hosts"
    assert judged(90, elsewhere)[1].judged[0].verdict is Verdict.PASS


@pytest.fixture
def untold():
    return judged(110, busy([1, 7]), busy([1, 7], seed=2))


def test_every_output_of_check_says_that_the_machine_was_the_limit(untold):
    promised, checked = untold
    found = check_cautions.of_runs(checked.runs, promised.sizes_bytes)
    assert [one.kind.value for one in found] == ["limited by the emulating machine"]
    reason = "no conclusion about the network: this machine's CPU was the bottleneck in every phase"
    caution = "cores of this machine were busy during every phase at 1 MB"

    value = json.loads(json.dumps(json_check.document(promised, checked.judged, NAMES, found)))
    assert {one["reason"] for one in value["promises"]} == {reason}
    assert value["cautions"][0]["text"].startswith(caution)

    xml = ET.fromstring(junit.document(promised, checked.judged, NAMES, found).encode())
    assert all(reason in skipped.get("message", "") for skipped in xml.iter("skipped"))
    assert [said.text.startswith(caution) for said in xml.iter("system-err") if said.text] == [True]

    page = protocol.page(promised, checked, NAMES, redact=False, cautions=found)
    assert page.count(html.escape(reason)) == 3
    assert caution in page
    assert "emulated on one machine: these verdicts say nothing about a real network" in page
    assert FAULT["says"] in page

    shown = _terminal(promised, checked.judged, found, check_cautions.planted(checked.runs))
    assert reason.removesuffix(" in every phase") in shown  # the rest is in the next line
    assert "; 2 of 2 runs have a caution of this kind" in shown
    assert f"planted: f1: {FAULT['says']}" in shown


def _terminal(promised, found, cautions, planted):
    out = io.StringIO()
    plain = screen_for()
    console = Console(file=out, width=300, color_system=None)
    terminal_check.render(Screen(console, plain.glyphs), promised, found, NAMES, cautions, planted)
    return out.getvalue()


def test_a_redacted_protocol_names_no_node_of_planted_faults(untold):
    promised, checked = redaction.check(*untold)
    page = protocol.page(promised, checked, NAMES, redact=True)
    assert "the cable of node 4 carries 50" in page
    assert "n003" not in page


def test_verdicts_read_from_json_keep_phases_that_were_left_out(tmp_path):
    promised, checked = judged(90, busy([2, 2]))
    file = tmp_path / "verdicts.json"
    file.write_text(json.dumps(json_check.document(promised, checked.judged, NAMES)))
    assert json_check.read(file, 8)[1][0].left_out == checked.judged[0].left_out != ""
