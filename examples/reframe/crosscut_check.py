"""A test class for ReFrame (https://reframe-hpc.readthedocs.io): judges a network by `crosscut check`.

Copy it beside your own tests; network.py derives a test with thresholds from it. It imports nothing of
crosscut: the program `crosscut` must be on the PATH of the job, or be the test's `executable`.
"""

import json
import re
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

_UNITS = {"latency": "s", "spread": "ratio"}
_LAST_LINES = 300


class CrosscutCheck(rfm.RunOnlyRegressionTest):
    """Passes if all promises are kept, fails if one is broken; skipped if none is broken and one undecided.

    For each promise it reports the worst and the middle figure, for `reference`: of a promise called "No
    route below" the variables `no_route_below_worst` and `no_route_below_middle`, in B/s, in s (`latency`)
    or as a ratio (`spread`).
    """

    #: Specification of `crosscut check` (TOML); relative to the test's folder.
    spec = variable(str)
    #: Where crosscut starts its ranks: in a job of Slurm on all its nodes.
    place = variable(str, value="slurm")
    #: Further options of `crosscut check`, such as `--time-limit 5min`.
    check_options = variable(typ.List[str], value=[])

    executable = "crosscut"
    sourcesdir = None

    @run_before("run")
    def start_crosscut_once(self):
        spec = Path(self.prefix, self.spec)
        self.executable_opts = [
            "check", f"'{spec}'", "--on", self.place, *self.check_options,
            "--keep", "runs", "--junit", "check.xml", "--json", "> check.json",
        ]  # fmt: skip
        self.keep_files = ["check.json", "check.xml"]
        # crosscut starts the ranks itself.
        self.job.launcher = getlauncher("local")()

    @run_before("sanity")
    def skip_undecided(self):
        verdicts = {one["verdict"] for one in self.promises()}
        if "undecided" in verdicts and "fail" not in verdicts:
            names = [one["name"] for one in self.promises() if one["verdict"] == "undecided"]
            self.skip(f"undecided: {', '.join(names)}; let crosscut measure longer (--time-limit)")

    @sanity_function
    def all_promises_are_kept(self):
        broken = [
            f"{one['name']}: promised {one['promised']}, worst {one['worst']:g} ({one['worst_is']})"
            for one in self.promises()
            if one["verdict"] == "fail"
        ]
        return sn.assert_false(broken, msg=f"broken: {'; '.join(broken)}")

    @run_before("performance")
    def report_figures(self):
        for one in self.promises():
            name, unit = re.sub(r"\W+", "_", one["name"].lower()), _UNITS.get(one["kind"], "B/s")
            for figure in ("worst", "middle"):
                if one[figure] is not None:
                    read = sn.make_performance_function(sn.defer(one[figure]), unit)
                    self.perf_variables[f"{name}_{figure}"] = read

    def promises(self):
        stage = Path(self.stagedir)
        try:
            return json.loads((stage / "check.json").read_text())["promises"]
        except (OSError, ValueError, KeyError):
            said = (stage / str(self.stderr)).read_text(errors="replace").strip()[-_LAST_LINES:]
            raise SanityError(f"crosscut check gave no verdicts: {said}") from None
