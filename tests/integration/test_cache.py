"""`--cache` on the command line: what runs record of it, and what it cannot be combined with."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process import crosscut

from crosscut.analysis.compare.matching import match
from crosscut.base import core
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")


@pytest.mark.parametrize("state", ["rotate", "cold"])
def test_a_run_records_that_messages_lie_in_no_cache(quick_path: Path, state: str) -> None:
    words = ["aapc", "-n", "3", "--size", "1KB", "--repetitions", "2"]
    for name, more in (("warm.zarr", []), ("other.zarr", ["--cache", state])):
        done = crosscut("run", *words, *more, "--out", name, folder=quick_path)
        assert done.returncode == 0, done.stderr
    run = Run.open(quick_path / "other.zarr")
    assert run.attributes["cache"] == state
    if state == "cold":
        assert set(run.dataset["iterations"].values.tolist()) == {1}
    nodes = run.attributes["nodes"]
    assert isinstance(nodes, list)
    assert nodes[0]["last_level_cache_bytes"] >= 1 << 16
    shown = " ".join(crosscut("show", "other.zarr", folder=quick_path).stdout.split())
    assert ("caches filled with other data" if state == "cold" else "larger than the caches") in shown
    notes = match(Run.open(quick_path / "warm.zarr"), run).notes
    assert any(f"state of the caches: warm, then {state}" in note for note in notes)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--cache", "rotate", "--verify"], "cannot be combined with --cache rotate"),
        (["--cache", "cold", "--iterations", "4"], "leave --iterations out"),
        (["--cache", "cold", "--backend", "null"], "moves no bytes"),
        (["--cache", "rotate", "--memory", "1MB"], "raise --memory"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_a_cache_s_state_cannot_be_combined_with_is_refused(
    quick_path: Path, words: list[str], why: str
) -> None:
    done = crosscut("run", "aapc", "-n", "2", "--size", "1KB", *words, "--out", "r.zarr", folder=quick_path)
    assert done.returncode == 2
    assert why in done.stderr
