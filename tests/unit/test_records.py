"""Records to JSON and back: missing members, values that are not numbers, errors."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pytest

from crosscut.base import records


class Colour(Enum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    name: str
    rate: float = math.nan
    parts: tuple[Part, ...] = ()
    colour: Colour | None = None
    by_rank: tuple[float, ...] = ()


def test_a_record_comes_back_from_json_as_it_was() -> None:
    whole = Part("a", 1.5, (Part("b", 2.5, (), Colour.RED, (1.0, 0.5)),))
    text = json.dumps(records.plain(whole), allow_nan=False)
    again = records.parse(json.loads(text), Part)
    assert again == whole
    assert json.dumps(records.plain(again)) == text


def test_numbers_that_are_not_finite_are_null() -> None:
    found = records.plain(Part("a", math.inf, by_rank=(math.nan, np.float64(2.0))))
    assert (found["rate"], found["by_rank"]) == (None, [None, 2.0])


def test_null_means_absent_and_in_a_list_nan() -> None:
    found = records.parse({"name": "a", "rate": None, "colour": None, "by_rank": [None, 1]}, Part)
    assert math.isnan(found.rate)
    assert found.colour is None
    assert math.isnan(found.by_rank[0])


def deep(levels: int) -> dict[str, Any]:
    part: dict[str, Any] = {"name": "a"}
    for _ in range(levels):
        part = {"name": "a", "parts": [part]}
    return part


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"name": None}, "missing required field `name`"),
        ({"name": "a", "rate": True}, r"`\$\.rate`"),
        ({"name": "a", "rate": 10**400}, r"`\$\.rate`"),
        ({"name": "a", "parts": [{"name": 1}]}, r"`\$\.parts\[0\]\.name`"),
        ({"name": "a", "colour": "\x1b[2J"}, r"'\\x1b\[2J' - at `\$\.colour`"),
        ([], "Expected `object`"),
        (deep(100_000), "too deeply"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(value: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        records.parse(value, Part)
