"""A mix of work is read strictly, and a time comes from the source that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from crosscut.base.errors import UsageError
from crosscut.pricing import book, mix
from crosscut.pricing.amounts import Interval

GOOD = 'ranks = 64\n[[work]]\nname = "all to all"\npattern = "aapc"\n'


def load(text: str, folder: Path) -> mix.Mix:
    path = folder / "mix.toml"
    path.write_text(text, encoding="utf-8")
    return mix.load(path)


def test_missing_keys_have_the_documented_defaults(tmp_path: Path) -> None:
    found = load(GOOD, tmp_path)
    assert (found.title, found.ranks, found.within, found.simulation_error) == ("mix", 64, 0.1, 0.05)
    work = found.works[0]
    assert (work.weight, work.size_bytes, work.parameters) == (1, 1_000_000, {})


def test_a_pattern_has_its_size_and_parameters(tmp_path: Path) -> None:
    work = load(GOOD + 'size = "64KiB"\nparameters = { phases = 3, half = true }\n', tmp_path).works[0]
    assert work.size_bytes == 65_536
    assert work.parameters == {"phases": "3", "half": "true"}


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [
        ('"610 s"', 610, 610),
        ('"600 s - 620 s"', 600, 620),
        ('"1e-3 s"', 0.001, 0.001),
        ('"1e-3s-2E-3s"', 0.001, 0.002),
        ('["1 ms", "2 ms"]', 0.001, 0.002),
        ('"10min"', 600, 600),
    ],
)
def test_times_are_given_with_their_unit_and_perhaps_a_range(
    written: str, low: float, high: float, tmp_path: Path
) -> None:
    work = load(f'[[work]]\nname = "GAMESS"\nseconds = {{ net = {written} }}\n', tmp_path).works[0]
    assert work.seconds["net"] == Interval(pytest.approx(low), pytest.approx(high))


def test_twice_the_rate_is_half_the_time(tmp_path: Path) -> None:
    text = '[[work]]\nname = "stream"\nrates = { a = "11.3 MB/s", b = ["20 MB/s", "22.6 MB/s"] }\n'
    found = load(text, tmp_path).works[0].seconds
    assert found["b"].low == pytest.approx(found["a"].low / 2)
    assert found["b"].high == pytest.approx(found["a"].low * 11.3 / 20)


def test_paths_of_runs_and_traces_are_relative_to_the_mix(tmp_path: Path) -> None:
    text = '[[work]]\nname = "a"\nruns = { net = "runs/a.zarr" }\n[[work]]\nname = "b"\ntrace = "cg"\n'
    a, b = load(text, tmp_path).works
    assert a.runs == {"net": tmp_path / "runs" / "a.zarr"}
    assert b.trace == tmp_path / "cg"


DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    (page, block)
    for page in ("howto-price.md", "reference/price-book.md")
    for block in re.findall(r"```toml\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
]


def test_the_examples_of_the_documentation_can_be_read(tmp_path: Path) -> None:
    read: list[mix.Mix | book.Book] = []
    for _, text in EXAMPLES:
        path = tmp_path / "example.toml"
        path.write_text(text, encoding="utf-8")
        read.append(book.load(path) if "[[part]]" in text else mix.load(path))
    assert [type(one) for one in read] == [mix.Mix, book.Book, mix.Mix]


WORK = '[[work]]\nname = "w"\n'
MISTAKES = {
    "ranks = 64\n": (1, "no work"),
    "ranks = 1\n" + WORK + 'pattern = "aapc"\n': (1, "ranks"),
    'within = "2"\n' + WORK + 'pattern = "aapc"\n': (1, "within"),
    'within = "100%"\n' + WORK + 'pattern = "aapc"\n': (1, "within"),
    'simulation_error = "a lot"\n' + WORK + 'pattern = "aapc"\n': (1, "simulation_error"),
    WORK: (1, "source of its time: pattern, seconds, rates, runs, trace, hpl, workload; found: none"),
    WORK + 'pattern = "aapc"\nseconds = { a = "1 s" }\n': (4, "pattern and seconds"),
    WORK + 'seconds = { a = "1 s" }\nsize = "1MB"\n': (4, "only with 'pattern'"),
    WORK + 'pattern = "aapc"\noperations_per_second = 1e9\n': (4, "only with 'trace'"),
    WORK + 'pattern = "aapc"\ntraced_on = "now.toml"\n': (4, "only with 'trace'"),
    WORK + 'trace = "cg"\ntraced_on = 3\n': (4, "not a text"),
    WORK + 'pattern = "aapc"\nweight = 0\n': (4, "weight"),
    WORK + 'pattern = "aapc"\nweight = -1\n': (4, "weight"),
    WORK + 'pattern = "aapc"\nwieght = 2\n': (4, "did you mean 'weight'"),
    WORK + 'pattern = "aapc"\nsize = "1 XB"\n': (4, "size"),
    WORK + 'seconds = { a = 610 }\n': (3, "with its unit"),
    WORK + 'seconds = { a = "0 s" }\n': (3, "above zero"),
    WORK + 'seconds = { a = ["2 s", "1 s"] }\n': (3, "the smaller must come first"),
    WORK + 'seconds = { a = ["1 s", "2 s", "3 s"] }\n': (3, "or a range"),
    WORK + 'rates = { a = "3 s" }\n': (3, "not a rate"),
    WORK + 'pattern = "aapc"\n' + WORK + 'pattern = "aapc"\n': (5, "give each a name of its own"),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES, ids=[what for _, what in MISTAKES.values()])
def test_a_mistake_is_reported_with_file_and_line(text: str, tmp_path: Path) -> None:
    line, what = MISTAKES[text]
    with pytest.raises(UsageError) as caught:
        load(text, tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'mix.toml'}:{line}: ")
    assert what in str(caught.value)
