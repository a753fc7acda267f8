"""The time of a traced program on a candidate, by `crosscut predict`; and a mix of traces alone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.prediction import calibrating, predicting, source
from crosscut.prediction import trace as traces
from crosscut.pricing.amounts import Interval
from crosscut.pricing.mix import Mix, Work
from crosscut.pricing.performing import SizedCandidate, TimeSource, in_doubt
from crosscut.profile import tit


def is_trace(path: Path) -> bool:
    """A folder of `crosscut profile --trace`, or the list of files in it."""
    return path.is_dir() or path.name == tit.LIST


def mix_of(paths: Sequence[Path]) -> Mix:
    """What `--performance TRACE` asks for: each as much as the others. UsageError."""
    found = [traces.read(path) for path in paths]
    ranks = found[0].ranks
    for path, trace in zip(paths, found, strict=True):
        if trace.ranks != ranks:
            raise UsageError(
                f"--performance {path}: is of {trace.ranks:,} ranks, {paths[0]} of {ranks:,}: compare "
                "like with like"
            )
    names = [_name(path) for path in paths]
    works = tuple(
        Work(name=name if names.count(name) == 1 else str(path), trace=path, where=f"--performance {path}")
        for path, name in zip(paths, names, strict=True)
    )
    return Mix(
        path=paths[0],
        title=" and ".join(dict.fromkeys(work.name for work in works)),
        ranks=ranks,
        works=works,
    )


def _name(path: Path) -> str:
    folder = (path if path.is_dir() else path.parent).absolute()
    return "".join(one if one.isprintable() else "?" for one in folder.name)


def replaying(error_share: float) -> TimeSource:
    """One for all candidates: noise is fitted once for each trace."""
    fitted: dict[str, calibrating.Fitted] = {}

    def replayed(work: Work, site: SizedCandidate) -> Interval:
        assert work.trace is not None
        trace = traces.read(work.trace)
        if trace.ranks != site.ranks:
            raise UsageError(
                f"{work.where}: {work.trace} has {trace.ranks:,} ranks, and the mix {site.ranks:,}: write "
                f"ranks = {trace.ranks} at its top"
            )
        try:
            made = source.find(trace, work.operations_per_second)
        except UsageError as error:
            raise UsageError(f"{work.where}: {error}; in a mix: operations_per_second = …") from error
        asked = predicting.PredictionRequest((site.description,), made.operations_per_second)
        with tempfile.TemporaryDirectory(prefix="crosscut-price-") as folder:
            if work.traced_on:
                if work.name not in fitted:
                    fitted[work.name] = _noise(work, trace, asked, made, Path(folder))
                asked = calibrating.fitted(asked, fitted[work.name])
            (seconds,) = predicting.seconds(trace, asked, Path(folder))
        return in_doubt(Interval(seconds, seconds), error_share)

    return replayed


def _noise(
    work: Work,
    trace: traces.Trace,
    asked: predicting.PredictionRequest,
    made: source.ComputeSource,
    folder: Path,
) -> calibrating.Fitted:
    if made.inside_seconds is None:
        raise UsageError(
            f"{work.where}: traced_on: no profile beside {trace.index} says how long the program took there"
        )
    return calibrating.fit(trace, asked, work.traced_on, made.inside_seconds, folder)
