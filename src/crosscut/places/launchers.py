"""mpiexec and srun: finds them, the MPI that each belongs to, its arguments, and its ranks' environment.

Several MPIs on one machine are common, and the first launcher on PATH may belong to any of them. Under
another MPI's launcher, a program of n ranks becomes n jobs of one rank each.
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
from crosscut.base.units import count

# In order of search. Where Debian has several MPIs, one takes the first names.
_LAUNCHERS = ("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "srun")
# Names of MPICH's launcher. It has one of the latter two if another MPI has taken the first.
_HYDRAS = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich")

OPEN_MPI = "Open MPI"
MPICH = "MPICH"
_OPEN_MPI_NAMES = ("mpiexec.openmpi", "mpirun.openmpi", "mpiexec", "mpirun")
# Names in Debian, Fedora and the MPI ABI. libmpi.so is number 40 in Open MPI since release 3, 12 in MPICH.
_LIBRARIES = (
    (OPEN_MPI, re.compile(r"libmpi\.so\.(?!12\b)|libopen-(rte|pal)|libprrte")),
    (MPICH, re.compile(r"libmpich|libmpi\.so\.12\b|libmpi_abi")),
)


# MPI libraries poll while they wait. With more ranks than cores, each rank then holds its core for a whole
# time slice: a barrier of 8 ranks on 2 cores took 20 ms with the defaults of PyPI's MPICH 5.0.2, and 0.2 ms
# with these (the default, sched_yield after 1,000 polls, yields little on kernels with EEVDF; these sleep).
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

# Open MPI refuses root unless told twice. Labs need root, and containers have no other user.
_OPEN_MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Options that send ranks to other machines (MPICH, Open MPI, Intel MPI), so the cores here do not matter.
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
        """True for MPICH's launcher, and those built on it (Intel MPI's does not name it)."""
        said = programs.said([self.program, "--version"])
        return any(name in said.upper() for name in ("HYDRA", "INTEL(R) MPI"))

    def on_hosts(self, shares: Sequence[Share]) -> list[str]:
        """Returns the arguments that put the ranks on the hosts. Raises UsageError for srun: it has none."""
        if self.is_srun:
            raise UsageError(
                "--on hosts: srun chooses its own hosts; use --on slurm, or name an mpiexec with --launcher"
            )
        option = "-hosts" if self.is_hydra() else "--host"
        return [option, ",".join(f"{one.host}:{one.count}" for one in shares)]

    def command(self, ranks: int) -> list[str]:
        if self.is_srun:
            # Only rank 0 takes requests; without --input, every rank would get a copy.
            return [self.program, f"--ntasks={ranks}", "--input=0", "--overlap", "--kill-on-bad-exit=1"]
        # Hydra kills all ranks as soon as one dies, usually before rank 0 can say which. The core ends them
        # itself, in bounded time.
        words = ["-disable-auto-cleanup"] if self.is_hydra() else []
        return [self.program, *words, "-n", str(ranks)]


def find_launcher(named: str, mpi_executable: Path | None) -> Launcher | None:
    """Returns the launcher named, else the first that may be of the MPI that the executable is linked with:
    beside that library, beside the executable, or on PATH; None if not found."""
    if named:
        program = shutil.which(named)
        return Launcher(program) if program else None
    path = os.environ.get("PATH", os.defpath)
    mpi = linked_with(mpi_executable) if mpi_executable else ""
    found = _launchers([*_own_folders(mpi_executable), path], _LAUNCHERS)
    return next((one for one in found if not mpi or one.is_srun or mpi_of(one) in {"", mpi}), None)


def no_launcher(mpi_executable: Path | None) -> PlaceError:
    """What to say where `find_launcher` finds none."""
    mpi = linked_with(mpi_executable) if mpi_executable else ""
    whose = f" of {mpi}, with which {mpi_executable} is linked," if mpi else ""
    return PlaceError(
        f"there is no mpiexec or mpirun{whose} and no srun; load the MPI's module, name one with --launcher, "
        "or `pip install 'crosscut[mpich]'`"
    )


def find_hydra(named: str, mpi_executable: Path | None) -> Launcher | None:
    """Like `find_launcher`, but only for MPICH's: the first that is one, even among those of other MPIs."""
    if named:
        found = find_launcher(named, mpi_executable)
        return found if found is not None and found.is_hydra() else None
    on_path = os.environ.get("PATH", os.defpath).split(os.pathsep)
    # PyPI's mpich is in the same environment, which need not be on PATH.
    beside = str(Path(sys.executable).parent)
    folders = dict.fromkeys([*_own_folders(mpi_executable), beside, *on_path])
    return next(filter(Launcher.is_hydra, _launchers(folders, _HYDRAS)), None)


