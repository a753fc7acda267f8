"""How both MPIs' launchers learn where in a lab ranks run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from crosscut.base.errors import PlaceError, UsageError
from crosscut.base.host_list import Share
from crosscut.places import lab
from crosscut.places.lab import SessionLab
from crosscut.places.launchers import Launcher

SITE = SessionLab("x", Path("/run/x"), ("a", "b"), None)
SHARES = [Share("a", 0, 2), Share("b", 2, 1)]


def program(folder: Path, name: str, says: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with only the test's own programs; `ldd` prints Open MPI's library."""
    program(tmp_path, "ldd", "libmpi.so.40 => /lib/libmpi.so.40 (0x1)")
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("OMPI_", "FI_"))]:
        monkeypatch.delenv(name)
    return tmp_path


def test_mpich_gets_its_hosts_and_the_lab_s_remote_shell(machine: Path) -> None:
    hydra = Launcher(str(program(machine, "mpiexec", "HYDRA build details:")))
    words, settings = lab.mpi_command(
        SITE.enter, hydra, [hydra.program, "-n", "3"], SHARES, ["./program", "a b"]
    )
    assert words[:2] == ["/run/x/enter", "a"]
    assert words[2] == (
        f"{hydra.program} -n 3 -launcher rsh -launcher-exec /run/x/enter -iface eth0 -hosts a:2,b:1 "
        "./program 'a b'"
    )
    assert settings["FI_PROVIDER"] == "tcp"


def test_open_mpi_gets_the_same_in_its_own_options_and_yields_when_idle(machine: Path) -> None:
    launcher = Launcher(str(program(machine, "mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4")))
    words, settings = lab.mpi_command(
        SITE.enter, launcher, [launcher.program], SHARES, ["./p"], Path("/tmp/f")
    )
    assert words[2] == f"{launcher.program} --host a:2,b:1 --wdir /tmp/f ./p"
    assert settings["OMPI_MCA_plm_rsh_agent"] == "/run/x/enter"
    assert settings["OMPI_MCA_mpi_yield_when_idle"] == "1"
    assert settings["OMPI_MCA_btl_tcp_if_include"] == "eth0"
    assert settings["OMPI_MCA_orte_tmpdir_base"] == "/tmp/f"


def test_variables_set_by_the_user_stay(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "0")
    launcher = Launcher(str(program(machine, "mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4")))
    assert lab.mpi_command(SITE.enter, launcher, [], SHARES, [])[1]["OMPI_MCA_mpi_yield_when_idle"] == "0"


def test_the_launcher_belongs_to_the_core_s_mpi(machine: Path) -> None:
    with pytest.raises(PlaceError, match="linked with Open MPI, whose mpiexec is not on PATH"):
        lab.launcher_of("", machine / "crosscut-core-mpi")
    program(machine, "mpiexec", "HYDRA build details:")
    own = program(machine, "mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4")
    assert lab.launcher_of("", machine / "crosscut-core-mpi").program == str(own)
    with pytest.raises(UsageError, match=r"belongs to MPICH, but .* is linked with Open MPI"):
        lab.launcher_of("mpiexec", machine / "crosscut-core-mpi")
