"""Whatever part of the unsynced writes a power failure leaves on the disk, what was committed is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from power_loss import MODES, replay  # of tools
from store_writer import crash_writer
from tiers import long

if shutil.which("cc") is None:
    pytest.skip("the recorder of writes needs a C compiler", allow_module_level=True)


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crash_writer(tmp_path_factory.mktemp("build"))


@pytest.mark.parametrize("most_moments", [12, long(None)])
@pytest.mark.parametrize("mode", MODES)
def test_no_state_of_the_disk_loses_a_committed_block(
    writer: Path, mode: str, most_moments: int | None
) -> None:
    tally = replay(writer, MODES[mode], seed=7100, resumed_share=0.05, most_moments=most_moments)
    assert not tally.wrong
    assert tally.states > (30 if most_moments else 400)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_writer_that_left_out_a_third_of_its_syncs_would_be_noticed(writer: Path, first: int) -> None:
    syncs = range(first, 10_000, 3)
    tally = replay(writer, MODES["samples"], seed=7100, most_moments=12, ignored_syncs=syncs)
    assert tally.wrong
