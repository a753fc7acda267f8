"""Kills parts of measurements and copies at random moments, and checks what becomes of them.

Each case is drawn from a seed: what runs (a measurement over a backend or on a lab, or a copy), a moment
between its start and a little after its usual end, a victim (the command itself, each process between it and
the ranks, rank 0 with the conductor, another rank, a lab's switch) and a signal (KILL, TERM, STOP). Then:

- the command ends by itself within --patience seconds. If it was stopped itself, it is continued after one
  second, as after ctrl-Z and fg;
- its exit status is a documented one; if that is not 0, a cause is named; a traceback is never printed;
- what had been measured before the signal is there, and `fsck` finds no damage;
- `--resume` measures the rest, leaves what was there as it is, and the run is complete. A copy is resumed,
  too, and every target then equals the source;
- no process, job of Slurm, network namespace, file in shared memory or temporary file is left. (Others who
  use shared memory disturb this check. With `unshare --mount sh -c 'mount -t tmpfs none /dev/shm && …'`, the
  campaign has its own.)

    .venv/bin/python tools/kill_campaign.py 300 --seed 1
    .venv/bin/python tools/kill_campaign.py 20 --only mpi lab
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from crosscut.base import core
from crosscut.base.errors import CrosscutError
from crosscut.run import fsck
from crosscut.run.format import MEASURED
from crosscut.run.run import Run

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/integration"))
import slurm_cluster

MARK = "CROSSCUT_KILL_CAMPAIGN"
SILENT_SECONDS = 2
"""--timeout: a rank that was stopped is given up after about twice this."""
GONE_SECONDS = 20
IMAGE_BYTES = 30 << 20
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
# Exit statuses that the help of the commands lists; a negative one is that of the command's own death.
DOCUMENTED = (0, 1, 2, 130, 143)
CROSSBAR = """
[generator]
kind = "crossbar"
hosts = 4
rate = "100 Mbit/s"
"""


@dataclass(frozen=True)
class Work:
    """Something to disturb."""

    name: str
    words: tuple[str, ...]
    """Of `crosscut`. {out} is the run or folder to write, {folder} the folder of the case."""
    again: tuple[str, ...]
    """The command that continues it."""
    check: Callable[[Path], str]
    """Says what is wrong with the finished result; empty if nothing is."""
    can_run: Callable[[], str] = lambda: ""
    """Says why it cannot run here; empty if it can."""
    within: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: contextlib.nullcontext({})
    """What has to run around all cases; gives environment variables for them."""

    @property
    def measures(self) -> bool:
        return self.words[0] == "run"


def _run(
    name: str,
    *words: str,
    can_run: Callable[[], str] = lambda: "",
    within: Callable[[], AbstractContextManager[Mapping[str, str]]] = lambda: contextlib.nullcontext({}),
) -> Work:
    limit = ("--timeout", f"{SILENT_SECONDS}s", "--no-pin")
    not_recorded = [word for word in words if word.startswith("--launcher-args=")]
    again = ("run", "--resume", "{out}", "--quiet", *not_recorded)
    return Work(name, ("run", *words, *limit, "--out", "{out}"), again, _whole_run, can_run, within)


def _whole_run(out: Path) -> str:
    report = fsck.check(out)
    if report.damage:
        return f"after resuming: {report.damage[0]}"
    if report.state != "complete" or report.cells["unmeasured"] or report.cells["failed"]:
        return f"after resuming, the run is {report.state}, with {report.cells}"
    return ""


def _whole_copies(folder: Path) -> str:
    source = (folder / "source").read_bytes()
    bad = [rank for rank in range(1, 4) if (folder / f"copy-{rank}").read_bytes() != source]
    return f"copies {bad} differ from the source" if bad else ""


def _needs(program: str) -> Callable[[], str]:
    return lambda: "" if core.find_executable(program) else f"{program} is not built"


def _needs_labs() -> str:
    done = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "no network namespace may be made"


@contextlib.contextmanager
def _slurm() -> Iterator[Mapping[str, str]]:
    """Two nodes of a Slurm on this machine, as crosscut's tests start it."""
    with slurm_cluster.running_slurm() as running:
        yield {name: running.environment[name] for name in ("SLURM_CONF", "PATH")}


