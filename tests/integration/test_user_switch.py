"""The user-space switch between real network namespaces: what its hosts see, and how it ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from running_switch import UserSwitch

from crosscut.lab.switch.program import Tap, UserSwitchError, find_switch, mac_of, trust_of

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("ip") is None or not Path("/dev/net/tun").exists(),
    reason="network namespaces and TAP devices need root, ip and /dev/net/tun",
)

NETWORK = """
name = "four"
[generator]
kind = "crossbar"
hosts = 4
rate = "20 Mbit/s"
[switch]
latency = "5 ms"
"""
# Run in the node's namespace. The receiver prints how many bytes came; the sender stops when all were taken.
RECEIVE = """
import socket, sys
listener = socket.create_server(("0.0.0.0", 7001))
print("listening", flush=True)
connection, _ = listener.accept()
total = 0
while got := connection.recv(65536):
    total += len(got)
print(total, flush=True)
"""
SEND = """
import socket, sys
with socket.create_connection((sys.argv[1], 7001), timeout=20) as connection:
    connection.sendall(bytes(int(sys.argv[2])))
"""
# Sends datagrams at about half the rate of its link until it is ended.
FLOOD = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for i in range(20000):
        s.sendto(bytes(1200), (sys.argv[1], 7003))
        time.sleep(0.001)
"""
ECHO = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("0.0.0.0", 7002))
    print("listening", flush=True)
    while True:
        s.sendto(*s.recvfrom(2048))
"""
ASK = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(5)
    times = []
    for i in range(5):
        began = time.perf_counter()
        s.sendto(b"x", (sys.argv[1], 7002))
        s.recv(10)
        times.append(time.perf_counter() - began)
print(min(times))
"""
# Prints the flags of the address in the host's ARP table; 0x2: resolved.
RESOLVE = """
import socket, sys, time
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.sendto(b"x", (sys.argv[1], 7004))
time.sleep(0.3)
print(*(line.split()[2] for line in open("/proc/net/arp") if line.startswith(sys.argv[1] + " ")))
"""
# Sends far more short frames than the switch has slots for.
BURST = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    for i in range(30000):
        s.sendto(b"", (sys.argv[1], 7003))
"""
# Sends frames that no host would: empty, short, to unknown hosts, to a group, to itself, of random bytes.
HOSTILE = """
import contextlib, random, socket, struct, sys
own, peer = (bytes.fromhex(each.replace(":", "")) for each in sys.argv[1:3])
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind(("eth0", 0))
for i in range(200):
    for to in (bytes.fromhex("02cc000fffff"), b"\\xff" * 6, b"\\x33\\x33\\0\\0\\0\\x16", own, peer):
        kind = random.choice((b"\\x08\\x00", b"\\x08\\x06", b"\\x86\\xdd", random.randbytes(2)))
        raw.send(to + own + kind + random.randbytes(random.randrange(0, 1500)))
# With an offload header of their own (PACKET_VNET_HDR of linux/if_packet.h): what the kernel takes of them.
raw.setsockopt(263, 15, 1)
for i in range(200):
    kind, segment = random.choice((0, 1, 4, 0x81)), random.randrange(0, 2000)
    header = struct.pack("=BBHHHH", 1, kind, random.randrange(200), segment, random.choice((34, 54, 99)), 16)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 1020, i, 0x4000, 64, 6, 0) + bytes(8)
    with contextlib.suppress(OSError):
        raw.send(header + peer + own + b"\\x08\\0" + ip + random.randbytes(1000))
