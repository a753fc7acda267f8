"""Runs real MPI programs on a described network: SimGrid's SMPI, under a virtual clock.

SMPI (https://simgrid.org; Degomme et al., *Simulating MPI Applications: The SMPI Approach*, IEEE TPDS 28,
2017) runs the ranks of a program one after another in one process; a simulator computes how long each message
takes. The core writes the network as a platform for SimGrid; this module puts the two together.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from crosscut.base import core, process_group, programs
from crosscut.base.errors import CrosscutError, UsageError, plainly
from crosscut.network import description as network
from crosscut.places import smpi_options

INSTALL = "install SimGrid: apt install libsimgrid-dev (Debian, Ubuntu), or from https://simgrid.org"
# The most ranks of a platform, which lists the path of every pair (core/backends/sim/platform.hpp).
MOST_RANKS = 2048
# Plays crosscut's own patterns (core/smpi/player/); it is beside crosscut-core, or named by the variable.
PLAYER = "crosscut-smpi-player"
PLAYER_VARIABLE = "CROSSCUT_SMPI_PLAYER"
COMPILERS = {
    ".c": "smpicc",
    ".cc": "smpicxx",
    ".cpp": "smpicxx",
    ".cxx": "smpicxx",
    ".f": "smpiff",
    ".f90": "smpif90",
}
# Speed of a platform's hosts (core/backends/sim/platform.cpp). SMPI takes it for this machine's, too, so that
# computing takes as long there as here.
HOST_FLOPS = 1e9
QUIET = ("--log=xbt_cfg.thresh:warning", "--log=smpi_config.thresh:warning")
SIMULATED_TIME = "Simulated time"
# Files that a simulation leaves in its folder: its clock, and its messages if it does not finish.
TIMING, TROUBLES = "timing.log", "engine.log"
_LAUNCHER = "smpirun"
# "Actor 2 (1@r1): waiting for communication activity 0x5606 () in state WAITING to finish"
_ACTOR = re.compile(r"Actor \d+ \((\d+)@[^)]*\): waiting for (.*?) activity")
_ELF = b"\x7fELF"


@dataclass(frozen=True)
class SimulatedProgram:
    """The program to simulate."""

    path: Path
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True)
class SimulationSettings:
    """How to simulate it."""

    network: str
    ranks: int | None = None
    """None: as many as the network has room for."""
    ranks_per_host: int = 0
    """0: as the network says."""
    compute: str = "host"
    """How long computing takes. `host`: as long as here; `none`: no time; a number: so many times as long."""
    options: tuple[str, ...] = ()
    """SimGrid's options, `name:value`. They come last, so they win."""


@dataclass(frozen=True)
class Platform:
    """A network as SimGrid reads it."""

    file: Path
    hosts: Path
    """Its host file."""
    options: tuple[str, ...]
    """With these, the network's file is the only source of times (core/smpi/smpi_options.cpp)."""


@dataclass(frozen=True)
class Engine:
    """`crosscut run --on sim:NETWORK --engine NAME`."""

    name: str
    summary: str
    unavailable: str
    """Why it cannot be used here, and what to do; empty if it can."""


@dataclass(frozen=True)
class Simulated:
    """The result of a simulation."""

    ranks: int
    status: int
    seconds: float | None
    """Virtual; None if the simulation did not finish."""
    wall_seconds: float
    options: tuple[str, ...]
    """SimGrid's options in this simulation."""
    stuck: tuple[str, ...] = ()
    """What deadlocked ranks wait for."""


def unavailable() -> str | None:
    """Returns why programs cannot be simulated here, and what to do; None if they can."""
    if shutil.which(_LAUNCHER):
        return None
    return f"SimGrid is not installed ({_LAUNCHER} is not on PATH): {INSTALL}"


def find_player() -> Path | None:
    """Returns the program that `--engine smpi` starts, or None."""
    named = os.environ.get(PLAYER_VARIABLE)
    path = Path(named) if named else core.load().executable.parent / PLAYER
    return path.absolute() if path.is_file() else None


def engine_unavailable() -> str | None:
    """Returns why `crosscut run --engine smpi` cannot be used here, and what to do; None if it can."""
    if (reason := unavailable()) is not None:
        return reason
    if find_player() is not None:
        return None
    if named := os.environ.get(PLAYER_VARIABLE):
        return f"{PLAYER_VARIABLE}={named}: there is no such file; unset it or correct it"
    return f"{PLAYER} was not built; build it: crosscut build-smpi"


