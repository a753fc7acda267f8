"""Reading a run takes no more memory than it may: what is too large or does not fit is refused by name."""

from __future__ import annotations

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

from crosscut.cli import main


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "run.zarr")


def stretch(run: Path, dimension: str, extent: int) -> Path:
    """The dimension is so long in all arrays: files become sparse, samples are lost, the run stays tiny."""

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
    """So much more than now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + further_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_where_memory_ends_all_the_same_there_is_an_error_and_no_traceback(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stretch(run, "repetition", 10**8)
    with address_space(1 << 30):
        assert main(["show", str(run), "--memory", "100GB"]) == 2
    assert "crosscut: error: memory does not suffice" in capsys.readouterr().err
