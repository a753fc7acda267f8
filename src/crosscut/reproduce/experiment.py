"""An experiment as its file says it (docs/howto-reproduce.md has the keys)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from crosscut.base import spelling, toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import Table
from crosscut.reproduce import application, settings
from crosscut.reproduce.quantities import QUANTITIES, UNITS, Quantity, fits
from crosscut.reproduce.settings import SeriesSettings
from crosscut.run.realm import Realm

FORMS = ("points", "phases", "histogram", "phase histogram", "scatter")
PLACES = (Realm.EMULATED, Realm.SIMULATED, Realm.HERE)
_BOTH = (Realm.EMULATED, Realm.SIMULATED)
_MOST = 1 << 20
_MOST_DILATION = 1e9
_OF_NETWORKS = ("generator", "hosts", "host", "switches", "links")
_TOP = ("title", "source", "note", "lab", "aim", "picture", "series")
_SERIES = (
    "name", "where", "network", "pattern", "parameters", "lab_parameters", "ranks", "ranks_per_host",
    "message", "lab_message", "phases", "sizes", "x", "quantity", "unit", "published", "reckoned",
    "outside_the_aim", "note", "repetitions", "warm_up", "on", "limits", "dilation", *settings.KEYS,
)  # fmt: skip
_WALK = ("name", "where", "network", "switch", "quantity", "x", "unit", "published", "reckoned",
         "outside_the_aim", "note", "on")  # fmt: skip
_APPLICATION = ("name", "where", "network", "ranks", "ranks_per_host", "quantity", "x", "unit", "published",
                "reckoned", "outside_the_aim", "note", "repetitions", "on", "wait",
                *application.KEYS)  # fmt: skip
# Steps that run no pattern, and the keys of their series.
_WITHOUT_PATTERN = {"walk": _WALK, application.STEP: _APPLICATION}


@dataclass(frozen=True)
class Series:
    """Figures that one pattern on one network gives."""

    name: str
    where: str
    """Table, figure or section of the paper."""
    network: str
    pattern: str
    parameters: dict[str, str]
    lab_parameters: dict[str, str]
    """With those of `parameters` that it does not name again: what is scaled along with the message."""
    ranks: int
    """0: all that the network has."""
    ranks_per_host: int
    messages: tuple[int, ...]
    """Bytes: the paper's, one or (`by_size`) one for each figure."""
    lab_messages: tuple[int, ...]
    """Bytes sent on the lab in their place."""
    phases: tuple[int, ...]
    """Phases that the figures are of; empty: all."""
    x: tuple[float, ...]
    quantity_name: str
    unit: str
    published: tuple[float, ...]
    """Empty where the paper prints none; else as many as there are figures."""
    reckoned: tuple[float, ...]
    """What the paper's set-up says, where it prints no figures."""
    outside_the_aim: tuple[float, ...]
    note: str
    repetitions: int
    """On the lab."""
    warm_up: int
    on: tuple[Realm, ...]
    by_size: bool
    rank_counts: tuple[int, ...] = ()
    """Where figures are by the number of ranks: in place of `ranks`."""
    limits: tuple[tuple[int, int], ...] = ()
    """For `joint rate`: first and last rank that receive behind each limit (joint.py)."""
    dilation: float = 1.0
    """What its lab divides all rates by."""
    settings: SeriesSettings = field(default_factory=SeriesSettings)

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.quantity_name]

    def phase_ranges(self) -> tuple[tuple[int, int], ...]:
        """What has to be measured, in as few jobs as phases that follow one another allow."""
        ranges: list[tuple[int, int]] = []
        for phase in sorted(set(self.phases)):
            if ranges and ranges[-1][1] == phase - 1:
                ranges[-1] = (ranges[-1][0], phase)
            else:
                ranges.append((phase, phase))
        return tuple(ranges)


@dataclass(frozen=True)
class ExperimentPicture:
    form: str
    title: str
    x: str
    y: str
    y_scale: str = "linear"
    """Or `log`: of points and phases."""


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    source: str
    note: str
    mean_aim: float | None
    worst_aim: float | None
    pictures: tuple[ExperimentPicture, ...]
    series: tuple[Series, ...]

    @property
    def picture(self) -> ExperimentPicture:
        """The first, whose axes name what the figures are by."""
        return self.pictures[0]

    @property
    def places(self) -> tuple[Realm, ...]:
        """Where any of its series can run."""
        return tuple(place for place in PLACES if any(place in one.on for one in self.series))


