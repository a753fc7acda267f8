"""What all pages with pictures share: navigation, figures, scripts, footer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crosscut import __version__
from crosscut.base.spelling import tied
from crosscut.reports.html import assets
from crosscut.reports.html.markup import Markup, data, document, element, join
from crosscut.reports.html.pictures.picture import Picture

_LICENCES = (
    "Pictures drawn by Observable Plot and D3, copyright Observable, Inc. and Mike Bostock, ISC licence."
)


def figures(shown: Sequence[Picture]) -> Markup:
    return element("div", [_figure(picture) for picture in shown], class_="figures")


def _figure(picture: Picture) -> Markup:
    """Returns the frame that the script fills. The caption states the result even without JavaScript."""
    return element(
        "figure",
        element("h3", picture.title),
        element("div", picture.body, class_="plot"),
        element("figcaption", tied(picture.caption)),
        id=picture.name, data_kind=picture.kind, tabindex="-1",
    )  # fmt: skip


def page(
    title: str, body: Markup, shown: Mapping[str, object], links: Sequence[tuple[str, str]], description: str,
    *, pictures: str,
) -> str:  # fmt: skip
    """Returns the whole page. `shown`: the pictures and sizes for the script; `links`: (anchor, words) of its
    parts; `pictures`: the anchor of the part that the skip link leads to."""
    scripts, policy = assets.scripts()
    more = [
        element("meta", name=name, content=content)
        for name, content in (
            ("color-scheme", "light dark"),
            ("generator", f"crosscut {__version__}"),
            ("description", description),
        )
    ]
    inner = join(
        element("a", "Skip to the pictures", href=f"#{pictures}", class_="skip"),
        _bar(links),
        element("main", body),
        element("footer", element("p", f"Made by crosscut {__version__}. {_LICENCES}")),
        element(
            "noscript",
            "The pictures need JavaScript. Their captions say what they show; the tables have the figures.",
        ),
        element("script", data(shown), type="application/json", id="report-data"),
        scripts,
    )
    return document(f"{title} · crosscut", inner, policy=policy, style=assets.read("page.css"), more=more)


def _bar(links: Sequence[tuple[str, str]]) -> Markup:
    return element(
        "nav",
        element("span", "crosscut", class_="brand"),
        element("div", [element("a", words, href=f"#{anchor}") for anchor, words in links], class_="links"),
        element("button", "Theme: auto", type="button", id="theme", hidden=True),
        aria_label="parts of the report",
    )