"""


@pytest.fixture
def nodes() -> Iterator[list[str]]:
    """Four namespaces with only their loopback."""
    names = [f"cst-{uuid.uuid4().hex[:8]}-{i}" for i in range(4)]
    made = []
    try:
        for name in names:
            subprocess.run(["ip", "netns", "add", name], check=True)
            made.append(name)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        yield names
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "four.toml"
    path.write_text(NETWORK)
    return path


def address(host: int) -> str:
    return f"10.9.0.{host + 1}"


def taps_of(nodes: list[str]) -> tuple[Tap, ...]:
    return tuple(Tap(i, Path("/run/netns") / name, addresses=(address(i),)) for i, name in enumerate(nodes))


def give_addresses(nodes: list[str]) -> None:
    for i, name in enumerate(nodes):
        subprocess.run(["ip", "-n", name, "addr", "add", f"{address(i)}/24", "dev", "eth0"], check=True)


def on(node: str, script: str, *arguments: str) -> list[str]:
    return ["ip", "netns", "exec", node, sys.executable, "-c", script, *arguments]


def listening(node: str, script: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(on(node, script), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "listening\n"
    return process


def devices(node: str) -> str:
    return subprocess.run(["ip", "-n", node, "link"], check=True, capture_output=True, text=True).stdout


def frames(statistics: object, key: str) -> int:
    assert isinstance(statistics, dict)
    return int(statistics["frames"][key])


def test_tcp_passes_and_every_byte_arrives_over_the_links_of_its_route(
    nodes: list[str], network: Path
) -> None:
    sent = 1_000_000
    with UserSwitch(network, taps_of(nodes)) as switch:
        give_addresses(nodes)
        receiver = listening(nodes[2], RECEIVE)
        subprocess.run(on(nodes[0], SEND, address(2), str(sent)), check=True, timeout=60)
        assert receiver.communicate(timeout=30)[0] == f"{sent}\n"
        stations = switch.statistics()["stations"]
    assert isinstance(stations, list)
    passed = {station["name"]: station["bytes"] for station in stations}
    assert sent < passed["n0000 -> switch"] < 1.2 * sent
    assert sent < passed["switch -> n0002"] <= passed["n0000 -> switch"]
    assert not any("n0001" in name or "n0003" in name for name in passed)
    assert trust_of(switch.last)["frames_delivered"] >= sent / 1460


@pytest.mark.parametrize(("options", "in_one"), [((), True), (("--bundle", "1"), False)])
def test_frames_of_a_stream_pass_the_network_singly_and_are_delivered_in_bundles(
    nodes: list[str], network: Path, options: tuple[str, ...], in_one: bool
) -> None:
    sent = 1_000_000
    with UserSwitch(network, taps_of(nodes), options) as switch:
        give_addresses(nodes)
        receiver = listening(nodes[1], RECEIVE)
        subprocess.run(on(nodes[0], SEND, address(1), str(sent)), check=True, timeout=60)
        assert receiver.communicate(timeout=30)[0] == f"{sent}\n"
        said = switch.statistics()
    pieces, stations = said["pieces"], said["stations"]
    assert isinstance(pieces, dict)
    assert isinstance(stations, list)
    link = next(station for station in stations if station["name"] == "switch -> n0001")
    assert link["bytes"] / link["frames"] <= 1514
    assert link["frames"] >= sent / 1460
    read, written = frames(said, "read"), frames(said, "delivered") + frames(said, "answered")
    if in_one:
        assert pieces["read"] < 0.75 * read
        assert pieces["written"] < 0.75 * written
    else:
        assert (pieces["read"], pieces["written"]) == (read, written)


def test_frames_of_a_bundle_that_a_short_queue_drops_are_retransmitted(
    nodes: list[str], network: Path
) -> None:
    """Two hosts send more than the link of the third carries; buffers of five frames."""
    sent = 300_000
    with UserSwitch(network, taps_of(nodes), ("--buffer", "8KiB")) as switch:
        give_addresses(nodes)
        receiver = listening(nodes[2], RECEIVE)
        other = subprocess.Popen(on(nodes[1], FLOOD, address(2)))
        try:
            subprocess.run(on(nodes[0], SEND, address(2), str(sent)), check=True, timeout=60)
            assert receiver.communicate(timeout=30)[0] == f"{sent}\n"
        finally:
            other.kill()
            other.wait()
        said = switch.statistics()
    pieces = said["pieces"]
    assert isinstance(pieces, dict)
    assert frames(said, "dropped") > 0
    assert pieces["read"] < frames(said, "read")


def test_an_answer_takes_at_least_twice_the_latency_and_serialisation_times(
    nodes: list[str], network: Path
) -> None:
    shortest = 84 * 8 / 20e6  # minimum frame, preamble and gap
    with UserSwitch(network, taps_of(nodes)):
        give_addresses(nodes)
        echo = listening(nodes[1], ECHO)
        try:
            asked = subprocess.run(
                on(nodes[0], ASK, address(1)), check=True, capture_output=True, text=True, timeout=60
            )
        finally:
            echo.kill()
            echo.communicate()
    assert float(asked.stdout) >= 2 * (5e-3 + 2 * shortest)


def test_hostile_frames_are_counted_and_the_switch_works_on(nodes: list[str], network: Path) -> None:
    with UserSwitch(network, taps_of(nodes)) as switch:
        give_addresses(nodes)
        subprocess.run(on(nodes[3], HOSTILE, mac_of(3), mac_of(0)), check=True, timeout=60)
        deadline = time.monotonic() + 30
        while (
            True
        ):  # until all are read, or lost in the host, whose queue fills faster than its link empties it
            after = switch.statistics()
            taken = frames(after, "read") + frames(after, "lost_in_hosts")
            if (taken >= 1000 and frames(after, "inside") == 0) or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        fates = ("delivered", "dropped", "group", "unknown_address", "to_itself", "answered", "malformed")
        assert taken >= 1000
        assert sum(frames(after, fate) for fate in fates) == frames(after, "read")
        assert all(frames(after, fate) > 0 for fate in ("delivered", "group", "unknown_address", "to_itself"))
        receiver = listening(nodes[0], RECEIVE)
        subprocess.run(on(nodes[3], SEND, address(0), "10000"), check=True, timeout=60)
        assert receiver.communicate(timeout=30)[0] == "10000\n"


def test_a_host_with_lossy_reception_also_misses_the_network_s_answers(
    nodes: list[str], network: Path, tmp_path: Path
) -> None:
    faults = tmp_path / "faults"
    faults.write_text('{"host": 0, "lose": "in"}\n')
    with UserSwitch(network, taps_of(nodes), ("--faults", str(faults))) as switch:
        give_addresses(nodes)
        heard = [subprocess.check_output(on(nodes[i], RESOLVE, address(3)), text=True) for i in (0, 1)]
        after = switch.statistics()
    assert heard == ["0x0\n", "0x2\n"]
    assert frames(after, "lost_by_faults") >= 1


def test_a_host_that_has_not_sent_yet_waits_while_another_fills_the_switch(
    nodes: list[str], network: Path
) -> None:
    """Every frame takes a slot for a whole bundle of 60 kB: there are 8,900."""
    with UserSwitch(network, taps_of(nodes), ("--bundle", "40", "--host-queue", "100000")) as switch:
        give_addresses(nodes)
        first = subprocess.Popen(on(nodes[0], BURST, address(1)))
        while frames(switch.statistics(), "inside") < 8000 and first.poll() is None:
            time.sleep(0.01)
        subprocess.run(on(nodes[2], BURST, address(3)), check=True, timeout=60)
        assert first.wait(timeout=60) == 0
        deadline = time.monotonic() + 30
        while frames(after := switch.statistics(), "inside") > 0 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert frames(after, "inside") == 0
    assert frames(after, "delivered") > 20_000


def test_devices_go_when_the_parent_dies(nodes: list[str], network: Path) -> None:
    parent = (
        "import sys; from pathlib import Path; from running_switch import Tap, UserSwitch\n"
        "switch = UserSwitch(Path(sys.argv[1]), (Tap(0, Path(sys.argv[2])),)).__enter__()\n"
        "print(switch._process.pid, flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", parent, str(network), f"/run/netns/{nodes[0]}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    switch_pid = int(process.stdout.readline())
    assert "eth0" in devices(nodes[0])
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{switch_pid}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "eth0" not in devices(nodes[0])


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_its_statistics(nodes: list[str], network: Path, sign: signal.Signals) -> None:
    taps = json.dumps({"host": 0, "netns": f"/run/netns/{nodes[0]}", "tap": "eth0"}) + "\n\n"
    pipe = subprocess.PIPE
    process = subprocess.Popen([find_switch(), network, "--taps", "-"], stdin=pipe, stdout=pipe, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(taps)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["event"] == "ready"
    process.send_signal(sign)
    assert json.loads(process.stdout.readline())["event"] == "statistics"
    assert process.wait(timeout=30) == 0
    process.communicate()
    assert "eth0" not in devices(nodes[0])


def test_a_device_that_exists_is_never_taken(nodes: list[str], network: Path) -> None:
    subprocess.run(["ip", "-n", nodes[1], "link", "add", "eth0", "type", "veth"], check=True)
    with (
        pytest.raises(UserSwitchError, match=r"there is an interface eth0 in .* already"),
        UserSwitch(network, taps_of(nodes)),
    ):
        pass
    assert "eth0" not in devices(nodes[0])  # all devices or none
    assert "eth0" in devices(nodes[1])


@pytest.mark.parametrize(("words", "frame"), [(("--buffer", "64"), 1514),
                                              (("--buffer", "1514", "--mtu", "9000"), 9014)])  # fmt: skip
def test_a_buffer_without_room_for_a_frame_is_refused(
    network: Path, words: tuple[str, ...], frame: int
) -> None:
    command = [str(find_switch()), str(network), "--taps", "-", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"too small for a full frame of this network ({frame} bytes)" in done.stderr


def test_a_nonexistent_namespace_is_named(network: Path) -> None:
    with (
        pytest.raises(UserSwitchError, match="/run/netns/nowhere: No such file"),
        UserSwitch(network, (Tap(0, Path("/run/netns/nowhere")),)),
    ):
        pass