def read(path: Path) -> Experiment:
    top = toml_fields.document(path)
    if "series" not in top and any(key in top for key in _OF_NETWORKS):
        raise UsageError(
            f"{path}: a network file, not an experiment, which names networks in its [[series]]; measure it: "
            f"crosscut run aapc --on lab:{path} (or sim:{path})"
        )
    top.only(_TOP)
    lab, aim = top.table("lab"), top.table("aim")
    lab.only(("dilation", "repetitions"))
    aim.only(("mean", "worst"))
    repetitions = lab.whole("repetitions", 5, 1, 10_000)
    tables = top.tables("series")
    dilation = lab.number("dilation", 1.0, 1.0, _MOST_DILATION)
    series = tuple(_series(table, repetitions, dilation) for table in tables)
    if not series:
        top.fail("series", "there is none; an experiment has at least one [[series]]")
    names = [one.name for one in series]
    for at, table in enumerate(tables):
        if names[at] in names[:at]:
            table.fail("name", f"two are named '{names[at]}'")
    return Experiment(
        name=path.stem,
        title=top.text("title"),
        source=top.text("source"),
        note=top.text("note", ""),
        mean_aim=aim.number("mean", None, 0.0, 10.0) if "mean" in aim else None,
        worst_aim=aim.number("worst", None, 0.0, 10.0) if "worst" in aim else None,
        pictures=_pictures(top),
        series=series,
    )


def _pictures(top: Table) -> tuple[ExperimentPicture, ...]:
    """One as [picture], or several as [[picture]]."""
    several = isinstance(top.values.get("picture"), list)
    tables = top.tables("picture") if several else (top.table("picture"),)
    if not tables:
        top.fail("picture", "is an empty list")
    return tuple(_picture(table, top.text("title")) for table in tables)


def _picture(table: Table, title: str) -> ExperimentPicture:
    table.only(("form", "title", "x", "y", "y_scale"))
    form = table.text("form", "points", FORMS)
    y_scale = table.text("y_scale", "linear", ("linear", "log"))
    return ExperimentPicture(
        form, table.text("title", title), table.text("x", ""), table.text("y", ""), y_scale
    )


def _series(table: Table, repetitions: int, dilation: float) -> Series:
    table.only(_SERIES)
    quantity = table.text("quantity", choices=QUANTITIES)
    step = QUANTITIES[quantity].step
    has_pattern = step not in _WITHOUT_PATTERN
    if not has_pattern:
        table.only(_WITHOUT_PATTERN[step])
    unit = table.text("unit", choices=UNITS)
    if not fits(unit, QUANTITIES[quantity].kind):
        table.fail("unit", f"'{unit}' does not go with '{quantity}'")
    by_size = "sizes" in table
    if by_size and "message" in table:
        table.fail("sizes", "excludes 'message': figures are by size, or by phase of one size")
    messages = (
        table.quantities("sizes", units.parse_bytes)
        if by_size
        else (table.quantity("message", units.parse_bytes, None if has_pattern else "1B"),)
    )
    if not messages:
        table.fail("sizes", "is empty")
    lab_messages = messages
    if "lab_message" in table:
        if by_size:
            table.fail("lab_message", "goes with 'message', not with 'sizes'")
        lab_messages = (table.quantity("lab_message", units.parse_bytes),)
    if min(*messages, *lab_messages) < 1:
        table.fail("message", "a message of no bytes has no rate")
    rank_counts = table.wholes("ranks", 2, _MOST) if isinstance(table.values.get("ranks"), list) else ()
    return _checked(table, Series(
        name=table.text("name"),
        where=table.text("where", ""),
        network=_network(table),
        pattern=table.text("pattern", None if has_pattern else ""),
        parameters=(parameters := table.table("parameters").texts()),
        lab_parameters=parameters | table.table("lab_parameters").texts(),
        ranks=0 if rank_counts else table.whole("ranks", 0, 0, _MOST),
        ranks_per_host=table.whole("ranks_per_host", 0, 0, 4096),
        messages=messages,
        lab_messages=lab_messages,
        phases=table.wholes("phases", 1, _MOST),
        x=table.numbers("x", -1e15, 1e15),
        quantity_name=quantity,
        unit=unit,
        published=table.numbers("published", 1e-12, 1e15),
        reckoned=table.numbers("reckoned", 1e-12, 1e15),
        outside_the_aim=table.numbers("outside_the_aim", -1e15, 1e15),
        note=table.text("note", ""),
        repetitions=table.whole("repetitions", repetitions, 1, 10_000),
        warm_up=table.whole("warm_up", 1, 0, 100),
        on=_places(table),
        by_size=by_size,
        rank_counts=rank_counts,
        limits=table.ranges("limits", 0, _MOST),
        dilation=table.number("dilation", dilation, 1.0, _MOST_DILATION),
        settings=settings.read(table),
    ))  # fmt: skip


