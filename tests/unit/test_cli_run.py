"""`crosscut run` from the words that are typed to the job that the ranks get."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stored_run import make_run

from crosscut.base import core
from crosscut.base.errors import UsageError
from crosscut.cli import main
from crosscut.cli.parsing import options
from crosscut.cli.parsing.measuring import resume_command
from crosscut.session.measure import checked_out, decide

FAKE = Path(__file__).parent / "fake_core.py"
Jobs = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Jobs]:
    """A fake core, and the jobs that it got; the working directory is empty."""
    core.load.cache_clear()
    monkeypatch.setenv("CROSSCUT_CORE", str(FAKE))
    log = tmp_path / "jobs"
    monkeypatch.setenv("CROSSCUT_FAKE_JOBS", str(log))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield lambda: [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    core.load.cache_clear()


def usage_error(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What standard error says of words that must be refused."""
    try:
        status = main(words)
    except SystemExit as stop:
        status = int(str(stop.code))
    assert status == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    return said


def test_the_job_has_just_the_options_given(jobs: Jobs) -> None:
    words = (
        "run aapc -n 4 --size 1KB,64KiB --phases 2-3 --stride 3 --aapc-seed 9 --seed 5 --tcp-nodelay false "
    )
    words += "--interval 5% --memory 1GiB --time-limit 2min --verify --quiet --out here.zarr"
    assert main(words.split()) == 0
    (job,) = jobs()
    metadata = job.pop("metadata")
    assert job == {
        "pattern": "aapc",
        "pattern_parameters": {"stride": "3", "seed": "9"},
        "backend": "tcp",
        "backend_parameters": {"nodelay": "false"},
        "out": str(Path.cwd() / "here.zarr"),
        "sizes": [1000, 65536],
        "phases": [2, 3],
        "seed": 5,
        "interval": 0.05,
        "memory_bytes": 2**30,
        "time_limit_seconds": 120.0,
        "verify": True,
    }
    assert metadata["ranks"] == 4
    assert metadata["command_line"] == ["crosscut", *words.split()]


