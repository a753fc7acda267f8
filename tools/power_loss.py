"""Replays the writes of a run as a disk may have them after a power failure, and opens what is left.

A writer of the store runs with core/tests/record_writes.c preloaded. What it wrote and has not synced may be
on the disk or not, in any combination: contents of files until `fdatasync` of the file; new, renamed and
removed names until `fdatasync` of their folder. Only the last moment before each sync needs to be tried,
because an operation that had not begun equals one that was lost. Of up to 10 pending operations, every subset
is tried; of more, each single loss and 200 drawn subsets. In 20 more states of each moment, writes may also
be torn at a boundary of 512 bytes.

After Pillai et al., "All File Systems Are Not Created Equal" (OSDI 2014), and Mohan et al., "Finding
Crash-Consistency Bugs with Bounded Black-Box Crash Testing" (OSDI 2018).

In every state: blocks that were committed are there with their values, `fsck` finds no damage, and every
measured cell has its values. In a part of the states the writer also resumes the run and ends with a whole
one.

    .venv/bin/python tools/power_loss.py build/make/core/tests/crash_writer
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

ROOT = Path(__file__).resolve().parent.parent
ENTRY = struct.Struct("<6q")
SECTOR = 512
SUBSETS_OF = 10
DRAWN = 200
TORN = 20
MOST_WRONG = 20
"""A replay ends early when it has found so much."""
MODES: dict[str, tuple[str, ...]] = {
    "samples": ("small",),
    "samples, measured again": ("small", "failing"),
    "summaries": ("small", "summaries"),
    "summaries of phases": ("small", "phases"),
    "a run that is resumed": ("small", "resume"),
}


class Content:
    """A file without its names."""


FOLDER = Content()


@dataclass(frozen=True)
class Data:
    file: Content
    offset: int
    bytes: bytes


@dataclass(frozen=True)
class Name:
    """Gives `path` to a file or folder, or removes it; takes `old` away, if given, in the same step."""

    path: str
    to: Content | None
    old: str = ""


Operation = Data | Name


@dataclass
class State:
    """What is on the disk."""

    names: dict[str, Content] = field(default_factory=dict)
    contents: dict[Content, bytes] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.names), dict(self.contents))

    def apply(self, operation: Operation) -> None:
        if isinstance(operation, Name):
            if operation.old:
                self.names.pop(operation.old, None)
            if operation.to is None:
                self.names.pop(operation.path, None)
            else:
                self.names[operation.path] = operation.to
            return
        old = self.contents.get(operation.file, b"")
        end = operation.offset + len(operation.bytes)
        start = old[: operation.offset].ljust(operation.offset, b"\0")
        self.contents[operation.file] = start + operation.bytes + old[end:]

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yields the files whose folders are all there, and folders with a name that ends in a slash."""
        for path, to in sorted(self.names.items()):
            parts = path.split("/")
            above = ("/".join(parts[:end]) for end in range(1, len(parts)))
            if all(self.names.get(folder) is FOLDER for folder in above):
                yield (f"{path}/", b"") if to is FOLDER else (path, self.contents.get(to, b""))

    def digest(self) -> bytes:
        found = hashlib.sha256()
        for path, content in self.files():
            found.update(f"{path}\0{len(content)}\0".encode() + content)
        return found.digest()

    def write(self, root: Path) -> None:
        for path, content in self.files():
            if path.endswith("/"):
                (root / path).mkdir()
            else:
                (root / path).write_bytes(content)


@dataclass(frozen=True)
class Moment:
    """What is certain and what is pending just before a sync."""

    durable: State
    pending: tuple[Operation, ...]
    committed: tuple[str, ...]


def record(writer: Path, words: Sequence[str], folder: Path) -> tuple[Disk, Path]:
    """Runs the writer on `folder`/disk/run.zarr. Returns the disk before that, and the record of what the
    writer did."""
    shim, log = folder / "record_writes.so", folder / "record"
    source = ROOT / "core/tests/record_writes.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", source, "-o", shim, "-ldl"], check=True)
    (folder / "disk").mkdir()
    run, said = folder / "disk" / "run.zarr", ""
    if "resume" in words:
        half: list[str | Path] = [writer, run, "half", *(word for word in words if word != "resume")]
        said = subprocess.run(half, check=True, capture_output=True, text=True).stdout
    before = Disk(folder / "disk", said)
    environment = os.environ | {"LD_PRELOAD": str(shim), "RECORD_WRITES": str(log)}
    subprocess.run([writer, run, *words], env=environment, check=True, stdout=subprocess.DEVNULL)
    return before, log


