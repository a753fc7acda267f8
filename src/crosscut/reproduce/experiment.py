"""An experiment as described by its file (docs/howto-reproduce.md lists the keys)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from crosscut.base import spelling, toml_fields, units
from crosscut.base.errors import UsageError
from crosscut.base.toml_fields import DERIVED, NO_TABLE, Between, Filled, Key, OneOf, Scalars, Table, Writing
from crosscut.reproduce import settings
from crosscut.reproduce.quantities import QUANTITIES, UNITS, Quantity, fits
from crosscut.reproduce.settings import SeriesSettings
from crosscut.run.realm import Realm

FORMS = ("points", "phases", "histogram", "phase histogram", "scatter")
PLACES = (Realm.EMULATED, Realm.SIMULATED, Realm.HERE)
_BOTH = (Realm.EMULATED, Realm.SIMULATED)
_MOST = 1 << 20
_MOST_DILATION = 1e9
_OF_NETWORKS = ("generator", "hosts", "host", "switches", "links")
_ANY = ("name", "where", "network", "quantity", "x", "unit", "published", "calculated", "fitted",
        "outside_the_aim", "note", "on")  # fmt: skip
_OF_RANKS = ("ranks", "ranks_per_host", "repetitions", "wait", *settings.APPLICATION_KEYS)
# Steps that run no pattern, and the keys that their series may have.
_WITHOUT_PATTERN = {"walk": (*_ANY, "switch"), settings.APPLICATION_STEP: (*_ANY, *_OF_RANKS)}


_Bytes = Annotated[int, units.parse_bytes]
_Repetitions = Annotated[int, Between(1, 10_000)]
_Dilation = Annotated[float, Between(1.0, _MOST_DILATION)]
_Figures = Annotated[tuple[float, ...], Between(1e-12, 1e15)]
_Abscissae = Annotated[tuple[float, ...], Between(-1e15, 1e15)]
_Error = Annotated[float, Between(0.0, 10.0)]


@dataclass(frozen=True, kw_only=True)
class Series:
    """Figures measured with one pattern on one network."""

    name: str
    where: str = ""
    """Table, figure or section of the paper."""
    network: Filled = ""
    pattern: Filled = ""
    parameters: Scalars = field(default_factory=dict)
    lab_parameters: Scalars = field(default_factory=dict)
    """Override `parameters` on the lab, such as those that are scaled with the message."""
    simulator: Scalars = field(default_factory=dict)
    """Parameters of the simulator, by their names in `crosscut list sim`."""
    ranks: Annotated[int, DERIVED] = 0
    """0: as many as the network has."""
    rank_counts: Annotated[tuple[int, ...], Key("ranks"), Writing.ONE_OR_MORE, Between(0, _MOST)] = ()
    """In place of `ranks`: several numbers of ranks, each with a figure."""
    ranks_per_host: Annotated[int, Between(0, 4096)] = 0
    message: _Bytes = 1
    messages: Annotated[tuple[_Bytes, ...], Key("sizes")] = ()
    """Bytes, as in the paper: one message, or with `by_size` one for each figure."""
    lab_message: _Bytes = 0
    lab_messages: Annotated[tuple[int, ...], DERIVED] = ()
    """Bytes sent on the lab instead."""
    phases: Annotated[tuple[int, ...], Between(1, _MOST)] = ()
    """Phases that have a figure; empty: all."""
    x: _Abscissae = ()
    quantity_name: Annotated[str, Key("quantity"), OneOf(tuple(QUANTITIES))]
    unit: Annotated[str, OneOf(tuple(UNITS))]
    published: _Figures = ()
    """Empty if the paper prints none; otherwise one value for each figure."""
    calculated: _Figures = ()
    """Figures that follow from the paper's setup, if the paper prints none."""
    fitted: str = ""
    """What in the network's file was taken from these very figures, so that they are no predictions."""
    outside_the_aim: _Abscissae = ()
    note: str = ""
    repetitions: _Repetitions = 0
    """On the lab; 0: the experiment's default."""
    warm_up: Annotated[int, Between(0, 100)] = 1
    on_text: Annotated[str, Key("on"), OneOf((*PLACES, "both"))] = "both"
    on: Annotated[tuple[Realm, ...], DERIVED] = _BOTH
    by_size: Annotated[bool, DERIVED] = False
    limits: tuple[Annotated[tuple[int, int], Between(0, _MOST)], ...] = ()
    """For `joint rate`: the first and last rank that receive behind each limit (joint.py)."""
    dilation: _Dilation = 0.0
    """Factor by which the lab divides all rates; 0: the experiment's default."""
    settings: Annotated[SeriesSettings, Writing.SAME_TABLE] = field(default_factory=SeriesSettings)
    at: Table = NO_TABLE

    @property
    def quantity(self) -> Quantity:
        return QUANTITIES[self.quantity_name]

    @property
    def stem(self) -> str:
        """Beginning of the names of the files that keep it."""
        return "".join(c if c.isalnum() else "-" for c in self.name).strip("-")


