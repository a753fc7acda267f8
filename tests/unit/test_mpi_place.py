"""The launcher of the place `mpi`, and the environment of its ranks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crosscut.places import mpi
from crosscut.places.launchers import (
    YIELDING,
    Launcher,
    environment_for,
    find_hydra,
    find_launcher,
    stays_here,
)
from crosscut.session import measure


def program(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_launcher_beside_the_executable_comes_before_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = program(tmp_path / "own", "crosscut-core-mpi")
    site = program(tmp_path / "site", "mpiexec")
    monkeypatch.setenv("PATH", str(site.parent))
    assert find_launcher("", core) == Launcher(str(site))
    own = program(tmp_path / "own", "mpiexec")
    assert find_launcher("", core) == Launcher(str(own))
    assert find_launcher(str(site), core) == Launcher(str(site))
    assert find_launcher("absent", core) is None


def test_the_launcher_of_the_library_s_mpi_comes_first_and_another_s_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(path: Path, version: str) -> str:
        path.write_text(f"#!/bin/sh\necho {version}\n")
        return str(path)

    other = says(program(tmp_path / "other", "mpiexec"), "'HYDRA build details:'")
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    library = tmp_path / "site/lib/deeper/libmpi.so.40"
    monkeypatch.setattr(
        "crosscut.places.launchers._libraries", lambda _: f"\tlibmpi.so.40 => {library} (0x7f)\n"
    )
    assert find_launcher("", tmp_path / "core") is None
    own = says(program(tmp_path / "site", "mpirun"), "'mpirun (Open MPI) 5.0.11'")
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{tmp_path / 'site'}")
    assert find_launcher("", tmp_path / "core") == Launcher(own)
    beside = says(program(tmp_path / "site/bin", "mpiexec"), "'mpiexec (Open MPI) 5.0.11'")
    assert find_launcher("", tmp_path / "core") == Launcher(beside)
    monkeypatch.setattr("crosscut.places.launchers._libraries", lambda _: "")
    assert find_launcher("", tmp_path / "core") == Launcher(other)


def test_mpichs_launcher_is_found_beside_those_of_other_mpis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    other, second = program(tmp_path / "other", "mpiexec"), tmp_path / "second"
    hydra = program(second, "mpiexec.hydra")
    hydra.write_text("#!/bin/sh\necho HYDRA build details\n")
    monkeypatch.setenv("PATH", f"{other.parent}:{second}")
    monkeypatch.setattr("crosscut.places.launchers._HYDRAS", ("mpiexec", "mpiexec.hydra.of-this-test"))
    assert find_hydra(str(other), None) is None
    hydra.rename(second / "mpiexec.hydra.of-this-test")
    assert find_hydra("", None) == Launcher(str(second / "mpiexec.hydra.of-this-test"))


def test_srun_gives_its_input_to_task_0_alone() -> None:
    assert "--input=0" in Launcher("/usr/bin/srun").command(4)


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("mpirun (Open MPI) 5.0.3", []),
        ("HYDRA build details: Version: 5.0.2", ["-disable-auto-cleanup"]),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18.1", ["-disable-auto-cleanup"]),
    ],
)
def test_hydra_leaves_a_dead_rank_to_the_core(tmp_path: Path, says: str, words: list[str]) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text(f"#!/bin/sh\necho '{says}'\n")
    launcher.chmod(0o755)
    assert Launcher(str(launcher)).command(4) == [str(launcher), *words, "-n", "4"]


def test_crowded_ranks_yield_unless_the_user_set_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert environment_for(True, {}) == YIELDING
    assert environment_for(False, {"HOME": "/"}) == {"HOME": "/"}
    name = "MPIR_CVAR_POLLS_BEFORE_YIELD"
    assert environment_for(True, {name: "7"})[name] == "7"


def test_open_mpi_is_allowed_to_start_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses otherwise, and a container often has no other user."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert environment_for(False, {})["OMPI_ALLOW_RUN_AS_ROOT"] == "1"
    assert environment_for(False, {"OMPI_ALLOW_RUN_AS_ROOT": "0"})["OMPI_ALLOW_RUN_AS_ROOT"] == "0"


@pytest.mark.parametrize("word", ["-f", "--hostfile", "-hosts", "--host=a,b", "-H", "-machinefile"])
def test_arguments_that_name_hosts_are_recognised(word: str) -> None:
    assert not stays_here(Launcher("mpiexec"), [word, "x"])
    assert stays_here(Launcher("mpiexec"), ["-prepend-rank"])


def test_losing_a_node_named_by_its_address_excludes_no_other() -> None:
    words = ["-hosts", "10.0.0.1,10.0.0.2:4,10.0.1.3"]
    assert mpi.without(words, ["10.0.0.2"], is_srun=False) == ("-hosts", "10.0.0.1,10.0.1.3")
    words = ["-hosts", "n1.here.org:2,n2"]
    assert mpi.without(words, ["n1"], is_srun=False) == ("-hosts", "n2")


@pytest.mark.parametrize(
    ("backend", "place"), [("mpi", "mpi"), ("rma", "mpi"), ("tcp", "local"), ("sim", "local")]
)
def test_the_backends_over_mpi_share_a_default_place(backend: str, place: str) -> None:
    assert measure.default_place(backend, {"mpi", "rma"}) == place