def _launchers(paths: Iterable[str], names: Sequence[str]) -> Iterator[Launcher]:
    """Yields the launchers with these names, path by path."""
    found = (shutil.which(name, path=path) for path in paths for name in names)
    return (_launcher(program) for program in found if program)


def _own_folders(mpi_executable: Path | None) -> list[str]:
    """Returns the folders of programs beside the executable's MPI library and beside the executable."""
    if mpi_executable is None:
        return []
    library = next((line for line in _libraries(mpi_executable).splitlines() if _mpi_in(line)), "")
    folder = os.path.normpath(found[1]) if (found := re.search(r"=> (\S+)/", library)) else ""
    # /opt/mpi/lib gives /opt/mpi/bin, /usr/lib/x86_64-linux-gnu/openmpi/lib also /usr/bin.
    prefixes = [folder[: part.start()] for part in re.finditer(r"/lib(32|64)?(?=/|$)", folder)]
    return [*(f"{prefix}/bin" for prefix in reversed(prefixes)), str(mpi_executable.parent)]


def stays_here(launcher: Launcher, words: Sequence[str]) -> bool:
    """True if all ranks run on this machine, as far as the command line tells."""
    return not launcher.is_srun and not any(_HOST_WORDS.fullmatch(word) for word in words)


def environment_for(crowded: bool, base: Mapping[str, str], folder: Path | None = None) -> dict[str, str]:
    """Returns the ranks' environment; variables already set stay. `crowded`: more ranks than cores. `folder`:
    where Open MPI puts its files."""
    return {**open_mpi_settings(folder), **(YIELDING if crowded else {}), **base}


def mpi_start_seconds(ranks: int, timeout_seconds: float) -> float:
    """Returns the seconds within which the ranks of an MPI job must join: twice the conductor's time-out, as
    the conductor names missing ranks, but not before MPI has started, and time for MPI itself on a busy
    machine. Not for srun, which may wait for nodes."""
    return 60 + 2 * timeout_seconds + 0.5 * ranks


def waiting_for_slurm(tasks: int) -> str:
    """Returns a note for the time in which srun or salloc waits for nodes and prints nothing."""
    return f"waiting for Slurm to start {count(tasks, 'task')}; squeue --me shows why"


def open_mpi_settings(folder: Path | None) -> dict[str, str]:
    """Returns settings that allow root, and put Open MPI's files into `folder`, to be removed with it."""
    own = {"OMPI_MCA_orte_tmpdir_base": str(folder)} if folder is not None else {}
    return own | (_OPEN_MPI_AS_ROOT if os.geteuid() == 0 else {})


def linked_with(path: Path) -> str:
    """Returns `OPEN_MPI`, `MPICH`, or "" if neither is recognised."""
    return _mpi_in(_libraries(path))


def _libraries(path: Path) -> str:
    return programs.said(["ldd", path])


def _mpi_in(libraries: str) -> str:
    return next((name for name, pattern in _LIBRARIES if pattern.search(libraries)), "")


def mpi_of(launcher: Launcher) -> str:
    """Returns the MPI that a launcher belongs to; "" if it does not say."""
    return (MPICH if launcher.is_hydra() else "") or (OPEN_MPI if is_open_mpi(launcher.program) else "")


def is_open_mpi(launcher: str) -> bool:
    said = programs.said([launcher, "--version"])
    return any(name in said for name in ("Open MPI", "OpenRTE", "Open RTE"))


def launcher_for(path: Path, mpi: str, named: str) -> Launcher:
    """Returns the launcher for a program linked with this MPI: the one named, else the MPI's own. One of an
    unknown MPI is tried. Raises UsageError for one of another MPI, PlaceError if there is none."""
    if named:
        if (found := shutil.which(named)) is None:
            raise UsageError(f"--launcher {named}: there is no such program")
        launcher = _launcher(found)
        other = mpi_of(launcher)
        if mpi and other and other != mpi:
            raise UsageError(
                f"--launcher {named} belongs to {other}, but {path} is linked with {mpi}, so every rank "
                f"would run alone; omit --launcher, or name {mpi}'s"
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
    found = (one for name in _OPEN_MPI_NAMES for one in _launchers(os.get_exec_path(), [name]))
    return next((one for one in found if is_open_mpi(one.program)), None)


def _launcher(found: str) -> Launcher:
    """Resolves links in the launcher's folder. Open MPI takes the folder above that for its own, which would
    be wrong for /bin if it is a link to /usr/bin."""
    path = Path(found)
    return Launcher(str(path.parent.resolve() / path.name))
