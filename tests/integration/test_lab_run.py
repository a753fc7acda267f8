"""Patterns on a lab: over tcp and MPI, on one that is up or one built for the run; with faults."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from labs import FAST_ETHERNET, crossbar, crosscut, lab, median_rates, needs_lab, on_node

from crosscut import core
from crosscut.errors import UsageError
from crosscut.lab import describe, faulting, removal, state
from crosscut.lab.faults import Fault

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
PAYLOAD_BYTES_PER_SECOND = 100e6 / 8 * 1448 / 1538
QUICK = ("--size", "300KB", "--repetitions", "5")


def received_bytes(record: state.Record, node: str) -> int:
    return int(on_node(record, node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


def ranks_run() -> bool:
    """On the one lab that there is, which is finished."""
    names = state.names()
    if not names or not (state.folder(names[0]) / "enter").exists():
        return False
    return state.read(names[0]).condition == "up" and bool(removal.processes(state.folder(names[0]), None))


def attributes(run: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((run / "zarr.json").read_text())["attributes"]
    return found


@pytest.mark.parametrize("backend", ["tcp", "udp", "mpi"])
def test_what_ranks_send_crosses_the_links(backend: str, tmp_path: Path) -> None:
    known = core.load().backend(backend)
    if known is None or known.unavailable:
        pytest.skip(f"no backend {backend} here")
    with lab(crossbar(tmp_path, 4)) as record:
        before = {node: received_bytes(record, node) for node in ("n0000", "n0003")}
        words = ["run", "aapc", "--on", "lab:test", "--backend", backend, *QUICK]
        done = crosscut(*words, "--out", "run.zarr", "--quiet", folder=tmp_path)
        assert done.returncode == 0, done.stderr
        for node, had in before.items():
            # Three phases of five repetitions and a warm-up, of 300 kB each, and their headers.
            assert received_bytes(record, node) - had > 3 * 5 * 300_000
    nodes = attributes(tmp_path / "run.zarr")["nodes"]
    assert isinstance(nodes, list)
    assert [node["name"] for node in nodes] == ["n0000", "n0001", "n0002", "n0003"]


def test_ranks_of_one_node_do_not_use_its_link(tmp_path: Path) -> None:
    if core.load().mpi_executable is None:
        pytest.skip("no MPI here")
    with lab(crossbar(tmp_path, 2)) as record:
        words = [
            "run",
            "pingpong",
            "--on",
            "lab:test",
            "--backend",
            "mpi",
            "-n",
            "2",
            "--ranks-per-host",
            "2",
        ]
        before = received_bytes(record, "n0000")
        done = crosscut(
            *words, "--size", "10MB", "--repetitions", "3", "--out", "run.zarr", "--quiet", folder=tmp_path
        )
        assert done.returncode == 0, done.stderr
        # The reference pair, before and after, has some 5 MB; three messages are 30.
        assert received_bytes(record, "n0000") - before < 10_000_000


def test_a_lab_is_built_for_a_run_and_removed_after_it(tmp_path: Path, own_labs: Path) -> None:
    file = crossbar(tmp_path, 3)
    done = crosscut("run", "aapc", "--on", f"lab:{file}", *QUICK, "--out", "run.zarr", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not own_labs.exists()
    found = attributes(tmp_path / "run.zarr")
    assert found["place"] == "lab"
    network = found["network"]
    assert isinstance(network, dict)
    assert (network["hosts"], network["switches"], network["description"]) == (3, 1, file.read_text())
    about = found["lab"]
    assert isinstance(about, dict)
    assert about["sysctl"]["net.ipv4.tcp_congestion_control"] == "reno"
    assert found["tcp"]["tcp_congestion_control"] == "reno"  # type: ignore[index]
    assert found["faults"] == []


def test_a_killed_run_leaves_a_lab_that_says_so_and_can_be_removed(tmp_path: Path, own_labs: Path) -> None:
    file = crossbar(tmp_path, 3)
    words = ["run", "aapc", "--on", f"lab:{file}", "--size", "1MB", "--repetitions", "10000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscut", *words, "--quiet"], cwd=tmp_path, stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    while not ranks_run():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    (name,) = state.names()
    assert describe.condition(state.read(name)).startswith("left behind")
    assert crosscut("lab", "down", "--all", folder=tmp_path).returncode == 0
    assert not own_labs.exists()
    assert not removal.mounts_under(own_labs)


@pytest.mark.parametrize(
    ("fault", "share"),
    [
        (Fault("slow", ("n0001",), share=0.2), {"n0000-n0001": 0.2, "n0001-n0000": 0.2, "n0000-n0002": 1}),
        (Fault("slow", ("n0001",), share=0.2, direction="in"), {"n0000-n0001": 0.2, "n0001-n0002": 1}),
        (Fault("slow", ("n0001",), share=0.2, direction="out"), {"n0001-n0002": 0.2, "n0000-n0001": 1}),
        (Fault("mtu", ("n0001",), bytes=300), {"n0000-n0001": 0.85, "n0000-n0002": 1}),
    ],
    ids=lambda value: value.kind + value.direction if isinstance(value, Fault) else "",
)
def test_a_fault_slows_the_routes_that_it_should(
    fault: Fault, share: dict[str, float], tmp_path: Path
) -> None:
    """All-to-all of three: in each phase every node sends to one, and receives from another."""
    with lab(crossbar(tmp_path, 3)):
        faulting.plant("test", fault)
        rates = median_rates(tmp_path, "aapc", "--on", "lab:test", *QUICK)
        assert [entry["kind"] for entry in attributes(tmp_path / "run.zarr")["faults"]] == [fault.kind]  # type: ignore[attr-defined]
        for route, expected in share.items():
            assert rates[route] == pytest.approx(expected * PAYLOAD_BYTES_PER_SECOND, rel=0.25), route


def test_planted_faults_are_said_before_and_after_a_run(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)):
        faulting.plant("test", Fault("slow", ("n0001",), share=0.2))
        words = ["run", "aapc", "--on", "lab:test", *QUICK, "--out", "run.zarr"]
        done = crosscut(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        says = "f1: the cable of n0001 carries 20 % of its rate, both directions"
        assert done.stderr.splitlines()[0] == f"crosscut: planted in lab test: {says}"
        assert f"planted: {says}" in done.stdout
        shown = crosscut("show", "run.zarr", folder=tmp_path).stdout
        assert f"planted       {says}" in shown


@pytest.mark.parametrize("backend", ["tcp", "mpi"])
def test_a_dead_node_is_named_with_what_it_saw_and_the_fault(backend: str, tmp_path: Path) -> None:
    known = core.load().backend(backend)
    if known is None or known.unavailable:
        pytest.skip(f"no backend {backend} here")
    with lab(crossbar(tmp_path, 3)):
        faulting.plant("test", Fault("dead", ("n0002",)))
        words = ["run", "aapc", "--on", "lab:test", "--backend", backend, "--timeout", "3"]
        done = crosscut(*words, *QUICK, "--out", "run.zarr", folder=tmp_path)
        assert done.returncode == 1
        assert "n0002" in done.stderr
        assert "Connection timed out" in done.stderr
        assert done.stderr.splitlines()[-1] == (
            "  planted in lab test: f1: nothing gets to n0002 or away from it"
        )
        if backend == "tcp":
            assert "rank 2 on n0002 exited with status 1: no way from 10.0.0.3 to rank 0" in done.stderr


def test_half_duplex_directions_share_one_rate(tmp_path: Path) -> None:
    """In the first phase node 1 receives from 0 and sends to 2: whoever is last has waited for both."""
    with lab(crossbar(tmp_path, 3)):
        faulting.plant("test", Fault("half-duplex", ("n0001",)))
        rates = median_rates(tmp_path, "aapc", "--on", "lab:test", *QUICK)
        last = min(rates["n0000-n0001"], rates["n0001-n0002"])
        assert last == pytest.approx(PAYLOAD_BYTES_PER_SECOND / 2, rel=0.2)


@pytest.mark.parametrize("kind", ["slow", "half-duplex", "mtu", "dead", "loss", "flap", "compute"])
def test_a_lifted_fault_is_gone(kind: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)) as record:
        before = settings_of(record)
        faulting.plant("test", Fault(kind, ("n0001",), seconds=0.05, every=0.2))
        assert state.read("test").faults[0]["kind"] == kind
        faulting.lift("test", "all")
        assert state.read("test").faults == ()
        assert removal.processes(state.folder("test"), None) == []
        assert settings_of(record) == before


def settings_of(record: state.Record) -> str:
    """Devices, buckets and redirections, without what counts and what numbers are given anew."""
    shown = "ip -o link show | sed 's/^[0-9]*: //; s/state [A-Z]*//'; tc qdisc show | sed 's/ [0-9a-f]*: / /'"
    return "".join(on_node(record, node, "sh", "-c", shown) for node in ("fabric", "n0000", "n0001"))


def test_nothing_reaches_a_dead_node(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)) as record:
        faulting.plant("test", Fault("dead", ("n0001",)))
        found = on_node(
            record, "n0000", sys.executable, str(Path(__file__).parent / "walk.py"), "10.0.0.2", "10.0.0.3"
        )
        assert json.loads(found) == {"10.0.0.2": [""], "10.0.0.3": ["10.0.0.3"]}


def test_a_flapping_link_goes_down_and_comes_back(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)) as record:
        faulting.plant("test", Fault("flap", ("n0001",), seconds=0.1, every=0.3))
        time.sleep(1.5)
        assert int(on_node(record, "n0001", "cat", "/sys/class/net/eth0/carrier_changes")) >= 4


def test_bursts_of_loss_are_retransmitted(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        faulting.plant("test", Fault("loss", ("n0001",), seconds=0.02, every=0.2))
        median_rates(tmp_path, "aapc", "--on", "lab:test", "--size", "1MB", "--repetitions", "10")
    found = attributes(tmp_path / "run.zarr")
    before, after = (sum_of(found[which], "RetransSegs") for which in ("counters_before", "counters_after"))
    assert after > before


def sum_of(counters: object, name: str) -> float:
    if not isinstance(counters, dict):
        return 0
    return sum(value if key == name else sum_of(value, name) for key, value in counters.items())


def test_swapped_cables_exchange_places(tmp_path: Path) -> None:
    """Two switches with a thin cable between: who was near is far, and the other way round."""
    file = two_switches(tmp_path)
    thin, full = 0.2 * PAYLOAD_BYTES_PER_SECOND, PAYLOAD_BYTES_PER_SECOND
    words = ["pairs", "--on", "lab:test", "--pairs", "0-2", *QUICK]
    with lab(file):
        faulting.plant("test", Fault("swap", ("n1", "n2")))
        near = median_rates(tmp_path, *words)
        assert near["n0-n2"] == pytest.approx(full, rel=0.25)
        (tmp_path / "run.zarr").rename(tmp_path / "first.zarr")
        faulting.lift("test", "f1")
        assert median_rates(tmp_path, *words)["n0-n2"] == pytest.approx(thin, rel=0.25)


def test_a_node_in_a_wrong_port_is_reached_by_nobody_until_its_cable_is_back(tmp_path: Path) -> None:
    """Also where the wrong port is one of its own switch: it is the tables that do not know."""
    walk = str(Path(__file__).parent / "walk.py")
    with lab(two_switches(tmp_path)) as record:
        for other in ("n0", "n2"):
            faulting.plant("test", Fault("miswire", ("n1", other)))
            seen = json.loads(on_node(record, "n3", sys.executable, walk, "10.0.0.2", "10.0.0.1"))
            assert seen == {"10.0.0.2": [""], "10.0.0.1": ["10.0.0.1"]}
            faulting.lift("test", "n1")
            seen = json.loads(on_node(record, "n3", sys.executable, walk, "10.0.0.2"))
            assert seen == {"10.0.0.2": ["10.0.0.2"]}


def test_what_a_wrongly_wired_node_sends_passes_the_wrong_switch(tmp_path: Path) -> None:
    with lab(two_switches(tmp_path)) as record:
        faulting.plant("test", Fault("miswire", ("n1", "n2")))
        before, had = sent_over_trunk(record), received_bytes(record, "n2")
        send = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(bytes(9000), ('10.0.0.3', 9))"
        on_node(record, "n1", sys.executable, "-c", send)
        assert received_bytes(record, "n2") - had > 9000
        # What n2 answers (no such port) goes where the tables think that n1 is.
        assert all(after - had < 1000 for after, had in zip(sent_over_trunk(record), before, strict=True))


def sent_over_trunk(record: state.Record) -> list[int]:
    """Bytes that left by either end of the cable between the switches (proc(5): net/dev, ninth count)."""
    lines = on_node(record, "fabric", "cat", "/proc/self/net/dev").splitlines()
    ports = [line.split() for line in lines if line.strip().startswith(("p4a:", "p4b:"))]
    assert len(ports) == 2
    return [int(words[9]) for words in ports]


def test_wrong_ports_of_one_switch_are_faults_of_different_cables(tmp_path: Path) -> None:
    with lab(two_switches(tmp_path)):
        faulting.plant("test", Fault("miswire", ("n0", "n2")))
        faulting.plant("test", Fault("miswire", ("n1", "n2")))
        with pytest.raises(UsageError, match="already"):
            faulting.plant("test", Fault("dead", ("n0",)))


def two_switches(folder: Path) -> Path:
    """With a thin cable between them."""
    file = folder / "two.toml"
    file.write_text(
        '[link]\nrate = "100 Mbit/s"\n[[hosts]]\nnames = "n[0-3]"\n[[switches]]\nnames = "s[0-1]"\n'
        '[[links]]\nbetween = ["n[0-1]", "s0"]\n[[links]]\nbetween = ["n[2-3]", "s1"]\n'
        '[[links]]\nbetween = ["s0", "s1"]\nrate = "20 Mbit/s"\n' + FAST_ETHERNET
    )
    return file


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (Fault("slow", ("n0009",)), "no node n0009"),
        (Fault("slow", ("n0001",), share=1.0), "no fault"),
        (Fault("swap", ("n0001",)), "takes 2 nodes"),
        (Fault("miswire", ("n0001",)), "takes 2 nodes"),
        (Fault("swap", ("n0001", "n0001")), "named twice"),
        (Fault("flap", ("n0001",), seconds=2, every=1), "cannot be"),
        (Fault("mtu", ("n0001",), bytes=9000), "no fault"),
        (Fault("slow", ("n0001",), adapter=3), "no adapter 3"),
    ],
)
def test_what_is_no_fault_is_refused(fault: Fault, why: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        with pytest.raises(UsageError, match=why):
            faulting.plant("test", fault)
        assert state.read("test").faults == ()


def test_two_faults_of_one_cable_are_refused(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        faulting.plant("test", Fault("slow", ("n0001",)))
        with pytest.raises(UsageError, match="already"):
            faulting.plant("test", Fault("dead", ("n0001",)))
