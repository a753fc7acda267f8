"""The argument parser of all commands: short errors, near misses named, quantities parsed once."""

from __future__ import annotations

import argparse
import difflib
import json
import math
import shlex
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from crosscut.base.errors import EXIT_CODES, EXIT_USAGE, UsageError

if TYPE_CHECKING:
    from crosscut.reports.terminal.screen import Screen

Value = TypeVar("Value")


class Parser(argparse.ArgumentParser):
    """Errors are one line and a pointer to the help, not a screenful of usage."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        options.setdefault("allow_abbrev", False)  # an abbreviation would break when an option is added
        super().__init__(**options)
        self.words: list[str] = []
        """What was typed, from here on; for help and errors that depend on it."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}\nsee '{self.prog} --help'", file=sys.stderr)
        sys.exit(EXIT_USAGE)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Nothing may be left over: said here, where the options of this very command are known, and not by
        the parser of all commands, to which argparse would hand it up."""
        self.words = [*(sys.argv[1:] if args is None else args)]
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error("; ".join(map(self.unknown, _names(unknown))))
        return found, unknown

    def unknown(self, word: str) -> str:
        """What to say of a word that is left over."""
        if not word.startswith("-"):
            return f"unexpected '{word}'"
        # Without the dashes, which would make every short name a near one.
        names = {name.lstrip("-"): name for name in self._option_string_actions if name.startswith("--")}
        near = difflib.get_close_matches(word.lstrip("-"), names, n=1, cutoff=0.6)
        return f"there is no option {word}" + (f"; did you mean {names[near[0]]}?" if near else "")

    def _stray_option(self, value: str) -> str:
        """The word before `value` where that is an option not known here, whose value was taken for a command
        or pattern: `run --stride 3 aapc`."""
        before = self.words[self.words.index(value) - 1] if value in self.words[1:] else ""
        return before if before.startswith("-") and not self.knows(before) else ""

    def knows(self, option: str) -> bool:
        return option in self._option_string_actions

    def _stray(self, option: str, commands: dict[str, argparse.ArgumentParser]) -> NoReturn:
        """`option` is not known here: perhaps to the command that stands further on."""
        name = next((word for word in self.words if word in commands), "")
        named = commands.get(name)
        if not isinstance(named, Parser):
            self.error(self.unknown(option))
        if named.knows(option):
            named.error(f"{option} is an option of {name} alone: it stands after that name")
        named.error(named.unknown(option))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            if isinstance(action.choices, dict) and (stray := self._stray_option(str(value))):
                self._stray(stray, action.choices)
            names = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), names, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(names)}"
            raise argparse.ArgumentError(action, f"'{value}' is unknown; {hint}")


def _names(unknown: Sequence[str]) -> list[str]:
    """The options among words that were not understood, without values; where there is none, the words."""
    options = [word.split("=")[0] for word in unknown if word.startswith("-")]
    return list(dict.fromkeys(options or unknown))


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of examples; options in a column that leaves room for their text."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=30)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Not within an option's name."""
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def quantity(parse: Callable[[str], Value]) -> Callable[[str], Value]:
    """A parser of crosscut's as an argparse type: its message is shown with the option's name."""

    @wraps(parse)  # argparse names the function where it raises ValueError
    def parsed(text: str) -> Value:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


def option(
    group: argparse._ActionsContainer, spelling: str, parse: Callable[[str], Any], words: str, **more: Any
) -> None:
    """Declares an option, spelled as help shows it: `-o --out FILE`. `words`: its help; `parse` may raise
    UsageError."""
    *names, metavar = spelling.split()
    group.add_argument(*names, type=quantity(parse), metavar=metavar, help=words, **more)


def flag(group: argparse._ActionsContainer, name: str, words: str, **more: Any) -> None:
    """Declares an option without a value: False unless it was typed."""
    group.add_argument(name, action="store_true", help=words, **more)


def record(kind: type[Value], given: Mapping[str, Any], **more: Any) -> Value:
    """A dataclass of what was given under its members' names, and of `more`."""
    from dataclasses import fields  # takes longer to import than most commands

    names = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: given[name] for name in names if name in given and name not in more}, **more)


def tell(args: argparse.Namespace, document: Callable[[], object], render: Callable[[Screen], None]) -> None:
    """What was found: with `--json` one object, else drawn on the terminal."""
    if args.json:
        print(json.dumps(document(), allow_nan=False))
    else:
        from crosscut.reports.terminal.screen import screen_for

        render(screen_for())


def split(text: str) -> tuple[str, ...]:
    """Words, as a shell takes them apart."""
    return tuple(shlex.split(text))


def actions(parser: argparse.ArgumentParser, dest: str = "action") -> Any:
    """The actions of a command; `add_action` adds to them, `run_action` executes the one that was typed."""
    return parser.add_subparsers(title="what to do", metavar="ACTION", dest=dest, required=True)


def add_action(
    commands: Any, name: str, act: Callable[[argparse.Namespace], int], words: str, **more: Any
) -> argparse.ArgumentParser:
    """The parser of an action that `act` executes. `words`: its help."""
    one: argparse.ArgumentParser = commands.add_parser(name, help=words, **more)
    one.set_defaults(act=act)
    return one


def run_action(args: argparse.Namespace) -> int:
    status: int = args.act(args)
    return status


# Absent from the namespace unless they were typed.
typed_option = partial(option, default=argparse.SUPPRESS)
typed_flag = partial(flag, default=argparse.SUPPRESS)


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
    """Examples, then what the exit status says: in general, unless the command has words of its own."""
    text = examples.strip()
    return text if "exit status:" in text else f"{text}\n\n{EXIT_CODES}"


def number(fits: Callable[[float], bool], complaint: str) -> Callable[[str], float]:
    """A number that `fits`, as an option's parser. `complaint`: of any other text, which stands for {}."""

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
    lambda value: 1.0 <= value <= 1e18, "'{}' is no rate; write operations a second, such as 2.5e9"
)
