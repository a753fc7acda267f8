"""The papers that crosscut repeats, item by item: every table, figure and numbered statement has a state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from crosscut.base import spelling, toml_fields
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import DERIVED, NO_TABLE, Filled, FilledLine, Key, OneOf, Table
from crosscut.reproduce import experiment


class ItemState(StrEnum):
    COMPARED = "compared"
    """A printed number stands beside crosscut's: in a row of an experiment, or in the remark."""
    STATED = "stated"
    """A sentence without a number of its own is tested; the remark says where crosscut's result differs."""
    NOT_PRINTED = "not printed"
    """The paper, as far as its text is known, prints no value."""
    NOT_DESCRIBABLE = "not describable"
    """crosscut cannot describe what limited the paper's measurement."""
    OPEN = "open"
    """Could be compared, and is not yet."""


@dataclass(frozen=True, kw_only=True)
class PaperItem:
    name: FilledLine
    """`table 3`, `figure 7`, `section 5.2: …`"""
    about: Filled
    state_text: Annotated[str, Key("state"), OneOf(tuple(ItemState))]
    by: tuple[FilledLine, ...] = ()
    """Experiments, and other commands of crosscut such as `workload run is`."""
    printed: str = ""
    remark: str = ""
    """How crosscut's result deviates and why, or why there is none."""
    at: Table = NO_TABLE

    @property
    def state(self) -> ItemState:
        return ItemState(self.state_text)

    @property
    def is_numbered(self) -> bool:
        """True for a table or figure."""
        return self.name.startswith(("table ", "figure "))


@dataclass(frozen=True, kw_only=True)
class Paper:
    name: Annotated[str, DERIVED] = ""
    title: FilledLine
    items: Annotated[tuple[PaperItem, ...], Key("item")] = ()

    @cached_property
    def experiments(self) -> tuple[str, ...]:
        """Names of the experiments of its items, in the order of the paper."""
        known = frozenset(experiment.names())
        return tuple(dict.fromkeys(name for item in self.items for name in item.by if name in known))

    def count(self, state: ItemState) -> int:
        return sum(item.state is state for item in self.items)

    @property
    def numbered(self) -> tuple[int, int]:
        """How many tables and figures are compared or stated, and how many there are."""
        states = [item.state for item in self.items if item.is_numbered]
        return sum(one in (ItemState.COMPARED, ItemState.STATED) for one in states), len(states)


def read(name: str) -> Paper:
    """Reads the list of one paper, by name. Raises UsageError."""
    where, there = experiment.paper_folder(), experiment.paper_names()
    if where is None or name not in there:
        near = spelling.hint(name, there) or f"; there is {', '.join(there) or 'none here'}"
        raise UsageError(f"{name}: there is no such paper{near}")
    path = where / f"{name}.toml"
    found = toml_fields.document(path, "a list of a paper's items").read(Paper)
    toml_fields.check_apart(found.items)
    return Paper(name=name, title=found.title, items=found.items)
