"""Commands that judge a lab limited by its machine: all say so, none blames the network."""

from __future__ import annotations

import json

import pytest
from labs import crossbar, lab, needs_lab, without_rates

from crosscut import cli
from crosscut.base.spelling import capital
from crosscut.lab.faults import plant
from crosscut.lab.faults.fault import Fault
from crosscut.lab.watching import trust
from crosscut.run.run import Run

pytestmark = [needs_lab, without_rates, pytest.mark.usefixtures("own_labs")]
UNTOLD = "no conclusion about the network: this machine's CPU was the bottleneck in every phase"


@pytest.fixture(autouse=True)
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes any machine count as too slow."""
    monkeypatch.setattr(trust, "LIMITING_SHARE", 0.0)


def said(capsys: pytest.CaptureFixture[str], status: int, *words: object) -> tuple[str, str]:
    found = cli.main([str(word) for word in words])
    out, err = capsys.readouterr()
    assert found == status, err + out
    return " ".join(out.split()), err


def untold(shown: str) -> bool:
    """True if the findings say that nothing is known about the network."""
    return f"– {capital(UNTOLD)}." in shown


def test_run_locate_and_check_draw_no_conclusion_from_a_busy_machine(tmp_path, capsys):
    spec, page = tmp_path / "spec.toml", tmp_path / "protocol.html"
    spec.write_text('[[promise]]\nname = "fast"\nkind = "route"\nsize = "100KB"\nat_least = "1 GB/s"\n')
    base = tmp_path / "base.zarr"
    with lab(crossbar(tmp_path, 4, "50 Mbit/s")):
        plant.plant("test", Fault("slow", ("n0003",), share=0.5))
        small = ("--size", "100KB", "--on", "lab:test")
        said(capsys, 0, "run", "aapc", *small, "--repetitions", 20, "--quiet", "--out", base)
        assert untold(said(capsys, 0, "show", base, "--findings")[0])

        out, err = said(capsys, 0, "locate", *small)
        assert untold(out)
        assert "False alarm" not in out
        assert "planted: f1: the cable of n0003" in out
        assert "planted in lab test" in err
        assert "again, since this machine's CPU limited all of them" in err

        measured = ("check", spec, "--on", "lab:test", "--most-repetitions", 10)
        out, err = said(capsys, 3, *measured, "--protocol", page, "--json")
        assert json.loads(out)["promises"][0]["reason"] == UNTOLD
        assert "planted in lab test" in err
        protocol = " ".join(page.read_text(encoding="utf-8").split())
        assert "Undecided: 1 of 1 promise undecided" in protocol
        assert "cores of this machine were busy" in protocol

        quick = ("check", "--quick", "--baseline", base, "--on", "lab:test", "--quiet", "--time-limit", "20s")
        redacted = json.loads(said(capsys, 3, *quick, "--redact", "--json")[0])
        assert redacted["drain"] == []
        assert redacted["undecided"].startswith("no conclusion about the network")
        assert str(base) not in redacted["undecided"]


def test_a_resumed_run_names_phases_that_the_machine_limited_once(tmp_path, capsys):
    """Every session that measured a part of them recorded the same."""
    out = tmp_path / "run.zarr"
    with lab(crossbar(tmp_path, 4, "50 Mbit/s")):
        words = ("run", "aapc", "--size", "100KB", "--on", "lab:test", "--repetitions", 40)
        said(capsys, 0, *words, "--quiet", "--time-limit", "1s", "--out", out)
        assert Run.open(out).attributes["state"] == "stopped"
        resumed, _ = said(capsys, 0, "run", "--resume", out)
    assert len(Run.open(out).attributes["trust"]) == 2
    assert resumed.count("cores of this machine were busy") == 1
