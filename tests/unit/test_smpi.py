"""Calls of SimGrid's SMPI and the reading of its output; SimGrid is not needed."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from crosscut.base.errors import CrosscutError, UsageError
from crosscut.network import description
from crosscut.places import smpi
from crosscut.places.smpi import Platform, SimulatedProgram, SimulationSettings

SETTINGS = SimulationSettings(network="net.toml", ranks=4)
LD = b"\x7fELF" + bytes(60)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Stands in for the core: records the requests, and writes options like the core."""
    words: list[tuple[str, ...]] = []

    def ask(*these: str) -> None:
        words.append(these)
        Path(these[-1] + ".smpi").write_text("network/model:CM02\nsmpi/wtime:0\n")

    monkeypatch.setattr(description, "ask", ask)
    return words


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    return Platform(tmp_path / "p.xml", tmp_path / "p.hosts", ("network/model:CM02", "smpi/wtime:0"))


def options_of(words: list[str]) -> dict[str, str]:
    """Returns the options by name; SimGrid takes the later of two with one name."""
    return dict(word.removeprefix("--cfg=").split(":", 1) for word in words if word.startswith("--cfg="))


def test_a_platform_is_requested_with_its_options(tmp_path, asked):
    made = smpi.write_platform(SimulationSettings("net.toml", ranks_per_host=2), 4, tmp_path)
    words = ("platform", "net.toml", "--ranks", "4", "--ranks-per-host", "2", "--out", str(made.file))
    assert asked == [words]
    assert made.hosts == Path(f"{made.file}.hosts")
    assert made.options == ("network/model:CM02", "smpi/wtime:0")


def test_smpirun_gets_platform_ranks_program_and_its_arguments(tmp_path, platform):
    words = smpi.command(SimulatedProgram(Path("/bin/ring"), ("7", "x=y")), SETTINGS, 4, platform, tmp_path)
    assert words[words.index("-platform") + 1] == str(platform.file)
    assert words[words.index("-hostfile") + 1] == str(platform.hosts)
    assert words[words.index("-np") + 1] == "4"
    assert words[-3:] == ["/bin/ring", "7", "x=y"]


def test_options_of_the_network_are_applied(tmp_path, platform):
    given = options_of(smpi.command(SimulatedProgram(Path("p")), SETTINGS, 4, platform, tmp_path))
    assert given["network/model"] == "CM02"
    assert given["smpi/wtime"] == "0"


def test_an_option_on_the_command_line_wins(tmp_path, platform):
    settings = SimulationSettings("net.toml", 4, options=("network/model:SMPI",))
    given = options_of(smpi.command(SimulatedProgram(Path("p")), settings, 4, platform, tmp_path))
    assert given["network/model"] == "SMPI"


@pytest.mark.parametrize(("compute", "flops"), [("host", 1e9), ("2", 2e9), ("0.5", 5e8), ("none", 1e9)])
def test_computing_is_scaled_by_the_speed_that_this_machine_is_said_to_have(compute, flops):
    given = dict(option.split(":") for option in smpi.compute_options(compute))
    assert float(given["smpi/host-speed"].removesuffix("f")) == flops
    assert (given.get("smpi/simulate-computation") == "no") == (compute == "none")


@pytest.mark.parametrize("compute", ["", "fast", "0", "-1", "nan", "inf", "1e9"])
def test_an_invalid_compute_scale_is_refused(compute):
    with pytest.raises(UsageError, match="--compute"):
        smpi.compute_options(compute)


@pytest.mark.parametrize("text", ["", "smpi/bcast", ":x", "a:", "a b:c", "a:b c"])
def test_an_option_that_is_not_a_pair_is_refused(text):
    with pytest.raises(UsageError, match="NAME:VALUE"):
        smpi.checked_option(text)


@pytest.mark.parametrize("word", ["a b", "", "--cfg=x:y", "--log=root", "tab\there", " x"])
def test_an_argument_that_the_script_would_change_is_refused(word, tmp_path):
    with pytest.raises(UsageError, match="smpirun"):
        smpi.checked_words(SimulatedProgram(Path("p"), (word,)), tmp_path)


def test_a_folder_with_a_blank_is_refused(tmp_path):
    with pytest.raises(UsageError, match="TMPDIR"):
        smpi.checked_words(SimulatedProgram(Path("p")), tmp_path / "a b")


def test_more_ranks_than_a_platform_has_routes_for_are_refused():
    with pytest.raises(UsageError, match="2048"):
        smpi.rank_count(SimulationSettings("net.toml", smpi.MOST_RANKS + 1))


