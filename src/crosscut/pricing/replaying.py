"""The time of a traced program on a candidate, by `crosscut predict`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from crosscut import smpi
from crosscut.errors import CrosscutError, UsageError
from crosscut.prediction import predicting, source
from crosscut.prediction import trace as traces
from crosscut.pricing.amounts import Interval
from crosscut.pricing.mix import Work
from crosscut.pricing.performing import Site, Source, in_doubt


def replaying(error_share: float) -> Source:
    def replayed(work: Work, site: Site) -> Interval:
        assert work.trace is not None
        if (reason := smpi.unavailable()) is not None:
            raise CrosscutError(f"{work.where}: '{work.name}' is a trace: {reason}")
        trace = traces.read(work.trace)
        if trace.ranks != site.ranks:
            raise UsageError(
                f"{work.where}: {work.trace} has {trace.ranks:,} ranks, and the mix {site.ranks:,}: write "
                f"ranks = {trace.ranks} at its top"
            )
        try:
            made = source.find(trace, work.operations_per_second)
        except UsageError as error:
            raise UsageError(f"{work.where}: {error}; here: operations_per_second = …") from error
        asked = predicting.Asked((site.description,), made.operations_per_second)
        with tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
            seconds = predicting.predict(trace, asked, Path(folder)).networks[0].seconds
        return in_doubt(Interval(seconds, seconds), error_share)

    return replayed