_LAB = ("--on", "lab:{folder}/crossbar.toml", "-n", "4", "--size", "1KB,10KB", "--repetitions", "60")
_CLONE = ("clone", "{folder}/source", "{folder}/copy-{{rank}}", "--on", "local:4", "--chunk", "4KiB",
          "--timeout", f"{SILENT_SECONDS}s")  # fmt: skip
WORKS = (
    _run("null", "aapc", "-n", "4", "--backend", "null", "--size", "100,2000", "--repetitions", "40000"),
    _run("tcp", "aapc", "-n", "4", "--backend", "tcp", "--size", "100,200,300,400,500,600", "--repetitions",
         "60", "--iterations", "1"),
    _run("udp", "aapc", "-n", "4", "--backend", "udp", "--size", "100,200,300,400,500,600", "--repetitions",
         "40", "--iterations", "1"),
    _run("mpi", "aapc", "-n", "4", "--backend", "mpi", "--size", "100,200,300,400,500,600", "--repetitions",
         "60", "--iterations", "1", can_run=_needs(core.CORE_MPI)),
    _run("slurm", "aapc", "--on", "slurm", "-n", "4", "--launcher-args=--nodes=2", "--interface", "127.0.0.1",
         "--size", "100,200,300,400,500,600", "--repetitions", "60", "--iterations", "1",
         can_run=lambda: slurm_cluster.why_not() or "", within=_slurm),
    _run("lab", "aapc", *_LAB, can_run=_needs_labs),
    _run("lab with a switch", "aapc", *_LAB, "--switch", "user", can_run=_needs_labs),
    Work("clone", _CLONE, (*_CLONE, "--resume"), _whole_copies),
)  # fmt: skip


@dataclass
class Case:
    """One execution, and what was found wrong."""

    work: Work
    seed: int
    victim: str = "nothing"
    number: signal.Signals = signal.SIGKILL
    moment: float = 0
    status: int | None = None
    seconds: float = 0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        what = f"{self.number.name} to {self.victim} after {self.moment:.2f} s"
        return f"seed {self.seed}, {self.work.name}: {what}: status {self.status}"


def processes_with(mark: str) -> list[int]:
    """Returns the processes that have the mark in their environment, without zombies."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return sorted(found)


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["Z", "0"]


def _program(pid: int) -> str:
    """Returns the names of the program and of its first argument, such as `crosscut-core node`."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return "?"
    return " ".join([Path(words[0]).name, *words[1:2]]).strip()


def victims(mark: str, command: int) -> dict[str, int]:
    """Returns the processes that a case may signal, by what they are."""
    everyone = [pid for pid in processes_with(mark) if pid != command]
    parents = {pid: int(_stat(pid)[1]) for pid in everyone}
    cores = [pid for pid in everyone if re.match(r"crosscut-core\S* (?!list)", _program(pid))]
    ranks = [pid for pid in cores if pid not in parents.values()]
    found = {"the command": command}
    for pid in everyone:
        if _program(pid) == _program(command):  # forked, about to start another program
            continue
        rank = "rank 0" if [pid] == ranks[:1] else "another rank"
        found.setdefault(rank if pid in ranks else _program(pid), pid)
    return found


def measured(out: Path) -> np.ndarray | None:
    """Returns which cells are measured; None if there is no run yet."""
    try:
        return np.asarray(Run.open(out).dataset["status"].values == MEASURED)
    except (CrosscutError, OSError, ValueError):
        return None


def listed_namespaces() -> set[str]:
    """Returns the named network namespaces, but for those of crosscut's tests."""
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    names = {line.split()[0] for line in done.stdout.splitlines() if line}
    return {name for name in names if not name.startswith("cst-")}


def shared_memory() -> set[str]:
    """Returns what is in shared memory, but for the folders of crosscut's tests."""
    folder = Path("/dev/shm")  # noqa: S108
    return {entry.name for entry in folder.iterdir() if not entry.name.startswith("crosscut-test-")}


