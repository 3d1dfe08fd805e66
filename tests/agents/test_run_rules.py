"""Rules of runs: plans, the order of steps, chained hashes and the run hash, beside a small model."""

import base64
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.agents.runs.rules import (
    PlannedStep,
    RecordedStep,
    RunEnd,
    RunStatus,
    StepStatus,
    hash_run,
    is_chained,
    is_run_chained,
    require_completable,
    require_plan,
    require_recordable,
)
from attestlab.core.errors import Conflict, ValidationFailed

AGENT = "maip_0190a0a0-0000-7000-8000-000000000001"
RUN = "0190a0a0-0000-7000-8000-000000000002"
EDGES = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)


def _plan(edges, count=5):
    return [PlannedStep(f"s{i}", "work", tuple(f"s{b}" for a, b in sorted(edges) if a == i)) for i in range(count)]


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def _record(step, inputs=None):
    return RecordedStep(step.id, AGENT, inputs or _digest("start"), _digest(step.id), StepStatus.COMPLETED)


def _diamond():
    steps = _plan({(1, 0), (2, 0), (3, 2), (3, 1)}, 4)
    joined = _digest("\n".join([_digest("s1"), _digest("s2")]))
    inputs = [None, _digest("s0"), _digest("s0"), joined]
    return steps, {step.id: _record(step, given) for step, given in zip(steps, inputs, strict=True)}


def _has_cycle(edges):
    """Walk from each step; a walk longer than there are steps has passed one twice."""
    reached = {i: {i} for i in range(5)}
    for _ in range(5):
        reached = {i: {b for a, b in edges if a in at} for i, at in reached.items()}
    return any(reached.values())


@settings(max_examples=60)
@given(EDGES)
def test_a_plan_is_refused_exactly_if_it_has_a_cycle(edges):
    if _has_cycle(edges):
        with pytest.raises(ValidationFailed, match="depend on each other"):
            require_plan(_plan(edges))
    else:
        require_plan(_plan(edges))


@settings(max_examples=60)
@given(EDGES.map(lambda edges: {(a, b) for a, b in edges if b < a}), st.permutations(range(5)))
def test_steps_are_recorded_once_and_after_their_dependencies(edges, order):
    steps, recorded = _plan(edges), {}
    for number in [*order, *order]:
        ready = f"s{number}" not in recorded and all(f"s{b}" in recorded for a, b in edges if a == number)
        if ready:
            require_recordable(steps, f"s{number}", recorded)
            recorded[f"s{number}"] = _record(steps[number])
        else:
            with pytest.raises(Conflict):
                require_recordable(steps, f"s{number}", recorded)


@pytest.mark.parametrize(
    ("steps", "field"),
    [
        ([], "/plan/steps"),
        ([PlannedStep(f"s{i}", "work") for i in range(101)], "/plan/steps"),
        ([PlannedStep("a b", "work")], "/plan/steps/0/id"),
        ([PlannedStep("a\n", "work")], "/plan/steps/0/id"),
        ([PlannedStep("a" * 65, "work")], "/plan/steps/0/id"),
        ([PlannedStep("a", "Work")], "/plan/steps/0/type"),
        ([PlannedStep("a", "work"), PlannedStep("a", "work")], "/plan/steps/1/id"),
        ([PlannedStep("a", "work", ("b",))], "/plan/steps/0/depends_on/0"),
        ([PlannedStep("a", "work"), PlannedStep("b", "work", ("a", "a"))], "/plan/steps/1/depends_on/1"),
    ],
    ids=["none", "101", "blank", "line-end", "long", "type", "twice", "unknown", "dependency-twice"],
)
def test_a_broken_plan_names_its_field(steps, field):
    with pytest.raises(ValidationFailed) as refused:
        require_plan(steps)
    assert refused.value.fields[0].field == field


def test_a_plan_of_100_steps_in_a_row_is_accepted():
    require_plan(_plan({(i, i - 1) for i in range(1, 100)}, 100))


