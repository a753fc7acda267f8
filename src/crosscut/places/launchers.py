"""mpiexec and srun: which there is, whose it is, how it is called, and the environment that its ranks
need.

Several MPIs on one machine are usual, and the first launcher on PATH is any one's: under another's, a program
becomes so many jobs of one rank each.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import programs
from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import Share

# Looked for in this order: beside crosscut-core-mpi (the PyPI mpich of the same environment), then on PATH.
_LAUNCHERS = ("mpiexec", "mpirun", "srun")
NO_LAUNCHER = (
    "there is no mpiexec, mpirun or srun; load the MPI's module, name one with --launcher, or "
    "`pip install 'crosscut[mpich]'`"
)
# What MPICH's launcher is called; the latter two where another MPI has the first.
_HYDRAS = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich")

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
_OPEN_MPI_NAMES = ("mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun")
# As Debian, Fedora and the MPI ABI name them. Open MPI's libmpi.so is number 40 since release 3, MPICH's 12.
_LIBRARIES = (
    (OPEN_MPI, re.compile(r"libmpi\.so\.(?!12\b)|libopen-(rte|pal)|libprrte")),
    (MPICH, re.compile(r"libmpich|libmpi\.so\.12\b|libmpi_abi")),
)


# While they wait, MPI libraries poll. With more ranks than cores each then holds its core for a whole time
# slice: a barrier of 8 ranks on 2 cores took 20 ms with PyPI's MPICH 5.0.2 as it comes, and 0.2 ms with these
# (sched_yield, its default after 1,000 polls, gives little away on kernels with EEVDF; these sleep instead).
# docs/howto-slurm.md, "More ranks than cores", says what that does to a measurement.
YIELDING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",
    "OMPI_MCA_mpi_yield_when_idle": "1",  # Open MPI
    "OMPI_MCA_rmaps_base_oversubscribe": "1",  # Open MPI up to 4 refuses otherwise
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # Open MPI 5
}

# Open MPI refuses root unless told twice: labs need it, and containers have nobody else.
_OPEN_MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Words that send ranks to other machines (MPICH, Open MPI, Intel MPI): the cores here say nothing then.
_HOST_WORDS = re.compile(r"--?(f|H|hosts?|hostfile|machine|machinefile|ppn|perhost|rr)(=.*)?")


@dataclass(frozen=True)
class Launcher:
    program: str

    @property
    def name(self) -> str:
        """As people type it."""
        return Path(self.program).name

    @property
    def is_srun(self) -> bool:
        return self.name == "srun"

    def is_hydra(self) -> bool:
        """MPICH's launcher, and what is built on it."""
        return "HYDRA" in programs.said([self.program, "--version"]).upper()

    def on_hosts(self, shares: Sequence[Share]) -> list[str]:
        """Words that put so many ranks on each. UsageError: srun takes none."""
        if self.is_srun:
            raise UsageError(
                "--on hosts: srun has hosts of its own; --on slurm, or name mpiexec with --launcher"
            )
        option = "-hosts" if self.is_hydra() else "--host"
        return [option, ",".join(f"{one.host}:{one.count}" for one in shares)]

    def command(self, ranks: int) -> list[str]:
        if self.is_srun:
            # Requests are for rank 0 alone; the others would each get a copy.
            return [self.program, f"--ntasks={ranks}", "--input=0", "--overlap", "--kill-on-bad-exit=1"]
        # Hydra kills all ranks as soon as one dies, mostly before rank 0 can say which one. The core ends
        # them itself, in bounded time.
        words = ["-disable-auto-cleanup"] if self.is_hydra() else []
        return [self.program, *words, "-n", str(ranks)]


def find_launcher(named: str, mpi_executable: Path | None) -> Launcher | None:
    """The launcher that was named, or else the one that belongs to the executable, or one on PATH."""
    if named:
        program = shutil.which(named)
        return Launcher(program) if program else None
    path = os.environ.get("PATH", os.defpath)
    return next(_launchers([*_own_folders(mpi_executable), path], _LAUNCHERS), None)


