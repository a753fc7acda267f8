"""The page offers every size of a run that there is room for, and verdicts at the promised size."""

import dataclasses
import html
from pathlib import Path

import numpy as np
import pytest
from made_runs import aapc_view, pingpong_view
from test_report_page import Page

from crosscut.analysis.compare import spec
from crosscut.reports.html.page import render
from crosscut.reports.html.pictures import sizes
from crosscut.reports.html.pictures.picture import Picture
from crosscut.reports.html.write import judged

SIZES = (1000, 10_000, 1_000_000)
SPEC = """
title = "The new cluster"
link_rate = "1 Gbit/s"
[[promise]]
name = "phases"
kind = "phase"
at_least = "{phase}"
[[promise]]
name = "routes"
kind = "route"
at_least = "40 MB/s"
size = "10KB"
[[promise]]
name = "latency"
kind = "latency"
at_most = "20 us"
"""


def offered(page, name):
    return [(one["label"], one["picture"]) for one in page.data["sizes"][name]["sizes"]]


def test_all_sizes_can_be_chosen_in_order_and_the_shown_size_is_stored_once():
    page = Page(render([aapc_view(ranks=6, sizes=SIZES)], size_bytes=10_000))
    for name in ("run1-phases", "run1-routes", "run1-route-histogram", "run1-phase-histogram", "run1-curve"):
        found = offered(page, name)
        assert [label for label, _ in found] == ["1 KB", "10 KB", "1 MB"]
        assert [picture is None for _, picture in found] == [False, True, False]
        assert "1\u00a0KB" in found[0][1]["caption"] or "histogram" in name or "curve" in name
        assert found[2][1]["name"] == f"{name}-1000000B"


def test_each_size_has_its_own_figures():
    view = aapc_view(ranks=6, sizes=(1000, 1_000_000))
    view.dataset["rank_seconds"][0] *= 2
    page = Page(render([view]))
    shown = page.pictures["run1-phases"]["columns"]["rate"]
    other = offered(page, "run1-phases")[0][1]["columns"]["rate"]
    assert np.array(other) == pytest.approx(np.array(shown) / 2)


def test_a_run_of_one_size_offers_none():
    assert Page(render([aapc_view(sizes=(1000,))])).data["sizes"] == {}


def test_overlaid_runs_are_offered_at_their_common_sizes():
    one, other = aapc_view(ranks=6, sizes=SIZES), aapc_view(ranks=6, sizes=(10_000, 1_000_000))
    page = Page(render([one, dataclasses.replace(other, path=Path("other.zarr"))]))
    assert [label for label, _ in offered(page, "together-aapc-phases")] == ["10 KB", "1 MB"]
    assert [label for label, _ in offered(page, "run1-phases")] == ["1 KB", "10 KB", "1 MB"]
    assert page.data["sizes"]["run1-phases"]["group"] == "run1"
    smaller = dataclasses.replace(aapc_view(ranks=6, sizes=(1000,)), path=Path("small.zarr"))
    assert "together-aapc-phases" not in Page(render([one, smaller])).data["sizes"]


def test_the_sweep_of_a_ping_pong_is_stored_once_with_all_sizes():
    assert Page(render([pingpong_view()])).data["sizes"] == {}


def test_very_many_routes_are_offered_at_few_evenly_chosen_sizes_or_none():
    others = list(range(1, 101))
    assert sizes.offered(others, 8)[:2] == [1, 5]
    assert len(sizes.offered(others, 8)) == sizes.MOST_SIZES
    assert len(sizes.offered(others, 1024)) == 6
    assert sizes.offered(others, 4096) == []
    run, drawn = Path("a run.zarr"), Picture("phases", "run1-phases", "", "")
    left_out = sizes.choice("run1", 100, others, 1024, lambda size: [drawn])
    said = html.unescape(sizes.note(left_out, run))
    assert "7 sizes of 100; for others" in said
    assert "crosscut report 'a run.zarr' --size SIZE" in said
    assert sizes.note(sizes.choice("run1", 1, [1, 2], 8, lambda size: [drawn]), run) == ""
    # No picture of a sweep depends on the size.
    assert sizes.note(sizes.choice("run1", 100, others, 1024, lambda size: []), run) == ""


def test_sizes_that_round_to_the_same_text_are_distinguished():
    page = Page(render([aapc_view(ranks=6, sizes=(1_000_000, 1_000_001))]))
    labels = [label for label, _ in offered(page, "run1-phases")]
    assert len(set(labels)) == 2


def page_of(view, phase="80%"):
    return render([view], judgement=judged(spec.parse(SPEC.format(phase=phase), Path("spec.toml")), [view]))


def test_a_broken_promise_heads_the_page_and_its_picture_has_the_bound():
    text = page_of(aapc_view(ranks=6, sizes=(10_000, 1_000_000), seconds=0.02, repetitions=12))
    page = Page(text)
    assert page.heading == "Not accepted: 1 of 3 promises broken, 1 undecided."
    verdicts = [one for tag, one in page.elements if tag == "li" and one.get("class")][:3]
    assert [one["class"] for one in verdicts] == ["fail", "undecided", "pass"]
    assert "no run of pingpong at 1\u00a0B with these parameters" in text
    proofs = [link for link in page.named("a") if link.get("data-size")]
    assert ("#run1-phases", "1000000") in [(link["href"], link["data-size"]) for link in proofs]
    assert ("#run1-routes", "10000") in [(link["href"], link["data-size"]) for link in proofs]
    assert page.pictures["run1-phases"]["more"]["bounds"] == [{"label": "phases", "value": 1e8}]
    assert "Dashed: what was promised, at least 80% of link_rate" in page.pictures["run1-phases"]["caption"]
    assert "bounds" not in page.pictures["run1-route-histogram"]["more"]
    smaller = dict(offered(page, "run1-route-histogram"))["10 KB"]
    assert smaller["more"]["bounds"] == [{"label": "routes", "value": 4e7}]


def test_a_histogram_is_widened_to_a_bound_nearby_and_not_to_one_far_away():
    view = aapc_view(ranks=6, sizes=(1_000_000,), seconds=0.02, repetitions=12)
    view.dataset["rank_seconds"][:] *= np.array([1, 1.2, 1.4, 1.6, 2])[None, None, :, None]
    near = Page(page_of(view, "60 MB/s")).pictures["run1-phase-histogram"]["more"]
    assert near["to"] > 6e7
    far = Page(page_of(view, "5 GB/s")).pictures["run1-phase-histogram"]
    assert far["more"]["to"] < 1e8
    assert "Promised, beyond the picture's edge: at least 5 GB/s (phases)." in far["caption"]


def test_kept_promises_are_reported_with_the_run_s_other_findings():
    text = page_of(aapc_view(ranks=6, sizes=(10_000, 1_000_000), repetitions=12), "50 MB/s")
    page = Page(text)
    assert page.heading == "Undecided: 1 of 3 promises undecided, none broken."
    assert "What the measurement shows" in text


def test_hostile_names_in_a_spec_stay_text():
    hostile = SPEC.replace('"The new cluster"', "'<script>alert(1)</script>'").replace(
        'name = "routes"', "name = '<img src=x>'"
    )
    view = aapc_view(ranks=6, sizes=(10_000, 1_000_000), repetitions=12)
    judgement = judged(spec.parse(hostile.format(phase="1 B/s"), Path("spec.toml")), [view])
    page = Page(render([view], judgement=judgement))
    assert not page.named("img")
    assert len(page.named("script")) == len(Page(render([view])).named("script"))