def test_a_value_may_be_read_from_a_file_that_is_named_on_the_command_line(
    jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("list").write_text("3\n", encoding="utf-8")
    assert main(["run", "aapc", "-n", "4", "--stride", "@list", "--quiet"]) == 0
    assert jobs()[0]["pattern_parameters"] == {"stride": "3\n"}
    said = usage_error(["run", "aapc", "-n", "4", "--stride", "@/dev/zero", "--quiet"], capsys)
    assert "--stride @/dev/zero: there is no such file" in said


def test_options_may_stand_before_the_pattern(jobs: Jobs) -> None:
    assert main(["run", "-n", "3", "--size", "5", "aapc", "--repetitions", "7", "--quiet"]) == 0
    (job,) = jobs()
    assert (job["sizes"], job["repetitions"], job["metadata"]["ranks"]) == ([5], 7, 3)


def test_without_out_the_run_is_named_after_pattern_backend_and_time(jobs: Jobs) -> None:
    assert main(["run", "aapc", "-n", "2", "--backend", "null", "--quiet"]) == 0
    out = Path(jobs()[0]["out"])
    assert out.parent == Path.cwd()
    assert out.name.startswith("aapc-null-2")
    assert out.suffix == ".zarr"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("run aapcc", "did you mean aapc"),
        ("run", "no pattern was named"),
        ("run aapc -n 1", "at least 2"),
        ("run aapc --size 1XB", "1XB"),
        ("run aapc --backend udp", "unknown backend"),
        ("run aapc --backend mpi --on local", "this executable has no MPI"),
        ("run aapc --backend null --tcp-nodelay", "backend tcp"),
        ("run aapc --on lab", "--on lab:NETWORK"),
        ("run aapc --dilate 5", "--dilate: an option of --on lab:NETWORK, not of --on local"),
        ("run aapc --on lab:x.toml --dilate 0.5", "0.5 is out of range"),
        ("run aapc --on sim", "--on sim:NETWORK"),
        ("locate a.zarr -n 4", "-n: only for measuring"),
        ("locate --on sim:crossbar -n 4 --size 1", "--size 1 B: so short messages show latencies"),
        ("run aapc --size -1KB", "'-1KB' is not a size; write for example 1MB"),
        ("run aapc --on moon", "unknown place 'moon'"),
        ("run aapc --on xibalba-e7-config2", "to simulate this network, write --on sim:xibalba-e7-config2"),
        ("run aapc --on /etc/hostname", "if this file lists hosts, write --on hosts:/etc/hostname"),
        ("run aapc --on simulated:x", "unknown place 'simulated'; did you mean sim?"),
        ("run aapc --on slrum", "unknown place 'slrum'; did you mean slurm?"),
        (
            "locate --on sim:xibalba-e7-config2 --confidence 40%",
            "'40%' is not a probability from 0.5 to below 1",
        ),
        ("locate --on sim:xibalba-e7-config2 -o /etc/hostname", "exists, and crosscut did not make it"),
        ("run aapc --on moon.toml", "to simulate this network, write --on sim:moon.toml"),
        ("run aapc --on local:here", "takes nothing after a colon"),
        ("run aapc --mode neither", "not one of one, both"),
        ("run aapc --out a --resume b", "cannot be combined"),
        ("run --resume nowhere", "there is no such directory"),
        ("run aapc --out no/such/folder/run.zarr", "does not exist"),
        ("run aapc --unknown", "there is no option --unknown\nsee 'crosscut run aapc --help'"),
        (
            "run aapc --repetition=5",
            "--repetition; did you mean --repetitions?\nsee 'crosscut run aapc --help'",
        ),
        ("run aapc --strid 3", "did you mean --stride?"),
        (
            "run --stride 3 aapc",
            "--stride is an option of aapc: write it after that name\nsee 'crosscut run aapc --help'",
        ),
        ("network my/net.toml", "a file comes after one of them: crosscut network ACTION my/net.toml"),
        ("run --strid 3 aapc", "there is no option --strid; did you mean --stride?\nsee 'crosscut run aapc"),
        ("run --strid 3", "there is no option --strid"),
        ("run --seed 3 --stride 3 aapc", "--stride is an option of aapc: write"),
        ("run --seed 3 --verify 3", "'3' is not one of aapc"),
        ("run --size=3 aapcc", "'aapcc' is unknown; did you mean aapc"),
        ("run -n4 aapcc", "'aapcc' is unknown; did you mean aapc"),
        ("show --sizes 3 run.zarr", "did you mean --size?\nsee 'crosscut show --help'"),
        ("list aapc pingpong", "unexpected argument 'pingpong'\nsee 'crosscut list --help'"),
        ("rum", "did you mean run"),
    ],
)
def test_wrong_usage_is_one_line_with_the_correct_form(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], words: str, shown: str
) -> None:
    assert shown in usage_error(words.split(), capsys)
    assert jobs() == []


def test_an_existing_run_is_never_overwritten(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    (Path.cwd() / "run.zarr").mkdir()
    (Path.cwd() / "run.zarr" / "zarr.json").write_text("{}")
    assert "--resume" in usage_error(["run", "aapc", "--out", "run.zarr"], capsys)


def test_a_resumed_run_stays_where_it_is(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    for pattern in ([], ["aapc"]):
        said = usage_error(["run", *pattern, "--resume", "run.zarr", "--out", "other.zarr"], capsys)
        assert "--out and --resume cannot be combined" in said
    assert jobs() == []


def test_resume_takes_pattern_ranks_and_parameters_from_the_run(jobs: Jobs) -> None:
    recorded = {
        "pattern": "aapc", "pattern_parameters": {"stride": "2"}, "backend": "null", "backend_parameters": {},
        "sizes": [1000], "phases": None, "repetitions": 11, "out": "elsewhere",
        "resume": False, "force": False,
        "metadata": {"ranks": 5, "on": "local", "command_line": ["crosscut", "run", "aapc"]},
    }  # fmt: skip
    run = Path.cwd() / "old.zarr"
    run.mkdir()
    (run / "zarr.json").write_text(json.dumps({"attributes": {"job": recorded}}))
    assert main(["run", "--resume", "old.zarr", "--force", "--quiet"]) == 0
    (job,) = jobs()
    assert (job["out"], job["resume"], job["force"]) == (str(run), True, True)
    assert (job["pattern_parameters"], job["repetitions"], job["phases"]) == ({"stride": "2"}, 11, None)
    assert job["metadata"]["ranks"] == 5
    assert job["metadata"]["command_line"] == ["crosscut", "run", "aapc"]


@pytest.mark.parametrize(
    ("behaviour", "status"), [("crash", 1), ("garbage", 1), ("wrong-byte", 1), ("refuse", 2)]
)
def test_failures_of_the_ranks_decide_the_exit_status(
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    behaviour: str,
    status: int,
) -> None:
    core.load()
    monkeypatch.setenv("CROSSCUT_FAKE", behaviour)
    assert main(["run", "aapc", "-n", "2", "--quiet"]) == status
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("backend tcp: --nodelay: 7 is out of range", "--tcp-nodelay: 7 is out of range"),
        ("send failed; lower --nodelay", "send failed; lower --tcp-nodelay"),
        ("pattern aapc: --seed: 7 is out of range", "--aapc-seed: 7 is out of range"),
        ("pattern aapc: --stride 9 needs more ranks", "--stride 9 needs more ranks"),
        ("leave out --sync, --seed and --x-nodelay", "leave out --sync, --seed and --x-nodelay"),
    ],
)
def test_a_parameter_that_the_core_refuses_is_named_as_the_command_s_option(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: str, shown: str
) -> None:
    core.load()
    monkeypatch.setenv("CROSSCUT_FAKE", "refuse")
    monkeypatch.setenv("CROSSCUT_FAKE_MESSAGE", message)
    assert usage_error(["run", "aapc", "-n", "2", "--quiet"], capsys) == f"crosscut: error: {shown}\n"


