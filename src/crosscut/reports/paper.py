"""The report's pictures as files for papers: SVG and PDF, each with a caption and its figures as CSV.

The page draws in the browser. Here matplotlib (the extra `charts`) draws the same columns of the same
pictures.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crosscut.analysis.stats.intervals import Floats
from crosscut.base import whole_file
from crosscut.base.errors import UsageError
from crosscut.reports import charts
from crosscut.reports.html.pictures import drawing, matrix
from crosscut.reports.html.pictures.picture import Axis, Picture
from crosscut.run.table_files import write_csv

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTIONS = "captions.md"
_FORMS = (".svg", ".pdf")
# The page's colours, which a file on its own lacks.
_THEME = {
    **{name[4:-1]: colour for colour, name in drawing.COLOURS.items()},
    "--card": "#ffffff", "--ink": charts.INK, "--faint": charts.FAINT, "--line": charts.GRID,
    **charts.MEANINGS,
}  # fmt: skip


def write(pictures: Sequence[Picture], folder: Path, *, overwrite: bool) -> list[Path]:
    """Writes every picture, its figures and `captions.md`; returns the files.

    Raises UsageError, before anything is written, if one of them exists and `overwrite` is false.
    """
    files = dict(_files(pictures))
    there = [name for name in files if (folder / name).exists()]
    if there and not overwrite:
        raise UsageError(f"{folder / there[0]} exists; --force replaces it")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--figures {folder}: not a folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        whole_file.write_output(folder / name, content)
    return [folder / name for name in files]


def _files(pictures: Sequence[Picture]) -> Iterator[tuple[str, bytes]]:
    said = []
    for picture in pictures:
        forms = dict(_drawn(picture))
        for form, content in forms.items():
            yield f"{picture.name}{form}", content
        if columns := _routes(picture) if picture.kind == "matrix" else picture.columns:
            forms[".csv"] = _csv(columns)
            yield f"{picture.name}.csv", forms[".csv"]
        drawn = ", ".join(f"`{picture.name}{form}`" for form in forms)
        said.append(f"## {picture.title}\n\n{drawn}\n\n{charts.plain(picture.caption)}\n")
    yield CAPTIONS, "\n".join(said).encode("utf-8", "replace")


def _drawn(picture: Picture) -> Iterator[tuple[str, bytes]]:
    """Yields the picture as the content of files, by suffix. A drawing exists as SVG only."""
    if picture.kind == "drawing":
        yield ".svg", _standalone(picture).encode("utf-8", "replace")
        return
    figure = draw(picture)
    for form in _FORMS:
        yield form, charts.drawn(figure, form)


def _standalone(picture: Picture) -> str:
    """Returns a drawing of the page as a file of its own, with the colours of the light theme."""
    svg = re.findall(r"<svg.*?</svg>", str(picture.body), re.DOTALL)[0]  # the one for wide screens
    svg = re.sub(r"var\((--[a-z0-9]+)\)", lambda match: _THEME.get(match[1], charts.INK), svg)
    return svg if "xmlns=" in svg else svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)


def _csv(columns: Mapping[str, Any]) -> bytes:
    stream = io.BytesIO()
    write_csv([{name: np.array(_values(column), object) for name, column in columns.items()}], stream)
    return stream.getvalue()


def draw(picture: Picture) -> Figure:
    height = 10.0 if picture.kind == "matrix" else 5.0
    figure, axes = charts.new("", height=height)
    _DRAWERS[picture.kind](axes, picture)
    return figure


def _values(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _numbers(column: Any, axis: Axis | None = None) -> Floats:
    """Returns the column in the unit of the axis; NaN for missing values."""
    found = np.array([np.nan if one is None else one for one in _values(column)], np.float64)
    return found / axis.unit[0] if axis else found


def _label(axis: Axis | None) -> str:
    if axis is None:
        return ""
    return f"{axis.label} ({axis.unit[1]})" if axis.unit[1] else axis.label


def _axes(axes: Axes, picture: Picture) -> tuple[Axis, Axis]:
    """Labels both axes, makes them logarithmic or begin at 0, and returns them."""
    assert picture.x is not None
    assert picture.y is not None
    axes.set_xlabel(_label(picture.x))
    axes.set_ylabel(_label(picture.y))
    charts.by_powers(axes, *(name for name, one in (("x", picture.x), ("y", picture.y)) if one.log))
    return picture.x, picture.y


def _by_run(picture: Picture) -> Iterator[tuple[int, str, dict[str, list[Any]]]]:
    """Yields (number, name, columns) of each run in the picture."""
    columns = {name: _values(column) for name, column in picture.columns.items()}
    runs = columns.get("run", [""])
    for number, run in enumerate(dict.fromkeys(runs)):
        mine = [at for at, of in enumerate(runs) if of == run] if "run" in columns else slice(None)
        picked = {
            name: column[mine] if isinstance(mine, slice) else [column[at] for at in mine]
            for name, column in columns.items()
        }
        yield number, str(run), picked


def _legend(axes: Axes, picture: Picture, look: str) -> None:
    named = [(run, number, look) for number, run, _ in _by_run(picture)]
    charts.legend(axes, named if len(named) > 1 else ())


def _lines(
    axes: Axes, picture: Picture, x: str, y: str, step: Literal["pre", "post", "mid"] | None = None
) -> None:
    """Draws a line for each run, with its interval if there is one. `step`: matplotlib's name of a step."""
    across, up = picture.x, picture.y
    low, high = (f"{y}_low", f"{y}_high") if f"{y}_low" in picture.columns else ("low", "high")
    for number, _, of in _by_run(picture):
        order = np.argsort(_numbers(of[x]), kind="stable")
        colour = charts.COLOURS[number % len(charts.COLOURS)]
        at, values = _numbers(of[x], across)[order], _numbers(of[y], up)[order]
        axes.plot(at, values, color=colour, drawstyle=f"steps-{step}" if step else "default")
        if low in of:
            least, most = (_numbers(of[name], up)[order] for name in (low, high))
            axes.fill_between(at, least, most, color=colour, alpha=0.2, step=step, linewidth=0)
    _legend(axes, picture, "line")