def test_a_step_outside_the_plan_and_an_open_dependency_are_refused():
    steps, _ = _diamond()
    with pytest.raises(ValidationFailed, match="no step 's9'"):
        require_recordable(steps, "s9", {})
    with pytest.raises(Conflict) as refused:
        require_recordable(steps, "s1", {})
    assert refused.value.details == {"reason": "dependency_open", "open": ["s0"]}


@pytest.mark.parametrize("digest", ["", "0" * 63, "A" * 64, "0" * 64 + "\n"], ids=["empty", "short", "upper", "end"])
def test_a_hash_is_64_lowercase_hex_digits(digest):
    with pytest.raises(ValidationFailed, match="64 lowercase hex"):
        RecordedStep("s0", AGENT, digest, "0" * 64, StepStatus.COMPLETED)


def test_only_a_run_without_open_steps_completes():
    steps, recorded = _diamond()
    require_completable(steps, recorded, now=RunStatus.RUNNING, then=RunEnd.COMPLETED)
    for end in (RunEnd.FAILED, RunEnd.CANCELED):
        require_completable(steps, {}, now=RunStatus.RUNNING, then=end)
        with pytest.raises(Conflict, match="only a running one"):
            require_completable(steps, recorded, now=RunStatus(end), then=RunEnd.COMPLETED)
    with pytest.raises(Conflict, match="4 steps are open"):
        require_completable(steps, {}, now=RunStatus.RUNNING, then=RunEnd.COMPLETED)


def test_hashes_chain_through_one_and_through_several_dependencies():
    steps, recorded = _diamond()
    assert is_run_chained(steps, recorded)
    assert not is_chained(steps[1], _digest("other"), recorded)
    assert not is_chained(steps[1], _digest("s0"), {})
    swapped = _digest("\n".join([_digest("s2"), _digest("s1")]))
    assert not is_run_chained(steps, {**recorded, "s3": _record(steps[3], swapped)})


def test_the_run_hash_is_what_python_alone_computes():
    steps, recorded = _diamond()
    named = [PlannedStep("s0", "work", agent_id=AGENT), *steps[1:]]
    plan = [{"id": s.id, "type": s.type, "depends_on": list(s.depends_on)} for s in named]
    plan[0]["agent_id"] = AGENT
    names = ("step_id", "agent_id", "inputs_hash", "outputs_hash", "status")
    rows = [{name: getattr(recorded[step.id], name) for name in names} for step in named]
    content = {"v": 1, "orchestration_id": RUN, "agent_id": AGENT, "plan": {"steps": plan}, "status": "completed"}
    text = json.dumps({**content, "steps": rows}, sort_keys=True, separators=(",", ":"))
    expected = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    backwards = dict(reversed(recorded.items()))
    assert hash_run(RUN, AGENT, named, backwards, RunStatus.COMPLETED) == expected


def test_each_member_changes_the_run_hash():
    steps, recorded = _diamond()
    without = {name: step for name, step in recorded.items() if name != "s3"}
    failed = {**recorded, "s3": RecordedStep("s3", AGENT, _digest("a"), _digest("b"), StepStatus.FAILED)}
    hashes = [
        hash_run(RUN, AGENT, steps, recorded, RunStatus.COMPLETED),
        hash_run(RUN, AGENT, steps, recorded, RunStatus.FAILED),
        hash_run(RUN, AGENT, steps, without, RunStatus.FAILED),
        hash_run(RUN, AGENT, steps, failed, RunStatus.COMPLETED),
        hash_run(RUN, AGENT, steps[::-1], recorded, RunStatus.COMPLETED),
        hash_run(RUN, RUN, steps, recorded, RunStatus.COMPLETED),
        hash_run(AGENT, AGENT, steps, recorded, RunStatus.COMPLETED),
    ]
    assert len(set(hashes)) == len(hashes)
