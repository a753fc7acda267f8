"""Shared parts of all charts: matplotlib (the extra `charts`), style, legend and files."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crosscut.base.errors import UsageError
from crosscut.base.whole_file import need_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

FORMS = (".svg", ".png", ".pdf")
# Okabe and Ito's palette, which most people with colour blindness can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4b8a", "#4d4d4d")
# As in the light theme of the report's page (page.css).
MEANINGS = {"--sound": "#0072b2", "--limit": "#7b3fa0", "--fault": "#b3420a", "--unknown": "#5c6670"}
INK, FAINT, GRID = "#1f2933", "#5b6673", "#e4e8ec"
_POINTS = {"linestyle": "", "clip_on": False}
LOOKS: dict[str, dict[str, Any]] = {
    "line": {},
    "joined": {"marker": "o", "markersize": 5, "clip_on": False},
    "dashed": {"linestyle": "--"},
    "dotted": {"linestyle": ":"},
    "dots": _POINTS | {"marker": "o", "markersize": 5},
    "specks": _POINTS | {"marker": "o", "markersize": 3, "alpha": 0.35, "markeredgewidth": 0},
    "pale": _POINTS | {"marker": "o", "markersize": 8, "alpha": 0.3, "markeredgewidth": 0},
    # Hollow, so that a mark at the same place stays visible inside the ring.
    "rings": _POINTS | {"marker": "o", "markersize": 9, "fillstyle": "none", "markeredgewidth": 1.5},
    "crosses": _POINTS | {"marker": "+", "markersize": 9, "markeredgewidth": 1.8},
    "saltires": _POINTS | {"marker": "x", "markersize": 7, "markeredgewidth": 1.5},
    "colour": {"linestyle": "", "marker": "s", "markersize": 9},
    "bars": {"linestyle": "", "marker": "s", "markersize": 9, "alpha": 0.55},
}
_STYLE: dict[Any, Any] = {
    # Keep text as text, do not read names with a dollar sign as formulas, and make output reproducible.
    "svg.fonttype": "none", "pdf.fonttype": 42, "text.parse_math": False, "svg.hashsalt": "crosscut",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Helvetica", "Arial"], "font.size": 10,
    "savefig.dpi": 150, "savefig.facecolor": "white", "text.color": INK,
    "figure.titlesize": 14, "figure.titleweight": "bold", "figure.constrained_layout.w_pad": 0.15,
    "figure.constrained_layout.h_pad": 0.08, "axes.labelcolor": INK, "axes.labelsize": 11,
    "axes.edgecolor": FAINT, "axes.axisbelow": True, "axes.grid": True, "axes.grid.axis": "y",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.spines.left": False, "grid.color": GRID, "xtick.color": FAINT, "ytick.color": FAINT,
    "xtick.minor.size": 0, "ytick.major.size": 0, "ytick.minor.size": 0, "lines.linewidth": 2,
    "legend.frameon": False,
}  # fmt: skip
_LEGEND_LETTERS = 34
# Points of a line that is compared with others; pixels at 100 per inch.
_MOST_COMPARED, _SAME_PIXELS = 1000, 1.5


def check(file: Path, forms: Sequence[str] = FORMS) -> None:
    """Raises UsageError, before minutes of work, if the chart cannot be drawn or written to `file`."""
    if file.suffix not in forms:
        raise UsageError(f"-o {file}: unsupported format; use {', '.join(forms[:-1])} or {forms[-1]}")
    need_place("-o", file)
    new("")


def new(title: str, said: str = "", *, height: float = 6.2) -> tuple[Figure, Axes]:
    """Returns an empty chart with a title and the subtitle `said`. Raises UsageError without matplotlib."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("charts need matplotlib: pip install 'crosscut[charts]'") from error
    mpl.rcParams.update(_STYLE)
    figure = Figure(figsize=(10.8, height), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(plain(title))
    axes.set_title(plain(said), fontsize=9.5, color=FAINT)
    axes.xaxis.set_major_formatter(_number)
    axes.yaxis.set_major_formatter(_number)
    return figure, axes


def plain(text: str) -> str:
    """Replaces unprintable characters, such as non-UTF-8 bytes of a file name, with question marks."""
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


def by_powers(axes: Axes, *which: str, own: Iterable[float] = ()) -> None:
    """Makes the axes named in `which` (`x`, `y`) logarithmic. `own`: tick values that replace the default."""
    from matplotlib.ticker import LogLocator, NullFormatter

    for name in which:
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(_number)
        axis.set_minor_formatter(NullFormatter())
        if chosen := sorted(set(own)):
            axis.set_ticks(chosen)


def _number(value: float, _position: float) -> str:
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(factor, 1e4):
            return f"{value / factor:.6g}{suffix}"
    return f"{value:.6g}"


def plot(axes: Axes, colour: int, look: str, x: Sequence[float], y: Sequence[float]) -> None:
    if x:  # matplotlib reserves room even for a line without points
        axes.plot(x, y, color=COLOURS[colour % len(COLOURS)], **LOOKS[look])


def set_apart(axes: Axes) -> None:
    """Widens lines and marks that later ones of another colour would hide, so that both are seen."""
    import numpy as np

    lines = [line for line in axes.get_lines() if np.size(line.get_xdata()) <= _MOST_COMPARED]
    for at, line in enumerate(lines):
        over = sum(_hides(axes, later, line) for later in lines[at + 1 :])
        line.set_linewidth(line.get_linewidth() + 4 * over)
        line.set_markersize(line.get_markersize() + 5 * over)


def _hides(axes: Axes, over: Line2D, under: Line2D) -> bool:
    """True if half of the points of `under` lie within a line's width of points of `over`."""
    if over.get_color() == under.get_color():
        return False
    import numpy as np

    above, below = (axes.transData.transform(line.get_xydata()) for line in (over, under))
    near = np.abs(above[None, :, :] - below[:, None, :]).max(axis=-1, initial=0) <= _SAME_PIXELS
    return bool(near.any(axis=1).mean() >= 0.5) if len(below) else False


def legend(axes: Axes, entries: Iterable[tuple[str, int, str]]) -> None:
    """Draws the legend on the right; sets coinciding series apart. Each entry is (label, colour, look)."""
    from matplotlib.lines import Line2D

    set_apart(axes)
    handles = [
        Line2D([], [], color=COLOURS[colour % len(COLOURS)],
               label=textwrap.fill(plain(label), _LEGEND_LETTERS), **LOOKS[look])
        for label, colour, look in entries
    ]  # fmt: skip
    if handles:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def drawn(figure: Figure, form: str) -> bytes:
    """Returns the content of a file with suffix `form`, without a date."""
    dateless = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    figure.draw_without_rendering()  # settles the position of the axes
    figure.suptitle(figure.get_suptitle(), x=figure.axes[0].get_position().x0, horizontalalignment="left")
    figure.savefig(stream, format=form[1:], metadata=dateless.get(form))
    return stream.getvalue()
