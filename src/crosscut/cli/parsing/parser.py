"""The argument parser of all commands: short errors, suggestions for near misses, typed quantities."""

from __future__ import annotations

import argparse
import difflib
import json
import math
import re
import shlex
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from crosscut.base.errors import EXIT_CODES, EXIT_USAGE, UsageError
from crosscut.base.spelling import sentence

if TYPE_CHECKING:
    from crosscut.reports.terminal.screen import Screen

Value = TypeVar("Value")


class Parser(argparse.ArgumentParser):
    """Argument parser whose errors are one line and a pointer to the help, not a screenful of usage."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        options.setdefault("allow_abbrev", False)  # an abbreviation would break when an option is added
        super().__init__(**options)
        # "-1KB" is a wrong value of the option before it, which its parser explains, and no option.
        self._negative_number_matcher = re.compile(r"-\.?[0-9]")
        self.words: list[str] = []
        """The words typed for this parser, for help and errors that depend on them."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}\nsee '{self.prog} --help'", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Rejects leftover words here, where this command's own options are known. argparse would pass them
        up to the parser of all commands."""
        self.words = [*(sys.argv[1:] if args is None else args)]
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error("; ".join(map(self.unknown, _names(unknown))))
        return found, unknown

    def unknown(self, word: str) -> str:
        """Returns the error message for a leftover word."""
        if not word.startswith("-"):
            return f"unexpected argument '{word}'"
        # Without the dashes, which would make every short name a near match.
        names = {name.lstrip("-"): name for name in self._option_string_actions if name.startswith("--")}
        near = difflib.get_close_matches(word.lstrip("-"), names, n=1, cutoff=0.6)
        return f"there is no option {word}" + (f"; did you mean {names[near[0]]}?" if near else "")

    def _stray_option(self, value: str) -> str:
        """Returns the word before `value` if it is an option unknown here, whose value was taken for a
        command or pattern (`run --stride 3 aapc`), else an empty string."""
        for before, word in zip(["", *self.words], self.words, strict=False):
            # The same word may occur earlier as the value of an option.
            if word == value and not self._takes_next(before):
                unknown = before.startswith("-") and not self._is_complete(before)
                return before.split("=")[0] if unknown else ""
        return ""

    def _takes_next(self, word: str) -> bool:
        """Returns True for an option known here whose value is the next word."""
        action = self._option_string_actions.get(word)
        return action is not None and action.nargs != 0

    def _is_complete(self, word: str) -> bool:
        """Returns True for an option known here that needs no further word: `--size=3`, `-n4`, `--verify`."""
        return self.knows(word.split("=")[0]) or (word[1:2] != "-" and self.knows(word[:2]))

    @property
    def actions(self) -> Sequence[argparse.Action]:
        return self._actions

    def knows(self, option: str) -> bool:
        return option in self._option_string_actions

    def _stray(self, option: str, commands: dict[str, argparse.ArgumentParser]) -> NoReturn:
        """Reports an option unknown here, to the command further on in the line if there is one."""
        name = next((word for word in self.words if word in commands), "")
        named = commands.get(name)
        if not isinstance(named, Parser):
            self.error(self.unknown(option))
        if named.knows(option):
            named.error(f"{option} is an option of {name}: write it after that name")
        named.error(named.unknown(option))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            if isinstance(action.choices, dict) and (stray := self._stray_option(str(value))):
                self._stray(stray, action.choices)
            names = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), names, n=2, cutoff=0.6)
            wrong = (
                f"unknown; did you mean {' or '.join(near)}?" if near else f"not one of {', '.join(names)}"
            )
            if isinstance(action.choices, dict) and not near and {".", "/"} & set(str(value)):
                wrong += f"; a file comes after one of them: {self.prog} {action.metavar} {value}"
            raise argparse.ArgumentError(action, f"'{value}' is {wrong}")


def _names(unknown: Sequence[str]) -> list[str]:
    """Returns the options among the unknown words, without values; if there are none, the words."""
    options = [word.split("=")[0] for word in unknown if word.startswith("-")]
    return list(dict.fromkeys(options or unknown))


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help formatter that keeps line breaks of examples and leaves room for the text of options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Wraps lines, but not at hyphens: option names stay whole."""
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def quantity(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """Wraps a parser of crosscut as an argparse type: its message is shown with the option's name."""

    @wraps(parse)  # argparse names the function if it raises ValueError
    def parsed(text: str) -> Value:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def option(
    group: argparse._ActionsContainer, spelling: str, parse: Callable[[str], Any], words: str, **more: Any
) -> None:
    """Declares an option spelled as the help shows it, such as `-o --out FILE`. `words` is its help; `parse`
    may raise UsageError."""
    *names, metavar = spelling.split()
    group.add_argument(*names, type=quantity(parse), metavar=metavar, help=words, **more)


def flag(group: argparse._ActionsContainer, name: str, words: str, **more: Any) -> None:
    """Declares an option without a value: False unless typed."""
    group.add_argument(name, action="store_true", help=words, **more)


def record(kind: type[Value], given: Mapping[str, Any], **more: Any) -> Value:
    """Builds a dataclass from the entries of `given` named like its members, and from `more`."""
    from dataclasses import fields  # takes longer to import than most commands

    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: given[name] for name in names if name in given and name not in more}, **more)


