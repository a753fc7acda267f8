"""Runs a command with libcrosscut-profile.so in LD_PRELOAD; the library writes a file for each rank."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

import crosscut
from crosscut.base import core, process_group, shared_memory, whole_file
from crosscut.base.errors import CrosscutError, Interrupted, UsageError, plainly
from crosscut.profile.program import ABOUT

LIBRARY = "libcrosscut-profile.so"
# For programs of MPICH's own ABI, which several MPIs share (MPICH ABI Compatibility Initiative).
MPICHS_LIBRARY = "libcrosscut-profile-mpich.so"
LIBRARY_VARIABLE = "CROSSCUT_PROFILER"
# Read by the library (profiler/counters.c, trace.c).
FOLDER_VARIABLE = "CROSSCUT_PROFILE_FOLDER"
TRACE_VARIABLE = "CROSSCUT_PROFILE_TRACE"
SECTION_VARIABLE = "CROSSCUT_PROFILE_SECTION"
ENDING_SECONDS = 10.0
# Open MPI's list of variables to pass on, also to other hosts.
PASSED_ON = "OMPI_MCA_mca_base_env_list"


@dataclass(frozen=True)
class CommandOutcome:
    """How the command ended."""

    status: int
    """Exit status as a shell gives it: 128 + the signal, if one ended the command."""
    seconds: float
    stopped: str
    """Why crosscut ended it; empty if it ended by itself."""


def find_library(command: Sequence[str] = ()) -> Path:
    """Finds the library for the program in the command. Raises CrosscutError if it was not built, or
    LD_PRELOAD cannot take its path."""
    if named := os.environ.get(LIBRARY_VARIABLE):
        path = Path(named).absolute()
        if not path.is_file():
            raise CrosscutError(f"{LIBRARY_VARIABLE}={named}: there is no such file; unset it or correct it")
        return _loadable(path)
    executable = core.find_executable(core.CORE)
    folders = [Path(sys.executable).parent, *([executable.parent] if executable else [])]
    names = [MPICHS_LIBRARY, LIBRARY] if any(map(_has_mpichs_abi, command)) else [LIBRARY]
    for name in names:
        for folder in folders:
            if (folder / name).is_file():
                return _loadable((folder / name).absolute())
    raise CrosscutError(
        f"{LIBRARY} was not built (looked in {' and '.join(map(str, folders))}); build it for the "
        "MPI of your programs: crosscut build-profiler --mpicc mpicc"
    )


def _has_mpichs_abi(word: str) -> bool:
    """Returns True if the word names an executable that needs MPICH's own library."""
    path = shutil.which(word)
    try:
        if path is None or Path(path).stat().st_size == 0:
            return False
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            needs = data[:4] == b"\x7fELF" and data.find(b"libmpi.so.12\0") >= 0
            return needs and data.find(b"libmpi_abi.so") < 0
    except (OSError, ValueError):
        return False


def _loadable(path: Path) -> Path:
    if any(character in str(path) for character in " :\t\n"):
        raise CrosscutError(
            f"{path}: LD_PRELOAD takes no path with blanks or colons; move the file and name it in "
            f"{LIBRARY_VARIABLE}"
        )
    return path


def environment(library: Path, folder: Path, *, trace: bool, section: bool = False) -> dict[str, str]:
    """Returns the command's environment. The variables that it adds affect only MPI ranks.

    `section`: counting begins with the first MPI_Pcontrol(1)."""
    added = {
        "LD_PRELOAD": f"{library} {os.environ.get('LD_PRELOAD', '')}".strip(),
        FOLDER_VARIABLE: str(folder.absolute()),
        **({TRACE_VARIABLE: "1"} if trace else {}),
        **({SECTION_VARIABLE: "1"} if section else {}),
    }
    ours = (TRACE_VARIABLE, SECTION_VARIABLE)
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    return {PASSED_ON: ";".join(added)} | variables | added


def checked(command: Sequence[str]) -> list[str]:
    """Returns the command's words. Raises UsageError if there is nothing to start."""
    words = list(command[1:] if command[:1] == ["--"] else command)
    if not words:
        raise UsageError("which program? write for example: crosscut profile -- mpiexec -n 4 ./program")
    if shutil.which(words[0]) is None:
        raise UsageError(f"{words[0]}: program not found, or not executable")
    return words


def run(
    command: Sequence[str],
    variables: Mapping[str, str],
    timeout_seconds: float | None,
    output: IO[bytes] | None = None,
) -> CommandOutcome:
    """Runs the command to its end; ends it after `timeout_seconds`, or when crosscut is interrupted."""
    began, since = time.monotonic(), time.time()
    before = signal.signal(signal.SIGTERM, _interrupt)  # so that no signal after the start finds another one
    try:
        process = process_group.start(command, env=dict(variables), stdout=output)
        stopped = _waited(process, timeout_seconds)
    except OSError as error:
        raise UsageError(f"{command[0]}: {plainly(error)}") from error
    finally:
        signal.signal(signal.SIGTERM, before)
        shared_memory.remove_orphans(since)
    status = process.returncode
    return CommandOutcome(status if status >= 0 else 128 - status, time.monotonic() - began, stopped)


def _waited(process: subprocess.Popen[bytes], timeout_seconds: float | None) -> str:
    """Waits until the process has ended, or ends it; returns why it was ended."""
    try:
        process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        _end(process, signal.SIGTERM)
        return f"ended after {timeout_seconds:g} s (--timeout)"
    except KeyboardInterrupt:
        _end(process, signal.SIGINT)
        return "interrupted"
    except BaseException:
        _end(process, signal.SIGTERM)
        raise
    return ""


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _end(process: subprocess.Popen[bytes], gently: signal.Signals) -> None:
    """Asks a launcher to end, so that it ends its ranks, too; kills it if it does not."""
    for number in (gently, signal.SIGTERM, signal.SIGKILL):
        process.send_signal(number)
        try:
            process.wait(ENDING_SECONDS)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            continue
    process.wait()


def write_about(
    folder: Path, command: Sequence[str], ran: CommandOutcome, trace: Mapping[str, object]
) -> None:
    """Writes how the profile was made to a file beside it, as a whole or not at all."""
    about = {
        "crosscut": crosscut.__version__,
        "command": list(command),
        "status": ran.status,
        "seconds": ran.seconds,
        "stopped": ran.stopped,
        "trace": dict(trace),
    }
    whole_file.write(folder / ABOUT, (json.dumps(about, indent=1) + "\n").encode())


def complain(ran: CommandOutcome, words: str, left: str) -> None:
    """Raises CrosscutError or Interrupted if the command failed. Call it once the profile has been shown.

    `left`: what the command left."""
    if ran.stopped == "interrupted":
        raise Interrupted(f"interrupted; {left}")
    if ran.stopped:
        raise CrosscutError(f"{words}: {ran.stopped}; {left}")
    if ran.status != 0:
        raise CrosscutError(f"{words} ended with status {ran.status}; {left}")
