"""Windows as analysis sees them."""

from __future__ import annotations

from pathlib import Path

from stored_run import make_run

from crosscut.analysis.figures import samples
from crosscut.run.run import Run


def test_a_sample_is_the_mean_of_a_window_s_messages_in_every_iteration(tmp_path: Path) -> None:
    run = Run.open(make_run(tmp_path / "run.zarr"))
    assert samples.load(run.dataset, 0).iterations == 1
    for recorded, iterations in ((1, 1), (8, 8), (0, 1), ("8", 1), (True, 1)):
        dataset = run.dataset.assign_attrs(window=recorded)
        assert samples.load(dataset, 0).iterations == iterations
