"""The summary of `make workloads`, for commands that succeed, fail, and cannot run here."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "workloads.py"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("workloads_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_summary_lists_what_was_verified_what_was_not_and_what_was_skipped(
    tool: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def three(_folder: Path) -> Iterator[object]:
        yield tool.Step("first", "a list", ("workload", "list", "--json"))
        yield tool.Step("second", "no workload", ("workload", "run", "nothing"))
        yield tool.Step("third", "another's program", ("workload", "list"), lacking="it is not here")

    monkeypatch.setattr(tool, "steps", three)
    assert tool.main() == 1
    said = capfd.readouterr()
    assert "there is no workload 'nothing'" in said.err
    lines = [" ".join(line.split()) for line in said.out.splitlines()]
    assert any(line.startswith("first a list verified") for line in lines)
    assert any(line.startswith("second no workload NOT verified: exit status 2") for line in lines)
    assert "third another's program skipped: it is not here" in lines


def test_every_workload_linpack_and_copies_are_run(tool: ModuleType, tmp_path: Path) -> None:
    words = [step.words for step in tool.steps(tmp_path)]
    assert [one[:2] for one in words[:2]] == [("workload", "run"), ("workload", "hpl")]
    assert words[0][2:] == ("all", "--class", "S,W", "-n", "1-16")
    assert words[2][0] == "clone"
    assert Path(words[2][1]).stat().st_size == tool.IMAGE_BYTES
