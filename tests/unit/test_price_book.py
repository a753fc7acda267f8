"""Price books are read strictly: mistakes are reported with file and line, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crosscut.base import toml_fields
from crosscut.base.errors import UsageError
from crosscut.pricing import book
from crosscut.pricing.amounts import Interval, amount, parse_price, per_cent
from crosscut.pricing.book import Traits

HEAD = 'currency = "USD"\nyear = 2026\nsource = "a quote"\n'
GOOD = HEAD + '[[part]]\nname = "switch"\nkind = "switch"\nports = 24\nprice = "800 USD"\n'
NETWORK = Traits("leaf-spine", "clos", "TCP over Ethernet", 100e9, 1)


def load(text: str, folder: Path) -> book.Book:
    path = folder / "quotes.toml"
    path.write_text(text, encoding="utf-8")
    return book.load(path)


@pytest.mark.parametrize("name", ["kurmann-2003", "bode-2004", "template"])
def test_the_books_that_come_with_crosscut_can_be_read(name: str) -> None:
    assert book.load(book.find(name)).parts


def test_a_range_of_prices_stays_one(tmp_path: Path) -> None:
    text = HEAD + '[[part]]\nname = "a"\nkind = "node"\nprice = ["3 USD", "5 USD"]\n'
    assert load(text, tmp_path).parts[0].steps[0].price == Interval(3, 5)


def test_a_gap_between_two_steps_has_no_price(tmp_path: Path) -> None:
    text = HEAD + (
        '[[part]]\nname = "a"\nkind = "port"\nsteps = [\n  { up_to = 100, price = "10 USD" },\n'
        '  { from = 640, up_to = 1000, price = "20 USD" },\n]\n'
    )
    part = load(text, tmp_path).parts[0]
    assert [part.step(ports) is not None for ports in (1, 100, 101, 639, 640, 1000, 1001)] == [
        True, True, False, False, True, True, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fits", "does"),
    [
        ("", True),
        ('networks = ["leaf-*"]', True),
        ('networks = ["xibalba-*", "leaf-spine"]', True),
        ('networks = ["leaf"]', False),
        ('rate = "100 Gbit/s"', True),
        ('rate = "12.5 GB/s"', True),
        ('rate = "10 Gbit/s"', False),
        ('protocol = "TCP*"', True),
        ('protocol = "GM"', False),
        ("processors = 1", True),
        ("processors = 2", False),
        ('kind = "clos"', True),
        ('kind = "clos", processors = 2', False),
    ],
)
def test_a_part_fits_a_network_with_all_the_required_properties(
    fits: str, does: bool, tmp_path: Path
) -> None:
    part = load(GOOD + f"fits = {{ {fits} }}\n", tmp_path).parts[0]
    assert part.fits.network(NETWORK) is does


ADDED = 9  # the line after GOOD
MISTAKES = {
    "currncy = 1\n" + GOOD: (1, "currncy", "did you mean 'currency'"),
    GOOD.replace('currency = "USD"\n', ""): (1, "currency", "is missing"),
    GOOD.replace('"USD"', '"dollars"'): (1, "currency", "three capitals"),
    GOOD.replace("year = 2026\n", ""): (1, "year", "is missing"),
    GOOD.replace("2026", "26"): (2, "year", "whole number from 1,900"),
    GOOD.replace('source = "a quote"\n', ""): (1, "source", "is missing"),
    HEAD: (1, "", "has no parts"),
    GOOD.replace('kind = "switch"', 'kind = "swich"'): (6, "kind", "did you mean 'switch'"),
    GOOD.replace("800 USD", "800"): (8, "price", "is not a price"),
    GOOD.replace("800 USD", "-800 USD"): (8, "price", "not negative"),
    GOOD.replace("800 USD", "800 EUR"): (8, "price", "the book's currency is USD"),
    GOOD.replace('"800 USD"', "800"): (8, "price", "not a text in quotation marks"),
    GOOD.replace('"800 USD"', '["900 USD", "800 USD"]'): (8, "price", "lower price comes first"),
    GOOD.replace('"800 USD"', '["800 USD", "900 EUR"]'): (8, "price", "but the book's currency"),
    GOOD.replace('price = "800 USD"\n', ""): (4, "", "either price or steps"),
    GOOD + 'steps = [{ up_to = 3, price = "1 USD" }]\n': (8, "price", "either price or steps"),
    GOOD + "prots = 24\n": (ADDED, "prots", "did you mean 'ports'"),
    GOOD.replace("ports = 24", "ports = 0"): (7, "ports", "whole number from 1"),
    GOOD.replace("ports = 24", "ports = 24.0"): (7, "ports", "whole number"),
    GOOD + "slots = 4\n": (ADDED, "slots", "either ports or slots"),
    GOOD + 'per = "port"\n': (ADDED, "per", "bought whole"),
    GOOD + 'of = "x"\n': (ADDED, "of", "only modules"),
    GOOD + 'fits = { rates = "1 Gbit/s" }\n': (ADDED, "rates", "did you mean 'rate'"),
    GOOD + 'fits = { rate = "1 Gbit" }\n': (ADDED, "rate", "is not a rate"),
    GOOD + 'fits = { networks = "leaf" }\n': (ADDED, "networks", "is not a list"),
    GOOD + '[[part]]\nname = "switch"\nkind = "node"\nprice = "1 USD"\n': (ADDED + 1, "name", "line 5"),
    GOOD + '[[part]]\nname = "m"\nkind = "module"\nports = 8\nprice = "1 USD"\n':
        (ADDED, "of", "its switch"),
    GOOD + '[[part]]\nname = "m"\nkind = "module"\nports = 8\nof = "switch"\nprice = "1 USD"\n':
        (ADDED + 4, "of", "no switch with slots"),
    GOOD + '[[part]]\nname = "c"\nkind = "switch"\nslots = 8\nprice = "1 USD"\n':
        (ADDED + 3, "slots", "no module"),
    GOOD + '[[part]]\nname = "a"\nkind = "port"\nsteps = [\n{ up_to = 9, price = "1 USD" },\n'
           '{ up_to = 9, price = "2 USD" },\n]\n': (12, "steps", "[[steps]] 2, key 'up_to': from 10 up to 9"),
    GOOD + 'price = "1 USD"\n': (ADDED, "", "not TOML"),
    GOOD.replace("a quote", "a\\u001b[2Jquote"): (3, "source", "printable characters"),
    GOOD.replace('"switch"\nkind', '""\nkind'): (5, "name", "is empty"),
    GOOD + "what is this\n": (ADDED, "", "not TOML"),
}  # fmt: skip


@pytest.mark.parametrize(
    "text", MISTAKES, ids=[f"{key or what}-{what}"[:50] for _, key, what in MISTAKES.values()]
)
def test_a_mistake_is_reported_with_file_line_and_key(text: str, tmp_path: Path) -> None:
    line, key, what = MISTAKES[text]
    with pytest.raises(UsageError) as caught:
        load(text, tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'quotes.toml'}:{line}: ")
    assert key in said
    assert what in said


def test_a_book_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(UsageError, match=r"'kurman'.*bode-2004, kurmann-2003"):
        book.find("kurman")


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a = " + b"[" * 5000, b"#" * (1 << 21)])
def test_a_file_that_is_not_a_book_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.toml"):
        book.load(path)


VALUES = st.sampled_from(
    [
        "0",
        "-1",
        "true",
        '""',
        '"1 USD"',
        '"1e9 USD"',
        "[]",
        "{}",
        "[1]",
        '["1 USD"]',
        "1979-05-27",
        "nan",
        "'x'",
    ]
)


@given(
    key=st.sampled_from(sorted(toml_fields.keys(book.Part) | toml_fields.keys(book.Book))),
    value=VALUES,
    at=st.integers(0, 8),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_book_is_read_or_refused(key: str, value: str, at: int, tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    lines = [line for line in lines if not line.startswith(f"{key} ")]
    lines.insert(min(at, len(lines)), f"{key} = {value}")
    try:
        assert load("\n".join(lines), tmp_path).parts
        said = "quotes.toml:"
    except UsageError as error:
        said = str(error)
    assert "quotes.toml:" in said


@pytest.mark.parametrize(
    ("text", "low", "high"), [("818 USD", 818, 818), ("43.50 USD", 43.5, 43.5), ("200-300 USD", 200, 300)]
)
def test_amounts_are_read_as_written(text: str, low: float, high: float) -> None:
    assert parse_price(text) == (Interval(low, high), "USD")


@pytest.mark.parametrize(
    "text", ["", "818", "USD", "818 usd", "1e9 USD", "3-2 USD", "9999999999999 USD", "1 USD 2"]
)
def test_an_invalid_amount_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_price(text)


def test_per_cent_are_rounded_as_in_print_and_show_undecided_rounding() -> None:
    assert per_cent(Interval(0.795, 0.8049)) == "80"
    assert per_cent(Interval(0.7949, 0.8)) == "79–80"


def test_amounts_show_cents_only_where_they_count() -> None:
    shown = [amount(Interval(value, value)) for value in (145.02, 43.5, 18.0, 104_704.0000003, 999.999)]
    assert shown == ["145.02", "43.50", "18", "104,704", "1,000"]
