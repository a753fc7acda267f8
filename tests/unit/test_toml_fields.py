"""Tables of TOML files become dataclasses; anything that does not fit is refused with its line and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosscut.base import toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import (
    DERIVED,
    NO_TABLE,
    Between,
    FilledLine,
    Key,
    OneOf,
    Raw,
    Scalars,
    Table,
    Writing,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


def _length(value: object) -> int:
    if not isinstance(value, list):
        raise UsageError("no list")
    return len(value)


@dataclass(frozen=True)
class Paint:
    coats: Annotated[int, Between(1, 9)] = 1
    colour: Colour = Colour.RED


@dataclass(frozen=True, kw_only=True)
class Wheel:
    name: FilledLine
    bytes_each: Annotated[int, Key("size"), units.parse_bytes] = 0
    spans: tuple[Annotated[tuple[int, int], Between(0, 9)], ...] = ()
    at: Table = NO_TABLE


@dataclass(frozen=True, kw_only=True)
class Cart:
    kind: Annotated[str, OneOf(("hand", "horse"))]
    weight: Annotated[float, Between(0, 1e3)] | None = None
    loads: Annotated[tuple[float, ...], Writing.ONE_OR_MORE, Between(0, 10)] = ()
    plan: Path | None = None
    plans: Mapping[str, Path] = field(default_factory=dict)
    options: Scalars = field(default_factory=dict)
    length: Annotated[int, Raw(_length)] = 0
    inner: Paint = Paint()
    outer: Annotated[Paint | None, Writing.SAME_TABLE] = None
    wheels: Annotated[tuple[Wheel, ...], Key("wheel")] = ()
    derived: Annotated[int, DERIVED] = 0


def cart(text: str) -> Cart:
    return toml_fields.parse(text, Path("folder/cart.toml")).read(Cart)


def test_every_kind_of_field_is_read() -> None:
    read = cart(
        'kind = "hand"\nweight = 3\nloads = 2\nplan = "a.svg"\nplans = { b = "../b" }\nlength = [1, 2]\n'
        'options = { a = true, b = 3, c = "x" }\ncolour = "blue"\ninner = { coats = 2 }\n'
        '[[wheel]]\nname = "left"\nsize = "2KB"\nspans = [[0, 9]]\n'
    )
    assert (read.kind, read.weight, read.loads, read.length) == ("hand", 3.0, (2.0,), 2)
    assert (read.plan, read.plans) == (Path("folder/a.svg"), {"b": Path("folder/../b")})
    assert read.options == {"a": "true", "b": "3", "c": "x"}
    assert (read.inner, read.outer) == (Paint(2), Paint(1, Colour.BLUE))
    (wheel,) = read.wheels
    assert (wheel.name, wheel.bytes_each, wheel.spans, wheel.at.line("size")) == ("left", 2000, ((0, 9),), 12)


def test_missing_keys_have_their_defaults() -> None:
    assert cart('kind = "horse"\n') == Cart(kind="horse")


HUGE = "0x" + "f" * 10_000
WHEEL = '[[wheel]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("weigth = 1", "2: key 'weigth': there is no such key; did you mean 'weight'?"),
        ("derived = 1", "2: key 'derived': there is no such key"),
        ("weight = true", "2: key 'weight': True is not a number"),
        ("weight = nan", "2: key 'weight': nan is out of range; it must be from 0 to 1000"),
        ("weight = 1" + "0" * 400, "2: key 'weight': 1000"),
        (f"weight = {HUGE}", "2: key 'weight': a number with too many digits"),
        (f"options = {{ a = {HUGE} }}", "2: [options], key 'a': a number with too many digits"),
        ("weight = 1" + "0" * 5000, " a number in it has too many digits"),
        ("loads = [1, 11]", "2: key 'loads': 11 is out of range"),
        ("loads = [" + "1," * 5000 + "]", "2: key 'loads': has 5000 entries; at most 4096"),
        ("options = 3", "2: key 'options': is not a table"),
        ("options = { a = 0.5 }", "2: [options], key 'a': 0.5 is not a text, a whole number, true or false"),
        ("inner = { coats = 0 }", "2: [inner], key 'coats': 0 is not a whole number from 1 to 9"),
        ('colour = "bleu"', "2: key 'colour': 'bleu' is unknown; did you mean 'blue'?"),
        ("plan = 3", "2: key 'plan': 3 is not a text in quotation marks"),
        ("plan = '~nobody-here/a'", "2: key 'plan': '~nobody-here/a': there is no such user here"),
        ('plan = "\\u0000"', "2: key 'plan': has a character that cannot be printed"),
        ("plan = '" + "x" * 100_001 + "'", "2: key 'plan': 'xxx"),
        ("wheel = [3]", "2: key 'wheel': [3] is not a list of tables; write [[wheel]]"),
        ("[[wheel]]\nsize = '1B'", "2: [[wheel]] 1, key 'name': is missing"),
        ("[[wheel]]\nname = ' '", "3: [[wheel]] 1, key 'name': is empty"),
        ('[[wheel]]\nname = "\\u001b"', "3: [[wheel]] 1, key 'name': write one line"),
        (WHEEL + "size = '1 mile'", "4: [[wheel]] 1, key 'size': '1 mile': unknown unit"),
        (WHEEL + "spans = [[1, 2, 3]]", "4: [[wheel]] 1, key 'spans': [1, 2, 3] is not a list of 2"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_key(added: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        cart(f'kind = "hand"\n{added}\n')
    assert str(refused.value).startswith(f"folder/cart.toml:{said}")


def test_a_duplicate_name_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^folder/cart.toml:5: \[\[wheel\]\] 2, key 'name': .* already .* line 3;"
    ):
        toml_fields.check_apart(cart(f'kind = "hand"\n{WHEEL}{WHEEL}').wheels)


VALUES = st.recursive(
    st.sampled_from(["0", "-1", "true", '""', "'1'", "nan", "1e999", HUGE, "1979-05-27", "07:32:00"]),
    lambda inner: st.lists(inner, max_size=2).map(lambda found: f"[{', '.join(found)}]")
    | inner.map(lambda one: f"{{ name = {one} }}"),
)


@given(key=st.sampled_from(sorted(toml_fields.keys(Cart))), value=VALUES)
def test_any_value_of_a_key_is_read_or_refused(key: str, value: str) -> None:
    try:
        first = "" if key == "kind" else "kind = 'hand'"
        cart(f"{first}\n{key} = {value}\n")
        said = "folder/cart.toml:2: "
    except UsageError as error:
        said = str(error)
    assert said.startswith("folder/cart.toml:2: ")