def tell(args: argparse.Namespace, document: Callable[[], object], render: Callable[[Screen], None]) -> None:
    """Prints the result: with `--json` as one object, else drawn on the terminal."""
    if args.json:
        print(json.dumps(document(), allow_nan=False))
    else:
        from crosscut.reports.terminal.screen import screen_for

        render(screen_for())


def split(text: str) -> tuple[str, ...]:
    """Splits a text into words as a shell does."""
    return tuple(shlex.split(text))


def actions(parser: argparse.ArgumentParser, dest: str = "action") -> Any:
    """Adds actions to a command: `add_action` adds each, `run_action` executes the one that was typed."""
    found = parser.add_subparsers(title="actions", metavar="ACTION", dest=dest, required=True)
    found.command_epilog = parser.epilog or ""  # type: ignore[attr-defined]
    return found


def add_action(
    commands: Any, name: str, act: Callable[[argparse.Namespace], int], words: str, **more: Any
) -> argparse.ArgumentParser:
    """Adds an action that `act` executes, with the help `words`; returns its parser. Its help ends with those
    of the command's examples that begin with it."""
    more = {"description": sentence(words), **more}
    one: argparse.ArgumentParser = commands.add_parser(name, help=words, **more)
    examples = _examples(commands.command_epilog, one.prog)
    one.epilog = "\n\n".join(filter(None, (examples, one.epilog)))
    one.set_defaults(act=act)
    return one


def _examples(text: str, begin: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(f"  {begin} ")]
    return "\n".join(("examples:" if lines[1:] else "example:", *lines)) if lines else ""


def run_action(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


# Absent from the namespace unless typed.
typed_option = partial(option, default=argparse.SUPPRESS)
typed_flag = partial(flag, default=argparse.SUPPRESS)


def whole(minimum: int, maximum: int = 2**63 - 1) -> Callable[[str], int]:
    """Returns an argparse type for whole numbers from `minimum` to `maximum`."""

    def parsed(text: str) -> int:
        try:
            value = int(text, 10)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from error
        if not minimum <= value <= maximum:
            most = f" and at most {maximum}" if maximum < 2**63 - 1 else ""
            raise argparse.ArgumentTypeError(f"{text} is out of range; it must be at least {minimum}{most}")
        return value

    return parsed


def epilog(examples: str) -> str:
    """Returns the examples, then the general exit statuses unless the command describes its own."""
    text = examples.strip()
    return text if "exit status:" in text else f"{text}\n\n{EXIT_CODES}"


def number(fits: Callable[[float], bool], complaint: str) -> Callable[[str], float]:
    """Returns a parser of numbers that satisfy `fits`. `complaint` is the error, with {} for
    the typed text."""

    def parsed(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not fits(value):
            raise UsageError(complaint.format(text))
        return value

    return parsed


operations_per_second = number(
    lambda value: 1.0 <= value <= 1e18, "'{}' is not a rate; write operations per second, such as 2.5e9"
)
