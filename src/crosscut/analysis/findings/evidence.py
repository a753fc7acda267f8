"""The input of finders: one run, and the structure inferred from it."""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from crosscut.analysis.figures.samples import Samples
from crosscut.analysis.figures.summary import Routes
from crosscut.analysis.structure.infer import Inferred
from crosscut.analysis.structure.observed import Observed


@dataclass(frozen=True)
class Evidence:
    observed: Observed
    """Messages, each with its median rate over repetitions."""
    inferred: Inferred
    names: tuple[str, ...]
    """[rank]"""
    samples: Samples | None = None
    """Every repetition, if available."""
    dataset: xr.Dataset | None = None
    """The whole run. `observed` and `samples` may have only some of its phases."""
    routes: Routes | None = None
    """All routes of the run, if there are too many for `observed`."""

    def name(self, rank: int) -> str:
        return self.names[rank]

    @property
    def whole(self) -> bool:
        """True if `samples` has every phase of the run."""
        if self.samples is None or self.dataset is None:
            return True
        return len(self.samples.phase) == self.dataset.sizes["phase"]
