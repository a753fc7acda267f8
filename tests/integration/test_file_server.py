"""A file server, as of NFS, reports a full quota or its own failure late: when a file is synced or closed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from crosscut.base import core
from crosscut.cli import main
from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)
if shutil.which("cc") is None:
    pytest.skip("the failing calls need a C compiler", allow_module_level=True)

SOURCE = Path(__file__).parents[2] / "core/tests/failing_files.c"
RUN = "run aapc -n 3 --backend null --size 100,3000 --repetitions 5 --quiet --out"
LATE = "Disk quota exceeded"


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("shim") / "failing_files.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", SOURCE, "-o", built, "-ldl"], check=True)
    return built


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run.zarr"
    words = "run aapc --on sim:xibalba-e7-config1 -n 8 --size 3000 --repetitions 3 --quiet --out"
    assert main([*words.split(), str(out)]) == 0
    return out


def crosscut(
    shim: Path, call: str, under: Path, after: int, *words: str | Path
) -> subprocess.CompletedProcess[str]:
    own = {"LD_PRELOAD": str(shim), "FAIL_CALL": call, "FAIL_UNDER": str(under), "FAIL_AFTER": str(after)}
    command = [sys.executable, "-m", "crosscut", *words]
    done = subprocess.run(
        command, env=os.environ | own, cwd=under, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("after", [0, 7, 20, 30, 45])
def test_a_sync_that_fails_ends_the_run_with_its_cause_and_it_resumes(
    shim: Path, tmp_path: Path, after: int
) -> None:
    out = tmp_path / "run.zarr"
    done = crosscut(shim, "sync", tmp_path, after, *RUN.split(), out)
    assert done.returncode in (1, 2), done.stderr
    assert LATE in done.stderr
    assert str(tmp_path) in done.stderr or "run.zarr" in done.stderr
    if not (out / "zarr.json").exists():
        return
    assert not fsck.check(out).damage
    before = Run.open(out).dataset
    kept = before["status"].values == MEASURED
    kept &= kept.all(axis=-1, keepdims=True)
    seconds = before["rank_seconds"].values
    assert main(["run", "--resume", str(out), "--quiet"]) == 0
    assert fsck.check(out).state == "complete"
    after_it = Run.open(out).dataset["rank_seconds"].values
    assert (after_it[kept] == seconds[kept]).all()


def test_a_run_relies_on_syncs_so_it_survives_closes_that_fail(shim: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    done = crosscut(shim, "close", tmp_path, 0, *RUN.split(), out)
    assert done.returncode == 0, done.stderr
    assert fsck.check(out).state == "complete"


OUTPUTS = (
    "export {run} --force --out {out}.csv",
    "export {run} --force --out {out}.json",
    "report {run} --force --out {out}.html",
    "locate {run} -o {out}.toml",
    "check {spec} {run} --junit {out}.xml",
    "check {spec} {run} --protocol {out}.html",
    "network show xibalba-er16 --draw {out}.svg",
)
OLD = 'source = "crosscut locate"'  # marks a file that locate may replace
SPEC = """[[promise]]
name = "every route"
kind = "route"
pattern = "aapc"
size = "3000B"
at_least = "1 KB/s"
"""


@pytest.mark.parametrize("words", OUTPUTS)
@pytest.mark.parametrize("call", ["sync", "close"])
def test_a_file_that_cannot_be_finished_is_an_error_and_leaves_the_old_one(
    shim: Path, run: Path, tmp_path: Path, words: str, call: str
) -> None:
    spec, folder = tmp_path / "spec.toml", tmp_path / "out"
    folder.mkdir()
    spec.write_text(SPEC)
    filled = [word.format(run=run, spec=spec, out=folder / "it") for word in words.split()]
    (old := folder / Path(filled[-1]).name).write_text(OLD)
    done = crosscut(shim, call, folder, 0, *filled)
    assert done.returncode == 1, done.stderr
    assert f"cannot write {old}: {LATE}" in done.stderr
    assert old.read_text() == OLD
    assert [*folder.iterdir()] == [old]


@pytest.mark.parametrize("words", OUTPUTS)
def test_a_pipe_is_written_to_and_not_replaced(run: Path, tmp_path: Path, words: str) -> None:
    spec, out = tmp_path / "spec.toml", tmp_path / "it"
    spec.write_text(SPEC)
    filled = [word.format(run=run, spec=spec, out=out) for word in words.replace("--force ", "").split()]
    os.mkfifo(pipe := Path(filled[-1]))
    with (tmp_path / "read").open("wb") as file, subprocess.Popen(["cat", pipe], stdout=file) as reader:
        try:
            assert main(filled) in (0, 3)  # 3: undecided, after so few repetitions
            reader.wait(timeout=30)
        finally:
            reader.kill()
    assert (tmp_path / "read").read_bytes()
    assert pipe.is_fifo()