def engines() -> tuple[Engine, ...]:
    """Returns the engines that can compute a simulated run."""
    return (
        Engine("max-min", "crosscut's own: capacities shared max-min fairly", ""),
        Engine("smpi", "SimGrid's SMPI: every rank an MPI process", engine_unavailable() or ""),
    )


def version() -> str:
    """Returns `SimGrid version 3.32`; empty if unknown."""
    return programs.said([_LAUNCHER, "-version"], 20).strip().partition("\n")[0]


def compute_options(compute: str) -> tuple[str, ...]:
    """Returns the options for `SimulationSettings.compute`. Raises UsageError."""
    if compute == "none":
        return ("smpi/simulate-computation:no", f"smpi/host-speed:{HOST_FLOPS:.17g}f")
    try:
        scale = 1.0 if compute == "host" else float(compute)
    except ValueError:
        scale = 0.0
    if not 1e-6 <= scale <= 1e6:
        raise UsageError(
            f"--compute {compute}: give host (as long as here), none (no time), or how many times as long as "
            "here, such as 0.5"
        )
    return (f"smpi/host-speed:{scale * HOST_FLOPS:.17g}f",)


def all_options(settings: SimulationSettings, network_options: Sequence[str]) -> tuple[str, ...]:
    """Returns all options; of two with one name, the later wins."""
    return (*network_options, *compute_options(settings.compute), *settings.options)


def checked_option(text: str) -> str:
    """Returns an option of SimGrid as typed, `smpi/bcast:mpich`. Raises UsageError."""
    name, colon, value = text.partition(":")
    if not (name and colon and value) or any(character.isspace() for character in text):
        raise UsageError(f"--option {text}: write NAME:VALUE without blanks, such as smpi/bcast:mpich")
    return text


def links_simgrid(path: Path) -> bool:
    """True if a program was linked by smpicc: it then names SimGrid's library, or functions of SMPI."""
    with path.open("rb") as file:
        if file.read(len(_ELF)) != _ELF:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return any(content.find(word) >= 0 for word in (b"libsimgrid", b"smpi_"))


def prepared(program: SimulatedProgram, folder: Path) -> SimulatedProgram:
    """Returns a program that SMPI can run: as it is, or compiled into `folder` if it is a source file."""
    path = program.path.expanduser()
    if not path.exists() and path.name == str(path) and (found := shutil.which(path)):
        path = Path(found)
    if not path.is_file():
        raise UsageError(f"{program.path}: there is no such program")
    if path.suffix.lower() in COMPILERS:
        return SimulatedProgram(_compiled(path, folder), program.arguments)
    try:
        fits = links_simgrid(path)
    except OSError as error:
        raise UsageError(f"{path}: {plainly(error)}") from error
    if not fits:
        raise UsageError(
            f"{path}: not compiled for SMPI, so its messages would not be simulated. Compile it with smpicc, "
            "smpicxx or smpif90 in place of mpicc, mpicxx or mpif90 (smpicc -O2 prog.c -o prog), or name its "
            f"source file here ({', '.join(sorted(COMPILERS))})"
        )
    return SimulatedProgram(path.absolute(), program.arguments)


def _compiled(source: Path, folder: Path) -> Path:
    compiler = COMPILERS[source.suffix.lower()]
    target = folder / source.stem
    complaint = compile_errors([compiler, "-O2", str(source.absolute()), "-o", str(target)])
    if complaint is not None:
        raise UsageError(f"{source}: {compiler} cannot compile it:\n{complaint}")
    return target


def compile_errors(command: Sequence[str]) -> str | None:
    """Returns the messages of SimGrid's compiler if it fails; None if it succeeds."""
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise CrosscutError(f"cannot start {command[0]}: {plainly(error)}; {INSTALL}") from error
    return done.stderr.decode("utf-8", "replace").strip() if done.returncode != 0 else None


def rank_count(settings: SimulationSettings) -> int:
    """Returns the number of ranks. Raises UsageError if it is too large for a platform."""
    ranks = settings.ranks or network.ranks(settings.network, settings.ranks_per_host)
    if ranks > MOST_RANKS:
        why = "" if settings.ranks else f" (all of network {settings.network})"
        raise UsageError(
            f"-n {ranks}{why}: the platform for SimGrid lists a path for every pair of ranks, so "
            f"{MOST_RANKS} ranks is the most; give a smaller -n"
        )
    return ranks


