"""Write the pages that are made from the program itself, so that they cannot say anything else.

docs/reference/patterns.md and backends.md from `crosscut-core list --json`, docs/reference/commands.md from
the help of each command.
"""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from crosscut import cli, core

REFERENCE = Path(__file__).resolve().parent / "reference"
HELP_COLUMNS = "100"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def parameter_table(parameters: Iterable[core.Parameter]) -> list[str]:
    rows = []
    for parameter in parameters:
        values = ", ".join(f"`{choice}`" for choice in parameter.choices) or parameter.kind
        default = f"`{parameter.default}`" if parameter.default else ""
        columns = [f"`--{parameter.name}`", values, cell(parameter.unit), default, cell(parameter.help)]
        rows.append(f"| {' | '.join(columns)} |")
    if not rows:
        return []
    return ["", "| option | values | unit | default | what |", "| --- | --- | --- | --- | --- |", *rows]


def patterns_page(known: core.Core) -> str:
    lines = ["# Patterns", "", "What `crosscut list` shows; *m* is the message size in bytes, *t* seconds."]
    for pattern in known.patterns:
        lines += ["", f"## {pattern.name}", "", f"{cell(pattern.summary)}.", ""]
        lines += [f"Answers\n: {cell(pattern.answers)}", ""]
        lines += [f"Rate\n: `{pattern.formula}`, per {pattern.formula_per}", ""]
        lines += [f"Source\n: {cell(pattern.source)}"]
        lines += parameter_table(pattern.parameters)
    return "\n".join(lines) + "\n"


def backends_page(known: core.Core) -> str:
    lines = ["# Backends", "", "What carries the messages."]
    for backend in known.backends:
        traits = [
            "moves bytes between processes" if backend.live else "moves no bytes between processes",
            *(["goes on without a lost rank"] if backend.tolerates_failure else []),
            *(["may lose bytes, and counts them"] if backend.lossy else []),
        ]
        lines += ["", f"## {backend.name}", "", f"{cell(backend.summary)}. It {'; '.join(traits)}."]
        lines += parameter_table(backend.parameters)
    return "\n".join(lines) + "\n"


def help_of(*words: str) -> str:
    environment = {**os.environ, "COLUMNS": HELP_COLUMNS, "NO_COLOR": "1"}
    command = [sys.executable, "-m", "crosscut", *words, "--help"]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=True
    ).stdout.rstrip()


def commands_page() -> str:
    lines = ["# Commands", "", "```text", help_of(), "```"]
    for command in cli.commands():
        lines += ["", f"## crosscut {command.NAME}", "", "```text", help_of(command.NAME), "```"]
    return "\n".join(lines) + "\n"


def main() -> None:
    known = core.load()
    REFERENCE.mkdir(exist_ok=True)
    (REFERENCE / "patterns.md").write_text(patterns_page(known), encoding="utf-8")
    (REFERENCE / "backends.md").write_text(backends_page(known), encoding="utf-8")
    (REFERENCE / "commands.md").write_text(commands_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
