"""Print requirements from pyproject.toml, one per line, so that pip and make share one list.

Usage: python3 requirements.py NAME...

NAME is `build` (to build the wheel), `run` (to use it), or the name of an extra.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
CMAKE_MINIMUM = (3, 22)


def cmake_is_recent() -> bool:
    if shutil.which("cmake") is None:
        return False
    said = subprocess.run(["cmake", "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)", said)
    return version is not None and (int(version[1]), int(version[2])) >= CMAKE_MINIMUM


def build_tools() -> list[str]:
    """Returns the wheels of CMake and Ninja that this machine needs."""
    missing = [] if cmake_is_recent() else [f"cmake>={CMAKE_MINIMUM[0]}.{CMAKE_MINIMUM[1]}"]
    return missing if shutil.which("ninja") else [*missing, "ninja>=1.10"]


def requirements(names: list[str]) -> list[str]:
    with PYPROJECT.open("rb") as file:
        document = tomllib.load(file)
    known = {
        **document["project"]["optional-dependencies"],
        "run": document["project"]["dependencies"],
        "build": document["build-system"]["requires"] + build_tools(),
    }
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"{PYPROJECT} has no extra {unknown[0]!r}; it has {', '.join(sorted(known))}")
    return [requirement for name in names for requirement in known[name]]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1:])))
