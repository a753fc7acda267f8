"""`crosscut build-mpi`: builds the core once more, with a site's own MPI."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import crosscut
from crosscut.base.core import CORE_MPI, VARIABLES
from crosscut.base.errors import EXIT_OK, CrosscutError, UsageError, plainly

EPILOG = """
examples:
  crosscut build-mpi --mpicxx mpicxx                     the MPI whose module is loaded
  crosscut build-mpi --mpicxx /opt/openmpi/bin/mpicxx --out ~/bin/crosscut-core-mpi
  crosscut build-mpi --mpicxx CC                         Cray: the compiler that finds MPI by itself

Needs a C++20 compiler behind the wrapper (GCC 11 or newer, Clang 14 or newer) and cmake.
"""

LOG_LINES = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mpicxx", required=True, metavar="PATH", help="the MPI's C++ compiler wrapper")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help=f"the executable to write ({CORE_MPI} beside this crosscut)"
    )
    parser.add_argument("--replace", action="store_true", help="replace an executable that is there")
    add_build_arguments(parser)


def add_build_arguments(parser: argparse.ArgumentParser) -> None:
    """What every command that compiles the core takes."""
    parser.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="crosscut's sources (those that came with this installation)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="compile this many files at a time (%(default)s)",
    )


def find_wrapper(name: str) -> Path:
    """The wrapper by its path or through PATH; its name stays, for wrappers that go by their name (links)."""
    found = shutil.which(Path(name).expanduser())
    if found is None:
        raise UsageError(f"--mpicxx {name}: no such program; load the MPI's module, or give its full path")
    return Path(found).absolute()


def find_source(given: Path | None) -> Path:
    """The folder with the root CMakeLists.txt and core/."""
    package = Path(crosscut.__file__).resolve().parent
    candidates = [given] if given is not None else [package / "source", package.parents[1]]
    for folder in candidates:
        if (folder / "CMakeLists.txt").is_file() and (folder / "core" / "src").is_dir():
            return folder.resolve()
    looked = " and ".join(str(folder) for folder in candidates)
    raise UsageError(f"no sources of crosscut in {looked}; name a checkout with --source DIR")


def find_target(given: Path | None, *, replace: bool, name: str = CORE_MPI) -> Path:
    """Where to write, beside this crosscut unless told otherwise; raises UsageError."""
    target = (given if given is not None else Path(sys.executable).parent / name).expanduser().absolute()
    if target.is_dir():
        raise UsageError(f"--out {target} is a folder; name the file to write, as {target / name}")
    if target.exists() and not replace:
        raise UsageError(
            f"{target} is already there (for another MPI, perhaps): replace it with --replace, "
            "or write another with --out FILE"
        )
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise UsageError(f"cannot write into {target.parent}; choose another place with --out FILE")
    return target


def find_cmake() -> str:
    folders = (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
    cmake = shutil.which("cmake", path=os.pathsep.join(folders))
    if cmake is None:
        raise CrosscutError("cmake was not found: load its module, or `pip install cmake`")
    return cmake


def configure_command(cmake: str, source: Path, build: Path, wrapper: Path) -> list[str]:
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CROSSCUT_MPI": "ON",
        "CROSSCUT_MPICXX": str(wrapper),
        "CROSSCUT_TESTS": "OFF",
        # A compiler that warns about more than ours must not keep anybody from building.
        "CROSSCUT_WERROR": "OFF",
        "CROSSCUT_VERSION": crosscut.__version__,
    }
    defines = [f"-D{name}={value}" for name, value in options.items()]
    return [cmake, "-S", str(source), "-B", str(build), *defines]


def run_step(what: str, words: list[str]) -> None:
    """Quiet when all is well; else the end of what the program said, and the command."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise CrosscutError(f"{what}: cannot start {words[0]}: {error.strerror or error}") from error
    if done.returncode != 0:
        said = "\n".join(done.stdout.decode("utf-8", "replace").strip().splitlines()[-LOG_LINES:])
        command = shlex.join(words)
        raise CrosscutError(f"{what} failed (status {done.returncode}):\n{said}\nthe command was: {command}")


def check_built(executable: Path) -> None:
    """It starts, and has the backend: the library behind the wrapper is found by the loader, too."""
    try:
        done = subprocess.run([executable, "list", "--json"], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CrosscutError(f"the new {executable.name} does not start: {plainly(error)}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise CrosscutError(
            f"the new {executable.name} does not start: {said}\n"
            "if a library is missing, load the MPI's module (LD_LIBRARY_PATH) and try again"
        )
    backends = json.loads(done.stdout)["backends"]
    mpi = next((backend for backend in backends if backend["name"] == "mpi"), None)
    if mpi is None or not mpi.get("available", True):
        raise CrosscutError(
            f"the new {executable.name} has no mpi backend: are the sources of another version?"
        )


def put_in_place(built: Path, target: Path) -> None:
    """By rename within the target's folder: a job that runs the old executable keeps it."""
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        shutil.copy2(built, staged)
        staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


def execute(args: argparse.Namespace) -> int:
    if args.jobs < 1:
        raise UsageError(f"--jobs {args.jobs}: at least 1")
    wrapper = find_wrapper(args.mpicxx)
    source = find_source(args.source)
    target = find_target(args.out, replace=args.replace)
    cmake = find_cmake()
    with tempfile.TemporaryDirectory(prefix="crosscut-build-mpi-") as folder:
        build = Path(folder)
        print(f"configuring {source} with {wrapper}", flush=True)
        run_step("configuring", configure_command(cmake, source, build, wrapper))
        print(f"compiling, {args.jobs} files at a time", flush=True)
        jobs = ("--parallel", str(args.jobs))
        run_step("compiling", [cmake, "--build", str(build), "--target", CORE_MPI, *jobs])
        built = build / "core" / CORE_MPI
        check_built(built)
        put_in_place(built, target)
    print(f"wrote {target}")
    if target != Path(sys.executable).parent / CORE_MPI:
        print(f"to use it: export {VARIABLES[CORE_MPI]}={target}")
    print("next: crosscut run pingpong -n 2 --backend mpi, started by this MPI's own mpiexec or by srun")
    return EXIT_OK