def _phases(axes: Axes, picture: Picture) -> None:
    _axes(axes, picture)
    if picture.more.get("messages"):
        ((_, _, of),) = _by_run(picture)
        order, up = np.argsort(_numbers(of["at"]), kind="stable"), picture.y
        slow, middle, fast = (
            _numbers(of[f"{name}_message"], up)[order] for name in ("slowest", "median", "fastest")
        )
        at = _numbers(of["at"])[order]
        axes.fill_between(at, slow, fast, color=charts.GRID, step="mid", linewidth=0)
        axes.plot(at, middle, color=charts.FAINT, linestyle=":", linewidth=1, drawstyle="steps-mid")
    _lines(axes, picture, "at", "rate", "mid")
    _from_zero(axes, picture)


def _from_zero(axes: Axes, picture: Picture) -> None:
    if picture.y is not None and not picture.y.log:
        axes.set_ylim(bottom=0)


def _histogram(axes: Axes, picture: Picture) -> None:
    across, _ = _axes(axes, picture)
    for number, _, of in _by_run(picture):
        low, high = _numbers(of["from"], across), _numbers(of["to"], across)
        alone = len(set(_values(picture.columns.get("run", [""])))) == 1
        axes.bar(
            low, _numbers(of["count"]), width=high - low, align="edge", alpha=1.0 if alone else 0.55,
            color=charts.COLOURS[number % len(charts.COLOURS)], edgecolor="white", linewidth=0.5,
        )  # fmt: skip
    axes.set_xlim(*_numbers([picture.more["from"], picture.more["to"]], across))
    axes.set_ylabel(f"number of {_label(picture.y)}")
    _legend(axes, picture, "bars")


def _curve(axes: Axes, picture: Picture) -> None:
    across, _ = _axes(axes, picture)
    _lines(axes, picture, "rate", "share", "post")
    axes.set_ylim(0, 100)
    if not across.log:
        axes.set_xlim(left=0)


def _ranks(axes: Axes, picture: Picture) -> None:
    across, up = _axes(axes, picture)
    for number, _, of in _by_run(picture):
        charts.plot(axes, number, "specks" if len(of["rank"]) > 1500 else "dots",
                    _numbers(of["rank"], across).tolist(), _numbers(of["rate"], up).tolist())  # fmt: skip
    _legend(axes, picture, "dots")
    _from_zero(axes, picture)


def _sweep(axes: Axes, picture: Picture) -> None:
    _axes(axes, picture)
    _lines(axes, picture, "size_bytes", str(picture.more["value"]))
    _from_zero(axes, picture)


def _cloud(axes: Axes, picture: Picture) -> None:
    across, up = _axes(axes, picture)
    (_, _, of), *_ = _by_run(picture)
    if "count" not in of:
        sizes, seconds = _numbers(of["size_bytes"], across), _numbers(of["seconds"], up)
        charts.plot(axes, 0, "specks", sizes.tolist(), seconds.tolist())
        return
    x, y = (
        np.sqrt(_numbers(of[f"{name}_from"], axis) * _numbers(of[f"{name}_to"], axis))
        for name, axis in (("size", across), ("seconds", up))
    )
    counts = _numbers(of["count"])
    shown = axes.scatter(x, y, c=counts, s=9, marker="s", cmap="Blues", norm="log", linewidths=0)
    axes.figure.colorbar(shown, ax=axes, label="messages")


def _routes(picture: Picture) -> dict[str, Any]:
    rates = matrix.rates(picture)
    source, destination = np.nonzero(np.isfinite(rates))
    return {
        "source": source, "destination": destination, "bytes_per_second": rates[source, destination].round()
    }  # fmt: skip


def _matrix(axes: Axes, picture: Picture) -> None:
    up = picture.y
    assert up is not None
    image = matrix.rates(picture) / up.unit[0]
    top = float(np.nanpercentile(image, 99))
    shown = axes.imshow(image, cmap="viridis", vmin=0, vmax=top, interpolation="nearest")
    axes.grid(visible=False)
    axes.set_xlabel(_label(picture.x))
    axes.set_ylabel("from rank")
    axes.figure.colorbar(shown, ax=axes, label=f"rate ({up.unit[1]})", shrink=0.8)


def _bars(axes: Axes, picture: Picture) -> None:
    across, _ = _axes(axes, picture)
    labels = _values(picture.columns["label"])
    at = np.arange(len(labels))
    axes.barh(at, _numbers(picture.columns["value"], across), color=charts.COLOURS[0], height=0.7)
    for name in ("tick", "slowest_message", "median_message", "fastest_message"):
        if name in picture.columns:
            axes.plot(_numbers(picture.columns[name], across), at, "|", color=charts.INK, markersize=12)
    axes.set_yticks(at, [charts.plain(str(label)) for label in labels])
    axes.invert_yaxis()
    axes.grid(axis="x")


_DRAWERS: dict[str, Callable[[Axes, Picture], None]] = {
    "phases": _phases, "histogram": _histogram, "curve": _curve, "ranks": _ranks, "sweep": _sweep,
    "cloud": _cloud, "matrix": _matrix, "bars": _bars,
}  # fmt: skip