def test_a_run_that_exists_is_replaced_only_by_force(
    jobs: Jobs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "aapc", "-n", "2", "--quiet", "--out"]
    assert "--force needs --out" in usage_error([*words[:-1], "--force"], capsys)
    earlier = make_run(Path("run.zarr"))
    (earlier / "mark").touch()
    assert "or replace it with --force" in usage_error([*words, "run.zarr"], capsys)
    Path("mine").mkdir()
    Path("mine/thesis.txt").touch()
    assert "--force replaces only runs" in usage_error([*words, "mine", "--force"], capsys)
    assert jobs() == []
    core.load()
    monkeypatch.setenv("CROSSCUT_FAKE", "refuse")
    monkeypatch.setenv("CROSSCUT_FAKE_MESSAGE", "no")
    usage_error([*words, "run.zarr", "--force"], capsys)
    assert (earlier / "mark").exists()
    monkeypatch.setenv("CROSSCUT_FAKE", "")
    assert main([*words, "run.zarr", "--force"]) == 0


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["run", "aapc", "-n", "2", "--quiet", "--out", "\udcff.zarr"], "--out \\udcff.zarr"),
        (["run", "aapc", "-n", "2", "--quiet", "--out=\udcff.zarr"], "--out=\\udcff.zarr"),
        (["run", "--resume", "\udcff.zarr"], "--resume \\udcff.zarr"),
        (["run", "aapc", "--on", "hosts:hosts", "--core-path", "/opt/\udcff"], "--core-path /opt/\\udcff"),
        (["evaluate", "--out", "\udcff"], "--out \\udcff"),
        (["locate", "-n", "4", "--keep", "\udcff"], "--keep \\udcff"),
        (["clone", "\udcff", "copy", "--on", "local:2"], "\\udcff"),
        (["reproduce", "bode-peaks", "--on", "sim", "--out", "\udcff"], "--out \\udcff"),
    ],
)
def test_a_name_that_is_not_utf8_is_refused_before_ranks_start(
    words: list[str], names: str, jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    """The core takes JSON, whose text is always UTF-8."""
    assert main(words) == 2
    assert capsys.readouterr().err == f"crosscut: error: {names}: the name is not valid UTF-8\n"
    assert jobs() == []


def test_a_folder_whose_name_is_not_utf8_holds_no_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "\udcff"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with pytest.raises(UsageError, match=r"--out .*: the name is not valid UTF-8"):
        checked_out(Path("run.zarr"))


def test_help_of_a_pattern_shows_its_own_parameters_with_unit_and_default(
    jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["run", "aapc", "--help"])
    assert stop.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "--stride INTEGER Distance of partners, 5 % at least. In ranks; default 1." in shown
    assert "--tcp-nodelay [{true,false}] Send at once. Default true." in shown
    assert "nobody 2000" in shown
    assert "exit status: 0 done" in shown


@pytest.mark.parametrize(("words", "there"), [("", True), ("--backend tcp", True), ("--backend=null", False)])
def test_help_of_a_pattern_shows_the_chosen_backend_and_how_to_list_the_others(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], words: str, there: bool
) -> None:
    with pytest.raises(SystemExit):
        main(["run", "pingpong", *words.split(), "--help"])
    shown = capsys.readouterr().out
    assert ("--tcp-nodelay" in shown) == there
    assert "--repetitions" not in shown
    assert "Options of every run (repetitions, ranks, place, output): crosscut run --help" in shown
    assert ("other backends (tcp)" in shown) != there
    assert "pingpong has no parameters of its own" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_patterns_and_their_parameters(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("doctor", "pingpong", "stride"):
        assert word in script


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("network show two", ["two-leaves-16", "two-switches-trunked-gigabit"]),
        ("network check my", ["my.toml"]),
        ("locate --on sim:two", ["sim:two-leaves-16", "sim:two-switches-trunked-gigabit"]),
        ("locate --on lab:my", ["lab:my.toml"]),
        ("locate --on m", ["mpi"]),
        ("lab down te", ["test"]),
        ("locate --on lab:te", ["lab:test"]),
        ("show fi", ["first.zarr"]),
    ],
)
def test_bash_completes_networks_places_labs_and_runs(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: str, expected: list[str]
) -> None:
    (tmp_path / "first.zarr").mkdir()
    (tmp_path / "my.toml").touch()
    program = tmp_path / "bin" / "crosscut"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh\necho '{"folder": "/", "labs": [{"name": "test", "condition": "up"}]}'\n"""
    )
    program.chmod(0o755)
    assert main(["completion", "bash"]) == 0
    text = capsys.readouterr().out + (
        f'COMP_WORDS=(crosscut {words}); COMP_CWORD={len(words.split())}; _shtab_crosscut; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )  # fmt: skip
    (tmp_path / "script").write_text(text)
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", "script"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.split()) == expected


def test_list_shows_unavailable_backends_and_why(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    assert "this executable has no MPI" in " ".join(capsys.readouterr().out.split())
    assert main(["list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [pattern["name"] for pattern in listed["patterns"]] == ["aapc", "pingpong"]
    assert main(["list", "aapc"]) == 0
    assert "--stride" in capsys.readouterr().out
    assert main(["list", "pingpong"]) == 0
    assert "The pattern pingpong has no parameters of its own." in capsys.readouterr().out
    assert main(["list", "nonesuch"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "there is no such directory"),
        ("", "it is not valid JSON (line 1, column 1)"),
        ("\xff", "it is not UTF-8 text (byte 0)"),
        ("[]", "it holds no JSON object"),
        ('{"attributes": {"job": {"pattern": 7}}}', "it records no job"),
    ],
)
def test_an_error_of_resuming_does_not_quote_the_operating_system(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], text: str | None, words: str
) -> None:
    if text is not None:
        (Path.cwd() / "run.zarr").mkdir()
        (Path.cwd() / "run.zarr" / "zarr.json").write_bytes(text.encode("latin-1"))
    said = usage_error(["run", "--resume", "run.zarr"], capsys)
    assert words in said
    assert "Errno" not in said
    assert "Expecting" not in said


def test_an_interrupt_while_python_runs_source_text_ends_with_the_documented_status(tmp_path: Path) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import sys, crosscut.cli as cli\n"
        "def execute(_): exec('raise KeyboardInterrupt')\n"
        "class Parsed: words = []; execute = staticmethod(execute)\n"
        "cli.build_parser = lambda only=None: type('P', (), {'parse_args': lambda self, words: Parsed()})()\n"
        "sys.exit(cli.main(['list']))\n"
    )
    words = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "crosscut: interrupted\n")


def test_the_command_that_continues_names_what_a_run_does_not_record(jobs: Jobs) -> None:
    words = options.launch(
        {"launcher": "/opt/my srun", "launcher_arguments": ("-p", "all nodes"), "ranks": 2}
    )
    decided = decide(core.load(), words)
    command = shlex.split(resume_command(Path("my run.zarr"), decided))
    assert command[:4] == ["crosscut", "run", "--resume", "my run.zarr"]
    assert command[4:] == ["--launcher=/opt/my srun", "--launcher-args=-p 'all nodes'"]
