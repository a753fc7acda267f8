"""Verdicts read from the JSON of `crosscut check` are those reached, or the file is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from changed_runs import aapc

from crosscut import cli
from crosscut.analysis.compare import spec
from crosscut.analysis.compare.promises import verdicts as judge_all
from crosscut.analysis.findings import of_run
from crosscut.base.errors import UsageError
from crosscut.reports.html import write
from crosscut.reports.json import check as json_check
from crosscut.reports.json import check as verdicts_file
from crosscut.reports.view import View
from crosscut.reports.words import check as words_check

SPEC = (
    'title = "E7"\nlink_rate = "1 Gbit/s"\n'
    '[[promise]]\nname = "routes"\nkind = "route"\nat_least = "90 MB/s"\nnodes = ["n00*"]\n'
    '[[promise]]\nname = "nodes"\nkind = "node"\nat_least = "70%"\nof_the_time = "60%"\n'
    '[[promise]]\nname = "phases"\nkind = "phase"\nat_least = "1 MB/s"\n'
    '[[promise]]\nname = "spread"\nkind = "spread"\nat_most = "20%"\n'
    '[[promise]]\nname = "latency"\nkind = "latency"\nat_most = "1 us"\nparameters = { pairs = "all" }\n'
)


@pytest.fixture
def judged():
    run = aapc(1, repetitions=30, out={2: 0.5}, into={5: 0.5})
    promised = spec.parse(SPEC, Path("spec.toml"))
    return promised, judge_all(promised, [run])


@pytest.fixture
def document(judged):
    promised, checked = judged
    value = json_check.document(promised, checked.judged, of_run.rank_names(checked.runs[0]))
    return json.loads(json.dumps(value, allow_nan=False))


def stored(tmp_path, value) -> Path:
    file = tmp_path / "check.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    return file


def test_verdicts_written_by_check_read_back_unchanged(tmp_path, judged, document):
    promised, checked = judged
    read, found = verdicts_file.read(stored(tmp_path, document), 8)
    assert (read.title, read.error_rate) == (promised.title, promised.error_rate)
    for one, other in zip(found, checked.judged, strict=True):
        for name in ("verdict", "doubt", "repetitions", "quantities", "broken", "worst_label", "reason"):
            assert getattr(one, name) == getattr(other, name), name
        for name in ("name", "kind", "bound", "said", "parameters", "routes", "nodes", "of_the_time"):
            assert getattr(one.promise, name) == getattr(other.promise, name), name
    assert [one.broken != () for one in found] == [True, True, False, True, False]


def test_the_unit_of_judgement_is_read_back_and_defaults_to_repetitions_for_old_files(
    tmp_path, judged, document
):
    promised, checked = judged
    of_launches = [replace(one, of_launches=True) for one in checked.judged]
    written = json_check.document(promised, of_launches, of_run.rank_names(checked.runs[0]))
    for value, expected in ((written, True), (document, False)):
        assert {one["of_launches"] for one in value["promises"]} == {expected}
        assert {one.of_launches for one in verdicts_file.read(stored(tmp_path, value), 8)[1]} == {expected}
    for promise in document["promises"]:
        del promise["of_launches"]
    assert not any(one.of_launches for one in verdicts_file.read(stored(tmp_path, document), 8)[1])


def test_a_page_shows_verdicts_without_judging_again(tmp_path, document):
    few = aapc(2, repetitions=3)  # alone it would leave everything undecided
    view = View.of(few)
    read, found = verdicts_file.read(stored(tmp_path, document), 8)
    judgement = write.judged(read, [view], found)
    assert words_check.headline(judgement.judged) == "Not accepted: 3 of 5 promises broken, 1 undecided."
    assert set(judgement.measured_by) == {"routes", "nodes", "phases", "spread"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(schema={"name": "crosscut-check", "version": 2}), "does not contain verdicts"),
        (lambda d: d.update(promises=[]), "'promises' is empty"),
        (lambda d: d.update(error_rate=7), "error_rate is 7; it must be between 0 and 0.5"),
        (lambda d: d["promises"].__setitem__(1, 5), r"Expected `object`, got `int` - at `\$\.promises\[1\]`"),
        (lambda d: d["promises"][0].update(verdict="maybe"), "promise 1: .*'maybe'.*verdict"),
        (lambda d: d["promises"][0].update(kind=["route"]), "promise 1: .*kind"),
        (lambda d: d["promises"][0].update(size_bytes=0), "promise 1: size_bytes is 0, .* out of range"),
        (lambda d: d["promises"][0].update(repetitions=10**400), "promise 1: repetitions is 10000"),
        (lambda d: d["promises"][0].update(worst=10**400), "promise 1: .*worst"),
        (lambda d: d["promises"][0].update(bound=-1), "promise 1: bound"),
        (lambda d: d["promises"][0].update(bound=True), "promise 1: .*bool.*bound"),
        (lambda d: d["promises"][0].update(doubt=1e400), "promise 1: .*doubt"),
        (lambda d: d["promises"][0].update(worst_label=[1]), "promise 1: worst_label"),
        (lambda d: d["promises"][0].update(worst_label=[-1, 2]), "promise 1: worst_label"),
        (lambda d: d["promises"][0].update(broken_labels=[[0, 8]]), "rank 8, but the runs have only 8 ranks"),
        (lambda d: d["promises"][1].update(worst_label=[]), "promise 2: worst_label"),
        (lambda d: d["promises"][1].update(worst_label=[-1]), "promise 2: worst_label"),
        (lambda d: d["promises"][2].update(worst_label=[3]), "promise 3: worst_label"),
        (lambda d: d["promises"][3].update(worst_label=[3]), "promise 4: worst_label"),
        (lambda d: d["promises"][0].update(parameters={"a": 1}), "promise 1: .*parameters"),
        (lambda d: d["promises"][0].pop("broken_labels"), "promise 1: it has no member 'broken_labels'"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_named(tmp_path, document, change, said):
    change(document)
    with pytest.raises(UsageError, match=said):
        verdicts_file.read(stored(tmp_path, document), 8)


@pytest.mark.parametrize("text", ["", "{", "[]", "nan", "[" * 100_000, "\ud800"])
def test_text_that_is_not_json_is_refused(tmp_path, text):
    file = tmp_path / "check.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match=r"check\.json"):
        verdicts_file.read(file, 8)


def test_judging_again_and_showing_verdicts_exclude_each_other(tmp_path, capsys):
    words = ["report", "x.zarr", "--spec", "s.toml", "--verdicts", str(tmp_path / "c.json")]
    assert cli.main(words) == 2
    assert "give only one of the two" in capsys.readouterr().err
