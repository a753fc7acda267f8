"""`locate`, `explain` and `show --findings` on simulated clusters whose ranks are numbered at random."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.truth import networks, oracle
from benchmarks.truth.score import adjusted_rand
from tiers import long, seeds

from crosscut import cli
from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.analysis.findings.model import from_json
from crosscut.analysis.structure.model import Reach
from crosscut.campaigns.locate import rates, text
from crosscut.network import description
from crosscut.run.run import Run


def crosscut(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    status = cli.main(list(words))
    said = capsys.readouterr()
    assert status == 0, said.err
    return said.out


def shuffled(name: str, hosts: int, path: Path) -> list[str]:
    """Writes a network of the catalogue as an explicit file, its hosts in random order. Returns [host] the
    switch to which it is attached."""
    graph = description.load(name, graph=True).graph
    assert graph is not None
    order = random.Random(3).sample(range(hosts), hosts)
    names = {old: f"r{new:03}" for new, old in enumerate(order)}
    lines, of_switch = [f'[[hosts]]\nnames = "r{new:03}"' for new in range(hosts)], {}
    for at, vertex in enumerate(graph.vertices[graph.hosts :], graph.hosts):
        names[at] = vertex.name
        lines.append(f'[[switches]]\nnames = "{vertex.name}"')
        if vertex.capacity_bits_per_second:
            lines.append(f'capacity = "{vertex.capacity_bits_per_second} bit/s"')
    for edge in graph.edges:
        if edge.a in names and edge.b in names:
            rate = min(edge.bits_per_second, 1e15)  # a file cannot express "no limit"
            lines.append(
                f'[[links]]\nbetween = ["{names[edge.a]}", "{names[edge.b]}"]\nrate = "{rate} bit/s"'
            )
            if edge.a < hosts:
                of_switch[edge.a] = graph.vertices[edge.b].name
    path.write_text("\n".join(lines) + "\n")
    return [of_switch[old] for old in order]


def numbered(names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def test_locate_finds_the_modules_and_their_limits_in_a_shuffled_e7(tmp_path, capsys):
    asics = shuffled("xibalba-e7-config1", 128, tmp_path / "e7.toml")
    said = crosscut(
        capsys,
        "locate",
        "--on",
        f"sim:{tmp_path}/e7.toml",
        "--json",
        "--quiet",
        "-o",
        str(tmp_path / "o.toml"),
    )
    _, structure = from_json(json.loads(said))
    assert structure is not None
    modules = numbered([asic.split(".")[0] for asic in asics])
    assert adjusted_rand(modules, np.array(structure.labels())) == 1
    between = [limit.bytes_per_second for limit in structure.limits if limit.reach is Reach.BETWEEN]
    assert len(between) == 12
    assert np.allclose(between, 100e6, rtol=0.05)  # 800 Mbit/s: TR 391, section 5.1
    assert structure.phases_used <= 127
    assert "no mistakes" in crosscut(capsys, "network", "check", str(tmp_path / "o.toml"))


def test_locate_finds_the_asics_and_both_limits_of_a_full_e7(tmp_path, capsys):
    asics = shuffled("xibalba-e7-config2", 96, tmp_path / "e7.toml")
    said = crosscut(capsys, "locate", "--on", f"sim:{tmp_path}/e7.toml", "--json", "--quiet")
    _, structure = from_json(json.loads(said))
    assert structure is not None
    assert adjusted_rand(numbered([a.split(".")[0] for a in asics]), np.array(structure.labels())) == 1
    assert adjusted_rand(numbered(asics), np.array(structure.labels(1))) == 1
    leaving = [limit.bytes_per_second for limit in structure.limits if limit.reach is Reach.LEAVING]
    sent = [limit.bytes_per_second for limit in structure.limits if limit.reach is Reach.SENT]
    assert (len(leaving), len(sent)) == (2, 4)
    assert np.allclose(leaving, 100e6, rtol=0.05)
    assert np.allclose(sent, 200e6, rtol=0.05)  # 1600 Mbit/s: TR 391, section 5.1


def test_capacities_are_found_although_shares_are_as_uneven_as_tcp_s(tmp_path, capsys):
    file = tmp_path / "modules.toml"
    file.write_text(
        '[generator]\nkind = "module-chassis"\nmodules = 3\nasics_per_module = 1\nhosts_per_asic = 8\n'
        'rate = "100 Mbit/s"\nmodule_rate = "150 Mbit/s"\n'
    )
    where = ("--on", f"sim:{file}", "--sim-share-spread", "0.11", "--repetitions", "3", "--size", "1MB")
    crosscut(capsys, "run", "aapc", *where, "--quiet", "--out", str(tmp_path / "aapc.zarr"))
    _, structure = from_json(json.loads(crosscut(capsys, "locate", str(tmp_path / "aapc.zarr"), "--json")))
    assert structure is not None
    assert structure.labels() == [0] * 8 + [1] * 8 + [2] * 8
    between = [limit.bytes_per_second for limit in structure.limits if limit.reach is Reach.BETWEEN]
    assert len(between) == 6
    assert np.allclose(between, 150e6 / 8, rtol=0.1)


@pytest.mark.parametrize("seed", seeds(["1", "2", "4"], short=["1"]))
@pytest.mark.parametrize(
    ("name", "hosts", "of_groups"),
    [("xibalba-e7-config1", 128, (32,)), long("xibalba-e7-config2", 96, (48, 24))],
)
def test_hosts_in_order_are_grouped_as_well(name, hosts, of_groups, seed, capsys):
    words = ("--on", f"sim:{name}", "-n", str(hosts), "--seed", seed, "--json", "--quiet")
    _, structure = from_json(json.loads(crosscut(capsys, "locate", *words)))
    assert structure is not None
    for depth, of_group in enumerate(of_groups):
        assert adjusted_rand(np.arange(hosts) // of_group, np.array(structure.labels(depth))) == 1


def test_locate_tells_switches_apart_by_latency_if_hosts_forward(capsys):
    """Salmon, Stein and Sterling, SC98: four switches of nine hosts, wired host to host."""
    said = crosscut(capsys, "locate", "--on", "sim:beowulf-routed-4x9", "-n", "36", "--json", "--quiet")
    found, structure = from_json(json.loads(said))
    assert structure is not None
    graph = description.load("beowulf-routed-4x9", graph=True).graph
    assert graph is not None
    switch_of = {edge.a: edge.b for edge in graph.edges if edge.b >= graph.hosts}
    assert (
        adjusted_rand(numbered([str(switch_of[host]) for host in range(36)]), np.array(structure.labels()))
        == 1
    )
    assert not [finding for finding in found if finding.kind is FindingKind.SLOW_HOST]


def test_simulating_the_inferred_network_gives_the_original_rates(tmp_path, capsys):
    shuffled("xibalba-e7-config1", 128, tmp_path / "e7.toml")
    crosscut(
        capsys, "locate", "--on", f"sim:{tmp_path}/e7.toml", "--quiet", "-o", str(tmp_path / "found.toml")
    )
    slowest = []
    for name in ("e7", "found"):
        out = tmp_path / f"{name}.zarr"
        crosscut(
            capsys,
            "run",
            "random-pairwise",
            "--on",
            f"sim:{tmp_path}/{name}.toml",
            "--out",
            str(out),
            "--quiet",
        )
        slowest.append(np.sort(np.asarray(Run.open(out).phase_rates(0)).ravel()))
    # The found file has another order of hosts, so the permutations differ, but not their rates.
    assert np.median(slowest[1]) == pytest.approx(np.median(slowest[0]), rel=0.1)


def test_explain_names_the_modules_whose_link_is_full_and_its_phases(tmp_path, capsys):
    out = str(tmp_path / "run.zarr")
    crosscut(capsys, "run", "aapc", "--on", "sim:xibalba-e7-config1", "--out", out, "--quiet")
    said = " ".join(crosscut(capsys, "explain", out).split())
    assert "phases 9 to 55: up to 32 messages share 94.9 MB/s in each of " in said
    assert "(from module0 to module1, " in said  # 800 Mbit/s, 94.9 % of it payload


def test_findings_of_a_run_are_shown_and_found_again_in_json(tmp_path, capsys):
    out = str(tmp_path / "run.zarr")
    crosscut(capsys, "run", "aapc", "--on", "sim:xibalba-e7-config1", "--out", out, "--quiet")
    shown = crosscut(capsys, "show", out, "--findings")
    assert "4 groups of 32 hosts" in shown
    assert len(shown.splitlines()) <= 32
    found, _ = from_json(json.loads(crosscut(capsys, "show", out, "--findings", "--json")))
    assert [finding.as_json() for finding in found] == [f.as_json() for f in of_run.find(Run.open(out))]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "name a run"),
        (("--on", "sim:nowhere"), "nowhere"),
        (("missing.zarr",), "missing.zarr"),
        (("-n", "4", "-o", "no/such/folder.toml"), "does not exist"),
    ],
)
def test_wrong_usage_is_refused_with_a_message(words, complaint, capsys):
    assert cli.main(["locate", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_live_ranks_are_searched_over_tcp(tmp_path, capsys):
    keep = tmp_path / "runs"
    said = crosscut(
        capsys,
        "locate",
        "-n",
        "4",
        "--size",
        "10KB",
        "--repetitions",
        "2",
        "--keep",
        str(keep),
        "--json",
        "--quiet",
    )
    (only,), structure = from_json(json.loads(said))
    assert only.kind is FindingKind.INCONCLUSIVE
    assert only.what.startswith("all 4 ranks run on one host, ")
    assert structure is None
    assert sorted(path.name for path in keep.iterdir())[0] == "step000.zarr"


def test_a_slow_adapter_is_found_among_nodes_with_several_ranks(tmp_path, capsys):
    lines = ['[[switches]]\nnames = "switch"']
    for node in range(10):
        rate = "40 Mbit/s" if node == 7 else "100 Mbit/s"
        lines.append(f'[[hosts]]\nnames = "n{node}"')
        lines.append(f'[[links]]\nbetween = ["n{node}", "switch"]\nrate = "{rate}"')
    (tmp_path / "nodes.toml").write_text("\n".join(lines) + "\n")
    words = ("locate", "--on", f"sim:{tmp_path}/nodes.toml", "-n", "40", "--ranks-per-host", "4", "--quiet")
    found, structure = from_json(json.loads(crosscut(capsys, *words, "--json")))
    (slow,) = found
    assert (slow.kind, slow.hosts, slow.ranks) == (FindingKind.SLOW_HOST, ("n7",), (28, 29, 30, 31))
    assert slow.effect is not None
    assert slow.effect.share == pytest.approx(0.4, rel=0.02)
    assert structure is not None
    assert structure.ranks == 10
    assert any("messages within a node were not measured" in note for note in structure.notes)
    said = crosscut(capsys, *words)
    assert "10 hosts, " in said


@pytest.mark.parametrize("ranks", [2, 4])
def test_hashed_cables_are_counted_if_each_route_has_several_messages(capsys, ranks):
    """Each leaf has 21 cables of 100 Gbit/s."""
    many = ("-n", str(168 * ranks), "--ranks-per-host", str(ranks))
    words = ("--on", "sim:leaf-spine-100g-2to1", *many, "--quiet", "--json")
    found, structure = from_json(json.loads(crosscut(capsys, "locate", *words)))
    assert [one.kind for one in found] == [FindingKind.GROUPS, FindingKind.HASHED]
    assert structure is not None
    assert {one.cables for one in structure.limits} <= {19, 20, 21, 22, 23}
    assert structure.limits[0].bytes_per_second == pytest.approx(21 * 12.3e9, rel=0.1)


def test_rails_of_a_fast_network_have_no_limit_that_is_only_collisions(capsys):
    """By default messages take long enough that the latency of more switches does not pass for a limit."""
    words = ("--on", "sim:rail-optimised-gpu", "-n", "512", "--quiet", "--json")
    found, _ = from_json(json.loads(crosscut(capsys, "locate", *words)))
    assert [one.kind for one in found] == [FindingKind.GROUPS, FindingKind.HASHED]


def test_the_oracle_of_generated_networks_agrees_with_the_simulator(tmp_path, capsys):
    """A tree of leaves under a root, for the oracle and as a file; random routes, several per rank."""
    truth = networks.make(1)
    rate = networks.HOST_RATE * 8
    uplink = next(iter(truth.limits.values())) * 8
    lines = ['[[switches]]\nnames = "root"']
    for leaf in range(int(truth.labels.max()) + 1):
        lines.append(f'[[switches]]\nnames = "leaf{leaf}"')
        lines.append(f'[[links]]\nbetween = ["leaf{leaf}", "root"]\nrate = "{uplink} bit/s"')
    for rank, leaf in enumerate(truth.labels):
        lines.append(f'[[hosts]]\nnames = "h{rank}"')
        lines.append(f'[[links]]\nbetween = ["h{rank}", "leaf{leaf}"]\nrate = "{rate} bit/s"')
    (tmp_path / "tree.toml").write_text("\n".join(lines) + "\n")
    generator = np.random.default_rng(2)
    order = generator.permutation(truth.ranks)
    phases = [[(int(order[i]), int(order[i - shift])) for i in range(truth.ranks)] for shift in (1, 5, 9)]
    out = str(tmp_path / "run.zarr")
    crosscut(
        capsys, "run", "routes", "--on", f"sim:{tmp_path}/tree.toml", "--routes", text(phases),
        "--size", "1MB", "--out", out, "--quiet",
    )  # fmt: skip
    expected = oracle.measure(truth.ways, truth.capacities, phases, 0.0, generator)
    assert rates(Run.open(out), phases) == pytest.approx(expected, rel=1e-6)


def test_a_search_that_is_interrupted_in_its_first_phases_says_so() -> None:
    command = [
        sys.executable,
        "-m",
        "crosscut",
        "locate",
        "-n",
        "4",
        "--size",
        "500MB",
        "--time-limit",
        "60s",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        begun = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=120)
    assert begun.startswith("crosscut: 0 phases of ")
    assert process.returncode == 130
    assert "Traceback" not in complained


def test_findings_are_shown_though_no_network_can_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = tmp_path / "run.zarr"
    assert cli.main(["run", "aapc", "-n", "3", "--size", "1KB", "--quiet", "--out", str(run)]) == 0
    assert cli.main(["locate", str(run), "-o", str(tmp_path / "found.toml")]) == 1
    said = capsys.readouterr()
    assert "All 3 ranks run on one host" in said.out
    assert "not written, because no network can be inferred" in said.err
    assert not (tmp_path / "found.toml").exists()


def test_a_slow_host_of_unknown_group_adds_nothing_to_what_other_trunks_carry(tmp_path, capsys):
    """Within its own group its messages pass no trunk, and the group that it is counted to is another."""
    network = Path(__file__).parents[2] / "docs" / "images" / "two-faults.toml"
    found = json.loads(crosscut(capsys, "locate", "--on", f"sim:{network}", "--json", "--quiet"))["findings"]
    trunks = [one["effect"]["share"] for one in found if one["kind"] == "slow trunk"]
    assert trunks == [pytest.approx(0.5, abs=0.02)] * 2


def test_with_fail_on_fault_a_fault_makes_the_exit_status_1_and_a_limit_by_design_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = '[[hosts]]\nnames = "n[00-15]"\n[[switches]]\nnames = "switch"\n'
    links = "".join(
        f'[[links]]\nbetween = ["n{host:02}", "switch"]\nrate = "{40 if host == 6 else 100} Mbit/s"\n'
        for host in range(16)
    )
    (tmp_path / "slow.toml").write_text(hosts + links)
    for network, status in ((str(tmp_path / "slow.toml"), 1), ("two-leaves-16", 0)):
        run = str(tmp_path / f"run{status}.zarr")
        assert cli.main(["run", "aapc", "--on", f"sim:{network}", "--out", run, "--quiet"]) == 0
        assert cli.main(["locate", "--on", f"sim:{network}", "--fail-on-fault", "--quiet"]) == status
        assert cli.main(["show", "--findings", run, "--fail-on-fault"]) == status
        assert cli.main(["show", "--findings", run]) == 0
    assert "n06 sends and receives at 40 %" in capsys.readouterr().out
    assert cli.main(["show", run, "--fail-on-fault"]) == 2
    assert "--fail-on-fault needs --findings" in capsys.readouterr().err


def test_a_search_that_was_ended_says_so_and_fails_where_faults_would(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["locate", "--on", "sim:two-leaves-16", "--quiet", "--json"]
    for more, complete, status in (
        ([], True, 0), (["--fail-on-fault"], True, 0), (["--time-limit", "1ms"], False, 0),
        (["--time-limit", "1ms", "--fail-on-fault"], False, 1),
    ):  # fmt: skip
        assert cli.main([*words, *more]) == status
        assert json.loads(capsys.readouterr().out)["complete"] is complete


GIGABIT = '[link]\nrate = "1 Gbit/s"\n[switch]\nlatency = "1 us"\n'


def leaves(sizes: Sequence[int]) -> str:
    """Leaves with uplinks of 3 Gbit/s, but the second one's has 1."""
    text = GIGABIT + f'[[hosts]]\nnames = "n[00-{sum(sizes) - 1}]"\n'
    text += f'[[switches]]\nnames = "leaf[0-{len(sizes) - 1}]"\n[[switches]]\nnames = "root"\nlevel = 1\n'
    first = 0
    for leaf, hosts in enumerate(sizes):
        text += f'[[links]]\nbetween = ["n[{first:02}-{first + hosts - 1:02}]", "leaf{leaf}"]\n'
        text += f'[[links]]\nbetween = ["leaf{leaf}", "root"]\nrate = "{1 if leaf == 1 else 3} Gbit/s"\n'
        first += hosts
    return text


