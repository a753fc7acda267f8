"""`crosscut build-mpi`: what it refuses before compiling, and how it calls CMake."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.cli import build_mpi, building

BESIDE = Path("crosscut-core-mpi")


@pytest.fixture
def wrapper(tmp_path: Path) -> Path:
    path = tmp_path / "mpi" / "mpicxx"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "core").mkdir(parents=True)
    for file in ("CMakeLists.txt", "core/CMakeLists.txt"):
        (folder / file).touch()
    return folder


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    build_mpi.add_arguments(parser)
    return parser.parse_args(words)


def test_a_wrapper_that_does_not_exist_is_named_with_what_to_do(tmp_path: Path) -> None:
    missing = tmp_path / "mpicxx"
    with pytest.raises(UsageError, match=rf"{missing}.*module"):
        building.find_wrapper("--mpicxx", str(missing))


def test_a_folder_is_refused_as_a_wrapper(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such program"):
        building.find_wrapper("--mpicxx", str(tmp_path))


def test_a_wrapper_is_found_on_the_path(wrapper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(wrapper.parent))
    assert building.find_wrapper("--mpicxx", "mpicxx") == wrapper


def test_a_wrapper_that_is_a_link_keeps_its_name(wrapper: Path) -> None:
    link = wrapper.with_name("mpicxx.openmpi")
    link.symlink_to(wrapper)
    assert building.find_wrapper("--mpicxx", str(link)) == link


def test_sources_come_with_the_installation() -> None:
    assert (building.find_source(None) / "core" / "src" / "program" / "registry.cpp").is_file()


def test_a_folder_without_sources_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"no sources of crosscut in {tmp_path}"):
        building.find_source(tmp_path)


def test_an_existing_executable_is_kept_unless_replacing_is_requested(tmp_path: Path) -> None:
    target = tmp_path / "crosscut-core-mpi"
    target.touch()
    with pytest.raises(UsageError, match="--replace"):
        building.find_target(None, target, replace=False)
    assert building.find_target(None, target, replace=True) == target


def test_out_must_be_a_file_in_a_folder_that_exists(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        building.find_target(tmp_path, BESIDE, replace=True)
    with pytest.raises(UsageError, match="nowhere does not exist; make it"):
        building.find_target(tmp_path / "nowhere" / "core", BESIDE, replace=False)


def test_fewer_than_one_job_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments("--mpicxx", "mpicxx", "--jobs", "0")
    assert "--jobs: 0 is out of range" in capsys.readouterr().err


def test_without_cmake_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(CrosscutError, match="pip install cmake"):
        building.find_cmake()


def test_a_failed_step_shows_the_end_of_its_log_and_the_command(tmp_path: Path) -> None:
    script = tmp_path / "fails"
    script.write_text("#!/bin/sh\nfor i in $(seq 100); do echo line $i; done\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(CrosscutError) as raised:
        building.run_step("compiling", [str(script), "--flag"])
    text = str(raised.value)
    assert text.startswith("compiling failed (status 3)")
    assert "line 100" in text
    assert "line 60\n" not in text
    assert f"{script} --flag" in text


def test_nothing_is_written_when_configuring_fails(wrapper: Path, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "crosscut-core-mpi"
    words = ("--mpicxx", str(wrapper), "--source", str(source), "--out", str(target))
    with pytest.raises(CrosscutError):
        build_mpi.execute(arguments(*words))
    assert not target.exists()


def test_the_new_executable_replaces_the_old_one_atomically(tmp_path: Path) -> None:
    built, target = tmp_path / "built", tmp_path / "target"
    built.write_text("new")
    target.write_text("old")
    with target.open() as running:
        building.put_in_place(built, target)
        assert running.read() == "old"
    assert target.read_text() == "new"
    assert {path.name for path in tmp_path.iterdir()} == {"built", "target"}
