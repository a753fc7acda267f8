"""HTML in which text cannot become markup: everything that is not `Markup` is escaped."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from html import escape

import numpy as np

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})


class Markup(str):
    """HTML that is safe to insert as is."""

    __slots__ = ()


NOTHING = Markup("")

Child = str | Iterable[str] | None


# HTML excludes control characters and lone surrogates. Bidirectional controls could disguise a name.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def text(value: str) -> Markup:
    return Markup(escape(_UNFIT.sub("\ufffd", value)))


def element(name: str, /, *children: Child, **attributes: str | bool | None) -> Markup:
    """`element("p", "a < b", class_="x")`. Attributes that are None or False are left out."""
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        words.append(shown if value is True else f'{shown}="{text(value)}"')
    opened = f"<{' '.join(words)}>"
    return Markup(opened if name in _VOID else f"{opened}{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            parts.append(child if isinstance(child, Markup) else text(child))
        else:
            parts.append(join(*child))
    return Markup("".join(parts))


def table(
    head: Iterable[Child], rows: Iterable[Iterable[Child]], *, words: frozenset[int], caption: str,
    stacked: bool = False, dash: str = "",
) -> Markup:  # fmt: skip
    """Columns listed in `words` are text, the others numbers. The first cell of a row is its header.

    `dash`: why a cell is a dash, said if one is.
    `stacked`: on a narrow screen, the cells of a row are below each other, each with its column's name.
    """
    columns, cells_of = list(head), [list(row) for row in rows]
    # Empty columns are left out, such as intervals of too few repetitions.
    if dash and any(cell == "–" for row in cells_of for cell in row):
        caption += f" (–: {dash})"
    kept = [index for index in range(len(columns)) if not cells_of or any(row[index] for row in cells_of)]
    cells = [
        element("th", columns[index], scope="col", class_="word" if index in words else None)
        for index in kept
    ]
    body = [
        element("tr", [
            element(
                "th" if index == 0 else "td", row[index],
                scope="row" if index == 0 else None, class_="word" if index in words else None,
                data_column=name if stacked and isinstance(name := columns[index], str) else None,
            )
            for index in kept
        ])
        for row in cells_of
    ]  # fmt: skip
    inner = element(
        "table", element("caption", element("span", caption)), element("thead", element("tr", cells)),
        element("tbody", body),
        class_="stacked" if stacked else None,
    )  # fmt: skip
    return scrolling(inner, caption)


def scrolling(inner: Markup, label: str, class_: str = "scroll") -> Markup:
    """Wraps `inner` to scroll on a narrow screen. The wrapper takes the focus, so that keys scroll it too."""
    return element("div", inner, class_=class_, tabindex="0", role="region", aria_label=label)


def document(title: str, body: Markup, *, policy: str, style: str, more: Iterable[Markup] = ()) -> str:
    """Returns a whole page under the content security `policy`; `more`: further elements of its head."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        more,
        element("title", title),
        element("style", Markup(style)),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{element("body", body)}</html>\n'


def data(value: object) -> Markup:
    """Returns JSON for a <script type="application/json">, with `<` escaped and NaN as null."""
    dumped = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return Markup(dumped)


def _plain(value: object) -> object:
    """Converts arrays and text to plain JSON values. Rounds floats to six digits: more than any timer
    resolves, at a third of a double's length."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(member) for member in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, str):  # a file name may contain a lone surrogate, which UTF-8 cannot encode
        return value.encode("utf-8", "replace").decode("utf-8")
    return value