def rows(racks: Sequence[int]) -> str:
    """Rows of racks of eight hosts: a rack has 4 Gbit/s to its row, a row 1 Gbit/s for each rack."""
    text = GIGABIT + f'[[hosts]]\nnames = "n[00-{8 * sum(racks) - 1}]"\n'
    for level, (name, count) in enumerate((("rack", sum(racks)), ("row", len(racks)))):
        text += f'[[switches]]\nnames = "{name}[0-{count - 1}]"\nlevel = {level}\n'
    text += '[[switches]]\nnames = "core"\nlevel = 2\n'
    of_row = [row for row, count in enumerate(racks) for _ in range(count)]
    for row, count in enumerate(racks):
        text += f'[[links]]\nbetween = ["row{row}", "core"]\nrate = "{count} Gbit/s"\n'
    for rack, row in enumerate(of_row):
        text += f'[[links]]\nbetween = ["n[{8 * rack:02}-{8 * rack + 7:02}]", "rack{rack}"]\n'
        text += f'[[links]]\nbetween = ["rack{rack}", "row{row}"]\nrate = "4 Gbit/s"\n'
    return text


def faults_of(
    folder: Path, capsys: pytest.CaptureFixture[str], network: str, seed: int
) -> list[dict[str, Any]]:
    (folder / "network.toml").write_text(network)
    words = ["locate", "--on", f"sim:{folder / 'network.toml'}", "--seed", str(seed), "--json", "--quiet"]
    return [one for one in json.loads(crosscut(capsys, *words))["findings"] if one["fault"]]


@pytest.mark.parametrize("seed", seeds(range(1, 5), [1]))
@pytest.mark.parametrize("sizes", [(8, 8, 8, 8), long((10, 8, 8, 6)), long((14, 9, 6, 3))], ids=str)
def test_a_slow_uplink_is_named_although_latency_sets_its_leaf_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sizes: tuple[int, ...], seed: int
) -> None:
    """A short frame takes longer on the slow uplink, as if it passed a further switch."""
    found = faults_of(tmp_path, capsys, leaves(sizes), seed)
    assert {(one["kind"], one["direction"]) for one in found} == {("slow trunk", "out"), ("slow trunk", "in")}
    assert all(set(one["ranks"]) == set(range(sizes[0], sizes[0] + sizes[1])) for one in found)


@pytest.mark.parametrize("seed", seeds(range(1, 5), [1]))
@pytest.mark.parametrize("racks", [(1, 3), long((1, 4, 4)), long((1, 1, 4)), long((1, 3, 3, 1))], ids=str)
def test_a_row_of_one_rack_is_no_slow_uplink(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], racks: tuple[int, ...], seed: int
) -> None:
    assert not faults_of(tmp_path, capsys, rows(racks), seed)
