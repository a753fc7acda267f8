"""Fixtures of golden tests."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from importing import FILES

from crosscut.cli import main
from crosscut.run.run import Run

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("published_compare", HERE / "published" / "compare.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    monkeypatch.chdir(tmp_path)

    def make(*words: str) -> Run:
        files = [str(FILES / word) if (FILES / word).exists() else word for word in words]
        assert main(["import", *files, "-o", "run.zarr", "--force"]) == 0
        return Run.open(tmp_path / "run.zarr")

    return make
