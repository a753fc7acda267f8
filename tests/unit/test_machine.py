"""What `doctor` finds, and its advice about missing things."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from crosscut.base import core
from crosscut.cli import main
from crosscut.cli.doctor import probes
from crosscut.cli.doctor.probes import Fact
from crosscut.places import slurm


def by_name(findings: Iterable[Fact], name: str) -> Fact:
    return next(finding for finding in findings if finding.name == name)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    core.load.cache_clear()
    monkeypatch.setenv("CROSSCUT_CORE", str(Path(__file__).parent / "fake_core.py"))
    yield
    core.load.cache_clear()


def test_everything_missing_comes_with_advice() -> None:
    for finding in probes.examine():
        assert finding.value
        assert finding.good is not False or finding.advice, finding


def test_a_backend_that_cannot_be_used_says_why() -> None:
    findings = [*probes.probe_core()]
    assert by_name(findings, "mpi").advice == "this executable has no MPI"
    assert by_name(findings, "tcp").good is True


def test_without_an_mpi_the_advice_says_how_to_get_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(probes.sys, "executable", str(tmp_path / "python"))
    missing = by_name(probes.probe_mpi(), "mpiexec")
    assert missing.good is False
    assert "pip install" in missing.advice


def test_launchers_are_found_once_each(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("mpiexec", "srun"):
        (tmp_path / name).write_text("#!/bin/sh\necho version 5\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "mpirun").symlink_to(tmp_path / "mpiexec")
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path}")
    monkeypatch.setattr(probes.sys, "executable", str(tmp_path / "python"))
    assert [path.name for path in probes.mpi_launchers()] == ["mpiexec", "srun"]
    assert "version 5" in by_name(probes.probe_mpi(), "mpiexec").value


@pytest.mark.parametrize(
    ("script", "good", "words"),
    [
        ("echo 'Slurmctld(primary) at n001 is UP'", True, ""),
        ("echo 'Slurmctld(primary) at n001 is DOWN'; exit 1", False, "no controller answers"),
        ("echo 'fatal: no configuration' >&2; exit 1", False, "no controller answers"),
        ("exec sleep 60", False, "no controller answers"),
    ],
)
def test_slurm_is_available_only_if_a_controller_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, good: bool, words: str
) -> None:
    for name, text in (("srun", "true"), ("salloc", "true"), ("scontrol", script)):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(slurm, "CONTROLLER_SECONDS", 0.3)
    found = by_name(probes.probe_places(), "slurm")
    assert found.good is good
    assert words in found.value
    assert good or "scontrol ping" in found.advice


def test_doctor_fails_only_if_nothing_can_be_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    assert "congestion control" in capsys.readouterr().out
    core.load.cache_clear()
    monkeypatch.setenv("CROSSCUT_CORE", str(tmp_path / "none"))
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert findings[0]["good"] is False
    assert "CROSSCUT_CORE" in findings[0]["advice"]
