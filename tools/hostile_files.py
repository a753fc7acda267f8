"""Opens files that strangers could have written, each by the commands that read it; lists what went wrong.

A file is a good one of its kind, mutated: bits flipped, parts cut, moved or repeated, numbers and values
replaced by awkward ones, files of a folder missing, empty, or something other than a file. Every execution is
a process of its own, under limits of memory and time. It must end by itself with a documented exit status,
and where it refuses the file, with a message: no traceback, no hang, no signal.

    .venv/bin/python tools/hostile_files.py 2000 --seed 7          # executions of each kind
    .venv/bin/python tools/hostile_files.py 100 --only run network

Good runs are those of tests/golden. Other good files are made anew and may differ in the times they hold, so
a seed alone does not always bring a case back: what went wrong is kept, by default in build/hostile.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pkgutil
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutations import mutate  # of this folder

import crosscut as crosscut_package
from crosscut import cli
from crosscut.base.errors import CrosscutError
from crosscut.base.host_list import read_host_file, read_ranks
from crosscut.base.printable import printable
from crosscut.reproduce import experiment

ROOT = Path(__file__).resolve().parent.parent
# Exit statuses that the help of the commands lists, but for an interrupt's.
DOCUMENTED = (0, 1, 2, 3)
SECONDS = 60
ADDRESS_SPACE_BYTES = 4 << 30
WRITTEN_BYTES = 256 << 20


@dataclass(frozen=True)
class Kind:
    """Files of one kind, and who reads them. `{}` in `commands` is the file or folder."""

    name: str
    make: Callable[[Path], object]
    """Writes a good file or folder at this path."""
    commands: tuple[tuple[str, ...], ...] = ()
    call: Callable[[Path], object] | None = None
    """Reads the file in place of a command; may raise CrosscutError only."""
    needs: str = ""
    """A program that making the good file takes, beside this Python."""
    variants: tuple[Path, ...] = ()
    """More good files; each seed mutates one of them in place of the file that `make` writes."""


def crosscut(*words: str | Path) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("crosscut"), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"crosscut {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


CHASSIS = """[generator]
kind = "module-chassis"
modules = 2
asics_per_module = 1
hosts_per_asic = 4
rate = "100 Mbit/s"
module_rate = "200 Mbit/s"
[host]
adapter_price = "50 USD"
"""
MIX = """title = "Small messages and large"
ranks = 8
within = "10%"
[[work]]
name = "small"
pattern = "aapc"
size = "1KB"
weight = 2
[[work]]
name = "own"
seconds = { xibalba-er16 = "3 s", xibalba-maintenance = "4 s" }
"""
CABLES = "# of May\nhost,rack,switch,port,to_switch,to_port,cable\n" + "".join(
    f"h{host},r{host // 4},leaf{host // 4},{host % 4},,,C{host}\n" for host in range(8)
)
COUNTERS = "switch,port,counter,value\n" + "".join(
    f"leaf{host // 4},{host % 4},rx_crc_errors,{host}\n" for host in range(8)
)
TRACE = ("0 init\n0 compute 1e6\n0 send 1 0 1000\n0 recv 1 0 1000\n0 barrier\n0 finalize\n",
         "1 init\n1 compute 2e6\n1 recv 0 0 1000\n1 send 0 0 1000\n1 barrier\n1 finalize\n")  # fmt: skip


def network_of(folder: Path) -> Path:
    """The network that good runs are measured on, written beside them once."""
    file = folder / "good.toml"
    if not file.exists():
        file.write_text(CHASSIS)
    return file


def make_run(target: Path) -> None:
    place = f"sim:{network_of(target.parent)}"
    crosscut("run", "aapc", "--on", place, "--size", "1KB,1MB", "--repetitions", "3", "--out", target)


def make_launches(target: Path) -> None:
    words = ("--backend", "null", "-n", "4", "--size", "1KB", "--launches", "2", "--repetitions", "3")
    crosscut("run", "pairwise", *words, "--out", target)


def run_of(folder: Path) -> Path:
    run = folder / "good.zarr"
    if not run.exists():
        make_run(run)
    return run


def make_trace(target: Path) -> None:
    target.mkdir()
    for rank, text in enumerate(TRACE):
        (target / f"rank-{rank}.trace").write_text(text)
    (target / "trace.txt").write_text("rank-0.trace\nrank-1.trace\n")


def make_profile(target: Path) -> None:
    program = target.with_suffix(".program")
    source = ROOT / "tests/integration/profiled/point.c"
    beside = Path(sys.executable).parent
    compiler: list[str | Path] = [beside / "mpicc_abi", "-pthread", f"-Wl,-rpath,{beside.parent / 'lib'}"]
    subprocess.run([*compiler, source, "-o", program], check=True)
    crosscut("profile", "--trace", "--out", target, "--", beside / "mpiexec", "-n", "2", program)


def text(content: str) -> Callable[[Path], object]:
    return lambda target: print(content, end="", file=target.open("w"))


def copied(path: str) -> Callable[[Path], object]:
    return lambda target: shutil.copyfile(ROOT / path, target)


def printed(*words: str) -> Callable[[Path], object]:
    """Writes what a command prints of the good run."""
    return lambda target: print(
        crosscut(*(word.format(run=run_of(target.parent)) for word in words)), file=target.open("w")
    )


PAGE = ("-o", "{}.html", "--force")
KINDS = (
    Kind("run", make_run, (("show", "{}"), ("show", "{}", "--findings"), ("show", "{}", "--json"),
                           ("fsck", "{}"), ("export", "{}"), ("explain", "{}"), ("locate", "{}", "--json"),
                           ("report", "{}", *PAGE), ("compare", "{}", "{}")),
         variants=tuple(sorted(path for path in (ROOT / "tests/golden/runs").iterdir() if path.is_dir()))),
    Kind("launches", make_launches, (("show", "{}"), ("fsck", "{}"), ("compare", "{}", "{}"))),
    Kind("network", text(CHASSIS), (("network", "check", "{}"), ("network", "show", "{}", "--json"),
                                    ("explain", "{run}", "--network", "{}"), ("price", "{}"))),
    Kind("explicit-network", lambda target: crosscut("locate", run_of(target.parent), "-o", target),
         (("network", "check", "{}"), ("network", "routes", "{}"), ("simulate", "{}"))),
    Kind("findings", printed("locate", "{run}", "--json"),
         (("report", "{run}", "--located", "{}", *PAGE),)),
    Kind("specification", copied("examples/acceptance.toml"), (("check", "{}", "{run}"),
         ("report", "{run}", "--spec", "{}", *PAGE))),
    Kind("cabling", text(CABLES), (("locate", "{run}", "--cabling", "{}"),)),
    Kind("counters", text(COUNTERS),
         (("locate", "{run}", "--cabling", "{cables}", "--switch-counters", "{}", "{}"),)),
    Kind("price-book", copied("prices/kurmann-2003.toml"), (("price", "xibalba-er16", "--book", "{}"),)),
    Kind("mix", text(MIX), (("price", "xibalba-er16", "xibalba-maintenance", "--mix", "{}"),)),
    Kind("trace", make_trace,
         (("predict", "{}", "--on", "{network}", "--time-limit", "20s", "--flops", "1e9"),
          ("place", "{}", "--on", "{network}", "--time-limit", "20s", "--flops", "1e9"))),
    Kind("profile", make_profile,
         (("profile", "--show", "{}"), ("profile", "--show", "{}", "--json"),
          ("predict", "{}", "--on", "{network}", "--time-limit", "20s", "--traced-on", "none"),
          ("place", "{}", "--on", "{network}", "--time-limit", "20s", "--traced-on", "none")),
         needs="mpicc_abi"),
    Kind("hpl-output", copied("tests/golden/hpl/hpccoutf.txt"), (("workload", "hpl", "--read", "{}"),)),
    Kind("experiment", copied("experiments/kurmann-figure-3.toml"), call=experiment.read),
    Kind("hosts", text("n1 slots=4\nn[001-064]\nlocalhost\n"), call=read_host_file),
    Kind("ranks", text("n1 slots=4\nn[001-064]\nlocalhost\n"), call=read_ranks),
)  # fmt: skip


def in_child(work: Callable[[], int], out: Path) -> None:
    """The child's side: what it prints goes to files, and its means are limited. Does not return."""
    status = 70
    try:
        os.setsid()
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(os.open(out / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
        resource.setrlimit(resource.RLIMIT_FSIZE, (WRITTEN_BYTES, WRITTEN_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        status = work()
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 70
    except BaseException:  # noqa: BLE001  a traceback is what this program looks for
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def executed(work: Callable[[], int], out: Path) -> str | None:
    """Returns what went wrong; None if nothing did."""
    child = os.fork()
    if child == 0:
        in_child(work, out)
    until = time.monotonic() + SECONDS
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return f"still runs after {SECONDS} s"
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
        return "left a process behind"
    return judged(ended[1], (out / "stdout").read_bytes(), (out / "stderr").read_text(errors="replace"))


def judged(status: int, printed: bytes, said: str) -> str | None:
    """Returns what is wrong with an execution that ended by itself."""
    code = os.waitstatus_to_exitcode(status)
    found = None
    if code < 0:
        found = f"ended by {signal.Signals(-code).name}"
    elif "Traceback (most recent call last)" in said:
        found = "traceback: " + said.strip().splitlines()[-1][:200]
    elif code not in DOCUMENTED:
        found = f"exit status {code}"
    elif code != 0 and not said.strip() and not printed:
        found = f"exit status {code} without a word"
    elif "\x1b" in said or b"\x1b" in printed:
        found = "an escape sequence reached the terminal"
    return found


def works(kind: Kind, target: Path, fixed: dict[str, Path]) -> Iterator[tuple[str, Callable[[], int]]]:
    if kind.call is not None:
        read = kind.call

        def called() -> int:
            try:
                read(target)
            except CrosscutError as error:
                print(printable(str(error)), file=sys.stderr)
                return 2
            return 0

        yield kind.name, called
    for command in kind.commands:
        words = [word.replace("{}", str(target)).format(**fixed) for word in command]
        yield " ".join(command), lambda words=words: cli.main(words)  # type: ignore[misc]


def keep(bad: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", bad, kept], check=True)  # links and pipes as they are


@contextlib.contextmanager
def copy_of(source: Path, target: Path) -> Iterator[Path]:
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    try:
        yield target
    finally:
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        target.with_name(target.name + ".html").unlink(missing_ok=True)


def check_good(kind: Kind, good: Path, fixed: dict[str, Path], out: Path) -> None:
    """Raises SystemExit if a good file does harm, or the one that was made for its commands is refused."""
    for source in (good, *kind.variants):
        with copy_of(source, out.with_name("copy")) as target:
            for which, work in works(kind, target, fixed):
                found = executed(work, out)
                said = (out / "stderr").read_text()
                if found or (source == good and said.startswith("crosscut: error")):
                    raise SystemExit(f"{kind.name}: {which} of the good {source}: {found}\n{said}")


def attack(kind: Kind, good: Path, fixed: dict[str, Path], out: Path, seeds: range, kept: Path) -> int:
    """Mutates a file for each seed, and has it opened. Returns the number of executions that went wrong."""
    executions = wrong = 0
    begun = time.monotonic()
    for seed in seeds:
        source = kind.variants[seed % len(kind.variants)] if kind.variants else good
        with copy_of(source, out.with_name(f"bad-{kind.name}")) as target:
            mutate(target, random.Random(f"{kind.name} {seed}"))  # noqa: S311
            for which, work in works(kind, target, fixed):
                executions += 1
                if found := executed(work, out):
                    wrong += 1
                    print(f"{kind.name} {seed}: {which}: {found}", flush=True)
                    keep(target, kept / f"{kind.name}-{seed}")
    seconds = time.monotonic() - begun
    print(f"{kind.name}: {len(seeds)} files, {executions} executions, {seconds:.0f} s", flush=True)
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("count", type=int, help="Mutated files of each kind.")
    parser.add_argument("--seed", type=int, default=1, help="Seed of the first file; each next has the next.")
    parser.add_argument("--only", nargs="*", help="Kinds: " + ", ".join(kind.name for kind in KINDS))
    parser.add_argument(
        "--keep", type=Path, default=ROOT / "build/hostile", help="Folder for what went wrong."
    )
    options = parser.parse_args(arguments)
    for module in pkgutil.walk_packages(crosscut_package.__path__, "crosscut."):
        importlib.import_module(module.name)  # once for all children
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="crosscut-hostile-") as name:
        folder = Path(name)
        (out := folder / "out").mkdir()
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        fixed = {"run": run_of(folder), "network": network_of(folder), "cables": folder / "cables.csv"}
        fixed["cables"].write_text(CABLES)
        for kind in KINDS:
            if options.only and kind.name not in options.only:
                continue
            if kind.needs and not Path(sys.executable).with_name(kind.needs).exists():
                print(f"{kind.name}: skipped, as there is no {kind.needs} beside this Python", flush=True)
                continue
            kind.make(good := folder / f"good-{kind.name}")
            check_good(kind, good, fixed, out)
            seeds = range(options.seed, options.seed + options.count)
            wrong += attack(kind, good, fixed, out, seeds, options.keep)
    print(f"{wrong} executions went wrong" if wrong else "none went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
