"""Dollars per MFlop, only from the output of `crosscut workload hpl --json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crosscut.base.errors import UsageError
from crosscut.pricing import mix, performance, performing
from crosscut.pricing.amounts import Interval
from crosscut.pricing.asking import Priced
from crosscut.pricing.bill import Bill, BillLine
from crosscut.pricing.performance import Worth
from crosscut.workloads.hpl import output
from crosscut.workloads.hpl import report as telling
from crosscut.workloads.hpl.run import HplRun

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "hpl" / "hpccoutf.txt"


def written(folder: Path, name: str = "hpl.json", hosts: int = 4, **other: Any) -> Path:
    """Writes the command's JSON for a real output of hpcc, with some members changed."""
    value = telling.as_json(HplRun("lab:net.toml", hosts, output.load(GOLDEN))) | other
    file = folder / name
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def bill(node: Interval | None) -> Bill:
    line = BillLine("switch", "switch", 1, Interval(1000, 1000), "a book")
    return Bill("net", 4, "USD", (line,), node, 1)


def test_a_result_of_hpl_is_read(tmp_path: Path) -> None:
    file = written(tmp_path)
    found = performance.load(file)
    assert found == performance.Performance(file, 4, 4, 500, 233.5e6, Interval(203.1e6, 264.5e6))


def test_a_range_of_rates_and_of_prices_is_one_of_dollars_per_mflop(tmp_path: Path) -> None:
    """233.5 MFlop/s, between 203.1 and 264.5; network 1,000 USD, four nodes at 100 to 200 USD each."""
    worth = Worth(Priced("net", 4, bill(Interval(100, 200)), ()), performance.load(written(tmp_path)))
    assert worth.network == Interval(pytest.approx(1000 / 264.5), pytest.approx(1000 / 203.1))
    assert worth.whole == Interval(pytest.approx(1400 / 264.5), pytest.approx(1800 / 203.1))


def test_without_a_price_of_nodes_the_whole_has_none(tmp_path: Path) -> None:
    found = performance.load(written(tmp_path))
    assert Worth(Priced("net", 4, bill(None), ()), found).whole is None
    assert Worth(Priced("net", 4, None, (), "too large"), found).network is None


def test_files_are_matched_to_networks_by_name_or_to_the_only_one(tmp_path: Path) -> None:
    one, other = written(tmp_path, "a=b.json"), written(tmp_path, "c.json")
    assert performance.assigned([str(one)], ["net"])["net"].file == one
    found = performance.assigned([f"x={one}", f"y={other}"], ["x", "y", "z"])
    assert {name: own.file for name, own in found.items()} == {"x": one, "y": other}
    with pytest.raises(UsageError, match="for which network"):
        performance.assigned([str(one)], ["x", "y"])
    with pytest.raises(UsageError, match="x has one already"):
        performance.assigned([f"x={one}", f"x={other}"], ["x", "y"])


def test_a_network_is_priced_for_the_nodes_it_was_measured_on(tmp_path: Path) -> None:
    known, unknown = performance.load(written(tmp_path)), performance.load(written(tmp_path, "u", hosts=0))
    assert performance.nodes_of(known, None) == performance.nodes_of(known, (4,)) == 4
    assert performance.nodes_of(unknown, (16,)) == 16
    for measured, asked in ((known, (8,)), (unknown, None), (unknown, (8, 16))):
        with pytest.raises(UsageError, match="--nodes"):
            performance.nodes_of(measured, asked)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"verified": False}, "its residual check failed"),
        ({"verified": "yes"}, "its residual check failed"),
        ({"schema": None}, "is not a result of"),
        ({"schema": {"name": "crosscut-price", "version": 1}}, "is not a result of"),
        ({"schema": {"name": "crosscut-hpl", "version": 2}}, "is version 2, not 1"),
        ({"flops_per_second": 5}, "flops_per_second is not an object"),
        ({"flops_per_second": {"minimum": 1, "median": 0, "maximum": 2}}, "median is 0, not a rate"),
        ({"flops_per_second": {"minimum": 1, "median": True, "maximum": 2}}, "median is true"),
        ({"flops_per_second": {"minimum": 3, "median": 2, "maximum": 1}}, "not in that order"),
        ({"flops_per_second": {"minimum": 1, "median": 1, "maximum": 10**400}}, "not a rate"),
        ({"hosts": -1}, "hosts is -1"),
        ({"hosts": "4"}, 'hosts is "4", not a number'),
        ({"ranks": "\x1b[2J"}, r'ranks is "\\u001b\[2J"'),
        ({"ranks": None}, "ranks is null"),
    ],
)
def test_an_invalid_result_is_refused(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=rf"hpl\.json: .*{said}"):
        performance.load(written(tmp_path, **changed))


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b"\xff", b"[" * 100_000, b'{"schema": []}'])
def test_json_that_is_not_an_object_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"x: .*crosscut workload hpl --json"):
        performance.load(file)


def test_a_file_too_large_for_a_result_is_refused_not_truncated(tmp_path: Path) -> None:
    file = written(tmp_path)
    with file.open("ab") as stream:
        stream.truncate(performance.LARGEST_FILE_BYTES + 1)
    with pytest.raises(UsageError, match=r"larger than 16 MiB.*crosscut workload hpl --json"):
        performance.load(file)


def test_in_a_mix_half_the_rate_is_twice_the_time(tmp_path: Path) -> None:
    rates = {"minimum": 1e9, "median": 2e9, "maximum": 4e9}
    written(tmp_path, "fast.json", flops_per_second=rates)
    written(tmp_path, "slow.json", flops_per_second={key: rate / 2 for key, rate in rates.items()})
    file = tmp_path / "mix.toml"
    file.write_text('[[work]]\nname = "Linpack"\nhpl = { a = "fast.json", b = "slow.json" }\n')
    (work,) = mix.load(file).works

    class Site:
        name, ranks = "a", 4

    fast = performing.computed(work, Site())  # type: ignore[arg-type]  # of a site it looks at these alone
    assert fast == Interval(250.0, 1000.0)
    Site.name = "b"
    assert performing.computed(work, Site()) == Interval(500.0, 2000.0)  # type: ignore[arg-type]
    Site.ranks = 8
    with pytest.raises(UsageError, match="has 4 ranks, but the mix has 8"):
        performing.computed(work, Site())  # type: ignore[arg-type]
    Site.name = "c"
    with pytest.raises(UsageError, match="has nothing for c, only for a, b"):
        performing.computed(work, Site())  # type: ignore[arg-type]
