"""What one output says, as arrays of a run: the seam between the readers and the writer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crosscut.imports.output import OutputFile
from crosscut.run.shape import Shape

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """How a program measures, in the terms of a pattern (attribute `pattern` of a run)."""

    name: str
    summary: str
    formula: str
    source: str
    """Name and version of the program's source, and the lines that define its figures."""
    shape: Shape
    formula_per: str = "rank"
    findings: bool = False
    latency: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """S sizes, R repetitions, P phases, N ranks, K slots; NaN: not measured."""

    program: str
    """Name and version: `osu_bw 7.4`."""
    method: Method
    carrier: str
    """What carried the messages, as a backend's name; empty if the output does not say."""
    hosts: tuple[str, ...]
    """[N]"""
    hosts_named: bool
    """False: the output names no hosts; `hosts` are roles."""
    size_bytes: tuple[int, ...]
    """[S] ascending."""
    peer: NDArray[np.int32]
    """[P, N, K] the rank that a sample came from; -1: no sample."""
    message_seconds: Floats
    """[S, R, P, N, K] time of one message of the size."""
    rank_seconds: Floats
    """[S, R, P, N]"""
    credited_bytes: Floats
    """[S, P]"""
    repetition: str
    """What one repetition is."""
    lacks: tuple[str, ...]
    """What a run of crosscut has and the output does not."""
    left_out: tuple[str, ...] = ()
    """What the file has and the run does not, such as a row that was cut off."""
    iterations: int = 1
    """Messages that one sample is the mean of, at least."""
    phase_labels: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    """ISO 8601, UTC; empty if the output does not say."""
    further: Mapping[str, Any] = field(default_factory=dict)
    """More attributes of the run."""


@dataclass(frozen=True)
class Format:
    """The output of one program."""

    name: str
    what: str
    """`what osu_latency, osu_bw and osu_bibw print`"""
    recognises: Callable[[OutputFile], bool]
    parse: Callable[[OutputFile], Measured]
    """Raises UsageError with file and line."""
