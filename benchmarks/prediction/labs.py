"""The emulated clusters: one where programs are traced, three for which they are predicted.

Carried by crosscut-switch they have latencies (docs/howto-lab.md), and pass frames on as they come, so that a
message is on both of its links at once, as fluids are. Carried by the kernel they have none and take less of
the processors, but let short messages pass unshaped. Rates are low: four to eight MPI ranks share the cores
of one machine, and what is to be seen is the network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Fluids lose no frames.
SWITCH = "user,forwarding=cut,host-queue=10000,buffer=8MiB"
# TCP with time stamps in Ethernet frames of 1,500 bytes: what of a link's rate is payload (lab and RFC 7323).
PROTOCOL = """[protocol]
mtu = 1500
headers = 52
framing = 38
"""


@dataclass(frozen=True)
class Lab:
    name: str
    text: str
    says: str
    latency_seconds: float
    """From host to host, of a single switch; the home lab's alone is used."""
    switches: int = 1
    """On the longest way."""

    def write(self, folder: Path, overhead_seconds: float = 0, delay_seconds: float = 0) -> Path:
        """The file. Of each message the two processors work for `overhead_seconds`, half of it at each end;
        `delay_seconds` it takes longer until its receiver, which sleeps between two looks, has seen it."""
        half = f'"{overhead_seconds / 2 * 1e9:.0f} ns"'
        host = f"[host]\nsend_overhead = {half}\nreceive_overhead = {half}\n" if overhead_seconds else ""
        each = delay_seconds / self.switches * 1e6
        text = re.sub(
            r'latency = "(\d+) us"', lambda own: f'latency = "{float(own[1]) + each:.1f} us"', self.text
        )
        file = folder / f"{self.name}.toml"
        file.write_text(text + host + PROTOCOL, encoding="utf-8")
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
    """`delays`: whether what carries them has latencies; else others stand in for long ones."""
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


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"


def _uneven(hosts: int, fast: str, slow: str, latency: str) -> str:
    half = hosts // 2
    return (
        f'[[hosts]]\nnames = "n[0-{hosts - 1}]"\n[[switches]]\nnames = "s"\nlatency = "{latency}"\n'
        f'[[links]]\nbetween = ["n[0-{half - 1}]", "s"]\nrate = "{fast}"\n'
        f'[[links]]\nbetween = ["n[{half}-{hosts - 1}]", "s"]\nrate = "{slow}"\n'
    )
