"""The commands of the README and the how-tos, in their order, as a reader types them.

Where a how-to names a file, a program or a cluster of the reader's, `HowTo` says what this machine has.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
import slurm_cluster
import sshd
from labs import needs_lab

from crosscut.lab.slurm import daemons

pytestmark = [needs_lab, pytest.mark.long]

Value = TypeVar("Value")
ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300
WITH_SIMGRID = re.compile(r"crosscut workload run .*--on sim:")
AAPC = "crosscut run aapc --on sim:xibalba-e7-config1 -n 8 --size 1MB --repetitions 20 --quiet --out"
CROSSBAR = """cat > xbar4.toml <<'END'
[generator]
kind = "crossbar"
hosts = 4
rate = "100 Mbit/s"
[protocol]
mtu = 1500
headers = 52
framing = 38
END
"""
ON_LOGIN = "crosscut lab exec c login -- crosscut"
HOSTS = "printf 'h1\\nh2\\n' | tee hosts.txt > nodes.txt\n"
# The hosts are aliases of this machine, which only ssh knows.
SSH = {"hosts:hosts.txt": "hosts:hosts.txt --interface 127.0.0.1",
       "hosts:nodes.txt": "hosts:nodes.txt --interface 127.0.0.1"}  # fmt: skip
_PLACES = ("--on slurm", "--on hosts:hosts.txt", "--on hosts:nodes.txt")
SIMULATED = dict.fromkeys(_PLACES, "--on sim:xibalba-e7-config1 -n 8")
SOLVER = "cp docs/../tests/integration/profiled/point.c . && mpicc_abi -pthread point.c -o solver\n"


@dataclass(frozen=True)
class HowTo:
    given: str = ""
    """Commands that make the reader's files."""
    before: Mapping[str, str] = field(default_factory=dict)
    """What the reader has done meanwhile, by the beginning of the next command."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """What is typed in place of some words."""
    not_here: tuple[str, ...] = ()
    """Beginnings of commands that need what no test has, such as a disk to overwrite."""
    says: Mapping[str, str] = field(default_factory=dict)
    """A regular expression that occurs in what a command prints, by the command's beginning."""
    status: Mapping[str, int] = field(default_factory=dict)
    """Exit status by the command's beginning, if it is not 0."""
    needs: str = ""
    """`ssh`, `slurm`, or a program."""


