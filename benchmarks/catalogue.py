"""`python -m benchmarks.catalogue`: what `crosscut locate` says of every network of the catalogue.

Searches the first 512 hosts of each, or all, in simulation and without noise. The catalogue's networks have
no faults: any fault found is a false alarm and fails the benchmark, as does a search that fails. Prints a
table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

from benchmarks.processes import BenchmarkError, used_by

MOST_HOSTS = 512
LIMIT_SECONDS = 600.0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.catalogue", description=__doc__)
    parser.add_argument("--only", nargs="*", metavar="NETWORK", help="networks of the catalogue (all)")
    args = parser.parse_args(words)
    print("| network | hosts | faults | phases | what is said |\n| --- | --- | --- | --- | --- |")
    failed = False
    for name in args.only or _answer("network", "list", "--json")["networks"]:
        hosts = _hosts(name)
        count = min(hosts, MOST_HOSTS)
        some = ("-n", str(count)) if count < hosts else ()  # ranks: one on each host of these networks
        try:
            said = used_by(
                _crosscut("locate", "--on", f"sim:{name}", *some, "--json", "--quiet"), LIMIT_SECONDS
            )
            found = json.loads(said.printed)
            faults = sum(finding["fault"] for finding in found["findings"])
            phases, what = found["structure"]["phases_used"], _sentences(found)
        except BenchmarkError as error:
            faults, phases, what = "–", "–", str(error).splitlines()[0]
        failed |= faults != 0
        of_all = f"{count:,}" if count == hosts else f"{count:,} of {hosts:,}"
        print(f"| `{name}` | {of_all} | {faults} | {phases} | {what} |", flush=True)
    return 1 if failed else 0


def _hosts(name: str) -> int:
    return int(_answer("network", "show", name, "--json")["counts"]["hosts"])


def _answer(*words: str) -> Any:
    return json.loads(subprocess.run(_crosscut(*words), capture_output=True, check=True).stdout)


def _crosscut(*words: str) -> list[str]:
    return [sys.executable, "-m", "crosscut", *words]


def _sentences(found: dict[str, list[dict[str, str]]]) -> str:
    said = [finding["what"] for finding in found["findings"]]
    return "; ".join(said) or "nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
