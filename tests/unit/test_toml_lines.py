"""Lines of tables and keys, in every form that TOML allows."""

from __future__ import annotations

import tomllib

import pytest

from crosscut.base import toml_lines

TEXT = '''\
# [no] = 1
title = "a [b] = c # d"
x.y = 1
"q r".'s=t' = 2
list = [
  1,  # ]
  "]", { k = 1 },
]
long = """
[no]
k = \\"""
"""
raw = \'\'\'[[no]]
k = 1\'\'\'

[lab]
dilation = 2
[[series]]
a = { b = 1, c = [1] }
[series.parameters]
p = 1
  [[ series ]]  # the second
  a = 1
[series."a ] b"]
c = 1
[[series.inner]]
d = 1
[[series.inner]]
d = 2
'''


def line(*where: str | int) -> int:
    tomllib.loads(TEXT)
    return toml_lines.lines(TEXT).of(where)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (("title",), "title ="),
        (("x", "y"), "x.y"),
        (("q r", "s=t"), '"q r"'),
        (("list",), "list ="),
        (("raw",), "raw ="),
        (("lab",), "[lab]"),
        (("lab", "dilation"), "dilation ="),
        (("series", 0), "[[series]]"),
        (("series", 0, "a"), "a = {"),
        (("series", 0, "parameters"), "[series.parameters]"),
        (("series", 0, "parameters", "p"), "p = 1"),
        (("series", 1), "[[ series ]]"),
        (("series", 1, "a"), "a = 1"),
        (("series", 1, "a ] b", "c"), "c = 1"),
        (("series", 1, "inner", 1, "d"), "d = 2"),
    ],
)
def test_a_key_is_found_on_its_line(where: tuple[str | int, ...], said: str) -> None:
    assert TEXT.splitlines()[line(*where) - 1].strip().startswith(said)


def test_a_missing_key_is_reported_at_its_table() -> None:
    assert line("series", 1, "message") == line("series", 1)
    assert line("series", 0, "a", "b") == line("series", 0, "a")
    assert line("nothing") == 1


def test_text_that_looks_like_a_table_is_not_one() -> None:
    assert line("no") == 1
    assert line("k") == 1


def test_line_ends_of_all_systems_are_recognised() -> None:
    windows = TEXT.replace("\n", "\r\n")
    tomllib.loads(windows)
    assert toml_lines.lines(windows).of(("series", 1, "a")) == line("series", 1, "a")


def test_characters_that_end_a_line_only_elsewhere_do_not_end_one_here() -> None:
    text = 'a = "\u2028\u0085"\nb = 1\n'
    tomllib.loads(text)
    assert toml_lines.lines(text).of(("b",)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a = 1\nb = [\n[c]\n", 3), ("a = 1\n\n[lab\n", 3), ("a = 1\nb = 'x", 2), ("a = 1\na = 2\n", 2)],
)
def test_text_that_is_not_toml_is_reported_with_its_line(text: str, expected: int) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as refused:
        tomllib.loads(text)
    number, what = toml_lines.mistake(refused.value, text)
    assert number == expected
    assert "line" not in what
