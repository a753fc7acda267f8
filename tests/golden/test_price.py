"""`crosscut price` reproduces printed prices and ratios from catalogue networks and price books."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from crosscut.cli import main
from crosscut.network import description
from crosscut.pricing import asking
from crosscut.pricing.amounts import Interval, per_cent
from crosscut.pricing.bill import Bill

PRINTED = tomllib.loads((Path(__file__).parent / "published" / "prices.toml").read_text(encoding="utf-8"))
KURMANN = [(name, entry) for entry in PRINTED["kurmann"] for name in entry["networks"]]
BODE = [
    (name, int(nodes), tuple(usd)) for name, entry in PRINTED["bode"].items() for nodes, usd in entry.items()
]


def bill_of(name: str, nodes: int | None = None) -> Bill:
    found = asking.price(name, nodes, [], None)
    assert found.bill is not None, found.reason
    assert found.books, "by a price book, not by the network's own file"
    return found.bill


def whole(amount: Interval) -> tuple[int, int]:
    return round(amount.low), round(amount.high)


@pytest.mark.parametrize(("name", "printed"), KURMANN, ids=[name for name, _ in KURMANN])
def test_kurmann_s_table_1_comes_out_to_the_digit(name: str, printed: dict[str, list[int]]) -> None:
    """At both ends of the book's price range for a node."""
    share = bill_of(name).nodes_share
    assert share is not None
    nodes, network_share = printed["nodes_and_network"]
    assert share.low < share.high
    assert per_cent(share) == str(nodes)
    assert per_cent(Interval(1 - share.high, 1 - share.low)) == str(network_share)


@pytest.mark.parametrize(("name", "printed"), KURMANN, ids=[name for name, _ in KURMANN])
def test_kurmann_s_table_2_comes_out_to_the_digit(name: str, printed: dict[str, list[int]]) -> None:
    shares = bill_of(name).shares()
    assert list(shares) == ["switches", "cables", "interfaces"]
    assert [per_cent(share) for share in shares.values()] == [str(part) for part in printed["parts"]]


@pytest.mark.parametrize(("name", "printed"), KURMANN, ids=[name for name, _ in KURMANN])
def test_kurmann_s_port_prices_come_out_to_the_dollar(name: str, printed: dict[str, int]) -> None:
    bill = bill_of(name)
    assert whole(bill.per_node) == (printed["port_usd"],) * 2
    processors = bill.nodes * bill.processors
    assert processors == 128
    if "processor_usd" in printed:
        assert whole(bill.cost.times(1 / processors)) == (printed["processor_usd"],) * 2


def test_nodes_e7_and_maintenance_are_about_kurmann_s_500_000_dollars() -> None:
    e7, maintenance = bill_of("xibalba-e7-config1"), bill_of("xibalba-maintenance")
    assert e7.whole is not None
    cluster = e7.whole + maintenance.cost
    assert cluster.low == pytest.approx(500_000, rel=0.005)
    assert cluster.high == pytest.approx(500_000, rel=0.025)


@pytest.mark.parametrize(("name", "nodes", "usd"), BODE, ids=[f"{name}-at-{n}" for name, n, _ in BODE])
def test_bode_s_prices_per_port_come_out_to_the_dollar(name: str, nodes: int, usd: tuple[int, int]) -> None:
    assert whole(bill_of(name, nodes).per_node) == usd


@pytest.mark.parametrize(("name", "most"), PRINTED["bode_most"].items())
def test_beyond_the_largest_network_that_bode_prices_there_is_no_price(name: str, most: int) -> None:
    found = asking.price(name, most + 1, [], None)
    assert found.bill is None
    assert f"no price for {most + 1:,} ports" in found.reason


def test_the_command_prints_the_paper_s_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["price", "xibalba-er16"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "per node 818 USD nodes : network 80 : 20 switches : cables : interfaces 92 : 2 : 5" in said


def test_the_table_in_the_documentation_has_the_paper_s_figures() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto-price.md").read_text(encoding="utf-8")
    for entry in PRINTED["kurmann"]:
        nodes, network_share = entry["nodes_and_network"]
        parts = " : ".join(map(str, entry["parts"]))
        assert f"| {entry['port_usd']} | {nodes} : {network_share} | {parts} |" in page


def test_one_price_of_a_node_fits_all_ratios_of_table_1_and_the_book_has_it() -> None:
    """A ratio s gives an interval, p (100 - s) / s for s ± 0.5 per cent, where p is the price per port."""
    single = [entry for entry in PRINTED["kurmann"] if "processor_usd" not in entry]
    assert len(single) == 4
    ends = [
        [entry["port_usd"] * (100 - share) / share for share in (network_share + 0.5, network_share - 0.5)]
        for entry in single
        for network_share in [entry["nodes_and_network"][1]]
    ]
    least, most = max(low for low, _ in ends), min(high for _, high in ends)
    assert (round(least), round(most)) == (3270, 3360)  # as the book says
    node = bill_of("xibalba-er16").node
    assert node is not None
    assert least <= node.low < node.high <= most
    assert node.high - node.low > 0.95 * (most - least)


def test_no_price_of_a_node_would_fit_if_the_port_price_were_the_switch_s_alone() -> None:
    """Shows that a port's price includes adapter, cable and switch."""
    ends = []
    for entry in PRINTED["kurmann"][:3]:
        port = entry["port_usd"] / (entry["parts"][0] / 100)
        share = entry["nodes_and_network"][1]
        ends.append([port * (100 - s) / s for s in (share + 0.5, share - 0.5)])
    assert max(low for low, _ in ends) > min(high for _, high in ends)


def test_every_catalogue_network_that_these_papers_price_has_its_price_from_a_book() -> None:
    named = [
        name for name in description.catalogue_names() if name.startswith(("xibalba-e7-config", "bode-"))
    ]
    assert len(named) >= 19
    assert not {name for name in named if not asking.price(name, None, [], None).bill}