HOWTOS = {
    "README": HowTo(
        instead={".venv/bin/": "", "-n 8 --size 1MB": "-n 2 --size 1MB --repetitions 5"},
        not_here=(
            "make",
            "python3 -m venv",
            "pip install",
            "module load",
            "crosscut build-mpi",
            "salloc",
            "crosscut run aapc --on slurm",
        ),
        says={
            "crosscut locate --on sim:": "Shared limit: traffic",
            "crosscut show x.zarr --findings": r"n0005 sends and receives at (39|4[012]) %",
            "crosscut locate --on lab:x": r"n0005 sends and receives at (39|4[012]) %",
        },
    ),
    "accept": HowTo(
        given=f"""{AAPC} aapc.zarr
{AAPC.replace("aapc", "bisection", 1)} bisection.zarr
for run in before after january february march good; do cp -r aapc.zarr $run.zarr; done
sed "s/between groups/between nodes/" examples/acceptance.toml > acceptance.toml
""",
        instead=SIMULATED
        | {"xibalba-er16": "xibalba-e7-config1", "vendor.pdf": "protocol.html", "check examples/": "check "},
        # An adapter that says its speed; a site's settings of ReFrame.
        not_here=("crosscut expect  ", "cp examples/reframe", "reframe "),
        status={
            "crosscut check examples/acceptance.toml aapc.zarr": 3,
            "crosscut check acceptance.toml launches": 3,
        },
        says={"crosscut check examples/acceptance.toml --on hosts": "every promise is kept|kept"},
    ),
    "cabling": HowTo(
        given=f"""{AAPC} aapc.zarr
mkdir lldp
printf '{{"lldp": {{"interface": []}}}}' > lldp/n0000.json
echo host,rack,switch,port,to_switch,to_port,cable > racks.csv
printf 'n0001,r3,leaf1,12,,,4711\\n,,leaf1,49,spine,1,C9\\n' >> racks.csv
printf 'SwitchName=leaf1 Nodes=n000[0-7]\\n' > topology.conf
printf 'switch,port,counter,value\\nleaf1,12,rx_crc_errors,3\\n' > before.csv
printf 'switch,port,counter,value\\nleaf1,12,rx_crc_errors,9\\n' > after.csv
""",
        instead=SIMULATED,
        not_here=("crosscut report aapc.zarr --cabling fabric.topo",),  # an InfiniBand fabric
        says={
            "crosscut show --findings aapc.zarr --cabling racks.csv": r"(?s)leaf1 port 12.*rx_crc_errors \+6"
        },
    ),
    "clone": HowTo(
        given=HOSTS + "head -c 3000000 /dev/urandom > image.raw",
        instead=SSH | {"/scratch/image.raw": "$PWD/copy-{rank}.raw"},
        not_here=("crosscut clone image.raw /dev/sdb",),
        says={"crosscut clone": "verified"},
        needs="ssh",
    ),
    "data-server": HowTo(given=CROSSBAR),
    "history": HowTo(
        given=f"""{AAPC} old.zarr
mkdir measured && cp -r old.zarr measured/a.zarr
printf 'host,rack,switch,port\\n' > racks.csv
for at in 0 1 2 3; do printf "n000$at,r1,leaf1,$at\\nn000$((at + 4)),r2,leaf2,$at\\n" >> racks.csv; done
sed "s/between groups/between nodes/" examples/acceptance.toml > acceptance.toml
""",
        instead=SIMULATED | {"/var/lib/prometheus/node-exporter/": ""},
        not_here=("crosscut history metrics net.db --listen",),  # serves until it is interrupted
        says={
            "crosscut history add net.db night.zarr  ": "night.zarr: added",
            "crosscut history add net.db night.zarr --cabling": "night.zarr: replaced",
            "crosscut history changes": "too few nights",
            "crosscut history trend net.db --groups": "r1 → r2",
            "crosscut history forget": "0 runs",
        },
    ),
    "hosts": HowTo(
        given=HOSTS,
        instead=SSH,
        needs="ssh",
        not_here=("crosscut run aapc --on hosts:nodes.txt --launcher-args",),
    ),
    "health": HowTo(
        given=CROSSBAR
        + "crosscut lab up xbar4.toml --name c --slurm\n"
        + "printf 'host,switch,port\\nn0000,leaf0,1\\n' > cables.csv\n"
        + 'printf \'[[promise]]\\nkind = "node"\\nat_least = "1 MB/s"\\n\' > spec.toml\n',
        instead={
            "crosscut health night": f"{ON_LOGIN} health night --ledger health.jsonl",
            "crosscut health node n": f"{ON_LOGIN} health node --ledger health.jsonl n",
            "crosscut health policy": f"{ON_LOGIN} health policy",
        },
        before={
            "crosscut health night --reservation": "crosscut lab exec c login -- scontrol "
            "create reservation ReservationName=night Users=root Nodes=ALL StartTime=now Duration=30 "
            "Flags=MAINT",
            "crosscut health policy >": "crosscut lab exec c login -- scontrol delete ReservationName=night",
        },
        says={
            "crosscut health policy >": "^$",
            "crosscut health night --spec": r'"decisions": \[\]',
            "crosscut health night --history": "4 nodes sound; at fault: none|No node could be judged",
        },
        not_here=(
            "HealthCheckProgram",
            "Prolog",
            "#!",
            "export",
            "exit",
            "scontrol create",
            "sbatch",
            "exec",
            "crosscut health node --ledger /shared",
        ),
        needs="slurmctld",
    ),
    "hpl": HowTo(
        given=CROSSBAR + "cp docs/../tests/golden/hpl/hpccoutf.txt .\n",
        before={
            "crosscut price xibalba-er16 xibalba-maintenance": "tee er16.json maintenance.json < hpl.json"
        },
        instead={"--memory 40%": "--memory 0.1%", "--grid 2x4": "--grid 1x2"},
        not_here=("apt install", "crosscut workload hpl -N 40000"),
        needs="hpcc",
    ),
    "import": HowTo(
        # The same output twice is refused: each file has another number of empty lines.
        given="empty=; for name in mpigraph before-1 before-2 before-3 before-4 before-5; do "
        'empty="$empty\n"; out=$(cat docs/../tests/golden/imports/mpigraph-slow-host.txt); '
        "printf '%s\n' \"$out$empty\" > $name.out; done\n"
        "crosscut import before-*.out -o after.zarr",
        not_here=("mpiexec", "for i in"),
        says={"crosscut show mpigraph.zarr --findings": r"r06 sends and receives at 40 %"},
    ),
    "index": HowTo(),
    "lab": HowTo(
        before={
            "crosscut lab status x": "crosscut lab up my.toml --name x",
            "crosscut lab walk x": "crosscut lab down c",
            "crosscut lab up my.toml --switch": "crosscut lab down x",
            "crosscut run aapc --on lab:my.toml --switch": "crosscut lab down my",
            "crosscut run aapc --on lab:x --backend mpi": "crosscut lab down my\n"
            "crosscut lab up my.toml --name x",
        },
        instead={"n0031": "n0005"},
        not_here=(
            "crosscut lab exec x n0003 -- iperf3",
            "crosscut lab shell",
            *(("crosscut lab up my.toml --name c", "crosscut lab exec c") if daemons.unavailable() else ()),
            "crosscut lab exec x n0000 -- mpiexec",
            "crosscut profile -- crosscut lab exec",
        ),
    ),
    "overlap": HowTo(given=CROSSBAR),
    "place": HowTo(
        given=CROSSBAR + SOLVER + "cp xbar4.toml now.toml\n",
        instead={"-n 16 ./cg": "-n 4 ./solver", "mpiexec -f hosts": "mpiexec"},
        not_here=("python -m benchmarks",),
        says={"crosscut place cg.profile --on now.toml -o": "No order helps"},
    ),
    "predict": HowTo(
        given=CROSSBAR + SOLVER + "cp xbar4.toml now.toml; sed s/100/1000/ xbar4.toml > candidate-a.toml\n",
        instead={"-n 16 ./cg": "-n 4 ./solver"},
        not_here=("python -m benchmarks",),
    ),
    "price": HowTo(
        given=CROSSBAR
        + SOLVER
        + "cp xbar4.toml now.toml\n"
        + "cp docs/../prices/template.toml my-quotes.toml\n"
        + "sed -n '/^```toml/,/^```$/p' docs/howto-price.md | sed '/^```/d' > mix.toml\n",
        instead={"-n 16 ./cg": "-n 4 ./solver"},
    ),
    "profile": HowTo(
        given=SOLVER,
        instead={
            "-n 16 ./solver input.dat": "-n 4 ./solver",
            "srun ./solver input.dat": "mpiexec -n 2 ./solver",
        },
        before={"crosscut profile --trace --out solver.profile": "rm -r solver.profile"},
        status={"crosscut profile --section": 1},
        says={"crosscut profile --section": "never called MPI_Pcontrol"},  # as the solver marks nothing
        not_here=("module load", "crosscut build-profiler", "export CROSSCUT_PROFILER", "smpirun"),
    ),
    "read": HowTo(says={"crosscut report": "wrote"}),
    "reference/findings": HowTo(given=f"{AAPC} run.zarr"),
    # Many ranks exchange nothing here: the examples are about what is measured, not how fast.
    "reference/patterns": HowTo(
        instead={
            "crosscut run collective": "crosscut run collective --repetitions 2",
            "--on hosts:two.txt": "-n 4 --backend null",
            "-n 64 --random": "-n 64 --backend null --random",
            "-n 64 --stride": "-n 64 --backend null --stride",
            "-n 64 --half": "-n 64 --backend null --half",
            "-n 16": "-n 16 --backend null",
        },
    ),
    "reference/user-switch": HowTo(
        given=CROSSBAR, instead={"NETWORK.toml": "xbar4.toml"}, not_here=("crosscut-switch",)
    ),
    "report": HowTo(
        given=f"""for run in aapc e7 er16 maintenance myrinet; do {AAPC} $run.zarr; done
crosscut run pingpong --on sim:xibalba-e7-config1 -n 8 --size 1B --quiet --out pingpong.zarr
crosscut evaluate --on sim:xibalba-e7-config1 -n 8 --quick --out evaluation || true
sed "s/between groups/between nodes/" examples/acceptance.toml > acceptance.toml
crosscut locate --on sim:xibalba-e7-config1 -n 8 --json > found.json
""",
        before={
            "crosscut report measured/*.zarr --verdicts": "rm acceptance.html; "
            "crosscut check acceptance.toml measured/*.zarr --json > check.json",
            "crosscut report measured/*.zarr --spec": "rm acceptance.html",
            "crosscut report aapc.zarr --located": "rm aapc.html",
        },
        instead=SIMULATED,
    ),
    "reproduce": HowTo(),
    "slurm": HowTo(
        given="cp /dev/null empty\n",
        instead={
            "-n 8 --on slurm": "-n 4 --on slurm",
            "--nodes=4 --partition=debug": "--nodes=2 --partition=test",
            "--nodes=4": "--nodes=2",
            "-n 4\nEND": "-n 2\nEND",
            "$USER": "root",
            "-n 16 --on slurm": "-n 2 --on slurm",
            "--nodes=16 --exclusive": "--nodes=2",
            "/scratch/me/aapc.zarr": "$PWD/batch.zarr",
            "--interface ib0": "--interface lo",
            "10.1.0.0/16": "127.0.0.0/8",
        },
        before={"crosscut run aapc": "rm -rf aapc.zarr"},
        not_here=(
            "salloc",
            "#!",
            "#SBATCH",
            "exec",
            "module load",
            "crosscut build-mpi",
            "crosscut run aapc --on slurm --backend mpi",
            "crosscut run aapc --on slurm --backend rma",
            "crosscut compare array",  # its status says whether loopback changed
        ),
        needs="slurm",
    ),
    "smpi": HowTo(
        given=SOLVER,
        not_here=("apt install", "smpicc", "crosscut simulate", "crosscut build-smpi"),
        needs="crosscut-smpi-player",
    ),
    "traffic": HowTo(
        given=CROSSBAR + HOSTS,
        instead={
            "-n 16 --class A": "-n 2 --class W",
            "--on hosts:nodes.txt --launcher mpiexec": "--on local",
        },
    ),
    "workloads": HowTo(
        given=CROSSBAR,
        instead={"--class A": "--class S", "-n 8 crosscut": "-n 4 crosscut"},
        not_here=("make workloads", "crosscut workload run ft -n 16"),
    ),
}


