"""`crosscut network`, and patterns on simulated networks, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.network import description
from crosscut.run.run import Run

DRAWN_MOST = 3000  # hosts


@pytest.mark.parametrize("name", description.catalogue_names())
def test_every_catalogue_network_passes_the_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["network", "check", name]) == 0
    assert "no mistakes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [name for name in description.catalogue_names() if not name.startswith(("fat-tree-1m", "dragonfly-10k"))],
)
def test_every_network_has_consistent_figures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["network", "show", name, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    hosts = shown["counts"]["hosts"]
    far = shown["distances"]
    for table in ("hosts_at_hops", "hosts_at_links"):
        assert sum(far[table].values()) == pytest.approx(hosts - 1)
    assert max(map(int, far["hosts_at_hops"])) == far["diameter_hops"]
    cut = shown["bisection"]
    if cut is not None:
        assert cut["per_host_bits_per_second"] == pytest.approx(cut["bits_per_second"] / hosts)


@pytest.mark.parametrize("name", ["xibalba-e7-config1", "beowulf-routed-4x9", "fat-tree-1024", "bode-sci-64"])
def test_a_network_is_drawn(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "drawing.svg"
    assert main(["network", "show", name, "--draw", str(file)]) == 0
    assert "drawn into" in capsys.readouterr().out
    assert file.read_text().startswith("<svg")


def test_mistakes_come_with_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('[generator]\nkind = "fat-tree"\nradix = 8\nlevles = 3\nrate = "100 Gbit"\n')
    assert main(["network", "check", str(file)]) == 2
    said = capsys.readouterr().err
    assert f"{file}:4:" in said
    assert "levels" in said
    assert f"{file}:5:" in said


def test_a_simulated_run_uses_all_hosts_by_default(tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    words = [
        "run",
        "pairwise",
        "--on",
        "sim:xibalba-e7-config3",
        "--size",
        "1MB",
        "--out",
        str(out),
        "--quiet",
    ]
    assert main(words) == 0
    run = Run.open(out)
    assert run.ranks == 64
    assert run.node_names[63] == "n0063"
    assert main(["show", str(out)]) == 0


def test_ranks_share_a_host_as_requested(tmp_path: Path) -> None:
    out = tmp_path / "run.zarr"
    words = [
        "run",
        "aapc",
        "--on",
        "sim:xibalba-e7-config3",
        "--ranks-per-host",
        "2",
        "-n",
        "8",
        "--size",
        "1MB",
    ]
    assert main([*words, "--out", str(out), "--quiet"]) == 0
    assert Run.open(out).node_indices.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "sim:nowhere"], "nowhere"),
        (["--on", "sim"], "--on sim:NETWORK"),
        (["--on", "sim:xibalba-e7-config3", "--backend", "tcp"], "cannot run --backend tcp"),
        (["--on", "sim:xibalba-e7-config3", "-n", "65"], "65"),
        (["--on", "local", "--ranks-per-host", "2"], "--ranks-per-host"),
        (["--on", "local", "--backend", "mpi"], "--on local cannot run --backend mpi"),
    ],
)
def test_impossible_options_are_refused(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "aapc", *words, "--out", str(tmp_path / "run.zarr"), "--quiet"]) == 2
    assert said in capsys.readouterr().err


def test_the_simulator_is_deterministic(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.zarr"
        words = ["run", "random-pairwise", "--on", "sim:fat-tree-1024", "-n", "200", "--size", "1KB,1MB"]
        assert main([*words, "--out", str(out), "--quiet"]) == 0
        runs.append(Run.open(out).dataset["message_seconds"].values.tobytes())
    assert runs[0] == runs[1]
    assert core.load().backend("sim") is not None


def test_a_file_in_the_current_folder_takes_precedence_over_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree.toml").write_text('[generator]\nkind = "crossbar"\nhosts = 2\nrate = "1 Gbit/s"\n')
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r'no network "tree" .*; did you mean the file \./tree\.toml\?$'):
        description.load("tree")
