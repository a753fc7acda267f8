"""Usage: sanitize_programs.py BUILD

Runs the MPI programs of a build with sanitizers (preset asan-mpi): every workload, and programs of
tests/integration/profiled under `crosscut profile`, compiled with the same sanitizers. Fails if a sanitizer
reports anything, or if a program ends wrongly. Leaks are not looked for: MPICH keeps memory to the end.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BESIDE = Path(sys.executable).parent
RANKS = 4
PATIENCE_SECONDS = 300
# Arguments of the programs that are profiled, and their ranks.
PROFILED: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    ("point", 4, ()),
    ("others", 4, ()),
    ("threads", 2, ()),
    *(
        ("together", 4, (how, where))
        for how in ("blocking", "started", "persistent")
        for where in ("world", "part")
    ),
    *(("endings", 3, (how,)) for how in ("well", "exit", "busy")),
)
BADLY = ("exit",)
"""Endings after which the profile says that the program failed."""
REPORT = re.compile(r"runtime error:|Sanitizer")


def run(what: str, statuses: tuple[int, ...], *command: str | Path, library: Path | None = None) -> None:
    # mpiexec, which loads the profiler too, has no sanitizer's runtime that could come first.
    options = "halt_on_error=1:exitcode=66:detect_leaks=0:strict_string_checks=1:verify_asan_link_order=0"
    environment = os.environ | {
        "ASAN_OPTIONS": options,
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    if library is not None:
        environment["CROSSCUT_PROFILER"] = str(library)
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    said = done.stdout + done.stderr
    if done.returncode not in statuses or REPORT.search(said):
        raise SystemExit(f"sanitize: {what}: status {done.returncode}\n{said}")
    print(f"sanitize: {what}: clean", flush=True)


def compiled(source: str, folder: Path) -> Path:
    target = folder / source
    words = ["-g", "-pthread", "-fsanitize=address,undefined", f"-Wl,-rpath,{BESIDE.parent / 'lib'}"]
    file = ROOT / "tests/integration/profiled" / f"{source}.c"
    subprocess.run([BESIDE / "mpicc_abi", *words, file, "-o", target], check=True)
    return target


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    mpiexec, library = BESIDE / "mpiexec", build / "core/libcrosscut-profile.so"
    if not library.exists() or not mpiexec.exists():
        print("sanitize: MPI programs: skipped, as there is no MPI beside this Python (make install)")
        return
    for program in sorted((build / "workloads").glob("crosscut-*")):
        small = ("--class", "S") if "-npb-" in program.name else ()
        run(program.name, (0,), mpiexec, "-n", str(RANKS), program, *small)
    for source, ranks, arguments in PROFILED:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            profile: list[str | Path] = [BESIDE / "crosscut", "profile", "--out", folder / "profile", "--"]
            launch: list[str | Path] = [mpiexec, "-n", str(ranks), compiled(source, folder), *arguments]
            statuses = (1,) if set(arguments) & set(BADLY) else (0,)
            what = f"profile of {' '.join((source, *arguments))}"
            run(what, statuses, *profile, *launch, library=library)


if __name__ == "__main__":
    main()
