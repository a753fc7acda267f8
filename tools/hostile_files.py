"""Opens files that strangers could have written, each by the commands that read it; lists what went wrong.

A file is a good one of its kind, mutated: bits flipped, parts cut, moved or repeated, numbers and values
replaced by awkward ones, files of a folder missing, empty, or something other than a file. Every execution is
a process of its own, under limits of memory and time. It must end by itself with a documented exit status,
and where it refuses the file, with a message: no traceback, no hang, no signal.

    .venv/bin/python tools/hostile_files.py 2000 --seed 7          # executions of each kind
    .venv/bin/python tools/hostile_files.py 100 --only run network

The good files are made anew, so a seed alone does not bring a case back: it is kept, by default in
build/hostile.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import pkgutil
import random
import re
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
from typing import Any

import crosscut as crosscut_package
from crosscut import cli
from crosscut.base.errors import CrosscutError
from crosscut.base.host_list import read_host_file
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
    words: list[str | Path] = [
        "-O1",
        "-pthread",
        source,
        "-o",
        program,
        f"-Wl,-rpath,{beside.parent / 'lib'}",
    ]
    subprocess.run([beside / "mpicc_abi", *words], check=True)
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
                           ("report", "{}", *PAGE), ("compare", "{}", "{run}"))),
    Kind("launches", make_launches, (("show", "{}"), ("fsck", "{}"), ("compare", "{}", "{}"))),
    Kind("network", text(CHASSIS), (("network", "check", "{}"), ("network", "show", "{}", "--json"),
                                    ("explain", "{run}", "--network", "{}"), ("price", "{}"))),
    Kind("explicit-network", lambda target: crosscut("locate", run_of(target.parent), "-o", target),
         (("network", "check", "{}"), ("network", "routes", "{}"), ("simulate", "{}"))),
    Kind("findings", printed("locate", "{run}", "--json"),
         (("report", "{run}", "--findings", "{}", *PAGE),)),
    Kind("specification", copied("examples/acceptance.toml"), (("check", "{}", "{run}"),
         ("report", "{run}", "--spec", "{}", *PAGE))),
    Kind("cabling", text(CABLES), (("locate", "{run}", "--cabling", "{}"),)),
    Kind("counters", text(COUNTERS),
         (("locate", "{run}", "--cabling", "{cables}", "--switch-counters", "{}", "{}"),)),
    Kind("price-book", copied("prices/kurmann-2003.toml"), (("price", "xibalba-er16", "--book", "{}"),)),
    Kind("mix", text(MIX), (("price", "xibalba-er16", "xibalba-maintenance", "--mix", "{}"),)),
    Kind("trace", make_trace,
         (("predict", "{}", "--on", "{network}", "--time-limit", "20s", "--flops", "1e9"),)),
    Kind("profile", make_profile,
         (("profile", "--show", "{}"), ("profile", "--show", "{}", "--json"),
          ("predict", "{}", "--on", "{network}", "--time-limit", "20s")),
         needs="mpicc_abi"),
    Kind("hpl-output", copied("tests/golden/hpl/hpccoutf.txt"), (("workload", "hpl", "--read", "{}"),)),
    Kind("experiment", copied("experiments/kurmann-figure-3.toml"), call=experiment.read),
    Kind("hosts", text("n1 slots=4\nn[001-064]\nlocalhost\n"), call=read_host_file),
)  # fmt: skip

NUMBERS = (
    "0", "-1", "1", "-0", "0.5", "1e999", "-1e999", "NaN", "nan", "inf", "1e-320", "2147483648", "4294967295",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1" * 400, "0x10", "1_000", "٣",
)  # fmt: skip
TOKENS = (
    *NUMBERS, "null", "true", "{}", "[]", '""', "\\u0000", "\x1b[31m", "\x00", "\ufeff", "'", '"',
    "=cmd|' /C'!A1", "../../../etc/passwd", "/dev/zero", "%s%n", "\r\n", "\\ud800", "[" * 5000, '{"a":' * 500,
    "é" * 3000, ",", ":", "#", "\t", "[[", "]]", "=", "1-0", "n[0-999999999]",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1 << 31, 1 << 63, 1 << 64, 1e308, -1e308, 0.1, "", "\x1b]0;x\x07", "NaN", [], {}, [[]],
    [None], {"": None}, "x" * 5000, list(range(5000)), [0] * 64, [1 << 40],
)  # fmt: skip


def mutated_bytes(data: bytes, draw: random.Random) -> bytes:  # noqa: PLR0911
    at = draw.randrange(len(data) + 1)
    end = min(len(data), at + draw.choice((1, 2, 4, 8, 64, 1000)))
    match draw.randrange(8):
        case 0:
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
        case 1:
            return data[:at]
        case 2:
            return data[:at] + data[end:]
        case 3:
            return data[:end] + data[at:end] * draw.choice((1, 2, 100)) + data[end:]
        case 4 | 5:
            return data[:at] + draw.choice(TOKENS).encode("utf-8", "surrogatepass") + data[at:]
        case 6:
            spans = [found.span() for found in re.finditer(rb"-?\d+(\.\d+)?", data)] or [(at, end)]
            first, last = draw.choice(spans)
            return data[:first] + draw.choice(NUMBERS).encode() + data[last:]
        case _:
            lines = data.split(b"\n")
            lines.insert(draw.randrange(len(lines)), lines.pop(draw.randrange(len(lines))))
            return b"\n".join(lines)


def mutated_json(value: Any, draw: random.Random) -> Any:
    """Replaces, removes or adds one value somewhere."""
    if not isinstance(value, dict | list) or not value or draw.random() < 0.2:
        return draw.choice(VALUES)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw.choice(keys)
    changed = dict(value) if isinstance(value, dict) else list(value)
    match draw.randrange(8):
        case 0:
            del changed[key]
        case 1:
            if isinstance(changed, dict):
                changed[draw.choice((*map(str, keys), "unknown"))] = draw.choice(VALUES)
            else:
                changed.insert(key, changed[key])
        case _:
            changed[key] = mutated_json(value[key], draw)
    return changed


def mutate_file(file: Path, draw: random.Random) -> None:
    data = file.read_bytes()
    if draw.random() < 0.6:
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(data)
            for _ in range(draw.choice((1, 1, 2))):
                value = mutated_json(value, draw)
            file.write_text(json.dumps(value), encoding="utf-8", errors="surrogatepass")
            return
    for _ in range(draw.choice((1, 1, 2, 4))):
        data = mutated_bytes(data, draw)
    file.write_bytes(data)


def mutate(target: Path, draw: random.Random) -> None:
    """Changes a good file, or some files of a good folder."""
    if target.is_file():
        return mutate_file(target, draw)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    metadata = [path for path in files if path.suffix in {".json", ".txt", ".toml"}]
    for _ in range(draw.choice((1, 1, 2))):
        file = draw.choice(metadata if metadata and draw.random() < 0.6 else files)
        if not file.is_file():
            continue
        match draw.randrange(12):
            case 0:
                file.unlink()
            case 1:
                file.unlink()
                draw.choice((os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero"),
                             lambda path: path.symlink_to(path.name)))(file)  # fmt: skip
            case 2:
                others = [path for path in files if path != file and path.is_file()]
                file.write_bytes(draw.choice(others).read_bytes() if others else b"")
            case 3:
                shutil.rmtree(file.parent) if file.parent != target else file.unlink()
            case _:
                mutate_file(file, draw)
    return None


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
        (folder / "out").mkdir()
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        fixed = {"run": run_of(folder), "network": network_of(folder)}
        fixed["cables"] = folder / "cables.csv"
        fixed["cables"].write_text(CABLES)
        for kind in KINDS:
            if options.only and kind.name not in options.only:
                continue
            if kind.needs and not Path(sys.executable).with_name(kind.needs).exists():
                print(f"{kind.name}: skipped, as there is no {kind.needs} beside this Python", flush=True)
                continue
            good = folder / f"good-{kind.name}"
            kind.make(good)
            for which, work in works(kind, good, fixed):
                found = executed(work, folder / "out")
                if found or (folder / "out/stderr").read_text().startswith("crosscut: error"):
                    said = (folder / "out/stderr").read_text()
                    raise SystemExit(f"{kind.name}: {which} refuses the good file: {found}\n{said}")
            executions = 0
            begun = time.monotonic()
            for seed in range(options.seed, options.seed + options.count):
                target = folder / f"bad-{kind.name}"
                (shutil.copytree if good.is_dir() else shutil.copyfile)(good, target)
                mutate(target, random.Random(f"{kind.name} {seed}"))  # noqa: S311
                for which, work in works(kind, target, fixed):
                    executions += 1
                    found = executed(work, folder / "out")
                    if found is None:
                        continue
                    wrong += 1
                    print(f"{kind.name} {seed}: {which}: {found}", flush=True)
                    keep(target, options.keep / f"{kind.name}-{seed}")
                shutil.rmtree(target) if target.is_dir() else target.unlink()
                target.with_name(target.name + ".html").unlink(missing_ok=True)
            seconds = time.monotonic() - begun
            print(f"{kind.name}: {options.count} files, {executions} executions, {seconds:.0f} s", flush=True)
    print(f"{wrong} executions went wrong" if wrong else "none went wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
