"""From fitting parts to a bill: numbers of parts, the cheapest equivalent, price steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from crosscut.base.errors import UsageError
from crosscut.pricing import bill, book
from crosscut.pricing.amounts import Interval
from crosscut.pricing.bill import NoPrice
from crosscut.pricing.plant import Plant, Wiring

HEAD = 'currency = "USD"\nyear = 2026\nsource = "a quote"\n'


def quotes(folder: Path, *parts: str, currency: str = "USD") -> book.Book:
    path = folder / f"quotes-{currency}.toml"
    head = HEAD.replace("USD", currency)
    path.write_text(head + "".join(f"[[part]]\n{part}\n" for part in parts), encoding="utf-8")
    return book.load(path)


def part(name: str, kind: str, price: str, more: str = "") -> str:
    return f'name = "{name}"\nkind = "{kind}"\nprice = {price}\n{more}'


def plant_of(
    nodes: int, switch_ports: Mapping[int, int], trunk_cables: int = 0, adapters_each: int = 1
) -> Plant:
    """A list of things to buy, without a network."""
    figures = {
        "name": "net", "kind": "clos", "file": "net.toml", "protocol": None, "bisection": None, "price": None,
        "counts": {"hosts": nodes, "adapters": adapters_each * nodes, "processors": nodes,
                   "switches": sum(switch_ports.values())},
    }  # fmt: skip
    made = Plant("net.toml", figures, nodes)
    vars(made)["wiring"] = Wiring(switch_ports, trunk_cables)
    vars(made)["traits"] = book.Traits("net", "clos", "", 1e9, 1)
    return made


def bought(plant: Plant, *books: book.Book) -> dict[str, float]:
    return {line.part: line.count for line in bill.bill(plant, books).lines}


def test_each_kind_of_part_is_counted_by_its_unit(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("box", "switch", '"10 USD"', "ports = 24"),
        part("adapter", "interface", '"1 USD"'),
        part("short", "cable", '"1 USD"', 'per = "host-cable"'),
        part("long", "cable", '"2 USD"', 'per = "trunk-cable"'),
        part("licence", "software", '"5 USD"'),
        part("support", "software", '"1 USD"', 'per = "port"'),
    )
    plant = plant_of(32, {24: 2, 16: 1}, trunk_cables=16, adapters_each=2)
    assert bought(plant, priced) == {
        "box": 3, "adapter": 64, "short": 64, "long": 16, "licence": 32, "support": 64,
    }  # fmt: skip


def test_for_every_switch_the_cheapest_box_with_enough_ports_is_bought(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("dear and small", "switch", '"100 USD"', "ports = 24"),
        part("cheap and large", "switch", '"90 USD"', "ports = 48"),
        part("large", "switch", '"500 USD"', "ports = 128"),
    )
    assert bought(plant_of(64, {20: 2, 48: 1, 49: 1}), priced) == {"cheap and large": 3, "large": 1}


@pytest.mark.parametrize(("ports", "cards"), [(1, 1), (36, 1), (37, 2), (288, 8)])
def test_a_chassis_gets_as_many_modules_as_the_ports_need(ports: int, cards: int, tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("chassis", "switch", '"1000 USD"', "slots = 8"),
        part("card", "module", '"200 USD"', 'of = "chassis"\nports = 36'),
    )
    assert bought(plant_of(ports, {ports: 1}), priced) == {"chassis": 1, "card": cards}


def test_a_price_steps_where_a_box_is_full_and_ends_where_the_largest_is(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("24", "switch", '"240 USD"', "ports = 24"),
        part("48", "switch", '"960 USD"', "ports = 48"),
    )
    costs = [bill.bill(plant_of(n, {n: 1}), [priced]).cost.low for n in (24, 25, 48)]
    assert costs == [240, 960, 960]
    with pytest.raises(NoPrice, match="a switch of 49 ports is needed, but the largest that fits net has 48"):
        bill.bill(plant_of(49, {49: 1}), [priced])


def test_ranges_of_prices_become_ranges_of_sums_and_shares(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("box", "switch", '["100 USD", "300 USD"]', "ports = 48"),
        part("adapter", "interface", '"10 USD"'),
        part("node", "node", '["40 USD", "60 USD"]'),
    )
    found = bill.bill(plant_of(10, {10: 1}), [priced])
    assert found.cost == Interval(200, 400)
    assert found.per_node == Interval(20, 40)
    assert found.whole == Interval(600, 1000)
    # The minimum is for cheap nodes and a dear network, the maximum for the reverse.
    assert found.nodes_share == Interval(400 / 800, 600 / 800)
    assert found.shares() == {
        "switches": Interval(0.5, 0.75),
        "interfaces": Interval(0.25, 0.5),
    }


def test_shares_add_up_to_all_of_the_network_s_cost_without_the_nodes(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("all in one", "port", '"850 USD"'),
        part("more", "interface", '"800 USD"'),
        part("soft", "software", '"70 USD"'),
        part("light", "optics", '"30 USD"', 'per = "port"'),
        part("node", "node", '"4000 USD"'),
    )
    shares = bill.bill(plant_of(64, {64: 1}), [priced]).shares()
    assert sum(share.low for share in shares.values()) == pytest.approx(1)
    assert set(shares) == {"undivided", "interfaces", "software", "cables"}


def test_a_given_node_price_replaces_the_book_s(tmp_path: Path) -> None:
    priced = quotes(tmp_path, part("box", "switch", '"1 USD"', "ports = 8"), part("n", "node", '"9 USD"'))
    assert bill.bill(plant_of(8, {8: 1}), [priced], Interval(5, 6)).node == Interval(5, 6)


def test_the_cheaper_quote_of_two_books_is_taken_unless_currencies_differ(tmp_path: Path) -> None:
    one = quotes(tmp_path, part("a", "switch", '"2 USD"', "ports = 8"))
    (tmp_path / "other").mkdir()
    two = quotes(tmp_path / "other", part("b", "switch", '"1 USD"', "ports = 8"))
    assert bought(plant_of(8, {8: 1}), one, two) == {"b": 1}
    euros = quotes(tmp_path, part("b", "switch", '"1 EUR"', "ports = 8"), currency="EUR")
    with pytest.raises(UsageError, match=r"in USD.*in EUR|in EUR.*in USD"):
        bill.bill(plant_of(8, {8: 1}), [one, euros])


def test_a_network_with_switches_for_which_no_switch_is_priced_has_no_price(tmp_path: Path) -> None:
    priced = quotes(tmp_path, part("adapter", "interface", '"1 USD"'))
    with pytest.raises(NoPrice, match="no switch fits net"):
        bill.bill(plant_of(8, {8: 1}), [priced])


def test_switches_are_bought_per_port_or_as_boxes_whichever_is_cheaper_and_possible(tmp_path: Path) -> None:
    priced = quotes(
        tmp_path,
        part("box", "switch", '"800 USD"', "ports = 48"),
        'name = "a port"\nkind = "switch"\nsteps = [{ up_to = 32, price = "20 USD" }]\n',
    )
    assert bought(plant_of(32, {32: 1}), priced) == {"a port": 32}
    assert bought(plant_of(40, {40: 1}), priced) == {"box": 1}
    with pytest.raises(NoPrice):
        bill.bill(plant_of(49, {49: 1}), [priced])
