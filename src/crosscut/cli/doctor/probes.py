"""Probes of what works on this machine. A probe leaves nothing behind, and never raises."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from crosscut.base import core, units
from crosscut.base.errors import CrosscutError
from crosscut.places import smpi

PROBE_TIMEOUT_SECONDS = 10
# In a full TCP mesh, a rank holds a connection to every other rank.
FEWEST_DESCRIPTORS = 4096


@dataclass(frozen=True)
class Fact:
    """One fact. `good` is True if it is fine, False if something is missing, None if only information."""

    section: str
    name: str
    value: str
    good: bool | None = None
    advice: str = ""


def _judged(section: str, name: str, value: str, good: bool, advice: str) -> Fact:
    """Returns a fact that carries its advice only if it is not good."""
    return Fact(section, name, value, good, "" if good else advice)


def _lines(*command: str) -> list[str]:
    """Returns the lines that a command prints; none if it is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    text = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
    return text.splitlines() if done.returncode == 0 else []


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def probe_core() -> Iterator[Fact]:
    """The measuring core and its backends."""
    try:
        known = core.load()
    except CrosscutError as error:
        yield Fact("core", "crosscut-core", "not usable", False, str(error))
        return
    yield Fact("core", "crosscut-core", f"{known.executable} ({known.version})", True)
    mpi = known.mpi_executable
    build = (
        "pip install 'crosscut[mpich]' and build again, or 'crosscut build-mpi --mpicxx PATH' for a site's"
    )
    yield _judged("core", "crosscut-core-mpi", str(mpi or "not built"), mpi is not None, f"{build} MPI")
    for backend in known.backends:
        value = backend.summary if not backend.unavailable else "cannot be used"
        yield Fact("backends", backend.name, value, not backend.unavailable, backend.unavailable)
    try:
        for device in core.devices(known.executable):
            yield Fact("backends", f"{device.backend}: {device.name}", device.text)
    except CrosscutError as error:
        yield Fact("backends", "devices", "not known", False, str(error))


def mpi_launchers() -> list[Path]:
    """Returns mpiexec, mpirun and srun, each once: next to this Python (PyPI's mpich) first, then in PATH."""
    places = [str(Path(sys.executable).parent), *os.environ.get("PATH", "").split(os.pathsep)]
    found: list[Path] = []
    for name in ("mpiexec", "mpiexec.hydra", "mpirun", "srun"):
        for place in places:
            path = Path(place) / name
            known = [one.resolve() for one in found]
            if core.is_program(path) and path.resolve() not in known:
                found.append(path)
    return found


def _version(launcher: Path) -> str | None:
    """Returns the first line with a digit of the launcher's `--version` (Hydra's is its second), or None."""
    lines = _lines(str(launcher), "--version")
    return " ".join(next((line for line in lines if any(map(str.isdigit, line))), "").split()) or None


def probe_mpi() -> Iterator[Fact]:
    """MPI launchers with their versions, and the compiler wrapper."""
    launchers = mpi_launchers()
    for launcher in launchers:
        yield Fact("mpi", launcher.name, f"{launcher}: {_version(launcher) or 'version unknown'}", True)
    if not launchers:
        advice = "pip install 'crosscut[mpich]' (brings MPICH), or load the site's MPI module"
        yield Fact("mpi", "mpiexec", "none on PATH or next to this Python", False, advice)
    compiler = shutil.which("mpicxx") or shutil.which("mpicxx_abi", path=str(Path(sys.executable).parent))
    advice = "" if compiler else "needed only to build for a site's MPI"
    yield Fact("mpi", "mpicxx", compiler or "none", bool(compiler) or None, advice)


def clock_cost_seconds(reads: int = 20_000) -> float:
    """Returns the mean cost of reading the monotonic clock from Python, an upper bound for the core's."""
    start = time.perf_counter()
    for _ in range(reads):
        time.monotonic_ns()
    return (time.perf_counter() - start) / reads


def probe_clock() -> Iterator[Fact]:
    """The clock's nominal resolution, cost and source (without vDSO every reading is a system call). A run
    records the steps that it saw."""
    resolution = time.clock_getres(time.CLOCK_MONOTONIC)
    shown, coarse = f"{units.seconds(resolution, 2)} (nominal)", "too coarse for short messages"
    yield _judged("clock", "resolution", shown, resolution <= 1e-6, coarse)
    yield Fact("clock", "cost", f"at most {units.seconds(clock_cost_seconds(), 2)} a reading")
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    if source is not None:
        fast = source in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
        yield _judged("clock", "source", source, fast, "slow to read; use tsc if the BIOS allows it")


