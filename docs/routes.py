"""Tables of which phase times which route, from `crosscut-core coordinates`, which names both ends of each
sample."""

import json
import shlex
import subprocess
from collections import defaultdict
from pathlib import Path

CAPTION = (
    "Which phase times which route: from the rank of the row to the rank of the column, {ranks} ranks{with_}."
)


def timed_routes(
    executable: Path, pattern: str, ranks: int, given: dict[str, str]
) -> dict[tuple[int, int], list[int]]:
    """Returns the phases that time each route (from, to). The rank that records a sample is `to`."""
    job = {"pattern": pattern, "pattern_parameters": given, "sizes": [1000], "out": "-"}
    words = [str(executable), "coordinates", "--ranks", str(ranks)]
    answer = subprocess.run(words, input=json.dumps(job), capture_output=True, text=True, check=True)
    found = defaultdict(list)
    for line in answer.stdout.splitlines():
        entry = json.loads(line)
        slots = len(entry["peer"]) // ranks
        for index, peer in enumerate(entry["peer"]):
            route = (peer, index // slots)
            if peer >= 0 and entry["phase"] not in found[route]:
                found[route].append(entry["phase"])
    return dict(found)


def numbers(phases: list[int]) -> str:
    """`1–3`, `2`, `1,4`"""
    if len(phases) > 1 and phases == list(range(phases[0], phases[-1] + 1)):
        return f"{phases[0]}–{phases[-1]}"
    return ",".join(map(str, phases)) or "·"


def routes_table(executable: Path, pattern: str, words: str) -> list[str]:
    """Returns the table's lines. `words`: number of ranks, then parameters as in "6 stride=1-3"."""
    first, *rest = shlex.split(words)
    ranks, given = int(first), dict(word.split("=", 1) for word in rest)
    found = timed_routes(executable, pattern, ranks, given)
    rows = [["", *(str(rank) for rank in range(ranks))]]
    for sender in range(ranks):
        phases = (found.get((sender, receiver), []) for receiver in range(ranks))
        rows.append([str(sender), *map(numbers, phases)])
    width = 1 + max(len(text) for row in rows for text in row)
    options = " ".join(f"--{name} {value}" for name, value in given.items())
    caption = CAPTION.format(ranks=ranks, with_=f", `{options}`" if options else "")
    return [caption, "", "```text", *("".join(text.rjust(width) for text in row) for row in rows), "```"]