class Disk:
    """Follows a record, from what is below `root` now."""

    def __init__(self, root: Path, said: str = "") -> None:
        self._root = root
        self._durable = State()
        self._pending: list[Operation] = []
        self._said = said
        self._files: dict[int, Content] = {}
        self._folders: dict[int, str] = {}
        for path in root.rglob("*"):
            name, inode = str(path.relative_to(root)), path.stat().st_ino
            if path.is_dir():
                self._durable.names[name] = FOLDER
            else:
                self._durable.names[name] = self._files[inode] = Content()
                self._durable.contents[self._files[inode]] = path.read_bytes()

    def moment(self) -> Moment:
        return Moment(self._durable.copy(), tuple(self._pending), tuple(self._said.splitlines()))

    def take(self, kind: str, inode: int, offset: int, flags: int, text: str, data: bytes) -> None:
        """Takes one entry of the record; core/tests/record_writes.c says what it holds."""
        paths = [os.path.relpath(path, self._root) for path in text.split("\0") if path]
        if kind == "o":
            self._open(inode, flags, text, paths[0])
        elif kind == "w":
            self._pending.append(Data(self._files[inode], offset, data))
        elif kind == "r":
            made = _with(self._durable, self._pending).names[paths[0]]
            self._pending.append(Name(paths[1], made, paths[0]))
        elif kind in "mu":
            self._pending.append(Name(paths[0], FOLDER if kind == "m" else None))
        elif kind == "p":
            self._said += data.decode()
        elif kind == "s":
            self._sync(self._files.get(inode), self._folders.get(inode))

    def _open(self, inode: int, flags: int, text: str, path: str) -> None:
        if Path(text).is_dir():
            self._folders[inode] = path
        elif flags == 1:
            self._files[inode] = Content()
            self._pending.append(Name(path, self._files[inode]))
        else:
            raise ValueError(f"{text} was truncated, or was there before: such a record cannot be replayed")

    def _sync(self, file: Content | None, folder: str | None) -> None:
        done = [one for one in self._pending if _is_synced(one, file, folder)]
        self._durable = _with(self._durable, done)
        self._pending = [one for one in self._pending if one not in done]


def moments(disk: Disk, log: Path, ignored_syncs: Collection[int] = ()) -> Iterator[Moment]:
    """Yields the moments just before each sync, and the last one. `ignored_syncs`: numbers of syncs, from 0,
    that are treated as if the writer had left them out."""
    syncs = 0
    for entry in _entries(log.read_bytes()):
        if entry[0] == "s":
            yield disk.moment()
            syncs += 1
        if entry[0] != "s" or syncs - 1 not in ignored_syncs:
            disk.take(*entry)
    yield disk.moment()


def _entries(text: bytes) -> Iterator[tuple[str, int, int, int, str, bytes]]:
    at = 0
    while at < len(text):
        kind, inode, offset, flags, text_bytes, data_bytes = ENTRY.unpack_from(text, at)
        at += ENTRY.size
        words, data = text[at : at + text_bytes], text[at + text_bytes : at + text_bytes + data_bytes]
        at += text_bytes + data_bytes
        yield chr(kind), inode, offset, flags, words.decode(), data


def _is_synced(operation: Operation, file: Content | None, folder: str | None) -> bool:
    if isinstance(operation, Data):
        return operation.file is file
    return folder is not None and str(Path(operation.path).parent) == folder


def states(moment: Moment, chance: random.Random) -> Iterator[State]:
    """Yields the states that the disk may be in, some of them more than once."""
    pending = moment.pending
    if len(pending) <= SUBSETS_OF:
        chosen: Iterator[Sequence[bool]] = itertools.product((False, True), repeat=len(pending))
    else:
        single = ([place != lost for place in range(len(pending))] for lost in range(-1, len(pending)))
        drawn = (
            [chance.random() < share for _ in pending] for share in (chance.random() for _ in range(DRAWN))
        )
        chosen = itertools.chain([[False] * len(pending)], single, drawn)
    for kept in chosen:
        yield _with(moment.durable, itertools.compress(pending, kept))
    for _ in range(TORN if pending else 0):
        yield _with(moment.durable, (part for one in pending if (part := _torn(one, chance)) is not None))