def test_all_ranks_of_the_network_are_the_default(monkeypatch):
    monkeypatch.setattr(description, "ranks", lambda file, per_host: {("net.toml", 3): 24}[file, per_host])
    assert smpi.rank_count(SimulationSettings("net.toml", ranks_per_host=3)) == 24


def test_the_clock_is_read_with_all_its_digits(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "0.8|Some other line\n0.800012800000001|Simulated time: 0.800013 seconds. \n\nThe simulation"
    )
    assert smpi.simulated_seconds(log) == 0.800012800000001


@pytest.mark.parametrize("text", ["", "x|Simulated time: 1", "0.5|The simulation took", "\udcff"])
def test_a_log_without_the_time_has_none(tmp_path, text):
    log = tmp_path / "log"
    log.write_text(text, errors="surrogateescape")
    assert smpi.simulated_seconds(log) is None
    assert smpi.simulated_seconds(tmp_path / "absent") is None


def test_a_deadlock_is_reported_with_what_each_rank_waits_for(tmp_path):
    log = tmp_path / "log"
    actor = "Actor 2 (1@r1): waiting for communication activity 0x5 () in state WAITING to finish"
    log.write_text(f"[1.5] Oops! Deadlock detected, some activities\n[1.5] {actor}\n")
    assert smpi.stuck_ranks(log) == ("rank 1 waits for communication",)
    log.write_text(f"[1.5] {actor}\n")
    assert smpi.stuck_ranks(log) == ()
    assert smpi.stuck_ranks(tmp_path / "absent") == ()


def test_programs_without_simgrid_are_recognised(tmp_path):
    program = tmp_path / "program"
    for content, fits in [
        (LD + b"libsimgrid.so.3.32", True),
        (LD + bytes((1 << 20) - 64 - 4) + b"libsimgrid", True),  # across two blocks
        (LD + b"libmpi.so", False),
        (b"#!/bin/sh\nlibsimgrid", False),
        (b"", False),
    ]:
        program.write_bytes(content)
        assert smpi.links_simgrid(program) is fits


def test_an_mpi_program_of_another_mpi_is_refused_with_how_to_compile_it(tmp_path):
    program = tmp_path / "program"
    program.write_bytes(LD + b"libmpi.so")
    with pytest.raises(UsageError, match="smpicc"):
        smpi.prepared(SimulatedProgram(program), tmp_path)


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(UsageError, match="no such program"):
        smpi.prepared(SimulatedProgram(tmp_path / "absent"), tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="stands in for a compiler by a script")
def test_a_source_file_is_compiled_by_the_wrapper_of_its_language(tmp_path, monkeypatch):
    wrapper = tmp_path / "smpicxx"
    wrapper.write_text('#!/bin/sh\necho "$@" > "$4"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    source = tmp_path / "ring.cpp"
    source.write_text("int main() {}")
    made = smpi.prepared(SimulatedProgram(source, ("5",)), tmp_path)
    assert made == SimulatedProgram(tmp_path / "ring", ("5",))
    assert made.path.read_text().split() == ["-O2", str(source), "-o", str(made.path)]


def test_without_simgrid_the_reason_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt install libsimgrid-dev" in (smpi.unavailable() or "")
    source = tmp_path / "ring.c"
    source.write_text("")
    with pytest.raises(CrosscutError, match="libsimgrid-dev"):
        smpi.prepared(SimulatedProgram(source), tmp_path)


def test_with_simgrid_nothing_is_missing(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert smpi.unavailable() is None


def test_an_engine_without_its_player_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(smpi, "unavailable", lambda: None)
    monkeypatch.setenv(smpi.PLAYER_VARIABLE, str(tmp_path / "absent"))
    assert smpi.PLAYER_VARIABLE in (smpi.engine_unavailable() or "")
    monkeypatch.delenv(smpi.PLAYER_VARIABLE)
    monkeypatch.setattr(smpi, "find_player", lambda: None)
    assert "crosscut build-smpi" in (smpi.engine_unavailable() or "")


def test_an_engine_with_its_player_can_be_used(monkeypatch, tmp_path):
    monkeypatch.setattr(smpi, "unavailable", lambda: None)
    player = tmp_path / "player"
    player.touch()
    monkeypatch.setenv(smpi.PLAYER_VARIABLE, str(player))
    assert smpi.find_player() == player
    assert [engine.unavailable for engine in smpi.engines()] == ["", ""]