def _network(table: Table) -> str:
    """One of the catalogue, or a file beside this one."""
    if table.values.get("on") == Realm.HERE:
        if "network" in table:
            table.fail("network", "no network is between the ranks of on = 'local'")
        return ""
    text = table.text("network")
    return str(Path(table.file).parent / text) if text.endswith(".toml") else text


def _places(table: Table) -> tuple[Realm, ...]:
    on = table.text("on", "both", (*PLACES, "both"))
    return _BOTH if on == "both" else (Realm(on),)


def _checked(table: Table, series: Series) -> Series:
    each = series.quantity.each_phase
    if series.phases and len(set(series.phases)) != len(series.phases):
        table.fail("phases", "names a phase twice")
    if series.phases and series.by_size:
        table.fail("phases", "excludes 'sizes': figures are by phase, or by size")
    settings.check(table, series.settings, series.on, series.quantity.step)
    counts = series.rank_counts or (series.ranks,)
    application.check(table, series.settings.application, series.on, series.quantity.step, counts)
    if series.limits and series.quantity.step != "joint":
        table.fail("limits", "goes with 'joint rate' alone")
    figures = _figures(table, series)
    if series.by_size and each:
        table.fail("quantity", f"'{series.quantity_name}' is of each phase; figures by size are of a run")
    _check_expected(table, series, figures)
    if series.x and len(series.x) != figures:
        table.fail("x", f"has {len(series.x)} numbers for {units.count(figures, 'figure')}")
    if unknown := set(series.outside_the_aim) - set(series.x or series.phases or (0.0,)):
        table.fail("outside_the_aim", f"{min(unknown):g} is not among the figures")
    return series


def _check_expected(table: Table, series: Series, figures: int) -> None:
    if series.published and series.reckoned:
        table.fail("reckoned", "excludes 'published': the paper's own figures are what counts")
    expected = series.published or series.reckoned
    if expected and series.quantity.each_phase and not series.by_size and not series.phases:
        table.fail("phases", "is missing: it says which phases the figures belong to")
    if expected and len(expected) != figures:
        key = "published" if series.published else "reckoned"
        table.fail(key, f"has {units.count(len(expected), 'figure')} for {units.count(figures, 'value')}")


def _figures(table: Table, series: Series) -> int:
    """How many the series gives, as far as the file says."""
    each = series.quantity.each_phase
    if series.quantity.step == "walk":
        return len(series.x) or table.fail("x", "is missing: numbers of nodes that forward on the way")
    if series.rank_counts:
        if each or series.by_size or len(set(series.rank_counts)) != len(series.rank_counts):
            table.fail("ranks", "figures by ranks are of a whole run of one size, for each number once")
        return len(series.rank_counts)
    if series.quantity.step == "computing" and not series.phases:
        table.fail("phases", "is missing: each is measured without and with the worker")
    return len(series.messages) if series.by_size else len(series.phases) if each else 1


def folder() -> Path | None:
    """The experiments that come with crosscut."""
    for where in (Path(__file__).parents[1] / "experiments", Path(__file__).parents[3] / "experiments"):
        if any(where.glob("*.toml")):
            return where
    return None


def names() -> list[str]:
    where = folder()
    return sorted(path.stem for path in where.glob("*.toml")) if where else []


def find(text: str) -> Path:
    """A file, or one that comes with crosscut, by its name."""
    if text.endswith(".toml") or "/" in text:
        if not Path(text).is_file():
            raise UsageError(f"{text}: there is no such file")
        return Path(text)
    where = folder()
    if where is None or text not in (there := names()):
        if Path(f"{text}.toml").is_file():
            raise UsageError(f"{text}: there is no such experiment; did you mean the file ./{text}.toml?")
        near = spelling.hint(text, there) or f"; there is {', '.join(there) or 'none here'}"
        raise UsageError(f"{text}: there is no such experiment{near}")
    return where / f"{text}.toml"
