"""Experiment files: what is read, and what is refused with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from crosscut.base import spelling
from crosscut.base.errors import UsageError
from crosscut.reproduce import experiment

SERIES = """
[[series]]
name = "one"
network = "xibalba-er16"
pattern = "pairs"
parameters = { pairs = "0-1,2-3", cumulative = true }
message = "10MiB"
lab_message = "500KB"
phases = [1, 2, 4]
quantity = "median rate"
unit = "MiB/s"
published = [11.3, 11.2, 11.1]
"""
WHOLE = f'title = "A title"\nsource = "A paper"\n[lab]\ndilation = 10\n{SERIES}'


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "it.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_file_is_read(tmp_path: Path) -> None:
    read = experiment.read(written(tmp_path, WHOLE))
    (series,) = read.series
    assert (read.name, series.dilation, read.aim.mean) == ("it", 10.0, None)
    assert series.parameters == {"pairs": "0-1,2-3", "cumulative": "true"}
    assert (series.messages, series.lab_messages) == ((10 << 20,), (500_000,))
    assert series.on == ("lab", "sim")


def test_phases_that_follow_one_another_are_one_job(tmp_path: Path) -> None:
    (series,) = experiment.read(written(tmp_path, WHOLE)).series
    assert spelling.spans(series.phases) == [(1, 2), (4, 4)]


def test_a_network_file_is_relative_to_the_experiment(tmp_path: Path) -> None:
    text = WHOLE.replace('"xibalba-er16"', '"two.toml"')
    (series,) = experiment.read(written(tmp_path, text)).series
    assert series.network == str(tmp_path / "two.toml")


def test_every_included_experiment_is_read_and_names_its_paper() -> None:
    names = experiment.names()
    assert "kurmann-tables-3-5" in names
    for name in names:
        read = experiment.read(experiment.find(name))
        assert read.source, name
        assert read.picture.x, name


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("dilation = 10", "dilation = 0.5", "[lab], key 'dilation': 0.5 is out of range"),
        ("dilation = 10", "dilation = nan", "[lab], key 'dilation': nan is out of range"),
        ("dilation = 10", "dilate = 10", "did you mean 'dilation'"),
        ('title = "A title"', "title = 7", "key 'title': 7 is not a text"),
        ('title = "A title"', "", "key 'title': is missing"),
        ('"median rate"', '"median rat"', "[[series]] 1, key 'quantity': 'median rat' is unknown"),
        ('"MiB/s"', '"s"', "key 'unit': 's' does not go with 'median rate'"),
        ('"10MiB"', '"10 miles"', "key 'message': '10 miles'"),
        ('"10MiB"', '"0"', "a message of no bytes"),
        ("[1, 2, 4]", "[1, 1, 4]", "key 'phases': names a phase twice"),
        ("[1, 2, 4]", "[0, 2, 4]", "key 'phases': 0 is not a whole number from 1"),
        ('"median rate"', '"mean rate"', "key 'phases': must follow one another, because 'mean rate'"),
        ("[1, 2, 4]", '"all"', "key 'phases': 'all' is not a list"),
        ("[1, 2, 4]", "[1, 2]", "key 'published': has 3 figures for 2 values"),
        ("11.3, ", "true, ", "key 'published': True is not a number"),
        ("11.3, ", "-1, ", "key 'published': -1 is out of range"),
        ("11.3, ", "inf, ", "key 'published': inf is out of range"),
        ('"0-1,2-3"', "[0, 1]", "key 'pairs': [0, 1] is not a text"),
        ("published", "calculated = [1]\npublished", "key 'calculated': excludes 'published'"),
        ("published = [11.3,", "calculated = [", "key 'calculated': has 2 figures for 3 values"),
        (SERIES, "", "at least one [[series]]"),
        (SERIES, SERIES + SERIES, "'one' is already the name in line"),
        (SERIES, SERIES + SERIES.replace('"one"', '"-one"'), "names of those of 'one': use other words"),
        (f"[lab]\ndilation = 10\n{SERIES}", "series = 3", "key 'series': 3 is not a list of tables"),
        ('pattern = "pairs"', 'pattern = "pairs"\noutside_the_aim = [3]', "3 is not among the figures"),
        ("[lab]", "[lab", "not TOML"),
        ('unit = "MiB/s"', 'unit = "MiB/s"\nlimits = [[0, 3]]', "key 'limits': goes only with 'joint rate'"),
        ('unit = "MiB/s"', 'unit = "MiB/s"\non = "lab"\nsimulator = { knee = "3" }',
         "key 'simulator': goes only with a series that is simulated"),
        ('"median rate"', '"joint rate"\nlimits = [[3, 0]]', "key 'limits': 0 is below 3"),
        ('"median rate"', '"joint rate"\nlimits = [3, 0]', "key 'limits': 3 is not a list"),
        ('"median rate"', '"joint rate"\nlimits = [[3, -1]]', "key 'limits': -1 is not a whole number"),
        ("[lab]", "picture = []\n[lab]", "key 'picture': is empty"),
        ("[lab]", '[[picture]]\nform = "pie"\n[lab]', "[[picture]] 1, key 'form': 'pie' is unknown"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(tmp_path: Path, before: str, after: str, said: str) -> None:
    assert before in WHOLE
    with pytest.raises(UsageError) as refused:
        experiment.read(written(tmp_path, WHOLE.replace(before, after)))
    assert said in str(refused.value)
    assert "it.toml" in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("dilation = 10", "dilate = 10", 4),
        ("[1, 2, 4]", "[\n1,\n1, 4]", 13),
        ('message = "10MiB"\n', "", 6),  # missing: the table
        ('pairs = "0-1,2-3"', "pairs = [0]", 10),
        (SERIES, SERIES + SERIES, 19),
        ("[lab]", "[lab", 3),
        ('"MiB/s"', '"MiB/s', 15),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, before: str, after: str, line: int) -> None:
    assert before in WHOLE
    with pytest.raises(UsageError) as refused:
        experiment.read(written(tmp_path, WHOLE.replace(before, after)))
    assert f"it.toml:{line}: " in str(refused.value)


def test_parameters_of_the_lab_override_those_of_the_pattern(tmp_path: Path) -> None:
    text = WHOLE.replace("message =", "lab_parameters = { cumulative = false }\nmessage =", 1)
    (series,) = experiment.read(written(tmp_path, text)).series
    assert series.parameters == {"pairs": "0-1,2-3", "cumulative": "true"}
    assert series.lab_parameters == {"pairs": "0-1,2-3", "cumulative": "false"}


def test_a_series_can_have_its_own_dilation(tmp_path: Path) -> None:
    other = SERIES.replace('"one"', '"two"').replace("[[series]]", "[[series]]\ndilation = 40")
    read = experiment.read(written(tmp_path, WHOLE + other))
    assert [one.dilation for one in read.series] == [10.0, 40.0]


def test_one_picture_or_several_can_be_requested(tmp_path: Path) -> None:
    for text, forms in (
        ("", ["points"]),
        ('[picture]\nform = "scatter"\n', ["scatter"]),
        (
            '[[picture]]\nform = "histogram"\n[[picture]]\nform = "phase histogram"\n',
            ["histogram", "phase histogram"],
        ),
    ):
        read = experiment.read(written(tmp_path, WHOLE.replace("[lab]", text + "[lab]")))
        assert [one.form for one in read.pictures] == forms
        assert read.picture == read.pictures[0]


def test_receivers_behind_a_limit_are_ranges(tmp_path: Path) -> None:
    text = WHOLE.replace('"median rate"', '"joint rate"\nlimits = [[2, 3], [4, 4]]')
    (series,) = experiment.read(written(tmp_path, text)).series
    assert series.limits == ((2, 3), (4, 4))


def test_binary_and_overlong_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        experiment.read(written(tmp_path, b"title = \xff"))
    with pytest.raises(UsageError, match="larger than"):
        experiment.read(written(tmp_path, "#" * 2_000_000))
    with pytest.raises(UsageError, match=r"it\.toml"):
        experiment.read(written(tmp_path, "a = " + "[" * 100_000))


def test_an_unknown_name_is_answered_with_a_similar_one_or_the_list() -> None:
    with pytest.raises(UsageError, match="crosscut reproduce lists them"):
        experiment.find("zeppelin")
    with pytest.raises(UsageError, match="did you mean kurmann2003"):
        experiment.find("kurmann")


def test_the_guide_lists_every_experiment_with_where_it_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto-reproduce.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    listed = {name.strip(" `"): row[2].strip() for row in rows for name in row[1].split(",")}
    for name in experiment.names():
        assert listed[name] == ", ".join(experiment.read(experiment.find(name)).places), name


def test_a_misspelt_name_is_answered_with_a_suggestion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="did you mean kurmann-table-4"):
        experiment.find("kurmann-tabl-4")
    (tmp_path / "mine.toml").write_text('[generator]\nkind = "crossbar"\n')
    with pytest.raises(UsageError, match=r"did you mean the file ./mine.toml"):
        experiment.find("mine")
    with pytest.raises(UsageError, match=r"mine.toml: a network file, not an experiment.*--on lab:mine.toml"):
        experiment.read(experiment.find("mine.toml"))
