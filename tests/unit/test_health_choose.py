"""Which nodes a search uses, and that it never uses a busy one."""

from __future__ import annotations

import random

import pytest

from crosscut.base.errors import UsageError
from crosscut.health import choose
from crosscut.health.decide import PREFIX, NodeState
from crosscut.health.slurm import HELD_AS, JobContext, JobsThere, SlurmSilent, context, expanded

OURS, THEIRS = f"{PREFIX}slow", "bad memory"
STATES = [
    NodeState("a", "idle"), NodeState("b", "idle"), NodeState("c", "idle"), NodeState("d", "idle"),
    NodeState("busy", "allocated"), NodeState("half", "mixed"), NodeState("ours", "drained", OURS),
    NodeState("theirs", "drained", THEIRS), NodeState("silent", "idle*"), NodeState("ends", "draining", OURS),
    NodeState("gone", "drained*", OURS),
]  # fmt: skip
IDLE = {"a", "b", "c", "d"}


def draw() -> random.Random:
    return random.Random(7)


def only(*names: str) -> list[NodeState]:
    return [one for one in STATES if one.name in names]


def there(**numbers: set[str]) -> dict[str, JobsThere]:
    return {node: JobsThere(frozenset(these), frozenset({"job"})) for node, these in numbers.items()}


def test_a_night_searches_idle_nodes_and_those_that_crosscut_drained() -> None:
    found = choose.all_idle(STATES)
    assert set(found.nodes) == {*IDLE, "ours"}
    assert set(found.hold) == IDLE
    assert set(choose.all_idle(STATES, busy=True).nodes) == {*IDLE, "ours", "busy", "half"}
    assert set(choose.all_idle(STATES, busy=True).hold) == IDLE


def test_too_few_nodes_are_told() -> None:
    found = choose.all_idle(only("a", "b", "busy", "theirs", "silent"))
    assert found.nodes == ()
    assert found.why_not == "a search needs 4 nodes that run no other job, and there are only a, b"
    assert choose.all_idle(only("busy")).why_not.endswith("and there is none")


def test_a_node_is_searched_with_three_idle_partners() -> None:
    found = choose.around("a", STATES, draw())
    assert found.nodes[0] == "a"
    assert set(found.nodes) == set(found.hold) == IDLE
    found = choose.around("ours", STATES, draw())
    assert found.nodes[0] == "ours"
    assert len(found.nodes) == 4
    assert set(found.hold) < IDLE


@pytest.mark.parametrize("node", ["busy", "half", "theirs", "silent", "ends"])
def test_a_node_that_is_not_idle_is_not_searched_unless_asked(node: str) -> None:
    found = choose.around(node, STATES, draw())
    assert (found.nodes, found.hold) == ((), ())
    assert f"{node} is " in found.why_not
    found = choose.around(node, STATES, draw(), busy=True)
    assert found.nodes[0] == node
    assert set(found.hold) == set(found.nodes[1:]) < IDLE


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(UsageError, match="bus: Slurm has no such node; did you mean busy"):
        choose.around("bus", STATES, draw())


def test_the_first_node_of_a_job_searches_it_in_the_prolog_and_the_others_do_nothing() -> None:
    job = JobContext("7", is_prolog=True, nodes=("e", "f", "g", "h", "i"))
    jobs = there(e={"7"}, f={"7"}, g={"7"}, h={"7"}, i={"7", "8"})
    found = choose.in_context("e", STATES, job, jobs, draw())
    assert set(found.nodes) == {"e", "f", "g", "h"}
    assert found.hold == ()
    for other in job.nodes[1:]:
        assert choose.in_context(other, STATES, job, jobs, draw()) == choose.Chosen(quiet=True)
    jobs |= there(e={"7", "8"})
    assert choose.in_context("e", STATES, job, jobs, draw()).why_not == "e runs other jobs, too"


def test_an_epilog_uses_idle_partners_since_the_job_s_other_nodes_may_have_a_new_job() -> None:
    job = JobContext("7", is_prolog=False, nodes=("busy", "half"))
    found = choose.in_context("half", STATES, job, there(busy={"7"}, half={"7"}), draw())
    assert found.nodes[0] == "half"
    assert set(found.nodes[1:]) == set(found.hold) < IDLE
    found = choose.in_context("half", STATES, job, there(busy={"7"}, half={"7", "8"}), draw())
    assert found.why_not == "half runs other jobs, too"


@pytest.mark.parametrize("is_prolog", [True, False])
def test_the_job_that_holds_nodes_for_a_search_is_not_searched_itself(*, is_prolog: bool) -> None:
    job = JobContext("7", is_prolog=is_prolog, nodes=("a", "b", "c", "d"))
    jobs = {node: JobsThere(frozenset({"7"}), frozenset({HELD_AS})) for node in job.nodes}
    assert choose.in_context("a", STATES, job, jobs, draw()) == choose.Chosen(quiet=True)


def test_in_a_reservation_s_job_its_own_nodes_are_searched() -> None:
    jobs = there(e={"7"}, f={"7"}, g={"7"}, h={"7", "8"})
    found = choose.of_job(["e", "f", "g", "h"], STATES, jobs, "7")
    assert (found.nodes, found.hold) == (("e", "f", "g", "ours"), ())


def test_a_prolog_is_recognised_by_slurm_s_variables() -> None:
    given = {"SLURM_SCRIPT_CONTEXT": "prolog_slurmd", "SLURM_JOB_ID": "7", "SLURM_NODELIST": "n[0-2,7]"}
    assert context(given) == JobContext("7", is_prolog=True, nodes=("n0", "n1", "n2", "n7"))
    assert context(given | {"SLURM_SCRIPT_CONTEXT": "epilog_slurmd"}) == JobContext(
        "7", is_prolog=False, nodes=("n0", "n1", "n2", "n7")
    )
    assert context({"SLURM_JOB_ID": "7"}) is None
    assert expanded("(null)") == expanded("") == []
    with pytest.raises(SlurmSilent, match="cannot be understood"):
        expanded("n[0-")