# Pages whose commands are tried elsewhere, or take a build of their own.
ELSEWHERE = {"docs/tutorial.md", "docs/reference/fuzzing.md"}


def page(name: str) -> Path:
    others = {"README": "README.md", "index": "docs/index.md"}
    return ROOT / others.get(
        name, f"docs/{name}.md" if name.startswith("reference/") else f"docs/howto-{name}.md"
    )


def commands(name: str) -> list[str]:
    text = page(name).read_text(encoding="utf-8")
    found: list[str] = []
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        # A here-document belongs to its command, as a continued line does.
        lines = iter(block.replace("\\\n", " ").splitlines())
        for first in lines:
            line = first
            if mark := re.search(r"<<'(\w+)'", line):
                while not line.endswith(f"\n{mark[1]}"):
                    line += "\n" + next(lines)
            found.append(line)
    return found


def for_command(command: str, by_beginning: Mapping[str, Value]) -> Value | None:
    return next((value for begins, value in by_beginning.items() if command.startswith(begins)), None)


@contextlib.contextmanager
def around(how: HowTo, folder: Path) -> Iterator[dict[str, str]]:
    """Starts what the how-to needs; yields environment variables."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    if how.needs == "slurm":
        if why := slurm_cluster.why_not():
            pytest.skip(why)
        with slurm_cluster.running_slurm() as slurm:
            yield {**slurm.environment, "PATH": f"{Path(sys.executable).parent}:{slurm.environment['PATH']}"}
    elif how.needs == "ssh":
        if why := sshd.why_not():
            pytest.skip(why)
        with sshd.running_sshd(folder / "ssh", ("h1", "h2")) as running:
            (folder / "bin").mkdir()
            (ssh := folder / "bin" / "ssh").write_text(
                f'#!/bin/sh\nexec /usr/bin/ssh -F {running.config} "$@"\n'
            )
            ssh.chmod(0o755)
            yield {"PATH": f"{folder / 'bin'}:{path}"}
    elif how.needs and shutil.which(how.needs, path=path) is None:
        pytest.skip(f"no {how.needs} here")
    else:
        yield {"PATH": path}


@pytest.mark.parametrize("name", sorted(HOWTOS))
def test_the_commands_of_a_how_to_do_what_it_says(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    how = HOWTOS[name]
    for folder in ("examples", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    # Slurm's sockets need a folder with a short path.
    with (
        around(how, tmp_path_factory.mktemp("around")) as own,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as labs,
    ):
        environment = {**os.environ, **own, "COLUMNS": "100", "NO_COLOR": "1", "CROSSCUT_LABS": labs}

        def shell(text: str) -> tuple[int, str]:
            done = subprocess.run(
                ["bash", "-c", text], cwd=tmp_path, env=environment, text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip
            return done.returncode, done.stdout

        smpirun = shutil.which("smpirun")
        try:
            status, said = shell(f"set -e\n{how.given}")
            assert status == 0, said
            wrong = []
            for command in commands(name):
                if command.startswith(how.not_here) or (WITH_SIMGRID.match(command) and not smpirun):
                    print(f"left out: {command}")
                    continue
                shell(for_command(command, how.before) or "true")
                text = command
                for written, here in how.instead.items():
                    text = text.replace(written, here)
                status, said = shell(text)
                print(f"$ {text}\n{said[-1500:]}")
                is_right = status == (for_command(command, how.status) or 0) and "Traceback" not in said
                expected = for_command(command, how.says)
                if not is_right or (expected is not None and not re.search(expected, said)):
                    wrong.append(f"{text}\n{said}\nstatus {status}")
            assert not wrong, "\n".join(wrong)
        finally:
            shell("for lab in x my xbar4 c; do crosscut lab down $lab; done")


def test_every_page_with_commands_is_tried() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "reference").glob("*.md")]
    with_commands = {
        one for one in pages if re.search("^```sh", one.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {page(name) for name in HOWTOS} == with_commands - {ROOT / name for name in ELSEWHERE}
