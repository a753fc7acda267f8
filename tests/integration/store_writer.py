"""Finds core/tests/crash_writer.cpp, which writes to the core's store, in a build folder, or compiles it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("base/crc32c", "base/fd", "base/file", "base/json", "base/json_value", "store/*")


def crash_writer(build: Path) -> Path:
    """Returns the program that CROSSCUT_CRASH_WRITER names, of a current build, or compiled into `build`."""
    if named := os.environ.get("CROSSCUT_CRASH_WRITER"):
        return Path(named)
    built = [*ROOT.glob("build/**/crash_writer")]
    newest_source = max(source.stat().st_mtime for source in (ROOT / "core").rglob("*.[ch]pp"))
    for program in built:
        if program.stat().st_mtime > newest_source:
            return program
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        pytest.skip("no C++ compiler: name a built crash_writer in CROSSCUT_CRASH_WRITER")
    program = build / "crash_writer"
    core = ROOT / "core"
    sources = [
        core / "tests/crash_writer.cpp",
        *(file for name in SOURCES for file in (core / "src").glob(f"{name}.cpp")),
    ]
    folders = [f"-I{core / 'src'}", f"-I{core}"]
    subprocess.run([compiler, "-std=c++20", "-O1", *folders, *sources, "-o", program], check=True)
    return program
