"""Shared by commands that replay traces: options of crosscut's own model of messages, and the noise's fit."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

from crosscut.base.errors import UsageError
from crosscut.base.units import parse_bytes, parse_seconds
from crosscut.cli.parsing.parser import flag, operations_per_second, option
from crosscut.prediction import calibrating, source
from crosscut.prediction import trace as traces
from crosscut.prediction.predicting import PredictionRequest
from crosscut.prediction.replay import Limits
from crosscut.prediction.stream_replay import MPICH_TCP, Transport


def add_flops(parser: argparse._ActionsContainer) -> None:
    option(parser, "--flops RATE", operations_per_second,
           "Operations per second that convert the trace's computing into time. Default: as the profile "
           "says.")  # fmt: skip


def add_model(parser: argparse._ActionsContainer) -> None:
    flag(parser, "--deep-queues",
         "Model switches that never drop packets; where senders meet, the faster one gets the larger "
         "share.")  # fmt: skip
    option(parser, "--eager SIZE", parse_bytes,
           "Send messages of at most this size before their receive is posted. Default 3MiB.")  # fmt: skip
    option(parser, "--inject SIZE", parse_bytes,
           "The sender of a longer message waits until the receiver, in MPI, has taken it in and answered. "
           "Default 128.")  # fmt: skip
    option(parser, "--send-buffer SIZE", parse_bytes,
           "The sender of a message of up to --inject continues when all but this much of it has left. "
           "Default: no limit, so it continues at once.")  # fmt: skip
    option(parser, "--traced-on NETWORK", str,
           "Network on which the program was traced, to which the processors' noise is fitted. "
           "Default: the one named to crosscut profile --network. none: fit nothing.")  # fmt: skip


def add_limits(parser: argparse._ActionsContainer) -> None:
    option(parser, "--time-limit TIME", parse_seconds,
           "End a replay that takes longer. Default 10min.", default=600.0)  # fmt: skip
    option(parser, "--memory SIZE", parse_bytes,
           "Limit for the address space of a replay. Default: none.", default=0)  # fmt: skip


def limits(args: argparse.Namespace) -> Limits:
    return Limits(args.time_limit, args.memory)


def transport(args: argparse.Namespace) -> Transport:
    eager = MPICH_TCP.eager_bytes if args.eager is None else args.eager
    inject = MPICH_TCP.inject_bytes if args.inject is None else args.inject
    return dataclasses.replace(
        MPICH_TCP, eager_bytes=eager, inject_bytes=inject, send_buffer_bytes=args.send_buffer,
        deep_queues=args.deep_queues,
    )  # fmt: skip


def home(args: argparse.Namespace, trace: traces.Trace, made: source.ComputeSource) -> str:
    """Returns the network to which noise is fitted; empty: to none. Raises UsageError if it is unknown."""
    try:
        return made.home(args.traced_on or "", trace.index)
    except UsageError as error:
        raise UsageError(f"--traced-on: {error}") from error


def fit(
    network: str, trace: traces.Trace, asked: PredictionRequest, made: source.ComputeSource, folder: Path
) -> calibrating.Fitted | None:
    """Fits the noise on `network`, where the program was traced in the order of `asked`; None if there is
    nothing to fit to."""
    if not network or made.inside_seconds is None:
        return None
    # The traced run is fitted, so the compute scale of the prediction does not apply.
    there = dataclasses.replace(asked, compute_scale=1.0)
    return calibrating.fit(trace, there, network, made.inside_seconds, folder)
