"""A lab's switch is named unless it is the default, whatever a run's attributes hold."""

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
        ("", ""),  # in runs from before there were others
        ("kernel,queues=routers", ""),
        ("kernel,queues=fair", "senders in turn (queues=fair)"),
        ("kernel,queues=fifo", "first come, first served (queues=fifo)"),
        ("user", "carried by crosscut-switch"),
        ("user,forwarding=cut,buffer=64KiB", "carried by crosscut-switch (forwarding=cut, buffer=64KiB)"),
        ("abacus\x1b[2J", r"carried by a switch unknown here ('abacus\x1b[2J')"),
    ],
)
def test_a_switch_is_named_unless_it_is_the_default(switch: str, words: str) -> None:
    assert switch_words.clause(switch) == words


def test_next_to_another_the_default_switch_is_named_too() -> None:
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
def test_two_spellings_of_one_switch_are_equal(one: str, other: str, same: bool) -> None:
    assert (switch_words.identity(one) == switch_words.identity(other)) is same


def test_the_place_of_a_run_names_the_switch_and_the_dilation() -> None:
    assert about.where(lab_view("kernel")).endswith("1 rank on each")
    assert about.where(lab_view("user,forwarding=cut", 10.0)).endswith(
        "1 rank on each, carried by crosscut-switch (forwarding=cut); in slow motion: multiply rates by 10 "
        "for the network's"
    )


@pytest.mark.parametrize("switch", [None, 7, ["user"], {"kind": "user"}])
def test_a_switch_that_is_not_text_is_ignored(switch: object) -> None:
    assert about.where(lab_view(switch)) == about.where(lab_view("kernel"))


def test_no_switch_is_named_outside_labs() -> None:
    view = lab_view("user")
    elsewhere = replace(view, dataset=view.dataset.assign_attrs(place="hosts", lab=None))
    assert "switch" not in about.where(elsewhere)