def find_hydra(named: str, mpi_executable: Path | None) -> Launcher | None:
    """As `find_launcher`, of MPICH's alone: the first that is one, beside those of other MPIs."""
    if named:
        found = find_launcher(named, mpi_executable)
        return found if found is not None and found.is_hydra() else None
    on_path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # The PyPI mpich is in the same environment, which need not be on PATH.
    beside = str(Path(sys.executable).parent)
    folders = dict.fromkeys([*_own_folders(mpi_executable), beside, *on_path])
    return next(filter(Launcher.is_hydra, _launchers(folders, _HYDRAS)), None)


def _launchers(paths: Iterable[str], names: Sequence[str]) -> Iterator[Launcher]:
    """Those of these names, one path after the other."""
    found = (shutil.which(name, path=path) for path in paths for name in names)
    return (Launcher(program) for program in found if program)


def _own_folders(mpi_executable: Path | None) -> list[str]:
    return [str(mpi_executable.parent)] if mpi_executable else []


def stays_here(launcher: Launcher, words: Sequence[str]) -> bool:
    """True if all ranks run on this machine, as far as the command line tells."""
    return not launcher.is_srun and not any(_HOST_WORDS.fullmatch(word) for word in words)


def environment_for(crowded: bool, base: Mapping[str, str]) -> dict[str, str]:
    """The ranks' environment; what a person has set stays. `crowded`: more ranks than cores here."""
    return {**YIELDING, **base} if crowded else dict(base)


def mpi_start_seconds(ranks: int, timeout_seconds: float) -> float:
    """Until the ranks of an MPI job must have joined: twice the time-out of the conductor, which names who is
    missing but does not exist before MPI has started, and time for MPI itself on a busy machine. Not for
    srun, which may wait for nodes."""
    return 60 + 2 * timeout_seconds + 0.5 * ranks


def open_mpi_settings(folder: Path | None) -> dict[str, str]:
    """Its files go where ours do, so that none is left."""
    own = {"OMPI_MCA_orte_tmpdir_base": str(folder)} if folder is not None else {}
    return own | (_OPEN_MPI_AS_ROOT if os.geteuid() == 0 else {})


def linked_with(path: Path) -> str:
    """`OPEN_MPI`, `MPICH`, or "": neither, as far as one sees."""
    libraries = programs.said(["ldd", path])
    return next((name for name, pattern in _LIBRARIES if pattern.search(libraries)), "")


def mpi_of(launcher: Launcher) -> str:
    """Whose it is; "" where it does not say."""
    return (MPICH if launcher.is_hydra() else "") or (OPEN_MPI if is_open_mpi(launcher.program) else "")


def is_open_mpi(launcher: str) -> bool:
    said = programs.said([launcher, "--version"])
    return any(name in said for name in ("Open MPI", "OpenRTE", "Open RTE"))


def launcher_for(path: Path, mpi: str, named: str) -> Launcher:
    """The launcher for a program linked with this MPI: the one named, else the MPI's own. Another MPI's is
    refused; what nobody knows is tried."""
    if named:
        if (found := shutil.which(named)) is None:
            raise UsageError(f"--launcher {named}: there is no such program")
        launcher = _launcher(found)
        other = mpi_of(launcher)
        if mpi and other and other != mpi:
            raise UsageError(
                f"--launcher {named}: is {other}'s, and {path} is linked with {mpi}: every rank would run "
                "alone; leave it out, or name that MPI's"
            )
        return launcher
    own = _open_mpi() if mpi == OPEN_MPI else find_hydra("", path) if mpi == MPICH else None
    if own is not None:
        return own
    raise PlaceError(
        f"{path} is linked with {mpi or 'an MPI that crosscut does not know'}, whose mpiexec is not on PATH; "
        "name it with --launcher" + (" (Debian: apt install openmpi-bin)" if mpi == OPEN_MPI else "")
    )


def _open_mpi() -> Launcher | None:
    found = (one.program for name in _OPEN_MPI_NAMES for one in _launchers(os.get_exec_path(), [name]))
    return next((_launcher(program) for program in found if is_open_mpi(program)), None)


def _launcher(found: str) -> Launcher:
    """Open MPI takes the folder above its launcher's for its own: not that of /bin, a link to /usr/bin."""
    path = Path(found)
    return Launcher(str(path.parent.resolve() / path.name))