def _torn(operation: Operation, chance: random.Random) -> Operation | None:
    """Draws what is left of an operation: nothing, all, or a write up to, or from, a sector's boundary."""
    if not isinstance(operation, Data) or chance.random() < 0.5:
        return operation if chance.random() < 0.7 else None
    end = operation.offset + len(operation.bytes)
    edges = range(-(-(operation.offset + 1) // SECTOR) * SECTOR, end, SECTOR)
    if not edges:
        return operation
    cut = chance.choice(edges) - operation.offset
    if chance.random() < 0.5:
        return Data(operation.file, operation.offset, operation.bytes[:cut])
    return Data(operation.file, operation.offset + cut, operation.bytes[cut:])


def _with(durable: State, operations: Iterable[Operation]) -> State:
    state = durable.copy()
    for one in operations:
        state.apply(one)
    return state


def expected_seconds(run: Run, size_index: int) -> np.ndarray:
    """Returns the values that core/tests/sample_run.hpp writes: the number of the cell, counted from 1."""
    sizes = run.dataset.sizes
    r, p, n, k = np.ogrid[: sizes["repetition"], : sizes["phase"], : sizes["rank"], : sizes["slot"]]
    cell = ((size_index * sizes["repetition"] + r) * sizes["phase"] + p) * sizes["rank"] + n
    return np.where((p + n + k) % 5 != 0, cell * sizes["slot"] + k + 1.0, np.nan)


def mistakes(path: Path, committed: Sequence[str]) -> Iterator[str]:
    """Yields what is wrong with a run after a power failure."""
    if not (path / "zarr.json").exists():
        if committed:
            yield "the run is gone, although blocks were committed"
        return
    report = fsck.check(path)
    yield from (f"fsck: {problem}" for problem in report.damage)
    if report.damage:
        return
    run = Run.open(path)
    measured = run.dataset["phase_status" if run.phase_summarised else "status"].values == MEASURED
    for line in committed:
        size, repetition, repetition_end, phase, phase_end = map(int, line.split())
        if not measured[size, repetition:repetition_end, phase:phase_end].all():
            yield f"the block {line} was committed, but is not measured"
    run.dataset.load()  # compares every measured cell with its checksum
    if not run.summarised and not run.phase_summarised:
        for size_index in range(len(run.sizes_bytes)):
            found = run.dataset["message_seconds"].values[size_index][measured[size_index]]
            if not np.array_equal(
                found, expected_seconds(run, size_index)[measured[size_index]], equal_nan=True
            ):
                yield f"size {size_index}: measured cells have other values than were written"


def resume(writer: Path, path: Path, words: Sequence[str]) -> Iterator[str]:
    """Has the writer continue, or begin again if there is no run yet; yields what is wrong afterwards."""
    again = {"resume"} if (path / "zarr.json").exists() else set()
    done = subprocess.run(
        [writer, path, *({*words} - {"resume"} | again)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        yield f"the writer does not go on: {done.stderr.strip()}"
        return
    report = fsck.check(path)
    yield from (f"after resuming: {problem}" for problem in report.damage)
    if report.cells["unmeasured"] or report.cells["failed"]:
        yield f"after resuming, the run is not whole: {report.cells}"


@dataclass
class Tally:
    moments: int = 0
    states: int = 0
    """Different ones."""
    resumed: int = 0
    wrong: list[str] = field(default_factory=list)


def replay(
    writer: Path,
    words: Sequence[str],
    seed: int,
    resumed_share: float = 0,
    most_moments: int | None = None,
    ignored_syncs: Collection[int] = (),
) -> Tally:
    """Tries the states of one run. `most_moments`: of more, as many are drawn."""
    chance, tally = random.Random(f"{seed} {' '.join(words)}"), Tally()  # noqa: S311
    seen: set[tuple[bytes, int]] = set()
    with tempfile.TemporaryDirectory(prefix="crosscut-power-", dir=_fast_folder()) as name:
        folder = Path(name)
        found = list(moments(*record(writer, words, folder), ignored_syncs))
        if most_moments is not None and len(found) > most_moments:
            found = chance.sample(found, most_moments)
        for moment in found:
            tally.moments += 1
            for state in itertools.takewhile(lambda _: len(tally.wrong) < MOST_WRONG, states(moment, chance)):
                if (known := (state.digest(), len(moment.committed))) in seen:
                    continue
                seen.add(known)
                tally.states += 1
                disk = folder / "state"
                disk.mkdir()
                state.write(disk)
                path = disk / "run.zarr"
                wrong = list(mistakes(path, moment.committed))
                if not wrong and chance.random() < resumed_share:
                    tally.resumed += 1
                    wrong = list(resume(writer, path, words))
                tally.wrong += [f"{' '.join(words)}, before sync {tally.moments}: {one}" for one in wrong]
                shutil.rmtree(disk)
    return tally


def _fast_folder() -> str | None:
    memory = "/dev/shm"  # noqa: S108
    return memory if os.access(memory, os.W_OK) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("writer", type=Path, help="core/tests/crash_writer, built")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moments", type=int, default=None, help="at most so many of each kind of run")
    parser.add_argument("--resumed", type=float, default=0.05, help="share of the states that are resumed")
    args = parser.parse_args()
    wrong = 0
    for kind, words in MODES.items():
        tally = replay(args.writer.resolve(), words, args.seed, args.resumed, args.moments)
        print(f"{kind}: {tally.moments} moments, {tally.states} states, {tally.resumed} resumed, "
              f"{len(tally.wrong)} wrong", flush=True)  # fmt: skip
        print(*tally.wrong, sep="\n", end="\n" if tally.wrong else "")
        wrong += len(tally.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