class Campaign:
    def __init__(self, folder: Path, patience_seconds: float) -> None:
        self._folder = folder
        self._patience = patience_seconds
        self._usual: dict[str, float] = {}
        self._around: dict[str, Mapping[str, str]] = {}
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Campaign:
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def prepare(self, work: Work) -> str:
        """Runs the work undisturbed. Returns why it cannot run; empty if it can."""
        if why := work.can_run():
            return why
        self._around[work.name] = self._ending.enter_context(work.within())
        begin = time.monotonic()
        with self._case_folder(work) as (folder, environment):
            done = self._start(work.words, folder, environment)
            _, said = done.communicate(timeout=self._patience)
            if done.returncode != 0:
                return said.strip() or f"exit status {done.returncode}"
        self._usual[work.name] = time.monotonic() - begin
        return ""

    def case(self, work: Work, seed: int) -> Case:
        chance = random.Random(f"{work.name} {seed}")  # noqa: S311
        found = Case(work, seed, moment=chance.uniform(0.05, 1.1 * self._usual[work.name]))
        found.number = chance.choice(SIGNALS)
        namespaces, shared = listed_namespaces(), shared_memory()
        with self._case_folder(work) as (folder, environment):
            self._disturb(found, chance, folder, environment)
            found.wrong += [f"left: {one}" for one in _left(environment, namespaces)]
            found.wrong += [f"left: shared memory {name}" for name in sorted(shared_memory() - shared)]
        return found

    def _disturb(self, case: Case, chance: random.Random, folder: Path, environment: dict[str, str]) -> None:
        out = folder / "run.zarr"
        begin = time.monotonic()
        process = self._start(case.work.words, folder, environment)
        time.sleep(case.moment)
        before = measured(out) if case.work.measures else None
        there = victims(environment[MARK], process.pid)
        case.victim = chance.choice(sorted(there))
        with contextlib.suppress(ProcessLookupError):
            os.kill(there[case.victim], case.number)
        if case.number == signal.SIGSTOP and there[case.victim] == process.pid:
            time.sleep(1)
            os.kill(process.pid, signal.SIGCONT)
        try:
            _, said = process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            case.wrong.append(f"did not end within {self._patience:g} s")
            for pid in processes_with(environment[MARK]):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.communicate()
            return
        case.status, case.seconds = process.returncode, time.monotonic() - begin
        case.wrong += _bad_words(case, said)
        # A rank that outlives the command for a moment may still create the run.
        _wait_for_processes(environment)
        if case.work.measures:
            case.wrong += self._continue_run(case, out, before, folder, environment)
        elif case.status != 0:
            case.wrong += self._continue(case, folder, environment)
        if not case.wrong and (why := case.work.check(out if case.work.measures else folder)):
            case.wrong.append(why)

    def _continue_run(
        self, case: Case, out: Path, before: np.ndarray | None, folder: Path, environment: dict[str, str]
    ) -> Iterator[str]:
        if not (out / "zarr.json").exists():
            if before is not None:
                yield "the run is gone"
            shutil.rmtree(out, ignore_errors=True)
            fresh = self._start(case.work.words, folder, environment)
            _, said = fresh.communicate(timeout=self._patience)
            if fresh.returncode != 0:
                yield f"it cannot be started again: {said.strip()[-300:]}"
            return
        if damage := fsck.check(out).damage:
            yield f"fsck: {damage[0]}"
            return
        kept = measured(out)
        if kept is None:
            yield "the run cannot be opened"
            return
        if before is not None and (before & ~kept).any():
            yield "cells that were measured before the signal are lost"
        kept &= kept.all(axis=-1, keepdims=True)  # where a rank failed, all ranks are measured again
        seconds = Run.open(out).dataset["rank_seconds"].values
        yield from self._continue(case, folder, environment)
        if not np.array_equal(Run.open(out).dataset["rank_seconds"].values[kept], seconds[kept]):
            yield "resuming measured again what was there"

    def _continue(self, case: Case, folder: Path, environment: dict[str, str]) -> Iterator[str]:
        again = self._start(case.work.again, folder, environment)
        try:
            _, said = again.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired:
            again.kill()
            again.communicate()
            yield f"resuming did not end within {self._patience:g} s"
            return
        if again.returncode != 0:
            yield f"it cannot be resumed: status {again.returncode}: {said.strip()[-300:]}"

    def _start(
        self, words: Sequence[str], folder: Path, environment: dict[str, str]
    ) -> subprocess.Popen[str]:
        filled = [word.format(out=folder / "run.zarr", folder=folder) for word in words]
        return subprocess.Popen(
            [sys.executable, "-m", "crosscut", *filled], cwd=folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    @contextlib.contextmanager
    def _case_folder(self, work: Work) -> Iterator[tuple[Path, dict[str, str]]]:
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "tmp").mkdir()
            (folder / "crossbar.toml").write_text(CROSSBAR)
            if not work.measures:
                (folder / "source").write_bytes(random.Random(1).randbytes(IMAGE_BYTES))  # noqa: S311
            own = {MARK: name, "TMPDIR": str(folder / "tmp"), "NO_COLOR": "1"}
            yield folder, {**os.environ, **self._around[work.name], **own}


