"""Faults in a lab: the effect of each on the wire, with either switch, and its removal when it is lifted."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import pytest
from labs import FAST_ETHERNET, SWITCHES, crossbar, lab, median_rates, needs_lab, on_node, ways_from

from crosscut.analysis.findings import of_run
from crosscut.analysis.findings.kinds import FindingKind
from crosscut.base.errors import UsageError
from crosscut.lab import removal, state
from crosscut.lab.faults import plant
from crosscut.lab.faults.catalogue import NAMES
from crosscut.lab.faults.fault import Fault
from crosscut.lab.switch import program
from crosscut.run.run import Run

pytestmark = [needs_lab, pytest.mark.usefixtures("own_labs")]
by_either_switch = pytest.mark.parametrize("switch", SWITCHES)

PAYLOAD_BYTES_PER_SECOND = 100e6 / 8 * 1448 / 1538
QUICK = ("--size", "300KB", "--repetitions", "5")
ON = ("--on", "lab:test")
# Sends datagrams for some time; prints how long each silence was in which ten or more in a row were lost. One
# that is lost alone may only mean that this process did not run for a while.
PROBE = """
import json, socket, sys, time
silences, lost = [], 0
last = time.monotonic()
end = last + float(sys.argv[2])
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(0.002)
    while time.monotonic() < end:
        try:
            s.connect((sys.argv[1], 9))
            s.send(b"?")
            s.recv(1)
        except ConnectionRefusedError:  # nobody listens: it came there, and the answer back
            if lost >= 10:
                silences.append(time.monotonic() - last)
            last, lost = time.monotonic(), 0
        except OSError:
            lost += 1
