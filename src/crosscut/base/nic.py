"""Network adapters of this machine, from /sys and /proc. Only reads, except a few packets over loopback."""

from __future__ import annotations

import math
import re
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

_TRIPS = 400


@dataclass(frozen=True)
class Adapter:
    name: str
    bits_per_second: float = math.nan
    """NaN if it reports no speed, as virtual adapters do."""
    mtu_bytes: int = 1500
    up: bool = False
    pcie_gigatransfers: float = math.nan
    """Per second and lane; NaN if it is not a PCI Express device or does not report its speed."""
    pcie_lanes: int = 0


def adapters(sys: Path = Path("/sys")) -> list[Adapter]:
    """Returns the adapters of hardware devices: no loopback, bridge or tunnel."""
    folder = sys / "class" / "net"
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return [_adapter(path) for path in found if (path / "device").exists()]


def _adapter(path: Path) -> Adapter:
    speed = _number(path / "speed")  # Mbit/s; -1 if unknown
    transfers = re.match(r"([0-9.]+)", _text(path / "device" / "current_link_speed"))
    lanes = _number(path / "device" / "current_link_width")
    return Adapter(
        name=path.name,
        bits_per_second=speed * 1e6 if speed > 0 else math.nan,
        mtu_bytes=int(_number(path / "mtu")) if _number(path / "mtu") > 0 else 1500,
        up=_text(path / "operstate") == "up",
        pcie_gigatransfers=float(transfers[1]) if transfers else math.nan,
        pcie_lanes=int(lanes) if lanes > 0 else 0,
    )


def tcp_timestamps(proc: Path = Path("/proc")) -> bool:
    return _text(proc / "sys" / "net" / "ipv4" / "tcp_timestamps") != "0"


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:  # reading the speed fails while an adapter is down
        return ""


def _number(path: Path) -> float:
    try:
        return float(_text(path))
    except ValueError:
        return math.nan


def loopback_seconds() -> float:
    """Returns half the median round trip of one byte over TCP loopback: the cost of both ends' software."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        with socket.create_connection(server.getsockname(), timeout=5) as near:
            far, _ = server.accept()
            far.settimeout(5)
            echo = threading.Thread(target=_echo, args=(far,), daemon=True)
            echo.start()
            near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = []
            for _ in range(_TRIPS):
                start = time.perf_counter()
                near.sendall(b"x")
                near.recv(1)
                times.append(time.perf_counter() - start)
        echo.join(timeout=5)
    return sorted(times)[_TRIPS // 2] / 2


def _echo(far: socket.socket) -> None:
    with far:
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while byte := far.recv(1):
                far.sendall(byte)
        except OSError:
            return
