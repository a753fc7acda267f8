"""Turns a request into a running session: decides on the place, the backend and the number of ranks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

from crosscut.base import core as core_module
from crosscut.base.errors import UsageError
from crosscut.base.whole_file import need_folder
from crosscut.places import DEFAULT, all_places, find_place, load_place, typed_as
from crosscut.places.base import Place, PlaceOptions, StartOptions
from crosscut.run.format import ARRAYS
from crosscut.session.client import Listener, Session

MOST_RANKS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Launch(StartOptions):
    """Where and how to start ranks; fields that are None or empty are still undecided."""

    on: str = ""
    backend: str = ""
    ranks: int | None = None


@dataclass(frozen=True)
class Decided:
    """A launch without open choices."""

    place: Place
    on: str
    options: PlaceOptions


def default_backend(on: str) -> str:
    """Returns the backend to use on a place if none is named."""
    try:
        return load_place(on.partition(":")[0] or DEFAULT).default_backend
    except UsageError:
        return "tcp"


def default_place(backend: str, over_mpi: set[str]) -> str:
    """Returns the place for a backend if none is named: the one whose default it is, else this machine. The
    place of one backend over MPI is that of all."""
    alike = over_mpi if backend in over_mpi else {backend}
    own = (place.name for place in all_places() if place.default_backend in alike and not place.argument)
    return DEFAULT if load_place(DEFAULT).default_backend == backend else next(own, DEFAULT)


def decide(core: core_module.Core, launch: Launch) -> Decided:
    """Decides what a launch leaves open. Raises UsageError, with the reason, for an unavailable choice."""
    backend = launch.backend or default_backend(launch.on)
    over_mpi = {one.name for one in core.backends if one.over_mpi}
    on = launch.on or default_place(backend, over_mpi)
    place, argument = find_place(on)
    if (reason := place.available()) is not None:
        raise UsageError(f"--on {on}: {reason}")
    known = core.backend(backend)
    if known is None:
        names = ", ".join(entry.name for entry in core.backends)
        raise UsageError(f"--backend {backend}: unknown backend; known: {names}")
    if known.unavailable:
        raise UsageError(f"--backend {backend} cannot be used here: {known.unavailable}")
    if not place.runs(backend):
        raise UsageError(
            f"--on {on} cannot run --backend {backend}: the backend sim belongs to --on sim:NETWORK, and no "
            "other backend runs there"
        )
    if known.over_mpi and not place.ranks_over_mpi:
        others = ", ".join(f"--on {typed_as(one)}" for one in all_places() if one.ranks_over_mpi)
        raise UsageError(f"--on {on} cannot run --backend {backend}, which needs MPI's launcher: {others}")
    for name in sorted(launch.own.keys() - {option.name for option in place.options}):
        owners = " and ".join(typed_as(one) for one in all_places() if name in {o.name for o in one.options})
        raise UsageError(f"--{name}: an option of --on {owners}, not of --on {on}")
    if given := [name for name in place.unused if getattr(launch, name)]:
        typed = given[0].replace("arguments", "args").replace("_", "-")
        raise UsageError(f"--{typed}: has no effect with --on {on}, which uses no hosts; leave it out")
    if launch.control_interface and known.over_mpi:
        raise UsageError(
            f"--control-interface: with --backend {backend}, --interface names that of barriers and control; "
            "MPI's own settings say where messages go"
        )
    if launch.control_interface and not launch.interface:
        raise UsageError("--control-interface: name the interface that is measured, too, with --interface")
    ranks = launch.ranks if launch.ranks is not None else place.default_ranks(argument, launch.own)
    if ranks < 2 and launch.ranks is None:
        raise UsageError(
            f"--on {on} offers one rank, but a measurement needs two: add a host, or more ranks on it "
            "(slots=2 in a host file, --ranks-per-host for a network)"
        )
    if not 2 <= ranks <= MOST_RANKS:
        raise UsageError(f"-n {ranks}: a measurement has between 2 and {MOST_RANKS:,} ranks")
    options = PlaceOptions(
        executable=core.executable,
        mpi_executable=core.mpi_executable,
        ranks=ranks,
        backend=backend,
        over_mpi=backend in over_mpi,
        argument=argument,
        **{each.name: getattr(launch, each.name) for each in fields(StartOptions)},
    )
    return Decided(place, on, options)


def open_session(decided: Decided, listener: Listener) -> Session:
    """Starts the ranks; the caller closes the session."""
    return Session(decided.place.start(decided.options), listener)


@contextmanager
def ready_session(
    decided: Decided, listener: Listener, remarked: Callable[[str], None] = lambda _: None
) -> Iterator[Session]:
    """A session whose ranks have joined; signals stop its job in order. `remarked` gets the place's remark,
    unless that is empty."""
    with open_session(decided, listener) as session, session.interruptible():
        if remark := session.remark():
            remarked(remark)
        session.wait_ready()
        yield session


def default_out(pattern: str, backend: str, folder: Path) -> Path:
    """Returns `aapc-tcp-20250131-142501.zarr` in `folder`, with a number added if that is taken."""
    stem = f"{pattern}-{backend}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain([stem], (f"{stem}-{attempt}" for attempt in itertools.count(2)))
    return next(path for name in names if not (path := folder / f"{name}.zarr").exists())


def _made_before_the_run(entry: Path) -> bool:
    """True for a leftover of a run killed before it had metadata: the core checks it, and makes it anew."""
    return (entry.is_dir() and entry.name in ARRAYS) or entry.name == "zarr.json.unfinished"


def refuse_bytes(option: str, value: object) -> None:
    """Raises UsageError if a name for the ranks is not UTF-8, the only encoding that the core takes."""
    try:
        str(value).encode()
    except UnicodeEncodeError:  # Python holds such bytes as lone surrogates
        raise UsageError(f"{option} {value}".strip() + ": the name is not valid UTF-8") from None


def is_taken(path: Path) -> bool:
    """True if something is at `path` that a new run would replace."""
    return path.exists() and not (
        path.is_dir() and all(_made_before_the_run(entry) for entry in path.iterdir())
    )


def checked_out(path: Path, *, force: bool | None = None) -> Path:
    """Returns an absolute path at which a run can be made. Raises UsageError if something is there that
    `force` may not replace; None if the command has no such option."""
    path = path.absolute()
    refuse_bytes("--out", path)
    if is_taken(path):
        if not force:
            instead = "" if force is None else ", or replace it with --force"
            raise UsageError(
                f"--out {path} already exists; choose another path, continue that run with --resume "
                f"{path}{instead}"
            )
        from crosscut.run import replacing  # imports numpy

        replacing.refuse(path)
    need_folder("--out", path)
    return path
