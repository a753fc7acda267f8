"""What carried a lab is told wherever it is not the plain default, whatever a run's attributes hold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_runs import aapc_view

from crosscut.network import switch_words
from crosscut.reports.words import about


def lab_view(switch: object, dilation: object = 1.0):
    view = aapc_view(ranks=4)
    lab = {"name": "x", "switch": switch, "dilation": dilation}
    return replace(view, dataset=view.dataset.assign_attrs(place="lab", lab=lab))


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        ("kernel", ""),
        ("", ""),  # of runs that knew no other
        ("kernel,queues=routers", ""),
        ("kernel,queues=fair", "senders in turn (queues=fair)"),
        ("kernel,queues=fifo", "first come, first served (queues=fifo)"),
        ("user", "carried by crosscut-switch"),
        ("user,forwarding=cut,buffer=64KiB", "carried by crosscut-switch (forwarding=cut, buffer=64KiB)"),
        ("abacus\x1b[2J", r"carried by a switch unknown here ('abacus\x1b[2J')"),
    ],
)
def test_a_switch_is_told_where_it_is_not_the_plain_one(switch: str, words: str) -> None:
    assert switch_words.clause(switch) == words


def test_beside_another_the_plain_switch_has_a_name_too() -> None:
    assert switch_words.noun("kernel") == "the kernel's"
    assert switch_words.noun("kernel,queues=fair") == "the kernel's, senders in turn (queues=fair)"
    assert switch_words.noun("user,forwarding=cut") == "crosscut-switch (forwarding=cut)"
    assert len(switch_words.noun("user,x=" + 1000 * "y")) < 120


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("user,buffer=64KiB,forwarding=cut", "user,forwarding=cut,buffer=65536", True),
        ("kernel", "kernel,queues=routers", True),
        ("kernel", "kernel,queues=fair", False),
        ("user", "user,forwarding=cut", False),
        ("abacus", "abacus", True),
    ],
)
def test_one_switch_typed_in_two_ways_is_one(one: str, other: str, same: bool) -> None:
    assert (switch_words.identity(one) == switch_words.identity(other)) is same


def test_where_a_run_was_measured_names_the_switch_and_the_slow_motion() -> None:
    assert about.where(lab_view("kernel")).endswith("1 rank on each")
    assert about.where(lab_view("user,forwarding=cut", 10.0)).endswith(
        "1 rank on each, carried by crosscut-switch (forwarding=cut); in slow motion: multiply rates by 10 "
        "for the network's"
    )


@pytest.mark.parametrize("switch", [None, 7, ["user"], {"kind": "user"}])
def test_a_switch_that_is_no_text_is_passed_over(switch: object) -> None:
    assert about.where(lab_view(switch)) == about.where(lab_view("kernel"))


def test_no_switch_is_told_of_what_is_no_lab() -> None:
    view = lab_view("user")
    elsewhere = replace(view, dataset=view.dataset.assign_attrs(place="hosts"))
    assert "switch" not in about.where(elsewhere)
