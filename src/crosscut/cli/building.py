"""Shared steps of the commands that compile: find the sources, build, install where crosscut looks."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import crosscut
from crosscut.base.errors import CrosscutError, UsageError
from crosscut.base.whole_file import need_folder
from crosscut.cli.parsing.parser import option, whole

LOG_LINES = 30


def add_out(parser: argparse.ArgumentParser, what: str) -> None:
    """Adds `--out`, with `what` as its help, and `--source`."""
    option(parser, "--out FILE", Path, what)
    option(
        parser, "--source DIR", Path, "Sources of crosscut. Default: those that came with this installation."
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    jobs = "Files to compile at a time. Default %(default)s."
    option(parser, "--jobs N", whole(1), jobs, default=os.cpu_count() or 1)


def find_wrapper(option: str, name: str) -> Path:
    """Finds the wrapper by path or on PATH. Keeps links: some wrappers act on the name they run under."""
    found = shutil.which(Path(name).expanduser())
    if found is None:
        raise UsageError(f"{option} {name}: no such program; load the MPI's module, or give its full path")
    return Path(found).absolute()


def find_source(given: Path | None, file: str = "core/CMakeLists.txt", of: str = "crosscut") -> Path:
    """Returns the source folder that contains `file`; `of` names the sources in the UsageError."""
    package = Path(crosscut.__file__).resolve().parent
    candidates = [given] if given is not None else [package / "source", package.parents[1]]
    for folder in candidates:
        if (folder / file).is_file():
            return folder.resolve()
    looked = " and ".join(map(str, candidates))
    raise UsageError(f"no sources of {of} in {looked}; name a checkout with --source DIR")


def find_target(given: Path | None, beside: Path, *, replace: bool) -> Path:
    """Returns the path to write: `given`, or else `beside`. Raises UsageError if it cannot be written."""
    target = (given or beside).expanduser().absolute()
    if target.is_dir():
        raise UsageError(
            f"{target} is a folder; name the file to write with --out, such as {target / beside.name}"
        )
    if target.exists() and not replace:
        raise UsageError(
            f"{target} already exists (for another MPI, perhaps): replace it with --replace, "
            "or write another with --out FILE"
        )
    need_folder("--out", target)
    if not os.access(target.parent, os.W_OK):
        raise UsageError(f"cannot write into {target.parent}; choose another place with --out FILE")
    return target


def find_cmake() -> str:
    folders = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    cmake = shutil.which("cmake", path=os.pathsep.join(folders))
    if cmake is None:
        raise CrosscutError("cmake was not found: load its module, or `pip install cmake`")
    return cmake


def configure_command(cmake: str, source: Path, build: Path, options: Mapping[str, object]) -> list[str]:
    common = {
        "CMAKE_BUILD_TYPE": "Release",
        "CROSSCUT_TESTS": "OFF",
        # A compiler that warns about more than ours must not make the build fail.
        "CROSSCUT_WERROR": "OFF",
        "CROSSCUT_VERSION": crosscut.__version__,
    }
    defines = [f"-D{name}={value}" for name, value in {**common, **options}.items()]
    return [cmake, "-S", str(source), "-B", str(build), *defines]


def compile_core(
    args: argparse.Namespace, build: Path, program: str, options: Mapping[str, object], using: object
) -> Path:
    """Compiles the core's target `program` in `build`; returns its path. `using` is only printed."""
    source, cmake = find_source(args.source), find_cmake()
    print(f"configuring {source} with {using}", flush=True)
    run_step("configuring", configure_command(cmake, source, build, options))
    print(f"compiling, {args.jobs} files at a time", flush=True)
    jobs = ("--parallel", str(args.jobs))
    run_step("compiling", [cmake, "--build", str(build), "--target", program, *jobs])
    return build / "core" / program


def run_step(what: str, words: list[str]) -> None:
    """Runs a command silently; if it fails, CrosscutError carries the end of its output and the command."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise CrosscutError(f"{what}: cannot start {words[0]}: {error.strerror or error}") from error
    if done.returncode != 0:
        said = "\n".join(done.stdout.decode("utf-8", "replace").strip().splitlines()[-LOG_LINES:])
        command = shlex.join(words)
        raise CrosscutError(f"{what} failed (status {done.returncode}):\n{said}\nthe command was: {command}")


def put_in_place(built: Path, target: Path) -> None:
    """Copies, then renames within the target's folder: a job that runs the old executable keeps it."""
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy2(built, staged)
        staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


def tell_written(target: Path, beside: Path, variable: str) -> None:
    """Prints what was written and, if it is not at `beside`, the environment `variable` that must name it."""
    print(f"wrote {target}")
    if target != beside:
        print(f"to use it: export {variable}={target}")
