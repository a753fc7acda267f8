"""From what a person asked for to a running session: place, backend, number of ranks."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import core as core_module
from crosscut.base.errors import UsageError
from crosscut.places import find_place
from crosscut.places.base import NetworkPlace, Place, PlaceOptions
from crosscut.run.format import ARRAYS
from crosscut.session.client import Listener, Session

MOST_RANKS = 1 << 20


@dataclass(frozen=True)
class Launch:
    """Where and how ranks are to be started; None and empty: to be decided."""

    on: str = ""
    backend: str = ""
    ranks: int | None = None
    interface: str = ""
    timeout_seconds: float = 30.0
    pin: bool = True
    launcher: str = ""
    launcher_arguments: tuple[str, ...] = ()
    core_path: str = ""
    ranks_per_host: int = 0
    switch: str = ""
    dilation: float = 0.0
    """Of a lab that is built for this; 0: not asked for."""


@dataclass(frozen=True)
class Decided:
    """A launch with everything decided."""

    place: Place
    on: str
    options: PlaceOptions


def default_backend(on: str) -> str:
    """The backend of a place for which none was named."""
    if on.startswith("sim:"):
        return "sim"
    return "mpi" if on == "mpi" else "tcp"


def decide(core: core_module.Core, launch: Launch) -> Decided:
    """Fills in what was left open; raises UsageError for what cannot be had here, with the reason."""
    backend = launch.backend or default_backend(launch.on)
    on = launch.on or ("mpi" if backend == "mpi" else "local")
    place, argument = find_place(on)
    if (reason := place.available()) is not None:
        raise UsageError(f"--on {on}: {reason}")
    known = core.backend(backend)
    if known is None:
        names = ", ".join(entry.name for entry in core.backends)
        raise UsageError(f"--backend {backend}: there is no such backend; there is {names}")
    if known.unavailable:
        raise UsageError(f"--backend {backend} cannot be used here: {known.unavailable}")
    if (place.name == "sim") != (backend == "sim") and on != "local":
        raise UsageError(
            f"--on {on}: --backend {backend} does not run there; --on sim:NETWORK has the backend sim"
        )
    ranks = launch.ranks if launch.ranks is not None else place.default_ranks(argument)
    if launch.ranks_per_host and not isinstance(place, NetworkPlace):
        raise UsageError(f"--ranks-per-host: only --on sim:NETWORK and lab:NETWORK know it, not --on {on}")
    if launch.switch and place.name != "lab":
        raise UsageError(f"--switch: only --on lab:NETWORK has one, not --on {on}")
    if launch.dilation and place.name != "lab":
        raise UsageError(f"--dilate: only --on lab:NETWORK has rates to divide, not --on {on}")
    if launch.ranks_per_host and launch.ranks is None and isinstance(place, NetworkPlace):
        ranks = place.ranks(argument, launch.ranks_per_host)
    if not 2 <= ranks <= MOST_RANKS:
        raise UsageError(f"-n {ranks}: a measurement has between 2 and {MOST_RANKS:,} ranks")
    options = PlaceOptions(
        executable=core.executable,
        mpi_executable=core.mpi_executable,
        ranks=ranks,
        backend=backend,
        argument=argument,
        interface=launch.interface,
        timeout_seconds=launch.timeout_seconds,
        pin=launch.pin,
        launcher=launch.launcher,
        launcher_arguments=launch.launcher_arguments,
        core_path=launch.core_path,
        ranks_per_host=launch.ranks_per_host,
        switch=launch.switch,
        dilation=launch.dilation,
    )
    return Decided(place, on, options)


def open_session(decided: Decided, listener: Listener) -> Session:
    """Starts the ranks; the caller closes the session."""
    return Session(decided.place.start(decided.options), listener)


def default_out(pattern: str, backend: str, folder: Path, now: Callable[[], float] = time.time) -> Path:
    """`aapc-tcp-20250131-142501.zarr` in `folder`, with a number where that is taken."""
    stem = f"{pattern}-{backend}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now()))}"
    path = folder / f"{stem}.zarr"
    attempt = 2
    while path.exists():
        path = folder / f"{stem}-{attempt}.zarr"
        attempt += 1
    return path


def _made_before_the_run(entry: Path) -> bool:
    """An array of a run that was killed before it had metadata: the core looks closer, and makes it anew."""
    return (entry.is_dir() and entry.name in ARRAYS) or entry.name == "zarr.json.unfinished"


def checked_out(path: Path) -> Path:
    """An absolute path at which a run can be made; refuses to write where something is."""
    path = path.absolute()
    if path.exists() and not (path.is_dir() and all(_made_before_the_run(entry) for entry in path.iterdir())):
        raise UsageError(
            f"--out {path}: something is there already; name another, or go on with --resume {path}"
        )
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: the folder {path.parent} does not exist")
    return path
