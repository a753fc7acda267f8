"""The argument parser of all commands: short errors, near misses named, quantities parsed once."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from crosscut.errors import EXIT_CODES, EXIT_USAGE, UsageError

Value = TypeVar("Value")


class Parser(argparse.ArgumentParser):
    """Errors are one line and a pointer to the help, not a screenful of usage."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        options.setdefault("allow_abbrev", False)  # an abbreviation would break when an option is added
        super().__init__(**options)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}\nsee '{self.prog} --help'", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(names)}"
            raise argparse.ArgumentError(action, f"'{value}' is unknown; {hint}")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of examples; options in a column that leaves room for their text."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)


def quantity(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """A parser of crosscut's as an argparse type: its message is shown with the option's name."""

    def parsed(text: str) -> Value:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def whole(minimum: int) -> Callable[[str], int]:
    """A whole number, at least `minimum`, as an argparse type."""

    def parsed(text: str) -> int:
        try:
            value = int(text, 10)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from error
        if not minimum <= value < 2**63:
            raise argparse.ArgumentTypeError(f"{text} is out of range; at least {minimum}")
        return value

    return parsed


def epilog(examples: str) -> str:
    """Examples, then what the exit status says."""
    return f"{examples.strip()}\n\n{EXIT_CODES}"