def probe_machine() -> Iterator[Fact]:
    """Cores, memory, open files, CPU frequency."""
    usable, there = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    enough = hard == resource.RLIM_INFINITY or hard >= FEWEST_DESCRIPTORS
    yield Fact("machine", "kernel", f"{platform.system()} {platform.release()} {platform.machine()}")
    crowded = "two ranks will share a core"
    yield _judged("machine", "cores", f"{usable} usable of {there}", usable >= 2, crowded)
    yield Fact("machine", "memory", f"{memory:.1f} GiB")
    advice = f"raise 'ulimit -Hn' to {FEWEST_DESCRIPTORS} for runs of many TCP ranks"
    yield _judged("machine", "open files", f"{soft} (hard limit {hard})", enough, advice)
    governor = _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
    if governor is not None:
        steady, advice = governor == "performance", "set it to 'performance' to make short times steady"
        yield _judged("machine", "frequency", f"governor {governor}", steady, advice)


def probe_permissions() -> Iterator[Fact]:
    """Permissions for emulated clusters: root, or user namespaces."""
    root = os.geteuid() == 0
    yield Fact("permissions", "root", "yes" if root else "no")
    works = bool(_lines("unshare", "-Urn", "echo", "works"))
    value = "work" if works else "do not work"
    advice = "only emulated clusters need them (or root): sysctl kernel.unprivileged_userns_clone=1"
    yield _judged("permissions", "user namespaces", value, works or root, advice)
    tools = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if tools:
        yield Fact("permissions", "tools", f"no {' and no '.join(tools)}", None, "package iproute2")


def probe_lab() -> Iterator[Fact]:
    """Tries to build a small emulated cluster, and finds whether its user-space switch can be used."""
    from crosscut.lab import lifecycle, trial
    from crosscut.lab.switch import program as user_switch

    reason = lifecycle.unavailable()
    if reason is None:
        reason = trial.failure()
    if reason is not None:
        yield Fact("lab", "crosscut lab", "cannot be built", False, reason)
        return
    how = "as root" if os.geteuid() == 0 else "without root, in a user namespace"
    yield Fact("lab", "crosscut lab", f"can be built, {how}", True)
    without = user_switch.unavailable()
    carried = "cannot be used" if without else "can be used"
    yield Fact("lab", "lab --switch user", carried, not without, without)


def probe_places() -> Iterator[Fact]:
    """Places where ranks can be started, and the programs that start them."""
    from crosscut.places import all_places

    for place in all_places():
        there = place.condition()
        yield Fact("places", place.name, there.says, there.usable, there.advice)
    for program in ("ssh", "sshd", "srun", "sbatch"):
        path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
        what = f"{path} (the client; no host was tried)" if path and program == "ssh" else path
        yield Fact("places", program, what or "not installed", None if path is None else True)


def probe_simulation() -> Iterator[Fact]:
    """SimGrid, which runs MPI programs on described networks. crosscut's own simulator needs nothing."""
    if (missing := smpi.unavailable()) is None:
        yield Fact("simulation", "simgrid", smpi.version() or "version unknown", True)
    else:
        yield Fact("simulation", "simgrid", "not installed; crosscut simulate needs it", None, missing)
    try:
        player = smpi.engine_unavailable()
    except CrosscutError:
        return  # there is no core, which probe_core reports
    usable = player is None
    value = "can be used" if usable else "cannot be used"
    yield Fact("simulation", "--engine smpi", value, usable or None, player or "")


def probe_tcp() -> Iterator[Fact]:
    """Kernel TCP settings that affect measurements."""
    folder = "/proc/sys/net/ipv4/"
    control = _read(folder + "tcp_congestion_control")
    if control is None:
        yield Fact("tcp", "settings", f"cannot read {folder}", None)
        return
    others = _read(folder + "tcp_available_congestion_control") or "?"
    yield Fact("tcp", "congestion control", f"{control} (available: {others})")
    idle = _read(folder + "tcp_slow_start_after_idle")
    if idle is not None:
        advice = (
            "connections slow-start again after a pause; runs record this; to turn it off: "
            "sysctl net.ipv4.tcp_slow_start_after_idle=0"
        )
        state = "on" if idle == "1" else "off"
        yield _judged("tcp", "slow start after idle", state, idle == "0", advice)
    for name, path in (("send buffer", "tcp_wmem"), ("receive buffer", "tcp_rmem")):
        if (value := _read(folder + path)) is not None:
            sizes = [units.size(int(word)) for word in value.split() if word.isdigit()]
            yield Fact("tcp", name, f"{' / '.join(sizes)} (minimum, default, maximum)")


PROBES: tuple[Callable[[], Iterator[Fact]], ...] = (
    probe_core,
    probe_places,
    probe_mpi,
    probe_simulation,
    probe_machine,
    probe_clock,
    probe_tcp,
    probe_permissions,
    probe_lab,
)


def examine() -> list[Fact]:
    """Returns the facts of all probes, in the order in which they are shown."""
    return [finding for probe in PROBES for finding in probe()]
