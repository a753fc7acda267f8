"""HP2P: the page with the matrix of rates between all ranks (`-o NAME`: NAME.html).

What it measures, from src/hp2p.c of HP2P 4.0: in each iteration ranks are drawn into pairs, and all pairs
exchange `nb_msg` messages at once, both ways, between two barriers. Entry (i, j) is of the time that rank i
took for one exchange with rank j, the mean over all draws of the pair (src/hp2p_result.c, `g_time /
g_count`). Rates are the message size over that time, in 2^20 bytes per second, with two decimals
(`result.g_bw / m`, `%0.2lf`); 0.00 is a pair that was never drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from crosscut.base import units
from crosscut.imports import tables
from crosscut.imports.measured import Floats, Format, Measured, Method
from crosscut.imports.output import OutputFile, quoted
from crosscut.run.shape import Shape

_MEGABYTE = 1 << 20
_HALF_STEP = 0.005
_TITLE = re.compile(r"\s*<title>CEA-HPC - HP2P on ")
_SCREEN = re.compile(r" Min bisection (bandwidth|efficiency) +: ")
_MOST_RANKS = 1 << 14
_MOST_NUMBER = 1 << 31
_FIRST_LINES = 400
# With several ranks on a host, each is named after the host and its number there (hp2p_mpi.c, `local_rank`).
_ON_HOST = re.compile(r"(.+):\d+")
_ANONYMOUS = re.compile(r"rank_\d+")  # with -y 1
_DETAILS = {
    "drawn": re.compile(r"Number of iterations: (\d+) / (\d+)<br>"),
    "size": re.compile(r"Message size: (\d+) bytes<br>"),
    "messages": re.compile(r"Number of messages per communication: (\d+)<br>"),
    "algorithm": re.compile(r"Algorithm: ([\w -]{1,40})<br>"),
}


def _recognises(output: OutputFile) -> bool:
    return any(map(_TITLE.match, output.lines[:20])) or any(map(_SCREEN.match, output.lines))


def _parse(output: OutputFile) -> Measured:
    if not any(map(_TITLE.match, output.lines[:20])):
        raise output.fault(
            "this is what HP2P shows, without names of hosts: import the page that it writes (-o)"
        )
    if not output.text.rstrip().endswith("</html>"):
        raise output.fault("the page is cut off: it must end in '</html>'")
    said = _details(output)
    drawn, asked = (int(word) for word in said["drawn"].groups())
    size, messages = int(said["size"][1]), int(said["messages"][1])
    names, rates = _matrix(output)
    ranks = len(names)
    # [phase, rank] the rank with which a rank exchanged, in the order of the phases of aapc.
    phase, rank = np.arange(1, ranks)[:, None], np.arange(ranks)[None, :]
    partner = (rank - phase) % ranks
    seconds = (size / (rates[rank, partner] * _MEGABYTE))[None, None]
    # A rank whose pair was never drawn waits for the others.
    waited = np.where(np.isnan(seconds), np.fmax.reduce(seconds, axis=3, keepdims=True), seconds)
    anonymous = all(map(_ANONYMOUS.fullmatch, names))
    hosts = (
        names if anonymous else [found[1] if (found := _ON_HOST.fullmatch(name)) else name for name in names]
    )
    return Measured(
        program="HP2P",
        method=Method(
            "hp2p", "Random pairs of ranks exchange messages both ways, all pairs at once",
            "2 m / t_slowest, both directions", "HP2P, CEA", Shape.DENSE, findings=True,
            parameters={"pairs": said["algorithm"][1]},
        ),
        carrier="mpi", hosts=tuple(hosts), hosts_named=not anonymous, size_bytes=(size,),
        peer=np.where(np.isnan(seconds[0, 0]), -1, partner)[..., None].astype(np.int32),
        message_seconds=seconds[..., None], rank_seconds=waited,
        credited_bytes=np.full((1, ranks - 1), 2.0 * size),
        repetition=f"the mean over all draws of a pair, of {units.count(messages, 'exchange')} each",
        iterations=messages, lacks=_lacks(rates), left_out=_left_out(rates, drawn, asked),
    )  # fmt: skip


def _details(output: OutputFile) -> Mapping[str, re.Match[str]]:
    found: dict[str, re.Match[str]] = {}
    for line, text in enumerate(output.lines[:_FIRST_LINES]):
        for name, form in _DETAILS.items():
            if match := form.fullmatch(text.strip()):
                for word in match.groups() if name != "algorithm" else ():
                    if output.whole(word, text.partition(":")[0].strip(), line, _MOST_NUMBER) == 0:
                        raise output.fault(f"{quoted(text)}: it must be more than 0", line)
                found[name] = match
    if missing := [name for name in _DETAILS if name not in found]:
        wanted = {"drawn": "Number of iterations", "size": "Message size", "messages": "Number of messages"}
        raise output.fault(f"no '{wanted.get(missing[0], 'Algorithm')}' under 'Details'")
    return found


def _matrix(output: OutputFile) -> tuple[list[str], Floats]:
    """Returns the names and [rank, partner] the rates, NaN where a pair was not drawn."""
    line, text = _variable(output, "hostlist")
    names = re.findall(r'"([^"]*)"', text)
    if not 2 <= len(names) <= _MOST_RANKS or not all(names):
        raise output.fault(f"{len(names):,} names of ranks; a matrix has 2 to {_MOST_RANKS:,}", line)
    line, text = _variable(output, "bandwidth")
    rows = re.findall(r"\[([^\[\]]*)\]", text.strip()[1:])
    if len(rows) != len(names):
        raise output.fault(f"{len(rows):,} rows of rates for {len(names):,} ranks", line)
    rates = np.array([_row(output, line, row, at, len(names)) for at, row in enumerate(rows)])
    if (rank := int(np.isnan(rates).all(axis=1).argmax())) or np.isnan(rates[0]).all():
        raise output.fault(f"no pair with rank {rank} was drawn: HP2P needs more iterations (-n)", line)
    return names, rates


def _variable(output: OutputFile, name: str) -> tuple[int, str]:
    """Returns the line that holds a list of the page, and its text."""
    start = f"var {name} ="
    line = next((at for at, text in enumerate(output.lines) if text.startswith(start)), None)
    if line is None:
        if any(text.startswith("var bisection_bandwidth =") for text in output.lines):
            raise output.fault(
                "this is HP2P's page of the iterations: import the one beside it, without -monitoring"
            )
        raise output.fault(f"there is no list '{name}'")
    if output.lines[line + 2 : line + 4] != [";", f"// {name} end"]:
        raise output.fault(f"the list '{name}' has no end", line)
    return line + 1, output.lines[line + 1]


def _row(output: OutputFile, line: int, row: str, rank: int, ranks: int) -> Floats:
    words = row.split(",")[:-1]
    if len(words) != ranks:
        raise output.fault(f"row {rank} has {len(words):,} rates, not {ranks:,}", line)
    try:
        rates = np.array(words, np.float64)
        good = bool((np.isfinite(rates) & (rates >= 0)).all()) and rates[rank] == 0
    except ValueError:
        good = False
    if not good:
        for other, word in enumerate(words):
            if word.strip() != "0.00":
                output.number(word.strip(), f"the rate of rank {rank} with {other}", line)
        raise output.fault(f"rank {rank} has a rate with itself", line)
    rates[rates == 0] = np.nan
    return rates


def _lacks(rates: Floats) -> tuple[str, ...]:
    return (
        "HP2P draws pairs at random and prints means over all draws: phases were put together afterwards, "
        "and which messages were under way at once is lost",
        "both ways of an exchange are timed together, so the slower way hides the other",
        *tables.rounding([_HALF_STEP / float(np.nanmin(rates))]),
    )


def _left_out(rates: Floats, drawn: int, asked: int) -> tuple[str, ...]:
    pairs = rates.size - len(rates)
    missing = pairs - int(np.isfinite(rates).sum())
    return (
        *((f"HP2P stopped after {drawn:,} of {asked:,} iterations",) if drawn < asked else ()),
        *((f"{missing:,} of {pairs:,} routes were never drawn, so they have no rate",) if missing else ()),
    )


FORMAT = Format("hp2p", "the page that HP2P writes (-o)", _recognises, _parse)
