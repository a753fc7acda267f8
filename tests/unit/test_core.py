"""Finding the core, and learning its patterns and backends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crosscut.base import core

FAKE = Path(__file__).parent / "fake_core.py"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    core.load.cache_clear()
    monkeypatch.setenv("CROSSCUT_CORE", str(FAKE))
    yield
    core.load.cache_clear()


def test_patterns_backends_and_parameters_come_from_the_core() -> None:
    known = core.load()
    assert known.executable == FAKE
    assert known.mpi_executable is None
    aapc = known.pattern("aapc")
    assert aapc is not None
    assert [parameter.name for parameter in aapc.parameters] == ["stride", "seed", "mode"]
    assert aapc.parameters[2].choices == ("one", "both")
    mpi = known.backend("mpi")
    assert mpi is not None
    assert mpi.unavailable == "this executable has no MPI"
    assert known.pattern("nonesuch") is None


def test_a_variable_that_does_not_name_an_executable_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CROSSCUT_CORE", str(tmp_path / "none"))
    with pytest.raises(core.CoreError, match="CROSSCUT_CORE="):
        core.load()


def test_an_executable_that_does_not_print_json_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSCUT_FAKE", "bad-list")
    with pytest.raises(core.CoreError, match="is it a crosscut-core"):
        core.load()


@pytest.mark.parametrize(
    ("script", "shown"),
    [("exit 3", "status 3"), ("echo '[]'", "Expected `object`"), ("echo '{\"patterns\": [1]}'", "patterns"),
     ("echo '{\"patterns\": [], \"backends\": {}}'", "backends")],
)  # fmt: skip
def test_an_answer_that_is_not_a_list_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, shown: str
) -> None:
    path = tmp_path / "crosscut-core"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("CROSSCUT_CORE", str(path))
    with pytest.raises(core.CoreError, match=shown):
        core.load()


def test_a_backend_of_either_executable_can_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "crosscut-core-mpi"
    path.write_text(
        "#!/bin/sh\n"
        'echo \'{"patterns": [], "backends": [{"name": "mpi", "available": true, "summary": "here"}]}\'\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("CROSSCUT_CORE_MPI", str(path))
    known = core.load()
    mpi = known.backend("mpi")
    assert known.mpi_executable == path
    assert mpi is not None
    assert (mpi.unavailable, mpi.summary) == ("", "here")
    assert [backend.name for backend in known.backends] == ["tcp", "null", "mpi"]


def test_an_mpi_executable_that_fails_is_the_reason_why_its_backend_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "crosscut-core-mpi"
    path.write_text("#!/bin/sh\necho 'libmpi.so.12: cannot open shared object file' >&2\nexit 127\n")
    path.chmod(0o755)
    monkeypatch.setenv("CROSSCUT_CORE_MPI", str(path))
    known = core.load()
    mpi = known.backend("mpi")
    assert known.mpi_executable is None
    assert mpi is not None
    assert "status 127: libmpi.so.12: cannot open shared object file" in mpi.unavailable
