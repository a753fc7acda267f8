"""`crosscut doctor`: checks what works on this machine, what is missing and how to get it."""

from __future__ import annotations

import argparse
import dataclasses
from itertools import groupby

from rich.table import Table
from rich.text import Text

from crosscut.base.errors import EXIT_FAILED, EXIT_OK
from crosscut.cli.doctor import probes
from crosscut.cli.doctor.probes import Fact
from crosscut.cli.parsing.parser import flag, tell
from crosscut.reports.terminal.glyphs import ASCII
from crosscut.reports.terminal.screen import Screen

EPILOG = """
examples:
  crosscut doctor
  crosscut doctor --json | jq '.findings[] | select(.good == false)'

The exit status is 1 only if nothing at all can be measured.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--json", "Print one JSON object on standard output.")


def execute(args: argparse.Namespace) -> int:
    findings = probes.examine()
    tell(args, lambda: {"findings": [*map(dataclasses.asdict, findings)]},
         lambda screen: _draw(screen, findings))  # fmt: skip
    core_works = any(finding.name == "crosscut-core" and finding.good for finding in findings)
    return EXIT_OK if core_works else EXIT_FAILED


def _marks(screen: Screen) -> tuple[str, str, str]:
    return ("ok", "--", " ") if screen.glyphs is ASCII else ("✓", "✗", "·")


def _mark(screen: Screen, finding: Fact) -> Text:
    good, bad, neither = _marks(screen)
    marks = {True: (good, "green"), False: (bad, "yellow"), None: (neither, "dim")}
    return Text(*marks[finding.good])


def _draw(screen: Screen, findings: list[Fact]) -> None:
    for section, group in groupby(findings, key=lambda finding: finding.section):
        screen.title(section)
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, min_width=22)
        grid.add_column(overflow="fold")
        for finding in group:
            value = Text(screen.glyphs.plain(finding.value))
            if finding.advice:
                value.append(
                    screen.glyphs.plain(f"\n{finding.advice}"),
                    style="yellow" if finding.good is False else "dim",
                )
            grid.add_row(_mark(screen, finding), finding.name, value)
        screen.show(grid)
    good, bad, neither = _marks(screen)
    attention = sum(finding.good is False for finding in findings)
    screen.line()
    screen.line(f"{good} works   {bad} needs attention ({attention})   {neither} for information", "dim")