def _bad_words(case: Case, said: str) -> Iterator[str]:
    assert case.status is not None
    is_own_death = case.victim == "the command" and case.status == -case.number
    if case.status not in DOCUMENTED and not is_own_death:
        yield f"exit status {case.status}"
    if "Traceback" in said:
        yield f"a traceback: {said.strip()[-500:]}"
    if case.status != 0 and not is_own_death:
        words = [line for line in said.splitlines() if re.match(r"crosscut( \w+)?: ", line)]
        if not words:
            yield f"no cause is named: {said.strip()[-300:]!r}"
        is_dead_rank = case.victim == "rank 0" and case.number == signal.SIGKILL
        if words and is_dead_rank and case.work.measures and "rank 0" not in said:
            yield f"rank 0 was killed, but is not named: {words[0][:300]}"


def _wait_for_processes(environment: dict[str, str]) -> None:
    """Returns when no process of the case is left, or after a while."""
    end = time.monotonic() + GONE_SECONDS
    while time.monotonic() < end and processes_with(environment[MARK]):
        time.sleep(0.05)


def _left(environment: dict[str, str], namespaces: set[str]) -> Iterator[str]:
    """Yields processes, namespaces and files that are left of a case after a while."""
    _wait_for_processes(environment)
    for pid in processes_with(environment[MARK]):
        yield f"process {_program(pid)}"
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    yield from (f"network namespace {name}" for name in sorted(listed_namespaces() - namespaces))
    yield from (f"job of Slurm: {line}" for line in _jobs(environment))
    yield from (f"temporary file {path.name}" for path in sorted(Path(environment["TMPDIR"]).iterdir()))


def _jobs(environment: Mapping[str, str]) -> list[str]:
    """Returns Slurm's jobs, once those that are ending have ended, or after a while."""
    if "SLURM_CONF" not in environment:
        return []
    end = time.monotonic() + GONE_SECONDS
    while True:
        listed = subprocess.run(
            ["squeue", "--noheader", "--format=%j %T"],
            env=dict(environment), capture_output=True, text=True, check=True,
        ).stdout.splitlines()  # fmt: skip
        if not listed or time.monotonic() > end:
            return listed
        time.sleep(0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[work.name for work in WORKS])
    parser.add_argument("--patience", type=float, default=60)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = 0
    with (
        tempfile.TemporaryDirectory(prefix="crosscut-kills-") as name,
        Campaign(Path(name), args.patience) as campaign,
    ):
        able = []
        for work in WORKS:
            if work.name in args.only:
                if why := campaign.prepare(work):
                    print(f"{work.name}: skipped: {why}", flush=True)
                else:
                    able.append(work)
        for number in range(args.cases if able else 0):
            case = campaign.case(able[number % len(able)], args.seed + number)
            ended = "ended well" if case.status == 0 else "ended early"
            counts[f"{case.work.name}: {case.number.name} to {case.victim}: {ended}"] += 1
            wrong += bool(case.wrong)
            for one in case.wrong:
                print(f"{case}: {one}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{count:5d}  {what}")
    print(f"{sum(counts.values())} cases, {wrong or 'none'} went wrong")
    return 1 if wrong or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
