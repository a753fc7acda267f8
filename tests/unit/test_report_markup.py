"""Text from files stays text on the page."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crosscut.base.spelling import sentence, tied
from crosscut.reports.html.markup import Markup, data, element, join, table, text

HOSTILE = '</script><script>alert(1)</script>"><img src=x onerror=alert(1)>'


def test_text_is_escaped_in_content_and_in_attributes():
    made = element("p", HOSTILE, title=HOSTILE)
    assert "<script" not in made
    assert "<img" not in made
    assert made.count("<") == 2
    assert made.count('"') == 2


def test_markup_is_kept_wherever_it_stands():
    assert element("p", "a & ", element("b", "c"), ["<", Markup("<i>")]) == "<p>a &amp; <b>c</b>&lt;<i></p>"


def test_attributes_that_are_false_are_left_out():
    assert (
        element("input", hidden=True, disabled=False, class_="x", aria_label=None)
        == '<input hidden class="x">'
    )


def test_control_and_direction_characters_are_made_visible():
    assert text("a\x00b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert text("1\u00a0µs → n1\n") == "1\u00a0µs → n1\n"


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(), st.lists, max_leaves=9)
)
def test_data_cannot_end_its_element_and_is_json_again(value):
    made = data({"x": value})
    assert not set("<>&\u2028\u2029") & set(made)
    made.encode("utf-8")
    json.loads(made)


def test_data_has_null_for_values_that_are_not_numbers():
    assert json.loads(data({"a": np.array([1.0, np.nan, np.inf]), "b": float("nan")})) == {
        "a": [1, None, None],
        "b": None,
    }


def test_a_number_keeps_its_unit_beside_it():
    assert tied("2.97 MB/s, 25 % of 7 phases") == "2.97\u00a0MB/s, 25\u00a0% of 7 phases"
    assert tied("39 – 41 %") == "39\u00a0–\u2060\u00a041\u00a0%"
    assert tied("40 % [39 – 41 %]; p < 1 %", "_") == "40_% [39_–_41_%]; p_<_1_%"


def test_an_empty_column_is_left_out():
    made = table(("a", "b", "c"), [("1", "", "2"), ("3", "", "4")], words=frozenset(), caption="t")
    assert ">b<" not in made
    assert made.count("<td") == 2
    assert made.count('scope="row"') == 2
    assert join(None, []) == ""


def test_a_sentence_keeps_the_case_of_names() -> None:
    assert sentence("swap the cable") == "Swap the cable."
    assert sentence("crosscut locate finds it") == "crosscut locate finds it."
    assert sentence("n0012 is slow.") == "n0012 is slow."
