"""Compiles and profiles programs for tests, and reads the counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from in_process import crosscut

from crosscut.base.errors import CrosscutError
from crosscut.profile import profiler

SOURCES = Path(__file__).parent / "profiled"
BESIDE = Path(sys.executable).parent
MPICC, MPIEXEC = BESIDE / "mpicc_abi", BESIDE / "mpiexec"
SECONDS = 300


def lacking() -> str | None:
    if not MPICC.exists() or not MPIEXEC.exists():
        return "no MPI of the standard ABI: pip install 'mpich>=5'"
    try:
        profiler.find_library()
    except CrosscutError as error:
        return str(error)
    return None


def built_by(compiler: Path, source: Path, folder: Path, *flags: str) -> Path:
    target = folder / source.stem
    words = ["-O1", "-pthread", *flags, source, "-o", target, f"-Wl,-rpath,{BESIDE.parent / 'lib'}"]
    command: list[str | Path] = [compiler, *words]
    subprocess.run(command, check=True)
    return target


def profiled(folder: Path, ranks: int, *words: str | Path, options: tuple[str, ...] = ()) -> dict[str, Any]:
    launch = ("--", MPIEXEC, "-n", str(ranks), *words)
    done = crosscut("profile", "--json", "--out", folder, *options, *launch)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["complete"], found["ended"]
    return found


def called(found: dict[str, Any], name: str) -> dict[str, Any]:
    calls: list[dict[str, Any]] = found["calls"]
    return next(call for call in calls if call["name"] == name)


def messages(found: dict[str, Any], name: str, part: str = "as_called") -> tuple[int, int]:
    """Returns (messages, bytes) of a call over all sizes."""
    amounts = called(found, name)[part]
    return sum(amounts["messages"]), sum(amounts["bytes"])
