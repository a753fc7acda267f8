"""What runs record of the environment: variables that tune how libraries send messages, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.analysis.compare.matching import match
from crosscut.base import core
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")


def test_variables_that_tune_libraries_are_recorded_and_compared(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", "aapc", "-n", "2", "--size", "1KB", "--repetitions", "2"]
    assert crosscut(*words, "--out", "plain.zarr", folder=quick_path).returncode == 0
    monkeypatch.setenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "ring")
    monkeypatch.setenv("UCX_NOTE", os.fsdecode(b"caf\xe9"))
    monkeypatch.setenv("MY_PASSWORD", "secret")
    assert crosscut(*words, "--out", "tuned.zarr", folder=quick_path).returncode == 0
    plain, tuned = (Run.open(quick_path / name) for name in ("plain.zarr", "tuned.zarr"))
    environment = tuned.attributes["environment"]
    assert isinstance(environment, dict)
    assert environment["MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"] == "ring"
    assert environment["UCX_NOTE"] == "caf\\xe9"
    assert "secret" not in str(tuned.attributes)
    assert any("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM ring" in note for note in match(plain, tuned).notes)
    shown = " ".join(crosscut("show", "tuned.zarr", folder=quick_path).stdout.split())
    assert "MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM=ring" in shown
    words = [*words, "--resume", "tuned.zarr"]
    monkeypatch.setenv("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", "tree")
    resumed = crosscut(*words, folder=quick_path)
    assert resumed.returncode == 2
    assert "environment" in resumed.stderr
    assert crosscut(*words, "--force", folder=quick_path).returncode == 0
