"""A link that goes down and comes back, emulated: what hosts count and what messages suffer, tied
together."""

from __future__ import annotations

from pathlib import Path

from labs import crossbar, lab, needs_lab

from crosscut import cli
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.run.run import Run

pytestmark = needs_lab


def test_a_flapping_link_is_a_finding_with_what_its_host_counted(tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    with lab(crossbar(tmp_path, 8)):
        plant.plant("test", Fault("flap", ("n0003",), seconds=0.02, every=0.9))
        words = ["run", "aapc", "--on", "lab:test", "--size", "100KB", "--repetitions", "60", "--quiet"]
        assert cli.main([*words, "--out", str(out)]) == 0
    found = of_run.find(Run.open(out))
    told = [one for one in found if one.hosts == ("n0003",)]
    # By what else the machine did meanwhile.
    assert {one.kind for one in told} <= {FindingKind.UNSTABLE, FindingKind.PERIODIC, FindingKind.COUNTED}
    assert any("carrier_changes +" in one.what for one in told)
    assert not [one for one in found if one.kind in (FindingKind.SLOW_HOST, FindingKind.SLOW_ROUTE)]
