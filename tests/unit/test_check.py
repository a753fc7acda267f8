"""Specs and verdicts: mistakes with file and line, promises judged rightly, outputs for other programs."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from changed_runs import aapc

from crosscut.analysis.compare import spec
from crosscut.analysis.compare.promises import Verdict, verdicts
from crosscut.analysis.findings import of_run
from crosscut.base.errors import UsageError
from crosscut.cli.check import status
from crosscut.reports import junit, protocol, redaction
from crosscut.reports.json import check as json_check
from crosscut.reports.words import check as words_check

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "acceptance.toml"
ROUTES = 'link_rate = "1 Gbit/s"\n[[promise]]\nname = "routes"\nkind = "route"\nat_least = "{}"\n'
SPREAD = '[[promise]]\nkind = "spread"\nat_most = "20%"\n'


def of(text):
    return spec.parse(text, Path("spec.toml"))


def verdict(text, *runs):
    return verdicts(of(text), runs).judged[0]


def test_the_example_is_a_valid_spec():
    read = spec.read(EXAMPLE)
    assert [promise.kind.value for promise in read.promises] == ["bisection", "route", "latency", "spread"]
    assert read.promises[0].bound == 10e6


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('title = "x"\nlink_rat = "1 Gbit/s"\n[[promise]]\n', r"toml:2: key 'link_rat': there is no"),
        ('[[promise]]\nkind = "rout"\n', r"toml:2: .*'kind': 'rout' is unknown; did you mean 'route'"),
        ('[[promise]]\nkind = "route"\nat_least = "5 MB"\n', r"toml:3: .*'at_least': '5 MB' is not a rate"),
        ('[[promise]]\nkind = "route"\nat_least = "80%"\n', r"toml:3: .*'at_least': .* share of link_rate"),
        ('[[promise]]\nkind = "latency"\nat_least = "5 us"\n', r"'at_least': a latency promise takes at_"),
        (ROUTES.format("1 B/s") + '[[promise]]\nkind = "node"\n', "toml:6: .*'at_least': is missing"),
        ('[[promise]]\nkind = "route"\nat_least = 5\n', r"toml:3: .*'at_least': 5 is not a text"),
        ('[[promise]]\nkind = "route"\nat_least = "1 B/s"\nsize = "1 XB"\n', r"toml:4: .*'size': "),
        ('[[promise]]\nkind = "route"\nat_least = "1 B/s"\nsize = "0"\n', r"toml:4: .*'size': must be at l"),
        ('[[promise]]\nkind = "route"\nat_least = "1 B/s"\nnodes = "n1"\n', r"toml:4: .*'nodes': "),
        ('error_rate = "70%"\n[[promise]]\n', r"toml:1: key 'error_rate': "),
        ("title = \n", r"toml:1: not TOML"),
        ("", "contains no promise"),
        ('[[hosts]]\nnames = "n[0-3]"\n', "describes a network; name a specification, which has "),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_file_line_and_key(text, said):
    with pytest.raises(UsageError, match=said):
        of(text)


@pytest.mark.parametrize("text", ["100 Kbit/s", "100 kbit/s", "12.5 KB/s", "12.5kB/s", "12500 B/s"])
def test_a_thousand_may_be_written_with_either_letter(text):
    assert spec.parse_rate(text) == 12_500


def test_rates_well_above_the_bound_pass_and_below_it_fail():
    run = aapc(1, repetitions=12)  # 100 MB/s
    assert verdict(ROUTES.format("90 MB/s"), run).verdict is Verdict.PASS
    assert verdict(ROUTES.format("110 MB/s"), run).verdict is Verdict.FAIL
    assert verdict(ROUTES.format("75%"), run).verdict is Verdict.PASS  # of 125 MB/s


def test_one_bad_route_among_many_breaks_the_promise_and_is_named():
    one = verdict(ROUTES.format("90 MB/s"), aapc(1, repetitions=20, route={(2, 5): 0.5}))
    assert one.verdict is Verdict.FAIL
    assert one.broken == ((2, 5),)


def test_too_few_repetitions_leave_it_undecided_and_more_runs_decide():
    runs = [aapc(seed, repetitions=5) for seed in (1, 2, 3)]
    assert verdict(ROUTES.format("90 MB/s"), runs[0]).verdict is Verdict.UNDECIDED
    assert verdict(ROUTES.format("90 MB/s"), *runs).verdict is Verdict.PASS


def test_one_repetition_decides_what_was_computed():
    run = aapc(1, repetitions=1)
    assert verdict(ROUTES.format("90 MB/s"), run).verdict is Verdict.UNDECIDED
    run.dataset.attrs["backend"] = {"name": "sim", "parameters": {}}
    for at_least, right in (("50 MB/s", Verdict.PASS), ("200 MB/s", Verdict.FAIL)):
        one = verdict(ROUTES.format(at_least), run)
        assert (one.verdict, words_check.chance(one)) == (right, "computed")


def test_computed_runs_that_disagree_are_judged_as_measured_ones():
    runs = [aapc(seed, repetitions=1, route={(2, 5): share}) for seed, share in ((1, 0.5), (2, 1.0))]
    for run in runs:
        run.dataset.attrs["backend"] = {"name": "sim", "parameters": {}}
    one = verdict(ROUTES.format("70 MB/s"), *runs)
    assert (one.verdict, one.exact) == (Verdict.UNDECIDED, False)


def test_a_promise_that_was_not_measured_is_undecided_with_the_reason():
    one = verdict(ROUTES.format("90 MB/s") + 'size = "5 B"\n', aapc(1))
    assert one.verdict is Verdict.UNDECIDED
    assert "no run of aapc at 5 B" in one.reason
    assert "crosscut check SPEC --on PLACE measures it" in one.reason


def test_a_promise_about_groups_says_which_command_shows_them():
    between = ROUTES.format("90 MB/s") + 'routes = "between groups"\n'
    chain = aapc(1, attributes={"pattern": {"name": "chain"}})
    assert "crosscut run aapc on the same hosts" in verdict(between + 'pattern = "chain"\n', chain).reason
    assert "the runs show no groups of hosts" in verdict(between, aapc(1)).reason


def test_only_chosen_nodes_count():
    run = aapc(1, repetitions=12, out={7: 0.5}, into={7: 0.5})
    assert verdict(ROUTES.format("90 MB/s") + 'nodes = ["n007"]\n', run).verdict is Verdict.FAIL
    text = '[[promise]]\nkind = "node"\nat_least = "90 MB/s"\nnodes = ["n00[0-6]"]\n'
    assert verdict(text, run).verdict is Verdict.PASS


def test_spread_grows_with_one_slow_host():
    assert verdict(SPREAD, aapc(1, repetitions=12)).verdict is Verdict.PASS
    assert verdict(SPREAD, aapc(1, repetitions=12, out={7: 0.5})).verdict is Verdict.FAIL


def test_a_spread_needs_repetitions_with_every_route_and_says_so():
    run = aapc(1, repetitions=12)
    run.dataset["status"].loc[{"phase": 3}] = 0
    one = verdict(SPREAD, run)
    assert one.verdict is Verdict.UNDECIDED
    assert one.reason == "no repetition measured every route"


def test_a_run_without_measurements_leaves_a_spread_to_the_others():
    nothing = aapc(1, repetitions=12)
    nothing.dataset["status"][:] = 0
    assert verdict(SPREAD, nothing, aapc(2, repetitions=12)).verdict is Verdict.PASS
    assert "no such route, node or phase was measured" in verdict(ROUTES.format("90 MB/s"), nothing).reason


def test_a_kept_promise_is_seldom_called_broken_and_a_broken_one_seldom_kept():
    wrong = 0
    for seed in range(60):  # all routes alike, on either side of the bound by a quarter of the noise
        run = aapc(seed, ranks=4, repetitions=40, noise=0.08)
        wrong += verdict(ROUTES.format("98 MB/s"), run).verdict is Verdict.FAIL
        wrong += verdict(ROUTES.format("102 MB/s"), run).verdict is Verdict.PASS
    assert wrong <= 4  # 1 % of 120 is at most 1.2


@pytest.fixture
def mixed():
    text = ROUTES.format("90 MB/s") + (
        '[[promise]]\nname = "<b>\\u0001"\nkind = "node"\nat_least = "200 MB/s"\n'
        '[[promise]]\nkind = "latency"\nat_most = "1 us"\n'
    )
    promised = of(text)
    return promised, verdicts(promised, [aapc(1, repetitions=20)])


NAMES = tuple(f"n{rank:03}" for rank in range(8))


def test_junit_has_a_case_per_promise_and_counts_broken_ones(mixed):
    promised, checked = mixed
    suite = ET.fromstring(junit.document(promised, checked.judged, NAMES).encode()).find("testsuite")
    assert [suite.get(key) for key in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert suite.findall("testcase")[1].find("failure") is not None


def test_json_has_every_verdict_without_nan(mixed):
    promised, checked = mixed
    value = json.loads(json.dumps(json_check.document(promised, checked.judged, NAMES), allow_nan=False))
    assert [promise["verdict"] for promise in value["promises"]] == ["pass", "fail", "undecided"]


def test_a_redacted_protocol_names_no_node_and_text_stays_text(mixed):
    promised, checked = mixed
    plain = protocol.page(promised, checked, NAMES, redact=False)
    promised, checked = redaction.check(promised, checked)
    redacted = protocol.page(promised, checked, of_run.rank_names(checked.runs[0]), redact=True)
    assert "n003" in plain
    assert "node 1" in redacted
    assert not any(name in redacted for name in NAMES)
    assert "<b>" not in plain


def test_a_protocol_of_a_run_without_an_end_says_that_it_is_unknown():
    for times, said in (({"end": ""}, ["2025-01-31T14:25:01Z to unknown"]), ({"start": "", "end": ""}, [])):
        run = aapc(1)
        run = dataclasses.replace(run, dataset=run.dataset.assign_attrs(times))
        page = protocol.page(of(SPREAD), verdicts(of(SPREAD), [run]), NAMES, redact=False)
        assert re.findall("<dt>Time</dt><dd>(.*?)</dd>", page) == said


def test_a_promise_about_some_nodes_names_them():
    text = ROUTES.format("90 MB/s") + 'nodes = ["n00[0-6]", "n9*"]\n'
    assert "every route of n00[0-6], n9*; aapc" in words_check.what(of(text).promises[0])


def test_a_broken_promise_outweighs_an_undecided_one_in_the_exit_status(mixed):
    judged = mixed[1].judged
    assert (status(judged), status([judged[0], judged[2]]), status(judged[:1])) == (1, 3, 0)
