"""Lists of the papers' items: what each names exists, and no experiment is left out."""

from __future__ import annotations

import pytest

from crosscut.base.errors import UsageError
from crosscut.cli import COMMANDS, main
from crosscut.reproduce import experiment, papers
from crosscut.reproduce.papers import ItemState

NAMES = experiment.paper_names()


@pytest.mark.parametrize("name", NAMES)
def test_what_an_item_names_exists_and_the_states_agree_with_it(name: str) -> None:
    for item in papers.read(name).items:
        for by in item.by:
            assert by in experiment.names() or by.split()[0] in COMMANDS, (item.name, by)
        if item.state is ItemState.COMPARED:
            assert item.by, item.name
            assert item.printed, item.name
        elif item.state is ItemState.STATED:
            assert item.by, item.name
        else:
            assert item.remark, f"{item.name}: say why it is {item.state}"


def test_every_experiment_of_a_paper_belongs_to_an_item() -> None:
    listed = {one for name in NAMES for one in papers.read(name).experiments}
    assert listed == set(experiment.names())


def test_a_paper_that_is_not_there_is_refused_with_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean kurmann2003"):
        papers.read("kurman2003")


def test_the_lists_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "--list"]) == 0
    assert "tables and figures compared or stated" in " ".join(capsys.readouterr().out.split())
    assert main(["reproduce", "--list", "kurmann2003"]) == 0
    assert "table 4: compared" in capsys.readouterr().out
