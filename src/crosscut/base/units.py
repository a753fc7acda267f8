"""Quantities as people write and read them.

Rates are bytes per second and direction; 1 MB = 10^6 bytes. The core parses parameters by the same rules
(core/src/program/parameters.hpp); this module parses only the options that Python itself must understand.
"""

from __future__ import annotations

import math
import re

from crosscut.base.errors import UsageError

_BYTES = {
    "": 1, "b": 1,
    "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9,
    "t": 10**12, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SECONDS = {"": 1.0, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµ%]*)\s*")
LARGEST_BYTES = 2**53  # exact in a double, in which the core holds sizes


def _split(text: str, what: str, example: str) -> tuple[str, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise UsageError(f"'{text}' is not {what}; write for example {example}")
    return match[1], match[2].lower()


def parse_bytes(text: str) -> int:
    """Parses a size: `1.5MB` is 1500000. KB, MB, GB are 10^3 and up; KiB, MiB, GiB are 2^10 and up."""
    if text.strip().endswith(("Kb", "Mb", "Gb", "Tb")):
        raise UsageError(f"'{text}': {text.strip()[-2:]} are bits; a size is in bytes, such as 1MB")
    number, unit = _split(text, "a size", "1MB, 64KiB or 100")
    if unit not in _BYTES:
        raise UsageError(
            f"'{text}': unknown unit; sizes end in B, KB, MB, GB, TB (or K, M, G, T: powers of 1000), "
            "KiB, MiB, GiB or TiB (powers of 1024)"
        )
    value = float(number) * _BYTES[unit]
    if value > LARGEST_BYTES:
        raise UsageError(f"'{text}' is too large a size")
    if value != int(value):
        raise UsageError(f"'{text}' is not a whole number of bytes")
    return int(value)


def whole(text: str, least: int, most: int) -> int | None:
    """Returns the whole number that `text` is, in digits alone; None if it is none or out of range."""
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        return None  # int() raises ValueError for thousands of digits
    return value if least <= (value := int(text)) <= most else None


def parse_sizes(text: str) -> tuple[int, ...]:
    """Parses a comma-separated list of sizes, and keeps its order. Refuses a size given twice."""
    sizes = tuple(parse_bytes(part) for part in text.split(","))
    if len(set(sizes)) != len(sizes):
        raise UsageError(f"'{text}' names a size twice")
    return sizes


def parse_seconds(text: str) -> float:
    """Parses a time: `5ms` is 0.005. Units: ns, us, ms, s, min, h; a bare number is seconds."""
    number, unit = _split(text, "a time", "30s, 5ms or 10min")
    if unit not in _SECONDS:
        raise UsageError(f"'{text}': unknown unit; times end in ns, us, ms, s, min or h")
    if math.isinf(value := float(number) * _SECONDS[unit]):
        raise UsageError(f"'{text}' is too long a time")
    return value


def parse_fraction(text: str) -> float:
    """Parses a share: `5%` and `0.05` are 0.05."""
    number, unit = _split(text, "a share", "5% or 0.05")
    value = float(number) / (100 if unit == "%" else 1)
    if unit not in ("", "%") or not 0 <= value <= 1:
        raise UsageError(f"'{text}' is not a share; write for example 5% or 0.05 (at most 1, or 100%)")
    return value


def parse_phases(text: str) -> tuple[int, int]:
    """Parses a range of phases, `1-30`, or one phase, `7`; phases count from 1."""
    match = re.fullmatch(r"\s*([0-9]{1,15})(?:\s*-\s*([0-9]{1,15}))?\s*", text)
    if match is None:
        raise UsageError(f"'{text}' is not a range of phases; write for example 1-30")
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last:
        raise UsageError(f"'{text}': phases count from 1, and the first may not come after the last")
    return first, last


def _digits(value: float, significant: int) -> str:
    """Formats in fixed point with `significant` digits; a longer integer part is padded with zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    rounded = float(f"{value:.{significant - 1}e}")  # round first, so that 9.996 counts as 10.0
    decimals = max(0, significant - 1 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:,.{decimals}f}" if rounded >= 10_000 else f"{rounded:.{decimals}f}"


_RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "KB/s"), (1.0, "B/s"))
_COUNTS = ((1e6, " million"), (1e3, " thousand"), (1.0, ""))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def _unit(value: float, table: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    # 0.9995: a value that would print as 1000 of the smaller unit is 1.00 of the larger.
    return next((entry for entry in table if abs(value) >= 0.9995 * entry[0]), table[-1])


def rate_unit(bytes_per_second: float) -> tuple[float, str]:
    """Returns (factor, name) of a unit in which a rate reads well, for a whole table or axis."""
    return _unit(bytes_per_second, _RATES)


def time_unit(seconds: float) -> tuple[float, str]:
    """Returns (factor, name) of a unit in which a time reads well."""
    return _unit(seconds, _TIMES)


def number(value: float, unit: tuple[float, str], significant: int = 3) -> str:
    """Formats a number without its unit, for a column of a table or an axis."""
    return _digits(value / unit[0], significant)


def rate(bytes_per_second: float, significant: int = 3) -> str:
    """Formats a rate: `81.3 MB/s`."""
    return _in(rate_unit(_rounded(bytes_per_second, significant)), bytes_per_second, significant)


_BIT_RATES = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


def message_rate(per_second: float, *, short: bool = False) -> str:
    """`3.91 million messages/s`, `512 messages/s`; `short`: `3.91 million`"""
    unit = _unit(per_second, _COUNTS)
    return f"{number(per_second, unit)}{unit[1]}{'' if short else ' messages/s'}"


def bit_rate(bits_per_second: float) -> str:
    """Formats a bit rate as network files write it, without trailing zeros: `100 Mbit/s`."""
    if not math.isfinite(bits_per_second):
        return "–"
    factor, name = _unit(bits_per_second, _BIT_RATES)
    return f"{float(f'{bits_per_second / factor:.4g}'):,g} {name}"


def seconds(value: float, significant: int = 3) -> str:
    """Formats a time: `12.3 µs`."""
    return _in(time_unit(_rounded(value, significant)), value, significant)


def _rounded(value: float, significant: int) -> float:
    return float(f"{value:.{significant}g}")


def _in(unit: tuple[float, str], value: float, significant: int) -> str:
    return f"{number(value, unit, significant)} {unit[1]}" if math.isfinite(value) else "–"


def size(value: float) -> str:
    """Formats a size exactly, in the unit that needs fewest digits: `1 MB`, `64 KiB`, `1.5 KB`, `1001 B`."""
    if value != int(value):
        return f"{_digits(value, 4)} B"
    exact = int(value)
    candidates = [f"{exact} B"]
    for name in ("KB", "MB", "GB", "KiB", "MiB", "GiB"):
        factor = _BYTES[name.lower()]
        text = f"{exact / factor:g}"
        if exact >= factor and "e" not in text and float(text) * factor == exact and len(text) <= 5:
            candidates.append(f"{text} {name}")
    return min(candidates, key=lambda text: len(text.replace("iB", "B").split()[0]))


def exact_bytes(value: int) -> str:
    """Formats `24 GB (24,000,000,000 bytes)`, for messages in which each byte may matter."""
    plain = count(value, "byte")
    return plain if value < 10_000 else f"{about_size(value)} ({plain})"


def about_size(value: float) -> str:
    """Formats a size to three digits, for an axis: `4.19 MB`."""
    if not math.isfinite(value):
        return "–"
    factor, name = _unit(value, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")))
    digits = 3 if value >= 100 else len(f"{value:.0f}")
    return f"{float(f'{value / factor:.{digits}g}'):,g} {name}"


def duration(value: float) -> str:
    """Formats a length of time to wait: `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if not math.isfinite(value) or value < 0:
        return "unknown"
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def percent(share: float) -> str:
    """Formats a share: `4.2 %`, `37 %`, `0.03 %`; less than a ten-thousandth of a percent is only said."""
    return "under 0.0001 %" if 0 < share < 1e-6 else f"{_digits(100 * share, 2 if share < 1 else 3)} %"


def count(number_of: int, noun: str, plural: str = "") -> str:
    """Formats a count with its noun: `1 rank`, `8 ranks`."""
    return f"{number_of:,} {noun if number_of == 1 else plural or noun + 's'}"


def spans(low: float, high: float) -> bool:
    """Returns True if an interval is known and wider than rounding: computed values may not vary."""
    return math.isfinite(low + high) and not math.isclose(low, high, rel_tol=1e-6)


def significant_digits(relative_width: float) -> int:
    """Returns the digits to show for an interval this wide (relative): one beyond the first blurred."""
    if not math.isfinite(relative_width):
        return 3
    if relative_width <= 0:
        return 4
    return min(4, max(2, math.ceil(-math.log10(relative_width / 2)) + 1))
