"""The emulated clusters: programs are traced in one and predicted for the others.

Labs on crosscut-switch have latencies (docs/howto-lab.md) and forward frames as they arrive (cut-through), so
that a message is on both of its links at once, as in a fluid model. Labs on the kernel have no latencies and
need less processor time, but let short messages pass unshaped. Rates are low, so that the network dominates:
four to eight MPI ranks share the cores of one machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Deep queues: a fluid model loses no frames.
SWITCH = "user,forwarding=cut,host-queue=10000,buffer=8MiB"
# TCP with time stamps (RFC 7323) in Ethernet frames of 1,500 bytes.
PROTOCOL = """[protocol]
mtu = 1500
headers = 52
framing = 38
"""


@dataclass(frozen=True)
class Hosts:
    """What the hosts add to each message."""

    send_seconds: float = 0
    receive_seconds: float = 0
    """The processors' work."""
    delay_seconds: float = 0
    """Until the receiver, which sleeps, sees the message."""


@dataclass(frozen=True)
class Lab:
    name: str
    text: str
    says: str
    latency_seconds: float
    """From host to host through one switch; used only for the home lab."""
    switches: int = 1
    """On the longest route."""

    def write(self, folder: Path, hosts: Hosts | None = None) -> Path:
        """Writes the network file and returns its path."""
        added = Hosts() if hosts is None else hosts
        host = (
            f'[host]\nsend_overhead = "{added.send_seconds * 1e9:.0f} ns"\n'
            f'receive_overhead = "{added.receive_seconds * 1e9:.0f} ns"\n'
        )
        each = added.delay_seconds / self.switches * 1e6
        text = re.sub(
            r'latency = "(\d+) us"', lambda own: f'latency = "{float(own[1]) + each:.1f} us"', self.text
        )
        file = folder / f"{self.name}.toml"
        file.write_text(text + (host if hosts else "") + PROTOCOL, encoding="utf-8")
        return file


def _crossbar(hosts: int, rate: str, latency: str) -> str:
    return (
        f'[generator]\nkind = "crossbar"\nhosts = {hosts}\nrate = "{rate}"\n[switch]\nlatency = "{latency}"\n'
    )


def _two_switches(hosts: int, rate: str, trunk: str, latency: str) -> str:
    half = hosts // 2
    return (
        f'[link]\nrate = "{rate}"\n[[hosts]]\nnames = "n[0-{hosts - 1}]"\n'
        f'[[switches]]\nnames = "s[0-1]"\nlatency = "{latency}"\n'
        f'[[links]]\nbetween = ["n[0-{half - 1}]", "s0"]\n'
        f'[[links]]\nbetween = ["n[{half}-{hosts - 1}]", "s1"]\n'
        f'[[links]]\nbetween = ["s0", "s1"]\nrate = "{trunk}"\n'
    )


def home(hosts: int, *, delays: bool) -> Lab:
    seconds = 100e-6 if delays else 0
    text = _crossbar(hosts, "50 Mbit/s", _us(seconds))
    return Lab("home", text, f"one switch, 50 Mbit/s, {_us(seconds)}", seconds)


def away(hosts: int, *, delays: bool) -> tuple[Lab, ...]:
    """`delays`: whether the labs' switch has latencies; without them there is no lab with a long one."""
    seconds = 100e-6 if delays else 0
    usual = _us(seconds)
    slower = Lab("slower", _crossbar(hosts, "25 Mbit/s", usual), f"one switch, 25 Mbit/s, {usual}", seconds)
    farther = Lab("farther", _crossbar(hosts, "50 Mbit/s", "500 us"), "one switch, 50 Mbit/s, 500 us", 500e-6)
    uneven = Lab("uneven", _uneven(hosts, "50 Mbit/s", "20 Mbit/s", usual),
                 f"one switch, half of the hosts at 50 Mbit/s, half at 20 Mbit/s, {usual}",
                 seconds)  # fmt: skip
    trunked = Lab("trunked", _two_switches(hosts, "50 Mbit/s", "25 Mbit/s", usual),
                  f"two switches, 50 Mbit/s, a trunk of 25 Mbit/s, {usual} each", seconds,
                  switches=2)  # fmt: skip
    faster = Lab("faster", _crossbar(hosts, "100 Mbit/s", usual), f"one switch, 100 Mbit/s, {usual}", seconds)
    return (slower, farther, trunked, uneven, faster) if delays else (slower, trunked, uneven, faster)


def others(hosts: int) -> tuple[Lab, ...]:
    """Networks on which no rule of the model was fixed; all have latencies."""
    usual = "100 us"
    return (
        Lab("30", _crossbar(hosts, "30 Mbit/s", usual), f"one switch, 30 Mbit/s, {usual}", 100e-6),
        Lab("1-ms", _crossbar(hosts, "50 Mbit/s", "1000 us"), "one switch, 50 Mbit/s, 1000 us", 1e-3),
        Lab("trunk-60", _two_switches(hosts, "50 Mbit/s", "60 Mbit/s", usual),
            f"two switches, 50 Mbit/s, a trunk of 60 Mbit/s, {usual} each", 100e-6, switches=2),
        Lab("far-trunk", _two_switches(hosts, "40 Mbit/s", "40 Mbit/s", "400 us"),
            "two switches, 40 Mbit/s, a trunk of 40 Mbit/s, 400 us each", 400e-6, switches=2),
        Lab("70", _crossbar(hosts, "70 Mbit/s", "50 us"), "one switch, 70 Mbit/s, 50 us", 50e-6),
    )  # fmt: skip


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"


def _uneven(hosts: int, fast: str, slow: str, latency: str) -> str:
    half = hosts // 2
    return (
        f'[[hosts]]\nnames = "n[0-{hosts - 1}]"\n[[switches]]\nnames = "s"\nlatency = "{latency}"\n'
        f'[[links]]\nbetween = ["n[0-{half - 1}]", "s"]\nrate = "{fast}"\n'
        f'[[links]]\nbetween = ["n[{half}-{hosts - 1}]", "s"]\nrate = "{slow}"\n'
    )
