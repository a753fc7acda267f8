"""Names that an experiment takes from elsewhere: told with their line before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_reproduce_experiment import WHOLE, written

from crosscut import core
from crosscut.errors import UsageError
from crosscut.reproduce import experiment, known


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            '"pairs"',
            '"pears"',
            "it.toml:9: [[series]] 1, key 'pattern': there is no pattern 'pears'; did you",
        ),
        ('"pairs"', '"?"', "there is no pattern '?'; there is aapc, "),
        (
            "cumulative",
            "accumulative",
            "it.toml:10: [[series]] 1 [parameters], key 'accumulative': there is no",
        ),
        (
            "message",
            "lab_parameters = { pear = 1 }\nmessage",
            "it.toml:11: [[series]] 1 [lab_parameters], key",
        ),
        ('"xibalba-er16"', '"xibalba-er15"', "it.toml:8: [[series]] 1, key 'network': there is no network"),
        ('"xibalba-er16"', '"none.toml"', "it.toml:8: [[series]] 1, key 'network': there is no file"),
    ],
)
def test_what_nobody_knows_is_told_with_its_line(tmp_path: Path, before: str, after: str, said: str) -> None:
    file = written(tmp_path, WHOLE.replace(before, after, 1))
    experiment.read(file)
    with pytest.raises(UsageError) as refused:
        known.check(file, core.load())
    assert said in str(refused.value)


def test_a_network_beside_the_file_is_known(tmp_path: Path) -> None:
    (tmp_path / "two.toml").touch()
    known.check(written(tmp_path, WHOLE.replace('"xibalba-er16"', '"two.toml"')), core.load())


@pytest.mark.parametrize("name", experiment.names())
def test_all_names_of_an_experiment_that_comes_along_are_known(name: str) -> None:
    known.check(experiment.find(name), core.load())
