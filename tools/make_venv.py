"""Make a virtual environment with pip, even if Python lacks ensurepip, as on Debian.

Usage: python3 make_venv.py FOLDER
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

MINIMUM = (3, 11)


def runs(*words: str) -> bool:
    """True if the command succeeds. Its output is discarded."""
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def python_of(folder: Path) -> str:
    return str(folder / "bin" / "python")


def has_pip(folder: Path) -> bool:
    return runs(python_of(folder), "-m", "pip", "--version")


def by_venv(folder: Path) -> None:
    runs(sys.executable, "-m", "venv", str(folder))


def by_outer_pip(folder: Path) -> None:
    """Makes an environment without pip, then installs pip into it with the outer Python's pip."""
    if runs(sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)):
        runs(sys.executable, "-m", "pip", "--python", python_of(folder), "install", "pip")


def by_virtualenv(folder: Path) -> None:
    runs(sys.executable, "-m", "virtualenv", "--clear", str(folder))


def by_uv(folder: Path) -> None:
    runs("uv", "venv", "--clear", "--seed", "--python", sys.executable, str(folder))


def by_apt(folder: Path) -> None:
    """Installs python3-venv, which has ensurepip on Debian and Ubuntu; only as root."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print("make: this Python has no ensurepip: installing python3-venv with apt-get", flush=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    install = ("apt-get", "-y", "-o", "DPkg::Lock::Timeout=120", "install", "python3-venv")
    if runs(*install) or (runs("apt-get", "update") and runs(*install)):
        runs(sys.executable, "-m", "venv", "--clear", str(folder))


def complain(text: str) -> None:
    print(f"make: {text}", file=sys.stderr)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if sys.version_info < MINIMUM:
        version = sys.version.split()[0]
        complain(f"{sys.executable} is Python {version}; crosscut needs 3.11: make PYTHON=/path/to/python3")
        return 2
    folder = Path(sys.argv[1])
    for way in (by_venv, by_outer_pip, by_virtualenv, by_uv, by_apt):
        way(folder)
        if has_pip(folder):
            return 0
    complain(
        f"{sys.executable} cannot make a virtual environment with pip. Install its venv module "
        "(Debian, Ubuntu: apt install python3-venv), or virtualenv, or uv; then try again."
    )
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