print(json.dumps(silences))
"""


def kinds_of(run: Path) -> list[str]:
    attributes = json.loads((run / "zarr.json").read_text())["attributes"]
    return [entry["kind"] for entry in attributes["faults"]]


def received_bytes(record: state.Record, node: str) -> int:
    return int(on_node(record, node, "cat", "/sys/class/net/eth0/statistics/rx_bytes"))


def silences(record: state.Record, node: str, to: str, seconds: float) -> list[float]:
    return list(json.loads(on_node(record, node, sys.executable, "-c", PROBE, to, str(seconds))))


@by_either_switch
@pytest.mark.parametrize(
    ("fault", "share"),
    [
        (Fault("slow", ("n0001",), share=0.1), {"n0000-n0001": 0.1, "n0001-n0000": 0.1, "n0000-n0002": 1}),
        (Fault("slow", ("n0001",), share=0.2, direction="in"), {"n0000-n0001": 0.2, "n0001-n0002": 1}),
        (Fault("slow", ("n0001",), share=0.2, direction="out"), {"n0001-n0002": 0.2, "n0000-n0001": 1}),
        (Fault("mtu", ("n0001",), bytes=300), {"n0000-n0001": 0.85, "n0000-n0002": 1}),
    ],
    ids=lambda value: value.kind + value.direction if isinstance(value, Fault) else "",
)
def test_a_fault_slows_the_routes_that_it_should(
    fault: Fault, share: dict[str, float], switch: str, tmp_path: Path
) -> None:
    """All-to-all of three: in each phase every node sends to one node and receives from the other."""
    with lab(crossbar(tmp_path, 3), switch=switch):
        plant.plant("test", fault)
        rates = median_rates(tmp_path, "aapc", *ON, *QUICK)
        assert kinds_of(tmp_path / "run.zarr") == [fault.kind]
        for route, expected in share.items():
            assert rates[route] == pytest.approx(expected * PAYLOAD_BYTES_PER_SECOND, rel=0.25), route


def test_a_different_mtu_is_the_first_finding(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3)):
        plant.plant("test", Fault("mtu", ("n0001",), bytes=576))
        median_rates(tmp_path, "aapc", *ON, *QUICK)
    first = of_run.find(Run.open(tmp_path / "run.zarr"))[0]
    assert (first.kind, first.hosts) == (FindingKind.SETTINGS, ("n0001",))
    assert first.what == "MTU differs between hosts: 576 at n0001, 1500 at the other 2 hosts"


@by_either_switch
def test_half_duplex_directions_share_one_rate(switch: str, tmp_path: Path) -> None:
    """In the first phase node 1 receives from 0 and sends to 2: the later message has waited for both."""
    with lab(crossbar(tmp_path, 3), switch=switch):
        plant.plant("test", Fault("half-duplex", ("n0001",)))
        rates = median_rates(tmp_path, "aapc", *ON, *QUICK)
        last = min(rates["n0000-n0001"], rates["n0001-n0002"])
        assert last == pytest.approx(PAYLOAD_BYTES_PER_SECOND / 2, rel=0.2)


@by_either_switch
def test_nothing_reaches_a_dead_node_until_it_is_lifted(switch: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 3), switch=switch) as record:
        plant.plant("test", Fault("dead", ("n0001",)))
        assert ways_from(record, "n0000", ["10.0.0.2", "10.0.0.3"]) == {
            "10.0.0.2": [""],
            "10.0.0.3": ["10.0.0.3"],
        }
        assert on_node(record, "n0001", "cat", "/sys/class/net/eth0/carrier").strip() == "1"
        plant.lift("test", "n0001")
        assert ways_from(record, "n0000", ["10.0.0.2"]) == {"10.0.0.2": ["10.0.0.2"]}


@by_either_switch
def test_one_of_several_adapters_can_be_dead(switch: str, tmp_path: Path) -> None:
    file = tmp_path / "rails.toml"
    file.write_text(
        '[link]\nrate = "100 Mbit/s"\n[[hosts]]\nnames = "n[0-1]"\nadapters = 2\n'
        '[[switches]]\nnames = "s[0-1]"\n'
        '[[links]]\nbetween = ["n[0-1]", "s0"]\n[[links]]\nbetween = ["n[0-1]", "s1"]\n' + FAST_ETHERNET
    )
    with lab(file, switch=switch) as record:
        plant.plant("test", Fault("dead", ("n1",), adapter=1))
        seen = ways_from(record, "n0", ["10.0.0.2", "10.1.0.2"])
        assert seen == {"10.0.0.2": ["10.0.0.2"], "10.1.0.2": [""]}
        plant.lift("test", "all")
        plant.plant("test", Fault("dead", ("n1",)))
        assert ways_from(record, "n0", ["10.0.0.2", "10.1.0.2"]) == {"10.0.0.2": [""], "10.1.0.2": [""]}


@by_either_switch
def test_a_flapping_link_goes_down_and_comes_back(switch: str, tmp_path: Path) -> None:
    changes = "/sys/class/net/eth0/carrier_changes"
    with lab(crossbar(tmp_path, 2), switch=switch) as record:
        before = int(on_node(record, "n0001", "cat", changes))
        plant.plant("test", Fault("flap", ("n0001",), seconds=0.1, every=0.3))
        while int(on_node(record, "n0001", "cat", changes)) < before + 4:
            time.sleep(0.01)
        plant.lift("test", "all")
        assert on_node(record, "n0001", "cat", "/sys/class/net/eth0/carrier").strip() == "1"
        assert ways_from(record, "n0000", ["10.0.0.2"]) == {"10.0.0.2": ["10.0.0.2"]}


@by_either_switch
def test_bursts_of_loss_last_as_long_as_requested(switch: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2), switch=switch) as record:
        plant.plant("test", Fault("loss", ("n0001",), seconds=0.15, every=0.5))
        lasted = silences(record, "n0000", "10.0.0.2", 3)
        assert len(lasted) >= 3
        assert 0.1 < statistics.median(lasted) < 0.3
        plant.lift("test", "all")
        assert not silences(record, "n0000", "10.0.0.2", 0.6)


@by_either_switch
def test_bursts_of_loss_are_retransmitted(switch: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2), switch=switch):
        plant.plant("test", Fault("loss", ("n0001",), seconds=0.02, every=0.2))
        median_rates(tmp_path, "aapc", *ON, "--size", "1MB", "--repetitions", "10")
    found = json.loads((tmp_path / "run.zarr" / "zarr.json").read_text())["attributes"]
    before, after = (sum_of(found[which], "RetransSegs") for which in ("counters_before", "counters_after"))
    assert after > before


def sum_of(counters: object, name: str) -> float:
    if not isinstance(counters, dict):
        return 0
    return sum(value if key == name else sum_of(value, name) for key, value in counters.items())


@by_either_switch
def test_swapped_cables_exchange_places(switch: str, tmp_path: Path) -> None:
    """Two switches with a thin cable between them: near nodes become far, and far nodes near."""
    thin, full = 0.2 * PAYLOAD_BYTES_PER_SECOND, PAYLOAD_BYTES_PER_SECOND
    words = ["pairs", *ON, "--pairs", "0-2", *QUICK]
    with lab(two_switches(tmp_path), switch=switch):
        plant.plant("test", Fault("swap", ("n1", "n2")))
        near = median_rates(tmp_path, *words)
        assert near["n0-n2"] == pytest.approx(full, rel=0.25)
        (tmp_path / "run.zarr").rename(tmp_path / "first.zarr")
        plant.lift("test", "f1")
        assert median_rates(tmp_path, *words)["n0-n2"] == pytest.approx(thin, rel=0.25)


@by_either_switch
def test_a_node_in_a_wrong_port_is_reached_by_nobody_until_its_cable_is_back(
    switch: str, tmp_path: Path
) -> None:
    """Even if the wrong port is on its own switch: the tables do not know."""
    with lab(two_switches(tmp_path), switch=switch) as record:
        for other in ("n0", "n2"):
            plant.plant("test", Fault("miswire", ("n1", other)))
            seen = ways_from(record, "n3", ["10.0.0.2", "10.0.0.1"])
            assert seen == {"10.0.0.2": [""], "10.0.0.1": ["10.0.0.1"]}
            plant.lift("test", "n1")
            assert ways_from(record, "n3", ["10.0.0.2"]) == {"10.0.0.2": ["10.0.0.2"]}


@by_either_switch
def test_frames_of_a_wrongly_wired_node_pass_the_wrong_switch(switch: str, tmp_path: Path) -> None:
    with lab(two_switches(tmp_path), switch=switch) as record:
        plant.plant("test", Fault("miswire", ("n1", "n2")))
        before, had = sent_over_trunk(record), received_bytes(record, "n2")
        send = "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(bytes(9000), ('10.0.0.3', 9))"
        on_node(record, "n1", sys.executable, "-c", send)
        while received_bytes(record, "n2") - had < 9000:
            time.sleep(0.01)
        # n2's answer (no such port) goes where n1 is according to the tables.
        assert all(after - had < 1000 for after, had in zip(sent_over_trunk(record), before, strict=True))


def sent_over_trunk(record: state.Record) -> list[int]:
    """Returns the bytes sent from either end of the cable between the switches."""
    if record.switch_process is not None:
        stations = {one["name"]: one["bytes"] for one in program.statistics(record)["stations"]}
        return [stations.get("s0 -> s1", 0), stations.get("s1 -> s0", 0)]
    lines = on_node(record, "fabric", "cat", "/proc/self/net/dev").splitlines()
    ports = [line.split() for line in lines if line.strip().startswith(("p4a:", "p4b:"))]
    assert len(ports) == 2
    return [int(words[9]) for words in ports]  # proc(5): net/dev, ninth count


@by_either_switch
def test_a_node_that_computes_does_so_until_it_is_lifted(switch: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2), switch=switch):
        entry = plant.plant("test", Fault("compute", ("n0001",)))
        before = processor_ticks(entry["worker"]["pid"])
        while processor_ticks(entry["worker"]["pid"]) < before + 5:
            time.sleep(0.01)
        plant.lift("test", "f1")
        assert not Path(f"/proc/{entry['worker']['pid']}/exe").exists()


def processor_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11])  # proc(5): utime, the 14th


@by_either_switch
@pytest.mark.parametrize("kind", NAMES)
def test_a_lifted_fault_is_gone(kind: str, switch: str, tmp_path: Path) -> None:
    """Leaves no setting, process or entry, and every route is as before."""
    nodes = ("n1", "n2") if kind in ("swap", "miswire") else ("n1",)
    with lab(two_switches(tmp_path), switch=switch) as record:
        before, others = settings_of(record), removal.processes(state.folder("test"), None)
        plant.plant("test", Fault(kind, nodes, seconds=0.05, every=0.2))
        assert state.read("test").faults[0]["kind"] == kind
        plant.lift("test", "all")
        assert state.read("test").faults == ()
        assert removal.processes(state.folder("test"), None) == others
        assert settings_of(record) == before
        for node in ("n0", "n1", "n2"):
            assert ways_from(record, node, ["10.0.0.4"]) == {"10.0.0.4": ["10.0.0.4"]}


def settings_of(record: state.Record) -> list[str]:
    """Returns devices, token buckets, redirections and bridge entries, without counters and numbers that
    change, and the settings of crosscut-switch."""
    shown = (
        "ip -o link show | sed 's/^[0-9]*: //; s/state [A-Z]*//'; tc qdisc show | sed 's/ [0-9a-f]*: / /'; "
        "bridge fdb show | sort; ip neigh show nud permanent | sort; ip route show"
    )
    lines = [on_node(record, node, "sh", "-c", shown) for node in ("fabric", "n0", "n1", "n2", "n3")]
    told = state.folder("test") / "faults.json"
    return [*lines, told.read_text() if told.exists() else ""]


@by_either_switch
def test_several_faults_are_planted_and_lifted_one_by_one(switch: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 4), switch=switch) as record:
        plant.plant("test", Fault("dead", ("n0001",)))
        plant.plant("test", Fault("dead", ("n0002",)))
        plant.lift("test", "f1")
        seen = ways_from(record, "n0000", ["10.0.0.2", "10.0.0.3"])
        assert seen == {"10.0.0.2": ["10.0.0.2"], "10.0.0.3": [""]}
        assert plant.plant("test", Fault("slow", ("n0001",)))["id"] == "f1"


@by_either_switch
def test_wrong_ports_of_one_switch_are_faults_of_different_cables(switch: str, tmp_path: Path) -> None:
    with lab(two_switches(tmp_path), switch=switch):
        plant.plant("test", Fault("miswire", ("n0", "n2")))
        plant.plant("test", Fault("miswire", ("n1", "n2")))
        with pytest.raises(UsageError, match="already"):
            plant.plant("test", Fault("dead", ("n0",)))


def two_switches(folder: Path) -> Path:
    """Two switches with a thin cable between them."""
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
        (Fault("slow", ("n009",)), r"no node n009; nodes are n0000 to n0001; did you mean n000\d\?"),
        (Fault("slow", ("n0001",), share=1.0), "cannot be planted"),
        (Fault("swap", ("n0001",)), "takes 2 nodes"),
        (Fault("miswire", ("n0001",)), "takes 2 nodes"),
        (Fault("swap", ("n0001", "n0001")), "named twice"),
        (Fault("flap", ("n0001",), seconds=2, every=1), "not possible"),
        (Fault("mtu", ("n0001",), bytes=9000), "cannot be planted"),
        (Fault("slow", ("n0001",), adapter=3), "no adapter 3"),
    ],
)
def test_an_invalid_fault_is_refused(fault: Fault, why: str, tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        with pytest.raises(UsageError, match=why):
            plant.plant("test", fault)
        assert state.read("test").faults == ()


def test_two_faults_of_one_cable_are_refused(tmp_path: Path) -> None:
    with lab(crossbar(tmp_path, 2)):
        plant.plant("test", Fault("slow", ("n0001",)))
        with pytest.raises(UsageError, match="already"):
            plant.plant("test", Fault("dead", ("n0001",)))


@pytest.mark.parametrize("switch", SWITCHES)
def test_half_duplex_at_a_chip_needs_the_user_switch(switch: str, tmp_path: Path) -> None:
    file = tmp_path / "chip.toml"
    file.write_text(
        '[generator]\nkind = "module-chassis"\nmodules = 1\nasics_per_module = 2\nhosts_per_asic = 2\n'
        "rate = '100 Mbit/s'\nasic_capacity = '150 Mbit/s'\n" + FAST_ETHERNET
    )
    with lab(file, switch=switch):
        if switch == "kernel":
            with pytest.raises(UsageError, match="build the lab with --switch user to plant it"):
                plant.plant("test", Fault("half-duplex", ("n0001",)))
            return
        plant.plant("test", Fault("half-duplex", ("n0001",)))
        rates = median_rates(tmp_path, "pairs", *ON, "--pairs", "0-1", *QUICK)
        # Both directions share 100 Mbit/s instead of the chip's 150; a busy machine only slows them.
        share = min(rates.values()) / PAYLOAD_BYTES_PER_SECOND
        assert 0.1 < share < 0.65
