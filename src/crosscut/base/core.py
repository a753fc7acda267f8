"""Finds the measuring core and asks it for its patterns, backends and their parameters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from crosscut.base import records
from crosscut.base.errors import CrosscutError, plainly

CORE = "crosscut-core"
CORE_MPI = "crosscut-core-mpi"
# Variables that override the search, for a core built elsewhere (with a site's MPI).
VARIABLES = {CORE: "CROSSCUT_CORE", CORE_MPI: "CROSSCUT_CORE_MPI"}
LIST_TIMEOUT_SECONDS = 20

T = TypeVar("T")


class CoreError(CrosscutError):
    """The core is missing, or does not answer as it should."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a pattern or backend; values travel as text and the core validates them."""

    name: str
    kind: str = ""
    unit: str = ""
    default: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pattern:
    name: str
    summary: str = ""
    answers: str = ""
    formula: str = ""
    formula_per: str = ""
    source: str = ""
    shape: str = ""
    evaluation: str = ""
    """Sizes at which `crosscut evaluate` measures it: `shared sizes` or `own sizes`; empty if it does not."""
    window: int = 1
    """Messages in flight per route, unless a run asks for another number."""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Backend:
    name: str
    summary: str = ""
    live: bool = False
    tolerates_failure: bool = False
    lossy: bool = False
    over_mpi: bool = False
    """Its ranks are tasks of an MPI job."""
    unavailable: str = ""
    """Why it cannot be used, and what to do; empty if it can."""
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True)
class Device:
    """Something that a backend can use on this machine, such as a provider of libfabric."""

    backend: str
    name: str
    text: str


@dataclass(frozen=True)
class _Listed:
    """The answer to `crosscut-core list --json`."""

    version: str = ""
    patterns: tuple[Pattern, ...] = ()
    backends: tuple[Backend, ...] = ()


@dataclass(frozen=True)
class Core:
    """The executables, and what they offer together."""

    executable: Path
    mpi_executable: Path | None
    version: str
    patterns: tuple[Pattern, ...]
    backends: tuple[Backend, ...]

    def pattern(self, name: str) -> Pattern | None:
        return next((pattern for pattern in self.patterns if pattern.name == name), None)

    def backend(self, name: str) -> Backend | None:
        return next((backend for backend in self.backends if backend.name == name), None)


def _candidates(name: str) -> Iterator[Path]:
    """Yields the paths at which an executable may be, those nearest to this installation first."""
    yield Path(sys.executable).parent / name
    yield Path(sys.argv[0]).resolve().parent / name
    if (on_path := shutil.which(name)) is not None:
        yield Path(on_path)
    root = Path(__file__).resolve().parents[3]
    if (root / "core" / "src").is_dir():  # a source tree: newest build first
        builds = [*root.glob(f"build/{name}"), *root.glob(f"build/*/{name}"), *root.glob(f"build/*/*/{name}")]
        yield from sorted(builds, key=lambda path: path.stat().st_mtime, reverse=True)


def find_executable(name: str) -> Path | None:
    """Returns the path of the core's executable `name`, or None. Raises CoreError if its environment variable
    names a file that is not executable."""
    variable = VARIABLES[name]
    if named := os.environ.get(variable):
        path = Path(named)
        if not is_program(path):
            raise CoreError(f"{variable}={named}: no executable file there; unset it or correct it")
        return path.absolute()
    if name == CORE_MPI and (core := os.environ.get(VARIABLES[CORE])):
        beside = Path(core).absolute().parent / CORE_MPI
        return beside if is_program(beside) else None
    return next((path.absolute() for path in _candidates(name) if is_program(path)), None)


def is_program(path: Path) -> bool:
    """True if this user may execute the file; a folder is none."""
    return path.is_file() and os.access(path, os.X_OK)


def ask(
    words: Sequence[str | Path], limit_seconds: int, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Runs an executable of the core. Raises CoreError if it does not start, or does not end in time."""
    try:
        return subprocess.run(words, capture_output=True, env=environment, timeout=limit_seconds, check=False)
    except OSError as error:
        raise CoreError(f"cannot run {words[0]}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise CoreError(f"{words[0]} {words[1]} did not answer within {limit_seconds} s") from error


def _query(executable: Path, option: str, kind: type[T]) -> T:
    answer = ask([executable, "list", option], LIST_TIMEOUT_SECONDS)
    if answer.returncode != 0:
        said = answer.stderr.decode("utf-8", "replace").strip().splitlines()
        raise CoreError(f"{executable} list failed with status {answer.returncode}: {' '.join(said[-3:])}")
    try:
        return records.parse(json.loads(answer.stdout), kind)
    except ValueError as error:
        raise CoreError(
            f"{executable} list {option}: {plainly(error)}; is it a crosscut-core of this version?"
        ) from error


def devices(executable: Path) -> tuple[Device, ...]:
    """Asks what backends can use on this machine, which may take seconds. Raises CoreError."""
    return _query(executable, "--devices", tuple[Device, ...])


def _merge(core: tuple[Backend, ...], mpi: tuple[Backend, ...]) -> tuple[Backend, ...]:
    """Merges the backends of both executables. Either one's can be used: the place picks the executable."""
    usable = {backend.name: backend for backend in mpi if not backend.unavailable}
    merged = [usable.get(backend.name, backend) if backend.unavailable else backend for backend in core]
    known = {backend.name for backend in core}
    return tuple(merged + [backend for backend in mpi if backend.name not in known])


@lru_cache(maxsize=1)
def load() -> Core:
    """Finds the executables and asks them what they offer, once per process. Raises CoreError."""
    executable = find_executable(CORE)
    if executable is None:
        raise CoreError(
            f"{CORE} was not found (looked beside {sys.executable}, on PATH and in build/); "
            f"install with 'pip install .' or name it in {VARIABLES[CORE]}"
        )
    listed = _query(executable, "--json", _Listed)
    mpi_executable = find_executable(CORE_MPI)
    backends = listed.backends
    if mpi_executable is not None:
        try:
            backends = _merge(backends, _query(mpi_executable, "--json", _Listed).backends)
        except CoreError as error:  # its MPI library is gone, for example; everything else still works
            mpi_executable = None
            backends = tuple(
                replace(backend, unavailable=str(error)) if backend.unavailable else backend
                for backend in backends
            )
    return Core(executable, mpi_executable, listed.version, listed.patterns, backends)
