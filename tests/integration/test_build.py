"""Tests the build on a miniature of the source tree: the real CMake files, and a main of a few lines."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError
from crosscut.cli import build_mpi, building

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

MAIN = """
#include <cstdio>
extern const char* const mpi_state;
int main() {
  std::printf("{\\"version\\": \\"%s\\", \\"backends\\": [{\\"name\\": \\"mpi\\", \\"available\\": %s}]}\\n",
              CROSSCUT_VERSION, mpi_state);
}
"""
MPI = """
extern const char* const mpi_state;
#if defined(CROSSCUT_HAVE_MPI)
#include <mpi.h>
static const char* state() {
  int started = 0;
  return MPI_Initialized(&started) == MPI_SUCCESS ? "true" : "false";
}
const char* const mpi_state = state();
#else
const char* const mpi_state = "false";
#endif
"""

pytestmark = [
    pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]
needs_mpich = pytest.mark.skipif(
    not (BIN / "mpicxx_abi").exists(), reason="needs the PyPI package mpich next to this Python"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """This checkout's build files with one pattern, one backend, and another that needs MPI."""
    folder = tmp_path / "tree"
    files = {
        "README.md": "crosscut",
        "core/src/main.cpp": MAIN,
        "core/src/base/version.cpp": "namespace crosscut { extern const int unused; const int unused = 0; }",
        "core/patterns/aapc.cpp": "namespace crosscut { extern const int aapc; const int aapc = 0; }",
        "core/patterns/patterns.def": "// a comment\nCROSSCUT_PATTERN(aapc)\n",
        "core/backends/null.cpp": "namespace crosscut { extern const int null; const int null = 0; }",
        "core/backends/mpi.cpp": MPI,
        "core/backends/backends.def": "CROSSCUT_BACKEND(null)\nCROSSCUT_BACKEND_NEEDS(mpi, MPI)\n",
        "core/networks/generators.def": "// none\n",
        "core/networks/generators/README": "where they would be",
        "core/tests/test_one.cpp": "int main() { return 0; }",
        "core/tests/checking/check_program.cpp": "// none",
        "core/tests/checking/rehearsal.cpp": "// none",
        "src/crosscut/__init__.py": "",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "LICENSE", "core/CMakeLists.txt",
                 "core/tests/CMakeLists.txt"):  # fmt: skip
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "core" / "cmake", folder / "core" / "cmake")
    return folder


def configure(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    folders = ("-S", str(tree), "-B", str(tree / "build"))
    words = ["cmake", *folders, f"-DPython_EXECUTABLE={sys.executable}", *options]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def build(tree: Path) -> Path:
    subprocess.run(["cmake", "--build", str(tree / "build")], check=True, stdout=subprocess.DEVNULL)
    return tree / "build" / "core"


def dynamic_section(executable: Path) -> str:
    return subprocess.run(["readelf", "-d", executable], check=True, capture_output=True, text=True).stdout


def flat(text: str) -> str:
    """Joins lines, since CMake wraps its messages."""
    return re.sub(r"\s+", " ", text)


def test_a_registered_pattern_without_a_file_is_named(tree: Path) -> None:
    with (tree / "core/patterns/patterns.def").open("a") as file:
        file.write("CROSSCUT_PATTERN(forgotten)\n")
    done = configure(tree, "-DCROSSCUT_MPI=OFF")
    assert done.returncode != 0
    assert "registers `forgotten`, but there is neither core/patterns/forgotten.cpp" in flat(done.stdout)


def test_without_mpi_the_build_says_what_is_left_out_and_why(tree: Path, tmp_path: Path) -> None:
    done = configure(tree, f"-DPython_EXECUTABLE={tmp_path / 'no' / 'python'}")
    assert done.returncode == 0
    assert "crosscut-core-mpi: NOT built: no MPI found" in flat(done.stdout)
    folder = build(tree)
    assert (folder / "crosscut-core").exists()
    assert not (folder / "crosscut-core-mpi").exists()


def test_the_plain_core_needs_only_libc(tree: Path) -> None:
    assert configure(tree, "-DCROSSCUT_MPI=OFF").returncode == 0
    needed = re.findall(r"NEEDED.*\[(.+)\]", dynamic_section(build(tree) / "crosscut-core"))
    assert [name for name in needed if not name.startswith(("libc.", "libm.", "ld-linux"))] == []


@needs_mpich
def test_the_wheel_has_both_executables_and_the_sources(tree: Path, tmp_path: Path) -> None:
    words = ["wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(tmp_path / "dist"), str(tree)]
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *words], check=True)
    (wheel,) = (tmp_path / "dist").iterdir()
    assert re.fullmatch(r"crosscut-.+-py3-none-linux_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "out")
    (scripts,) = (tmp_path / "out").glob("*.data/scripts")
    plain, mpi = (dynamic_section(scripts / name) for name in ("crosscut-core", "crosscut-core-mpi"))
    assert "RUNPATH" not in plain
    assert "mpi" not in plain
    assert "[libmpi_abi.so.1]" in mpi
    assert "Library runpath: [$ORIGIN/../lib]" in mpi
    source = tmp_path / "out" / "crosscut" / "source"
    assert building.find_source(source) == source
    assert not (source / "core" / "tests").exists()


@needs_mpich
def test_build_mpi_builds_from_the_sources_of_a_wheel(tree: Path, tmp_path: Path) -> None:
    (tree / "pyproject.toml").unlink()  # as in the wheel
    shutil.rmtree(tree / "core/tests")
    target = tmp_path / "crosscut-core-mpi"
    command = building.configure_command(
        "cmake", tree, tmp_path / "build", build_mpi.options(BIN / "mpicxx_abi")
    )
    building.run_step("configuring", command)
    building.run_step("compiling", ["cmake", "--build", str(tmp_path / "build")])
    built = tmp_path / "build" / "core" / "crosscut-core-mpi"
    build_mpi.check_built(built)
    building.put_in_place(built, target)
    build_mpi.check_built(target)
    assert f"Library runpath: [{BIN.parent / 'lib'}]" in dynamic_section(target)


def test_build_mpi_takes_a_sites_wrapper_as_the_compiler(tree: Path, tmp_path: Path) -> None:
    """The stand-in for an MPI is a wrapper that adds an include folder, as every MPI's does."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "mpi.h").write_text(
        "constexpr int MPI_SUCCESS = 0;\ninline int MPI_Initialized(int*) { return 0; }\n"
    )
    wrapper = tmp_path / "mpicxx"
    wrapper.write_text(f'#!/bin/sh\nexec c++ -I{tmp_path / "include"} "$@"\n')
    wrapper.chmod(0o755)
    building.run_step(
        "configuring",
        building.configure_command("cmake", tree, tmp_path / "build", build_mpi.options(wrapper)),
    )
    building.run_step("compiling", ["cmake", "--build", str(tmp_path / "build")])
    build_mpi.check_built(tmp_path / "build" / "core" / "crosscut-core-mpi")
    assert not (tmp_path / "build" / "core" / "crosscut-core").exists()


def test_a_compiler_without_mpi_is_refused_as_a_wrapper(tree: Path, tmp_path: Path) -> None:
    compiler = Path(shutil.which("c++") or "")
    command = building.configure_command("cmake", tree, tmp_path / "build", build_mpi.options(compiler))
    with pytest.raises(CrosscutError, match=r"does not find\s+mpi.h"):
        building.run_step("configuring", command)
