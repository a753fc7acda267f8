"""Reading a run keeps to its memory limit: arrays that are too large are refused by name."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_run import change, make_run

from crosscut.base import memory
from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.run.format import parse_array
from crosscut.run.run import Run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


@pytest.mark.parametrize(
    ("name", "extent", "words"),
    [
        ("size", 4097, "at most 4,096"),
        ("phase", 2**32 + 1, "at most"),
        ("node", 2**24 + 1, "at most 16,777,216"),
    ],
)
def test_an_array_larger_than_a_run_can_be_is_refused(run: Path, name: str, extent: int, words: str) -> None:
    metadata = json.loads((run / name / "zarr.json").read_text())
    metadata["shape"] = metadata["chunk_grid"]["configuration"]["chunk_shape"] = [extent]
    with pytest.raises(ValueError, match=words):
        parse_array(name, metadata)


@pytest.mark.parametrize("inner", [[2, 2, 7, 4], [1, 2**50, 7, 4], [1, 1, 7, 4]])
def test_a_chunk_that_is_too_large_or_too_small_is_refused(run: Path, inner: list[int]) -> None:
    metadata = json.loads((run / "status" / "zarr.json").read_text())
    chunk = [1, inner[1] if inner[1] > 6 else 2**26, 7, 4]
    metadata["chunk_grid"]["configuration"]["chunk_shape"] = chunk
    metadata["shape"] = [2, min(chunk[1], 2**26), 7, 4]
    metadata["codecs"][0]["configuration"]["chunk_shape"] = inner
    with pytest.raises(ValueError, match="chunks"):
        parse_array("status", metadata)


def stretch(run: Path, dimension: str, extent: int) -> Path:
    """Lengthens the dimension in all arrays: files become sparse, samples are lost, the run stays tiny."""

    def longer(arrays: dict[str, Any]) -> None:
        for name, metadata in arrays.items():
            if dimension not in metadata["dimension_names"]:
                continue
            at = metadata["dimension_names"].index(dimension)
            metadata["shape"][at] = metadata["chunk_grid"]["configuration"]["chunk_shape"][at] = extent
            if metadata["codecs"][0]["name"] == "sharding_indexed":
                metadata["codecs"][0]["configuration"]["chunk_shape"][at] = extent
                shutil.rmtree(run / name / "c")
            else:
                (file,) = (file for file in (run / name / "c").rglob("*") if file.is_file())
                bytes_each = 4 if name in ("peer", "node") else 8
                os.truncate(file, bytes_each * int(np.prod(metadata["shape"], dtype=object)))

    (run / "repetitions_done/c/0/0").write_bytes(bytes(2 * 7 * 8))
    change(run, longer)
    return run


@contextmanager
def address_space(further_bytes: int) -> Iterator[None]:
    """Limits the address space to `further_bytes` more than now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + further_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(
    "words", [["show"], ["show", "--json"], ["export"], ["report", "-o", "x.html", "--force"], ["fsck"]]
)
def test_a_coordinate_of_2_to_the_31_is_refused_by_name(
    run: Path, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    stretch(run, "phase", 2**31)
    before = memory.taken_bytes()
    with address_space(1 << 30):
        assert main([words[0], str(run), *words[1:]]) == 2
    assert memory.taken_bytes() - before < 200e6
    error = capsys.readouterr().err
    assert "the array 'repetitions_done' takes 34.4 GB (34,359,738,368 bytes) of memory" in error
    assert "allow more: --memory 34" in error


def test_holes_take_memory_only_when_they_are_read(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stretch(run, "repetition", 10**9)
    opened = Run.open(run)
    assert opened.dataset["status"].isel(repetition=slice(5, 8)).values.sum() == 0
    with pytest.raises(UsageError, match="the array 'status' takes 56 GB"):
        opened.dataset["status"].load()
    assert main(["show", str(run)]) == 2  # reads the status of a phase at a time
    assert "the array 'status' takes 4 GB" in capsys.readouterr().err


@pytest.mark.parametrize("version", [1, 2])
def test_other_processes_of_a_control_group_leave_less_memory(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4 GB, of which 3.9 GB are in use, 0.5 GB of these for file pages, which the kernel can drop."""
    names = ("limit_in_bytes", "usage_in_bytes", "total_") if version == 1 else ("max", "current", "")
    files = {
        "proc/self/cgroup": "4:memory:/job\n" if version == 1 else "0::/job\n",
        "group/memory.max": "max\n",
        f"group/{'memory/' * (version == 1)}job/memory.{names[0]}": "4000000000\n",
        f"group/{'memory/' * (version == 1)}job/memory.{names[1]}": "3900000000\n",
        f"group/{'memory/' * (version == 1)}job/memory.stat": (
            f"anon 3400000000\n{names[2]}inactive_file 400000000\n{names[2]}active_file 100000000\n"
        ),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CONTROL_GROUPS", tmp_path / "group")
    assert memory.free_bytes() == 600_000_000


def test_the_limit_on_memory_is_an_option(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(run), "--memory", "1MB"]) == 2
    assert "the limit is 1 MB" in capsys.readouterr().err
    assert main(["show", str(run), "--memory", "100GB"]) == 0


def test_running_out_of_memory_is_an_error_without_a_traceback(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stretch(run, "repetition", 10**8)
    with address_space(1 << 30):
        assert main(["show", str(run), "--memory", "100GB"]) == 2
    assert "crosscut: error: not enough memory" in capsys.readouterr().err