def write_platform(settings: SimulationSettings, ranks: int, folder: Path) -> Platform:
    """Writes the network into `folder` as a platform with one host for each rank."""
    platform = folder / "platform.xml"
    per_host = ["--ranks-per-host", str(settings.ranks_per_host)] if settings.ranks_per_host else []
    network.ask("platform", settings.network, "--ranks", str(ranks), *per_host, "--out", str(platform))
    options = platform.with_name(platform.name + ".smpi").read_text(encoding="ascii").split()
    return Platform(platform, platform.with_name(platform.name + ".hosts"), tuple(options))


def checked_words(program: SimulatedProgram, folder: Path) -> None:
    """Raises UsageError for arguments or a folder that smpirun would not pass on unchanged."""
    for word in program.arguments:
        if word.split() != [word] or word.startswith(("--cfg=", "--log=")):
            raise UsageError(
                f"'{word}': smpirun splits program arguments at blanks, drops empty ones and takes --cfg= "
                "and --log= for itself; let the program read such arguments from a file"
            )
    if any(character.isspace() for character in str(folder)):
        raise UsageError(
            f"TMPDIR: smpirun cannot read files in {folder}, because its name contains a blank; set "
            "TMPDIR to another folder"
        )


def command(
    program: SimulatedProgram, settings: SimulationSettings, ranks: int, platform: Platform, folder: Path
) -> list[str]:
    """Returns smpirun's command line."""
    options = (*all_options(settings, platform.options), "smpi/display-timing:yes")
    return [*smpirun(ranks, platform, options, folder), str(program.path), *program.arguments]


def smpirun(ranks: int, platform: Platform, options: Sequence[str], folder: Path) -> list[str]:
    """Returns the words before the program's. `folder`: for TIMING and TROUBLES."""
    logs = (
        f"--log=smpi_utils.app:file:{folder / TIMING}",
        "--log=smpi_utils.fmt:%.15r|%m%n",
        f"--log=ker_engine.app:file:{folder / TROUBLES}",
    )
    return [
        _LAUNCHER, "-quiet", "-np", str(ranks),
        "-platform", str(platform.file), "-hostfile", str(platform.hosts),
        *QUIET, *logs, *(f"--cfg={option}" for option in options),
    ]  # fmt: skip


def _lines(log: Path) -> list[str]:
    """Returns the lines of a file; none if it is not there."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def stuck_ranks(log: Path) -> tuple[str, ...]:
    """Returns what each rank waits for if all are deadlocked; smpirun then still ends with status 0."""
    lines = _lines(log)
    if not any("Deadlock detected" in line for line in lines):
        return ()
    return tuple(f"rank {found[1]} waits for {found[2]}" for line in lines if (found := _ACTOR.search(line)))


def simulated_seconds(log: Path) -> float | None:
    """Reads the clock with all its digits: `0.800012800000000|Simulated time: 0.800013 seconds.`"""
    for line in _lines(log):
        clock, _, words = line.partition("|")
        if words.startswith(SIMULATED_TIME):
            with contextlib.suppress(ValueError):
                return float(clock)
    return None


def simulate(
    program: SimulatedProgram, settings: SimulationSettings, folder: Path, output: IO[bytes] | None = None
) -> Simulated:
    """Runs a prepared program. Its output goes to `output`, or to this process's standard output."""
    ranks = rank_count(settings)
    checked_words(program, folder)
    smpi_options.check(settings.options, _LAUNCHER, QUIET, folder)
    platform = write_platform(settings, ranks, folder)
    words = command(program, settings, ranks, platform, folder)
    # SMPI_PRETEND_CC, set by build scripts, would make smpicc an ordinary compiler.
    environment = {name: value for name, value in os.environ.items() if name != "SMPI_PRETEND_CC"}
    begin = time.perf_counter()
    try:
        process = process_group.start(words, stdout=output, env=environment)
    except OSError as error:
        raise CrosscutError(f"cannot start {_LAUNCHER}: {plainly(error)}; {INSTALL}") from error
    try:
        status = process.wait()
    except BaseException:
        _end(process)
        raise
    return Simulated(
        ranks=ranks,
        status=status,
        seconds=simulated_seconds(folder / TIMING),
        wall_seconds=time.perf_counter() - begin,
        options=all_options(settings, platform.options),
        stuck=stuck_ranks(folder / TROUBLES),
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the simulation: the script passes SIGTERM on to it."""
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
