"""Messages over several adapters of a node: times, records, refusals, and what a lab's adapters carry."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from in_process import crosscut
from labs import FAST_ETHERNET, lab, needs_lab
from numpy.typing import NDArray

from crosscut.base import core
from crosscut.run.run import Run

pytestmark = pytest.mark.skipif(core.find_executable(core.CORE) is None, reason="crosscut-core is not built")

_SIZE = 128_000
_PAYLOAD = 1460 / 1538


def _two_networks(folder: Path) -> Path:
    """Four hosts on two switches, 40 and 20 Mbit/s."""
    links = "".join(
        f'[[links]]\nbetween = ["n[0-3]", "{name}"]\nrate = "{rate} Mbit/s"\n'
        for name, rate in (("fast", 40), ("slow", 20))
    )
    (folder / "two.toml").write_text(
        '[host]\nadapters = 2\n[[hosts]]\nnames = "n[0-3]"\n[[switches]]\nnames = ["fast", "slow"]\n'
        f"{links}{FAST_ETHERNET}"
    )
    return folder


@pytest.fixture
def unequal(quick_path: Path) -> Path:
    return _two_networks(quick_path)


def _known(values: xr.DataArray) -> NDArray[np.float64]:
    return values.values[np.isfinite(values.values)]


def _measured(folder: Path, *words: object, out: str = "r.zarr") -> Run:
    done = crosscut("run", *map(str, words), "--out", out, "--force", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    return Run.open(folder / out)


@pytest.mark.parametrize(("rails", "used", "megabits"), [("1", 1, 40), ("2", 2, 2 * 20), ("all", 2, 2 * 20)])
@pytest.mark.parametrize("pattern", ["aapc", "pingpong"])
def test_a_message_takes_as_long_as_its_slowest_part(
    unequal: Path, rails: str, used: int, megabits: int, pattern: str
) -> None:
    run = _measured(unequal, pattern, "--on", "sim:two.toml", "--size", _SIZE, "--rails", rails)
    assert run.attributes["rails"] == used
    assert _known(run.message_rates(0)) == pytest.approx(megabits * 1e6 / 8 * _PAYLOAD, rel=1e-3)
    shown = " ".join(crosscut("show", "r.zarr", folder=unequal).stdout.split())
    assert ("each message split over 2 rails" in shown) == (used > 1)


def test_a_short_message_takes_the_first_rail(unequal: Path) -> None:
    words = ("pingpong", "--on", "sim:two.toml", "--size", 64, "--rails")
    one, two = (_known(_measured(unequal, *words, rails).message_seconds(0)) for rails in (1, 2))
    assert one.tolist() == two.tolist()


def test_a_pattern_with_a_use_of_its_own_receives_the_number(unequal: Path) -> None:
    run = _measured(unequal, "chain", "--on", "sim:two.toml", "--size", "1MB", "--rails", "all")
    assert run.attributes["rails"] == 2
    pattern = run.attributes["pattern"]
    assert isinstance(pattern, dict)
    assert pattern["parameters"]["rails"] == "2"


def test_runs_with_different_rails_are_neither_compared_nor_resumed(unequal: Path) -> None:
    words = ("aapc", "--on", "sim:two.toml", "--size", _SIZE)
    _measured(unequal, *words, out="one.zarr")
    _measured(unequal, *words, "--rails", 2, out="two.zarr")
    done = crosscut("compare", "one.zarr", "two.zarr", folder=unequal)
    assert done.returncode == 2
    assert "rails: 1 and 2" in done.stderr
    done = crosscut(
        "run", *map(str, words), "--rails", "1", "--resume", "two.zarr", "--force", folder=unequal
    )
    assert done.returncode == 2
    assert "rails (the run: 2; now: 1)" in done.stderr
    assert crosscut("run", "--resume", "two.zarr", folder=unequal).returncode == 0


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--on sim:two.toml --rails 3", "uses 3 rails, but a rank on network two has 2"),
        ("-n 2 --rails 2", "needs 2 interfaces, but each rank has only 1; list them as --interface A,B"),
        ("-n 2 --rails 65", "--rails"),
        ("-n 2 --rails some", "--rails"),
        ("--backend mpi -n 2 --rails 2", "leaves the choice of interfaces to its library"),
    ],
)
def test_rails_that_are_not_there_are_refused(unequal: Path, words: str, why: str) -> None:
    if "mpi" in words and ((mpi := core.load().backend("mpi")) is None or mpi.unavailable):
        pytest.skip("there is no MPI here")
    done = crosscut("run", "aapc", *words.split(), "--size", "1KB", "--out", "no.zarr", folder=unequal)
    assert done.returncode == 2, done.stderr
    assert why in done.stderr
    assert not (unequal / "no.zarr").exists()


def test_on_this_machine_every_byte_arrives_over_two_addresses(quick_path: Path) -> None:
    words = ("aapc", "-n", 3, "--interface", "127.0.0.1,127.0.0.2", "--rails", "all", "--verify")
    run = _measured(quick_path, *words, "--size", "1KB,100KB", "--repetitions", 3, "--window", 2)
    used = run.attributes["connections"]
    assert isinstance(used, dict)
    rail = used["fields"].index("rail")
    assert {one[rail] for one in used["rows"]} == {0, 1}


@needs_lab
@pytest.mark.usefixtures("own_labs")
def test_in_a_lab_both_adapters_carry_half_and_one_that_is_down_is_named(tmp_path: Path) -> None:
    unequal = _two_networks(tmp_path)
    with lab(unequal / "two.toml"):
        run = _measured(
            unequal, "aapc", "--on", "lab:test", "--size", "200KB", "--repetitions", 5, "--rails", "all"
        )
        facts = json.loads((unequal / "r.zarr" / "zarr.json").read_text())["attributes"]
        before, after = (facts[when]["n2"] for when in ("counters_before", "counters_after"))
        sent = [after[name]["tx_bytes"] - before[name]["tx_bytes"] for name in ("eth0", "eth1")]
        assert sent[1] > 0.8 * sent[0] > 1_000_000
        assert run.attributes["rails"] == 2
        down = "ip", "link", "set", "eth1", "down"
        assert crosscut("lab", "exec", "test", "n2", "--", *down, folder=unequal).returncode == 0
        words = "run aapc --on lab:test --rails all --size 1KB --timeout 3s --out down.zarr"
        done = crosscut(*words.split(), folder=unequal)
        assert done.returncode == 1
        assert "rank 2 on node n2: over eth1: " in done.stderr