@dataclass(frozen=True)
class ExperimentPicture:
    form: Annotated[str, OneOf(FORMS)] = "points"
    title: str = ""
    x: str = ""
    y: str = ""
    y_scale: Annotated[str, OneOf(("linear", "log"))] = "linear"
    """`log` applies to points and phases."""


@dataclass(frozen=True)
class LabDefaults:
    dilation: _Dilation = 1.0
    repetitions: _Repetitions = 5


@dataclass(frozen=True)
class Aim:
    """Largest relative errors allowed."""

    mean: _Error | None = None
    worst: _Error | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    name: Annotated[str, DERIVED] = ""
    title: str
    source: str
    note: str = ""
    lab: LabDefaults = LabDefaults()
    aim: Aim = Aim()
    pictures: Annotated[tuple[ExperimentPicture, ...], Key("picture"), Writing.ONE_OR_MORE] = (
        ExperimentPicture(),
    )
    series: tuple[Series, ...] = ()

    @property
    def picture(self) -> ExperimentPicture:
        """The first picture; its x axis names the figures' x values."""
        return self.pictures[0]

    @property
    def places(self) -> tuple[Realm, ...]:
        """The places where at least one series can run."""
        return tuple(place for place in PLACES if any(place in one.on for one in self.series))


def read(path: Path) -> Experiment:
    top = toml_fields.document(path, "an experiment")
    if "series" not in top and any(key in top for key in _OF_NETWORKS):
        raise UsageError(
            f"{path}: a network file, not an experiment, which names networks in its [[series]]; measure it: "
            f"crosscut run aapc --on lab:{path} (or sim:{path})"
        )
    found = top.read(Experiment)
    if not found.series:
        top.fail("series", "is missing; an experiment has at least one [[series]]")
    if not found.pictures:
        top.fail("picture", "is empty")
    series = tuple(_checked(_completed(one, found.lab)) for one in found.series)
    toml_fields.check_apart(series)
    kept: dict[str, Series] = {}
    for one in series:
        if (other := kept.setdefault(one.stem, one)) is not one:
            one.at.fail("name", f"its files would have the names of those of '{other.name}': use other words")
    pictures = tuple(replace(one, title=one.title or found.title) for one in found.pictures)
    return replace(found, name=path.stem, pictures=pictures, series=series)


def _completed(one: Series, lab: LabDefaults) -> Series:
    """Derives fields from several keys, and refuses keys that contradict each other."""
    at, step = one.at, one.quantity.step
    if step in _WITHOUT_PATTERN:
        at.only(_WITHOUT_PATTERN[step])
    for key in () if step in _WITHOUT_PATTERN else ("pattern", "sizes" if "sizes" in at else "message"):
        if key not in at:
            at.fail(key, "is missing")
    if not fits(one.unit, one.quantity.kind):
        at.fail("unit", f"'{one.unit}' does not go with '{one.quantity_name}'")
    if by_size := "sizes" in at:
        for key in ("message", "lab_message"):
            if key in at:
                at.fail(key, "does not go with 'sizes': figures are by size, or by phase of one size")
        if not one.messages:
            at.fail("sizes", "is empty")
    messages = one.messages if by_size else (one.message,)
    lab_messages = (one.lab_message,) if "lab_message" in at else messages
    if min(*messages, *lab_messages) < 1:
        at.fail("message", "a message of no bytes has no rate")
    several = isinstance(at.values.get("ranks"), list)
    if several and min(one.rank_counts, default=2) < 2:
        at.fail("ranks", f"{min(one.rank_counts)}: several numbers of ranks must each be at least 2")
    return replace(
        one,
        network=_network(one),
        lab_parameters={**one.parameters, **one.lab_parameters},
        ranks=0 if several else sum(one.rank_counts),
        rank_counts=one.rank_counts if several else (),
        messages=messages,
        lab_messages=lab_messages,
        repetitions=one.repetitions or lab.repetitions,
        on=_BOTH if one.on_text == "both" else (Realm(one.on_text),),
        by_size=by_size,
        dilation=one.dilation or lab.dilation,
    )


