"""Labs with Slurm in tests: in a folder with a short path, since a socket's path has at most 107 bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from labs import crossbar, needs_lab

from crosscut.lab import enter, lifecycle, removal, state
from crosscut.lab.plan.management import LOGIN
from crosscut.lab.slurm import daemons

needs_slurm = [
    needs_lab,
    pytest.mark.skipif(bool(daemons.unavailable()), reason=f"no Slurm in labs: {daemons.unavailable()}"),
]
HOSTS = 4


@dataclass(frozen=True)
class SlurmLab:
    record: state.Record
    folder: Path
    """For files of a test."""

    @property
    def environment(self) -> dict[str, str]:
        return daemons.environment(state.folder(self.record.name))

    def command(self, *words: str, node: str = LOGIN) -> list[str]:
        """The command that runs a program on a host of the cluster."""
        return enter.command(self.record, state.folder(self.record.name), node, words)

    def run(self, *words: str, node: str = LOGIN, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words, node=node), env=self.environment, cwd=self.folder,
            capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip

    def ranks(self) -> list[int]:
        """Processes of crosscut-core on the nodes."""
        inside = removal.processes(state.folder(self.record.name), None)
        return [pid for pid in inside if b"crosscut-core" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def output(self, *words: str, node: str = LOGIN) -> str:
        done = self.run(*words, node=node)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def crosscut(self, *words: str, node: str = LOGIN) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "crosscut", *words, node=node)


@contextmanager
def short_labs() -> Iterator[Path]:
    """A folder for labs, set as this process's; takes down what is left in it."""
    with tempfile.TemporaryDirectory(prefix="cl-") as name, pytest.MonkeyPatch.context() as patch:
        root = Path(name) / "labs"
        patch.setenv(state.VARIABLE, str(root))
        for variable in [one for one in os.environ if one.startswith("SLURM_")]:
            patch.delenv(variable)
        try:
            yield root
        finally:
            for lab in state.names():
                lifecycle.down(lab)


@contextmanager
def slurm_lab(hosts: int = HOSTS, rate: str = "100 Mbit/s") -> Iterator[SlurmLab]:
    with short_labs() as root:
        folder = root.parent / "work"
        folder.mkdir()
        file = crossbar(folder, hosts, rate)
        record = lifecycle.up(str(file), lifecycle.Choices(name="s", slurm=True))
        yield SlurmLab(record, folder)
        shutil.rmtree(folder)
