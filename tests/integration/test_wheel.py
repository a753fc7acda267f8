"""The wheel of `make wheel`, installed in a virtual environment without anything else of this checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("wheel"),  # two processes would build in one folder at the same time
    pytest.mark.skipif(
        Path(sys.prefix) != ROOT / ".venv" or shutil.which("make") is None,
        reason="needs make and the environment that `make install` makes",
    ),
]


def output_of(*words: str | Path, **environment: str) -> str:
    """Returns a command's stdout and stderr; if it fails, so does the test, with this output.

    Commands run outside the checkout and without make's job server.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(
        words,
        env=inherited | environment,
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{words}:\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    output_of("make", "-C", ROOT, "wheel", f"DIST={folder}")
    (made,) = folder.glob("crosscut-*.whl")
    return made


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment with the wheel, its dependencies, and mpich."""
    prefix = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(prefix, with_pip=True)
    pip = (prefix / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    output_of(*pip, f"crosscut[mpich] @ {wheel.as_uri()}")
    return prefix / "bin"


@pytest.fixture(scope="module")
def crosscut(scripts: Path) -> Path:
    return scripts / "crosscut"


def clean_path(scripts: Path) -> str:
    """Returns a PATH with the scripts of the environment and the system, not of this checkout."""
    return f"{scripts}:/usr/local/bin:/usr/bin:/bin"


def test_the_doctor_finds_both_cores_of_the_wheel(crosscut: Path) -> None:
    said = output_of(crosscut, "doctor", PATH=clean_path(crosscut.parent), COLUMNS="1000")
    found = re.findall(r"✓ +(crosscut-core\S*) +(\S+)", said)
    assert found == [(name, str(crosscut.parent / name)) for name in ("crosscut-core", "crosscut-core-mpi")]
    assert str(ROOT) not in said


@pytest.mark.parametrize("backend", ["tcp", "mpi"])
def test_a_wheel_measures_and_shows(crosscut: Path, tmp_path: Path, backend: str) -> None:
    path = clean_path(crosscut.parent)
    place = ["--on", "mpi"] if backend == "mpi" else []
    run = tmp_path / "run.zarr"
    options = ["-n", "2", "--size", "10KB", "--repetitions", "6", "--out", str(run)]
    output_of(crosscut, "run", "pingpong", "--backend", backend, *place, *options, PATH=path)
    shown = output_of(crosscut, "show", run, PATH=path)
    assert "pingpong" in shown
    assert backend in shown
