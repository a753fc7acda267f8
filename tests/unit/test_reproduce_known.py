"""Unknown names in an experiment are reported with their line before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_reproduce_experiment import WHOLE, written

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.network import description
from crosscut.reproduce import experiment, known

# Just the phases that it requests.
FEW_PHASES = WHOLE.replace("0-1,2-3", "0..3-4..7")


def checked(file: Path) -> None:
    known.check(file, experiment.read(file), experiment.PLACES, core.load())


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            '"pairs"',
            '"pears"',
            "it.toml:9: [[series]] 1, key 'pattern': 'pears' is unknown; did you",
        ),
        ('"pairs"', '"?"', "'?' is unknown; known: aapc, "),
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
        (
            "message",
            'simulator = { sharespread = "0.2" }\nmessage',
            "it.toml:11: [[series]] 1 [simulator], key 'sharespread': there is no such key; did you mean",
        ),
        (
            '"xibalba-er16"',
            '"xibalba-er15"',
            "it.toml:8: [[series]] 1, key 'network': 'xibalba-er15' is",
        ),
        ('"xibalba-er16"', '"none.toml"', "it.toml:8: [[series]] 1, key 'network': there is no file"),
        ("0..3-4..7", "0..2-193..195", "it.toml:10: [[series]] 1, key 'parameters': --pairs names rank 195"),
        ("[1, 2, 4]", "[1, 2, 99]", "it.toml:13: [[series]] 1, key 'phases': there is no phase 99: with 128"),
        ("message", "ranks = 129\nmessage", "it.toml:11: [[series]] 1, key 'ranks': 129 do not fit"),
        (
            "message",
            'lab_parameters = { pairs = "0-199" }\nmessage',
            "it.toml:11: [[series]] 1, key 'lab_parameters': --pairs names rank 199",
        ),
        (
            '"median rate"\nunit = "MiB/s"\npublished = [11.3, 11.2, 11.1]',
            '"rate left"\nunit = "share"\nworker = "n99"\non = "lab"',
            "it.toml:16: [[series]] 1, key 'worker': xibalba-er16 has no node n99",
        ),
    ],
)
def test_an_unknown_name_is_reported_with_its_line(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    file = written(tmp_path, FEW_PHASES.replace(before, after, 1))
    read = experiment.read(file)
    with pytest.raises(UsageError) as refused:
        known.check(file, read, experiment.PLACES, core.load())
    assert said in str(refused.value)


def test_a_network_file_next_to_the_experiment_is_known(tmp_path: Path) -> None:
    catalogue = description.catalogue()
    assert catalogue is not None
    (tmp_path / "two.toml").write_bytes((catalogue / "xibalba-er16.toml").read_bytes())
    checked(written(tmp_path, FEW_PHASES.replace('"xibalba-er16"', '"two.toml"')))


def test_a_mistake_in_the_network_file_is_reported_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text('[generator]\nkind = "none"\n')
    with pytest.raises(UsageError, match=r"two\.toml:2: .*unknown generator"):
        checked(written(tmp_path, WHOLE.replace('"xibalba-er16"', '"two.toml"')))


@pytest.mark.parametrize("name", experiment.names())
def test_all_names_in_an_included_experiment_are_known(name: str) -> None:
    checked(experiment.find(name))