def _network(one: Series) -> str:
    """A name in the catalogue, or the path of a file beside the experiment's."""
    is_here = one.on_text == Realm.HERE
    if is_here == ("network" in one.at):
        what = "does not go with on = 'local', where ranks share a machine" if is_here else "is missing"
        one.at.fail("network", what)
    return str(Path(one.at.file).parent / one.network) if one.network.endswith(".toml") else one.network


def _checked(series: Series) -> Series:
    each, fail = series.quantity.each_phase, series.at.fail
    if len(set(series.phases)) != len(series.phases):
        fail("phases", "names a phase twice")
    if series.phases and not each and len(spelling.spans(series.phases)) > 1:
        fail("phases", f"must follow one another, because '{series.quantity_name}' is of a whole run")
    if series.phases and series.by_size:
        fail("phases", "excludes 'sizes': figures are by phase, or by size")
    counts = series.rank_counts or (series.ranks,)
    settings.check(series.at, series.settings, series.on, series.quantity.step, counts)
    if series.simulator and Realm.SIMULATED not in series.on:
        fail("simulator", "goes only with a series that is simulated")
    if series.limits and series.quantity.step != "joint":
        fail("limits", "goes only with 'joint rate'")
    for first, last in series.limits:
        if last < first:
            fail("limits", f"{last:,} is below {first:,}")
    figures = _figures(series)
    if series.by_size and each:
        fail(
            "quantity",
            f"'{series.quantity_name}' gives a figure for each phase, so it does not go with 'sizes'",
        )
    _check_expected(series, figures)
    if series.x and len(series.x) != figures:
        fail("x", f"has {len(series.x)} numbers for {units.count(figures, 'figure')}")
    if unknown := set(series.outside_the_aim) - set(series.x or series.phases or (0.0,)):
        fail("outside_the_aim", f"{min(unknown):g} is not among the figures")
    return series


def _check_expected(series: Series, figures: int) -> None:
    if series.published and series.calculated:
        series.at.fail("calculated", "excludes 'published': the paper's own figures come first")
    expected = series.published or series.calculated
    if expected and series.quantity.each_phase and not series.by_size and not series.phases:
        series.at.fail("phases", "is missing: it says which phases the figures belong to")
    if expected and len(expected) != figures:
        key = "published" if series.published else "calculated"
        series.at.fail(key, f"has {units.count(len(expected), 'figure')} for {units.count(figures, 'value')}")


def _figures(series: Series) -> int:
    """Returns the number of figures that the file implies for the series. Raises UsageError."""
    each = series.quantity.each_phase
    if series.quantity.step == "walk":
        return len(series.x) or series.at.fail("x", "is missing: numbers of nodes that forward on the way")
    if series.rank_counts:
        if each or series.by_size or len(set(series.rank_counts)) != len(series.rank_counts):
            series.at.fail("ranks", "figures by ranks need whole runs of one size, and each number once")
        return len(series.rank_counts)
    if series.quantity.step == "computing" and not series.phases:
        series.at.fail("phases", "is missing: each is measured without and with the worker")
    return len(series.messages) if series.by_size else len(series.phases) if each else 1


def folder() -> Path | None:
    """The folder of crosscut's own experiments; None if it is missing."""
    for where in (Path(__file__).parents[1] / "experiments", Path(__file__).parents[3] / "experiments"):
        if any(where.glob("*.toml")):
            return where
    return None


def _names_in(where: Path | None) -> list[str]:
    return sorted(path.stem for path in where.glob("*.toml")) if where else []


def names() -> list[str]:
    return _names_in(folder())


def paper_folder() -> Path | None:
    """The folder of the lists of papers' items; None if it is missing."""
    where = folder()
    return where / "papers" if where else None


def paper_names() -> list[str]:
    return _names_in(paper_folder())


def find(text: str) -> Path:
    """Finds an experiment: a file, or the name of one that comes with crosscut."""
    if text.endswith(".toml") or "/" in text:
        if not Path(text).is_file():
            raise UsageError(f"{text}: {spelling.missing(Path(text))}")
        return Path(text)
    where = folder()
    if where is None or text not in names():
        if Path(f"{text}.toml").is_file():
            raise UsageError(f"{text}: there is no such experiment; did you mean the file ./{text}.toml?")
        near = spelling.hint(text, [*paper_names(), *names()]) or "; crosscut reproduce lists them"
        raise UsageError(f"{text}: there is no such experiment or paper{near}")
    return where / f"{text}.toml"
