"""Quantities in the forms that people write and read."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.base import units
from crosscut.base.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100", 100), ("1KB", 1000), ("1kb", 1000), ("64KiB", 65536), ("1.5MB", 1_500_000), ("2 GB", 2 * 10**9),
     ("1MiB", 2**20), ("1TB", 10**12), ("1TiB", 2**40), ("0", 0)],
)  # fmt: skip
def test_sizes_are_read_in_decimal_and_binary_units(text: str, expected: int) -> None:
    assert units.parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "-1", "1.5", "1PB", "1 M B", "1e400", "nan", "0x10", "9e30"])
def test_a_bad_size_is_named_in_the_error(text: str) -> None:
    with pytest.raises(UsageError, match=r"^'"):
        units.parse_bytes(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1 byte"), (9_999, "9,999 bytes"), (24 * 10**9, "24 GB (24,000,000,000 bytes)"),
     (2**21, "2.1 MB (2,097,152 bytes)")],
)  # fmt: skip
def test_exact_byte_counts_are_scaled_and_also_written_out(value: int, text: str) -> None:
    assert units.exact_bytes(value) == text


def test_a_size_that_is_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="twice"):
        units.parse_sizes("1KB,1000")


def test_times_shares_and_phases_are_read() -> None:
    assert units.parse_seconds("5ms") == pytest.approx(0.005)
    assert units.parse_seconds("2min") == 120
    assert units.parse_fraction("5%") == units.parse_fraction("0.05") == 0.05
    assert units.parse_phases("1-30") == (1, 30)
    assert units.parse_phases("7") == (7, 7)


@pytest.mark.parametrize("text", ["1e999s", "1e307h"])
def test_a_time_that_no_number_holds_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}' is too long a time"):
        units.parse_seconds(text)


@pytest.mark.parametrize("text", ["0-3", "5-2", "a", "1-2-3", "-1"])
def test_phases_count_from_one_and_upward(text: str) -> None:
    with pytest.raises(UsageError, match=text):
        units.parse_phases(text)


@pytest.mark.parametrize("text", ["101%", "2", "5ms", "%"])
def test_a_share_is_at_most_1(text: str) -> None:
    with pytest.raises(UsageError, match=text):
        units.parse_fraction(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(81.27e6, "81.3 MB/s"), (999.7e6, "1.00 GB/s"), (9.996e6, "10.0 MB/s"), (12, "12.0 B/s"), (0, "0 B/s"),
     (999.4, "999 B/s"), (float("nan"), "–")],
)  # fmt: skip
def test_rates_have_three_digits_and_a_readable_unit(value: float, expected: str) -> None:
    assert units.rate(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.234e-5, "12.3 µs"), (0.9999e-3, "1.00 ms"), (3.2e-9, "3.20 ns"), (75, "75.0 s")],
)
def test_times_have_three_digits_and_a_readable_unit(value: float, expected: str) -> None:
    assert units.seconds(value) == expected


def test_the_unit_fits_the_rounded_time() -> None:
    assert (units.seconds(9.96e-4, 2), units.seconds(9.94e-4, 2)) == ("1.0 ms", "990 µs")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_000_000, "1 MB"),
        (65536, "64 KiB"),
        (1500, "1.5 KB"),
        (1001, "1001 B"),
        (0, "0 B"),
        (2**20, "1 MiB"),
    ],
)
def test_sizes_are_written_exactly(value: int, expected: str) -> None:
    assert units.size(value) == expected


@given(st.integers(min_value=0, max_value=2**53))
def test_a_written_size_reads_back_unchanged(value: int) -> None:
    assert units.parse_bytes(units.size(value)) == value


@given(st.floats(min_value=1e-3, max_value=1e14))
def test_a_written_rate_is_within_half_of_its_last_digit(value: float) -> None:
    text, unit = units.rate(value, 4).replace(",", "").split()
    factor = {"B/s": 1.0, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}[unit]
    assert float(text) * factor == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (7, "7 B"), (4_194_304, "4.19 MB"), (2e12, "2 TB"), (1.56e16, "15,600 TB"), (math.inf, "–")],
)
def test_sizes_of_an_axis_have_three_digits(value: float, text: str) -> None:
    assert units.about_size(value) == text


def test_durations_grow_coarser_with_their_length() -> None:
    assert [units.duration(value) for value in (4.6, 12.2, 200, 7500)] == [
        "4.6 s", "12 s", "3 min 20 s", "2 h 05 min",
    ]  # fmt: skip


def test_a_wide_interval_leaves_few_digits() -> None:
    assert units.significant_digits(0.5) == 2
    assert units.significant_digits(0.05) == 3
    assert units.significant_digits(0.005) == 4
    assert units.significant_digits(float("nan")) == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("64", 64), ("007", 7), ("65", None), ("0", None), ("00064", 64), ("6400", None), ("٣", None),
     ("", None), ("-1", None), ("+1", None), (" 1", None), ("1.0", None), ("9" * 5000, None)],
)  # fmt: skip
def test_a_whole_number_has_only_digits_and_is_in_range(text: str, value: int | None) -> None:
    assert units.whole(text, 1, 64) == value
