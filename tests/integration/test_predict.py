"""`crosscut predict`, with its own simulator and with SimGrid, on traces with times computed by hand."""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from in_process import crosscut

from crosscut.base.errors import CrosscutError
from crosscut.prediction import calibrating, predicting
from crosscut.prediction import trace as traces
from crosscut.profile import profiler

BYTES = 1_000_000
# libfabric's header has 32 bytes, SMPI's envelope 16.
HEADER_BYTES = {"max-min": 32, "smpi": 16}
ENGINES = [
    "max-min",
    pytest.param(
        "smpi",
        marks=pytest.mark.skipif(
            shutil.which("smpirun") is None, reason="SimGrid is not installed: apt install libsimgrid-dev"
        ),
    ),
]
both = pytest.mark.parametrize("engine", ENGINES)
smpi_alone = pytest.mark.parametrize("engine", ENGINES[1:])


def link_seconds(engine: str) -> float:
    return (BYTES + HEADER_BYTES[engine]) / 12.5e6


LATENCY_SECONDS = 100e-6
# A sender of more than 128 bytes waits for an answer; SMPI knows none.
WAY_BACK_SECONDS = {"max-min": LATENCY_SECONDS, "smpi": 0.0}
CROSSBAR = """
[generator]
kind = "crossbar"
hosts = HOSTS
rate = "RATE"
[switch]
latency = "100 us"
"""


