"""`--memory-kind`: messages in a GPU's memory.

There is no GPU here: a stand-in for CUDA's driver (core/tests/stand_in_cuda.c) has its memory in the process.
So this tests what crosscut asks of a driver, an MPI and libfabric, not how any of these does it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from in_process import crosscut
from measuring import usable

from crosscut.base import core
from crosscut.run.run import Run

if core.find_executable(core.CORE) is None:
    pytest.skip("crosscut-core is not built", allow_module_level=True)

SOURCE = Path(__file__).parents[2] / "core/tests/stand_in_cuda.c"
FEW = ("--repetitions", "2", "--quiet")
needs_mpi = pytest.mark.skipif(not usable("mpi"), reason="the backend mpi cannot be used here")


def before(first: str, variable: str) -> str:
    """The variable's value, with a path before those that it has."""
    return ":".join(filter(None, (first, os.environ.get(variable))))


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment in which the stand-in is the driver, of two GPUs."""
    if shutil.which("cc") is None:
        pytest.skip("the stand-in for the driver needs a C compiler")
    built = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", SOURCE, "-o", built], check=True)
    return {"LD_LIBRARY_PATH": before(str(built.parent), "LD_LIBRARY_PATH")}


@pytest.fixture
def aware(driver: Mapping[str, str]) -> Mapping[str, str]:
    """The same, where MPI says that it sends from a GPU's memory."""
    folder = driver["LD_LIBRARY_PATH"].partition(":")[0]
    return {**driver, "LD_PRELOAD": before(f"{folder}/libcuda.so.1", "LD_PRELOAD")}


def run(folder: Path, environment: Mapping[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    return crosscut("run", *words, *FEW, "--out", "r.zarr", folder=folder, environment=environment)


@needs_mpi
@pytest.mark.parametrize(
    ("words", "kinds", "gpu"),
    [
        ("aapc -n 3 --size 100,1MB --window 2", "cuda", 0),
        ("aapc -n 3 --size 1KB", "host,cuda:1", None),
        ("aapc -n 3 --size 1KB", "cuda:1,host", 1),
        ("pingpong -n 2 --size 0,1KB,1MB", "cuda,host", 0),
        ("collective --operation all-reduce --library only -n 4 --size 64KB", "cuda", 0),
        ("collective --operation all-to-all --library also -n 3 --size 90KB", "cuda", 0),
    ],
)
def test_messages_in_gpus_arrive_whole(
    quick_path: Path, aware: Mapping[str, str], words: str, kinds: str, gpu: int | None
) -> None:
    done = run(quick_path, aware, *words.split(), "--on", "mpi", "--memory-kind", kinds, "--verify")
    assert done.returncode == 0, done.stderr
    backend = Run.open(quick_path / "r.zarr").attributes["backend"]
    assert isinstance(backend, dict)
    assert backend["parameters"]["memory-kind"] == kinds
    facts = Run.open(quick_path / "r.zarr").attributes["backend_facts"]
    assert isinstance(facts, dict)
    assert facts.get("gpu", {}).get("number") == gpu  # of rank 0
    if gpu is not None:
        assert facts["gpu"] == {
            "number": gpu,
            "name": f"stand-in {100 + gpu}",
            "pci": facts["gpu"]["pci"],
            "cuda": "12.4",
        }


@needs_mpi
@pytest.mark.parametrize("way", ["to", "from"])
def test_a_byte_that_changes_on_the_way_to_or_from_a_gpu_is_found(
    quick_path: Path, aware: Mapping[str, str], way: str
) -> None:
    environment = {**aware, "STAND_IN_CUDA_FLIPS": way}
    words = "aapc -n 2 --size 1KB --on mpi --memory-kind cuda --verify"
    done = run(quick_path, environment, *words.split())
    assert done.returncode == 1
    assert "at offset 500" in done.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--backend fabric --memory-kind cuda:2", "this node has 2 GPUs, which count from 0"),
        ("--backend fabric --memory-kind gpu", "unknown; write host, cuda or cuda:N"),
        ("--backend fabric --memory-kind host,", "unknown; write host, cuda or cuda:N"),
        ("--memory-kind cuda", "--memory-kind is an option of the backend fabric or mpi"),
        pytest.param("--on mpi --memory-kind cuda", "does not say that it sends from a GPU", marks=needs_mpi),
    ],
)
def test_what_has_no_gpus_memory_is_refused(
    quick_path: Path, driver: Mapping[str, str], words: str, why: str
) -> None:
    _skip_without_fabric(words)
    done = run(quick_path, driver, "aapc", "-n", "2", "--size", "1KB", *words.split())
    assert done.returncode == 2
    assert why in done.stderr
    assert not (quick_path / "r.zarr").exists()


@needs_mpi
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("aapc --memory-kind host,cuda:9", "this node has 2 GPUs"),
        ("aapc --memory-kind cuda --cache rotate", "--cache is about the processor's caches"),
        (
            "collective --operation all-reduce --library also --memory-kind cuda",
            "add what they receive on the processor",
        ),
    ],
)
def test_what_a_gpu_cannot_do_or_one_rank_lacks_is_refused(
    quick_path: Path, aware: Mapping[str, str], words: str, why: str
) -> None:
    words += " -n 2 --size 64KB --on mpi"
    done = run(quick_path, aware, *words.split())
    assert done.returncode == 2
    assert why in done.stderr


def test_libfabric_without_cuda_says_so(quick_path: Path, driver: Mapping[str, str]) -> None:
    _skip_without_fabric("fabric")
    words = "aapc -n 2 --size 1KB --backend fabric --fabric-provider shm --memory-kind cuda"
    done = run(quick_path, driver, *words.split())
    if done.returncode == 0:
        pytest.skip("this libfabric is built with CUDA")
    assert done.returncode == 1
    assert "on a GPU, it takes a libfabric built with CUDA" in done.stderr


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"STAND_IN_CUDA_NONE": "1"}, "this node's driver finds no GPU"),
        ({"STAND_IN_CUDA_BYTES": "1000"}, "GPU 0 has no room for messages of"),
    ],
    ids=["none", "full"],
)
def test_a_node_without_a_gpu_or_room_on_it_says_so(
    quick_path: Path, driver: Mapping[str, str], more: Mapping[str, str], why: str
) -> None:
    _skip_without_fabric("fabric")
    words = "aapc -n 2 --size 1KB --backend fabric --fabric-provider shm --memory-kind cuda"
    done = run(quick_path, {**driver, **more}, *words.split())
    assert done.returncode == 2
    assert why in done.stderr


def test_doctor_lists_gpus(driver: Mapping[str, str], tmp_path: Path) -> None:
    done = crosscut("doctor", folder=tmp_path, environment=driver)
    assert "GPU: cuda:1 stand-in 101 at 0000:65:00.0, driver of CUDA 12.4" in " ".join(done.stdout.split())


def test_a_node_without_a_driver_says_so(quick_path: Path) -> None:
    _skip_without_fabric("fabric")
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        pass
    else:
        pytest.skip("this machine has a driver of a GPU")
    words = "aapc -n 2 --size 1KB --backend fabric --memory-kind cuda"
    done = run(quick_path, {}, *words.split())
    assert done.returncode == 2
    assert "this node has no driver of an NVIDIA GPU" in done.stderr
    assert "--memory-kind host" in done.stderr


def _skip_without_fabric(words: str) -> None:
    fabric = core.load().backend("fabric")
    if "fabric" in words and (fabric is None or fabric.unavailable):
        pytest.skip("libfabric cannot be used here")
