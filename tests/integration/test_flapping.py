"""An emulated link that flaps or loses packets: findings join the hosts' counters with slow messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from labs import crossbar, lab, needs_lab

from crosscut import cli
from crosscut.analysis.figures.limited import NOTHING_TOLD
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind, Sort
from crosscut.analysis.findings.model import from_json
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.run.run import Run

pytestmark = needs_lab


def test_a_flapping_link_is_a_finding_with_its_host_s_counters(tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    with lab(crossbar(tmp_path, 8)):
        plant.plant("test", Fault("flap", ("n0003",), seconds=0.02, every=0.9))
        words = ["run", "aapc", "--on", "lab:test", "--size", "100KB", "--repetitions", "60", "--quiet"]
        assert cli.main([*words, "--out", str(out)]) == 0
    found = of_run.find(Run.open(out))
    told = [one for one in found if one.hosts == ("n0003",)]
    # What else the machine does meanwhile decides which kind of change is told, and whether the median
    # message is slow, too.
    kinds = {kind for kind in FindingKind if kind.sort is Sort.CHANGE}
    kinds |= {FindingKind.COUNTED, FindingKind.LOSSY_HOST, FindingKind.SUSPECT, FindingKind.SLOW_HOST}
    assert {one.kind for one in told} <= kinds, [one.what for one in told]
    assert any("link changed state" in one.what for one in told)
    alarms = [one for one in found if one.kind in (FindingKind.SLOW_HOST, FindingKind.SLOW_ROUTE)]
    assert all("link changed state" in one.what for one in alarms), [one.what for one in alarms]


def test_a_host_that_loses_packets_is_found_by_retransmissions_to_it(tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    with lab(crossbar(tmp_path, 6)):
        plant.plant("test", Fault("loss", ("n0003",), seconds=0.02, every=0.2))
        words = ["run", "aapc", "--on", "lab:test", "--size", "500KB", "--repetitions", "4", "--quiet"]
        assert cli.main([*words, "--out", str(out)]) == 0
    run = Run.open(out)
    (record,) = [one for one in run.attributes["retransmissions"] if one["rank"] == 3]
    assert record["segments"] > record["again"] >= sum(again for _, _, again in record["to"]) > 0
    found = of_run.find(run)
    assert {one.hosts for one in found if one.kind.fault} <= {("n0003",)}
    (told,) = [one for one in found if "TCP segments were retransmitted on its connections with" in one.what]
    # A machine that is the bottleneck of every phase leaves it a suspect.
    is_limited = any(one.what.startswith(NOTHING_TOLD) for one in found)
    assert (told.hosts, told.kind.fault) == (("n0003",), not is_limited)


def test_a_search_measures_a_host_that_loses_packets_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with lab(crossbar(tmp_path, 6)):
        plant.plant("test", Fault("loss", ("n0003",), seconds=0.02, every=0.2))
        words = ["locate", "--on", "lab:test", "--size", "500KB", "--most-phases", "8", "--json", "--quiet"]
        assert cli.main(words) == 0
    found, _ = from_json(json.loads(capsys.readouterr().out))
    (told,) = [one for one in found if "TCP segments were retransmitted on its connections with" in one.what]
    assert told.hosts == ("n0003",)
    # A machine that is the bottleneck whenever the host is measured again leaves it a suspect.
    assert not told.kind.fault or "while the other hosts were silent" in told.what
    assert [one for one in found if one.kind.fault and one != told] == []