def predicted(trace: Path, *words: str | Path, engine: str = "max-min") -> dict[str, Any]:
    done = crosscut("predict", trace, "--json", "--flops", "1e9", "--engine", engine, "--on", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def parts(found: dict[str, Any], at: int = 0) -> dict[str, float]:
    values: dict[str, float] = found["networks"][at]["parts_seconds"]
    return values


Network = Callable[..., Path]


@pytest.fixture
def network(tmp_path: Path) -> Network:
    def write(name: str = "net", hosts: int = 4, rate: str = "100 Mbit/s", more: str = "") -> Path:
        file = tmp_path / f"{name}.toml"
        file.write_text(CROSSBAR.replace("HOSTS", str(hosts)).replace("RATE", rate) + more)
        return file

    return write


def traced(folder: Path, *ranks: list[str]) -> Path:
    """Writes a trace of these actions, with `init` and `finalize` added."""
    trace = folder / "made.trace"
    trace.mkdir()
    names = []
    for rank, actions in enumerate(ranks):
        name = f"rank-{rank}.tit"
        lines = ["init", *actions, "finalize"]
        (trace / name).write_text("".join(f"{rank} {line}\n" for line in lines))
        names.append(f"{name}\n")
    (trace / "trace.txt").write_text("".join(names))
    return trace


@both
def test_a_message_takes_the_latency_plus_its_bytes_at_the_rate(tmp_path, network, engine):
    trace = traced(tmp_path, [f"send 1 0 {BYTES}"], [f"recv 0 0 {BYTES}"])
    found = predicted(trace, network(), engine=engine)
    latency = LATENCY_SECONDS + WAY_BACK_SECONDS[engine]
    assert found["networks"][0]["seconds"] == pytest.approx(latency + link_seconds(engine), rel=1e-6)
    assert parts(found) == pytest.approx(
        {
            "computing": 0,
            "waiting": 0,
            "latency": latency,
            "bandwidth": link_seconds(engine),
            "contention": 0,
        },
        abs=1e-8,
    )


@both
def test_messages_that_meet_on_a_link_are_contention(tmp_path, network, engine):
    trace = traced(
        tmp_path,
        [
            "irecv 1 0 1000000",
            "irecv 2 0 1000000",
            "irecv 3 0 1000000",
            "wait 1 0 0",
            "wait 2 0 0",
            "wait 3 0 0",
        ],
        *[[f"send 0 0 {BYTES}"]] * 3,
    )
    found = parts(predicted(trace, network(), engine=engine))
    assert found["bandwidth"] == pytest.approx(link_seconds(engine), rel=1e-6)
    assert found["contention"] == pytest.approx(2 * link_seconds(engine), rel=1e-6)


@both
def test_a_thin_trunk_is_contention_if_several_messages_pass_it(tmp_path, engine):
    file = tmp_path / "two.toml"
    file.write_text(
        '[link]\nrate = "100 Mbit/s"\n[[hosts]]\nnames = "n[0-3]"\n[[switches]]\nnames = "s[0-1]"\n'
        '[[links]]\nbetween = ["n[0-1]", "s0"]\n[[links]]\nbetween = ["n[2-3]", "s1"]\n'
        '[[links]]\nbetween = ["s0", "s1"]\n'
    )
    trace = traced(
        tmp_path, [f"send 2 0 {BYTES}"], [f"send 3 0 {BYTES}"], [f"recv 0 0 {BYTES}"], [f"recv 1 0 {BYTES}"]
    )
    assert parts(predicted(trace, file, engine=engine))["contention"] == pytest.approx(
        link_seconds(engine), rel=1e-6
    )


@both
def test_waiting_for_a_rank_that_computes_longer_is_not_the_network_s(tmp_path, network, engine):
    trace = traced(tmp_path, ["compute 3e9", "send 1 0 8"], ["compute 1e9", "recv 0 0 8"])
    found = predicted(trace, network(), network("other", rate="1 Gbit/s"), engine=engine)
    for at in (0, 1):
        assert parts(found, at)["computing"] == pytest.approx(2)
        assert parts(found, at)["waiting"] == pytest.approx(1, abs=1e-6)
    assert found["imbalance_seconds"] == pytest.approx(1)
    assert found["dependency_seconds"] == pytest.approx(0, abs=1e-6)


@both
def test_ranks_that_compute_one_after_the_other_are_dependency(tmp_path, network, engine):
    trace = traced(tmp_path, ["compute 1e9", "send 1 0 8"], ["recv 0 0 8", "compute 1e9"])
    found = predicted(trace, network(), engine=engine)
    assert parts(found)["waiting"] == pytest.approx(1, abs=1e-6)
    assert found["imbalance_seconds"] == pytest.approx(0)
    assert found["dependency_seconds"] == pytest.approx(1, abs=1e-6)


@both
@pytest.mark.parametrize(("scale", "seconds"), [("0.5", 0.5), ("3", 3), ("0", 0)])
def test_computing_is_scaled_as_requested(tmp_path, network, engine, scale, seconds):
    trace = traced(tmp_path, ["compute 1e9"], ["compute 1e9"])
    found = predicted(trace, network(), "--compute-scale", scale, engine=engine)
    assert found["networks"][0]["seconds"] == pytest.approx(seconds)
    assert parts(found)["computing"] == pytest.approx(seconds)


@both
def test_overheads_of_the_processors_count_as_latency(tmp_path, network, engine):
    more = '[host]\nsend_overhead = "30 us"\nreceive_overhead = "50 us"\n'
    trace = traced(tmp_path, ["send 1 0 8"], ["recv 0 0 8"])
    found = parts(predicted(trace, network(more=more), engine=engine))
    assert found["latency"] == pytest.approx(LATENCY_SECONDS + 80e-6, abs=1e-7)


def test_the_sender_of_a_longer_message_waits_until_its_receiver_calls_mpi(tmp_path, network):
    trace = traced(tmp_path, ["send 1 0 200"], ["compute 1e9", "recv 0 0 200"])
    sender, receiver = predicted(trace, network())["networks"][0]["rank_seconds"]
    assert (sender, receiver) == pytest.approx((1 + LATENCY_SECONDS, 1))
    sender, receiver = predicted(trace, network(), "--inject", "200")["networks"][0]["rank_seconds"]
    assert (sender, receiver) == pytest.approx((0, 1))


@both
def test_what_if_answers_for_every_network(tmp_path, network, engine):
    trace = traced(tmp_path, [f"send 1 0 {BYTES}"], [f"recv 0 0 {BYTES}"])
    words = ("--what-if", "latency=0.5,bandwidth=2", "--what-if", "latency=10")
    found = predicted(trace, network(), network("slow", rate="50 Mbit/s"), *words, engine=engine)
    latency = LATENCY_SECONDS + WAY_BACK_SECONDS[engine]
    for at, link in enumerate((link_seconds(engine), 2 * link_seconds(engine))):
        both, later = (one["seconds"] for one in found["networks"][at]["what_if"])
        assert both == pytest.approx(latency / 2 + link / 2, rel=1e-6)
        assert later == pytest.approx(10 * latency + link, rel=1e-6)


@both
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_every_collective_call_is_replayed_to_its_end(tmp_path, network, ranks, engine):
    """SMPI's own algorithms are not: most of MPICH's damage the heap."""
    blocks = " ".join(["700"] * ranks)
    actions = []
    for count in (0, 8, 5_000, 600_000):
        actions += [f"bcast {count} 1", f"reduce {count} 0 1", f"allreduce {count} 0", "barrier",
                    f"gather {count} {count} 1", f"scatter {count} {count} 1",
                    f"allgather {count} {count}", f"alltoall {count} {count}"]  # fmt: skip
    actions += [f"allgatherv 700 {blocks}", f"gatherv 700 {blocks} 0", f"scatterv {blocks} 700 1",
                f"alltoallv 9 {blocks} 9 {blocks}", f"reducescatter {blocks} 0"]  # fmt: skip
    found = predicted(traced(tmp_path, *[actions] * ranks), network(hosts=ranks), engine=engine)
    # The all-to-all alone puts this much on every link.
    assert found["networks"][0]["seconds"] > (ranks - 1) * 600_000 / 12.5e6
    assert all(seconds >= -1e-9 for seconds in parts(found).values())


@both
def test_a_broadcast_of_four_goes_down_a_tree(tmp_path, network, engine):
    """Its root sends to two ranks, one after the other, as MPICH does: 341 ms measured for 1 MB at 50 Mbit/s,
    twice the link's time. In crosscut's own model it waits for the answer of each."""
    found = predicted(traced(tmp_path, *[[f"bcast {BYTES} 0"]] * 4), network(), engine=engine)
    expected = 2 * (LATENCY_SECONDS + WAY_BACK_SECONDS[engine] + link_seconds(engine))
    assert found["networks"][0]["seconds"] == pytest.approx(expected, rel=1e-4)


UNEVEN = """
[[hosts]]
names = "n[0-3]"
[[switches]]
names = "s"
[[links]]
between = ["n[0-1]", "s"]
rate = "50 Mbit/s"
[[links]]
between = ["n[2-3]", "s"]
rate = "20 Mbit/s"
"""


def test_hosts_that_are_early_in_an_all_to_all_delay_those_that_are_late(tmp_path):
    """Blocks of 512 KiB in pairs, with MPICH 5.0.2 in a lab (crosscut-switch, queues of 8 MiB): 950 to 1,090
    ms (nine calls); 668 if all went from pair to pair together."""
    file = tmp_path / "uneven.toml"
    file.write_text(UNEVEN + "[protocol]\nmtu = 1500\nheaders = 52\nframing = 38\n")
    trace = traced(tmp_path, *[["alltoall 524288 524288"]] * 4)
    deep = predicted(trace, file, "--deep-queues")["networks"][0]
    assert deep["rank_seconds"] == pytest.approx([0.891] * 4, rel=0.01)
    even = predicted(trace, file)["networks"][0]
    assert deep["rank_seconds"][0] > even["rank_seconds"][0] > 0.7
    for one in (deep, even):
        assert sum(one["parts_seconds"].values()) == pytest.approx(one["seconds"], rel=1e-12)
    strict = predicted(trace, file, "--eager", "0", "--send-buffer", "0")["networks"][0]
    assert strict["seconds"] == pytest.approx(0.668, rel=0.01)


def test_noise_is_fitted_so_that_the_replay_takes_as_long_as_the_run(tmp_path, network):
    ping, pong = ["send 1 0 8", "recv 1 1 8"] * 200, ["recv 0 0 8", "send 0 1 8"] * 200
    trace = traces.read(traced(tmp_path, ping, pong))
    home = str(network())
    asked = predicting.PredictionRequest((home,), 1e9)
    found = calibrating.fit(trace, asked, home, 0.2, tmp_path)
    # 400 messages, each of which waits for the previous one.
    assert found.without_seconds == pytest.approx(400 * (LATENCY_SECONDS + 40 / 12.5e6), rel=0.01)
    assert found.noise_seconds == pytest.approx((0.2 - found.without_seconds) / 400, rel=0.15)
    (tmp_path / "again").mkdir()
    again = predicting.predict(trace, calibrating.fitted(asked, found), tmp_path / "again").networks[0]
    assert statistics.fmean(again.ended) == pytest.approx(0.2, rel=0.03)
    assert sum(again.parts.values()) == pytest.approx(again.seconds, rel=1e-12)
    assert again.parts["latency"] > 0.19


def test_noise_cannot_be_fitted_if_the_program_s_time_is_unknown(tmp_path, network):
    trace = traced(tmp_path, ["barrier"], ["barrier"])
    said = refused(trace, "--flops", "1e9", "--traced-on", network(), "--on", network())
    assert "--traced-on: no profile beside" in said


def test_options_of_one_engine_are_refused_with_the_other(tmp_path, network):
    trace = traced(tmp_path, ["barrier"], ["barrier"])
    words = (trace, "--flops", "1e9", "--on", network())
    assert "--engine smpi" in refused(*words, "--option", "smpi/bcast:mpich")


def refused(*words: str | Path) -> str:
    done = crosscut("predict", *words)
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_truncated_trace_is_named_with_its_line(tmp_path, network):
    trace = traced(tmp_path, ["compute 5", "send 1 0 8"], ["recv 0 0 8"])
    file = trace / "rank-0.tit"
    file.write_bytes(file.read_bytes()[:-12])
    assert f"{file}:3: the line has no end" in refused(trace, "--flops", "1e9", "--on", network())


def test_fewer_hosts_than_ranks_are_refused_unless_they_are_shared(tmp_path, network):
    trace = traced(tmp_path, *[["barrier"]] * 6)
    assert "room for 4 ranks" in refused(trace, "--flops", "1e9", "--on", network())
    predicted(trace, network(), "--ranks-per-host", "2")


@smpi_alone
def test_a_network_that_smpi_cannot_simulate_is_refused_with_the_reason(tmp_path, engine):
    file = tmp_path / "unlike.toml"
    file.write_text(
        '[link]\nrate = "100 Mbit/s"\n[[hosts]]\nnames = "a"\nsend_overhead = "9 us"\n'
        '[[hosts]]\nnames = "b"\n[[switches]]\nnames = "s"\n'
        '[[links]]\nbetween = ["a", "s"]\n[[links]]\nbetween = ["b", "s"]\n'
    )
    trace = traced(tmp_path, *[["barrier"]] * 2)
    assert "needs the same values for all hosts" in refused(
        trace, "--flops", "1e9", "--engine", engine, "--on", file
    )


def test_a_trace_of_unknown_speed_asks_for_it(tmp_path, network):
    assert "--flops" in refused(traced(tmp_path, ["barrier"], ["barrier"]), "--on", network())


def waves(tmp_path: Path, times: int) -> Path:
    """Writes a trace whose replay takes a while."""
    return traced(tmp_path, *[["alltoall 1000 1000"] * times] * 4)


@both
def test_a_replay_beyond_a_limit_is_ended_and_names_it(tmp_path, network, engine):
    trace, file = waves(tmp_path, 20_000), network()
    words = ("--flops", "1e9", "--engine", engine, "--on", file)
    done = crosscut("predict", trace, *words, "--time-limit", "100ms")
    assert done.returncode == 1
    assert "--time-limit" in done.stderr
    done = crosscut("predict", trace, *words, "--memory", "20MB")
    assert done.returncode == 1
    assert "--memory" in done.stderr


def replaying(folder: Path) -> list[int]:
    """Returns the processes that name the folder on their command line."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                words = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"replay" in words and str(folder).encode() in words:
                found.append(int(process.name))
    return found


@both
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)])
def test_an_interrupted_prediction_leaves_no_process_and_no_file(tmp_path, network, engine, number):
    trace = waves(tmp_path, 40_000)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["predict", str(trace), "--flops", "1e9", "--engine", engine, "--on", str(network())]
    process = subprocess.Popen(
        [sys.executable, "-m", "crosscut", *words],
        env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not replaying(temporary):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no replay began"
        time.sleep(0.02)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert not replaying(temporary)
    assert not list(temporary.iterdir())


def test_a_picture_is_written(tmp_path, network):
    trace = traced(tmp_path, ["send 1 0 8"], ["recv 0 0 8"])
    done = crosscut("predict", trace, "--flops", "1e9", "--on", network(), "-o", tmp_path / "parts.svg")
    assert done.returncode == 0, done.stderr
    assert "contention" in (tmp_path / "parts.svg").read_text()
    assert "On net the largest part is latency" in done.stdout


# From the program to the prediction.

BESIDE = Path(sys.executable).parent
RING = """
#include <mpi.h>
static char out[1000000], in[1000000];
int main(int argc, char** argv) {
  int rank, ranks;
  double sum, one = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 5; i++)
    MPI_Sendrecv(out, 1000000, MPI_CHAR, (rank + 1) % ranks, 0, in, 1000000, MPI_CHAR,
                 (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return sum != ranks;
}
"""


def lacking() -> str | None:
    if not (BESIDE / "mpicc_abi").exists() or not (BESIDE / "mpiexec").exists():
        return "no MPI of the standard ABI: pip install 'mpich>=5'"
    try:
        profiler.find_library()
    except CrosscutError as error:
        return str(error)
    return None


@pytest.mark.skipif(lacking() is not None, reason=str(lacking()))
def test_a_program_is_traced_here_and_predicted_elsewhere(tmp_path, network):
    (tmp_path / "ring.c").write_text(RING)
    program = tmp_path / "ring"
    command = [
        BESIDE / "mpicc_abi",
        tmp_path / "ring.c",
        "-o",
        program,
        f"-Wl,-rpath,{BESIDE.parent / 'lib'}",
    ]
    subprocess.run(command, check=True)
    trace = tmp_path / "ring.profile"
    done = crosscut("profile", "--trace", "--out", trace, "--", BESIDE / "mpiexec", "-n", "4", program)
    assert done.returncode == 0, done.stderr
    there = ("--json", "--compute-scale", "0", "--on", network(), network("b", rate="1 Gbit/s"))
    said = refused(trace, *there)
    assert "--traced-on: " in said
    assert "name the network on which it was traced" in said
    done = crosscut("predict", trace, *there, "--traced-on", "none")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["trace"]["traced_seconds"] > 0
    done = crosscut("predict", trace, "--json", "--traced-on", network(), "--on", network())
    assert done.returncode == 0, done.stderr
    noise = json.loads(done.stdout)["noise"]
    done = crosscut("profile", "--trace", "--network", network(), "--out", tmp_path / "named", "--",
                    BESIDE / "mpiexec", "-n", "4", program)  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = crosscut("predict", tmp_path / "named", "--json", "--on", network())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["noise"]["network"] == str(tmp_path / "named" / "network.toml")
    assert noise["noise_seconds"] == 0 or noise["measured_seconds"] > noise["without_seconds"]
    for at, rate in enumerate((12.5e6, 125e6)):
        sums = 2 * (LATENCY_SECONDS + 40 / rate)  # of eight bytes, two exchanges
        expected = 5 * (2 * LATENCY_SECONDS + (BYTES + 32) / rate) + sums
        assert found["networks"][at]["seconds"] == pytest.approx(expected, rel=1e-4)
