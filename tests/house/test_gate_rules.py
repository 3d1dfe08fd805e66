"""The rules of the gate: what is never chance, what a landing touches, and which tests a command runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import chance, tiers
from gate.chance import Failure, Listed, judge
from gate.changes import LANDING, Changes, find_changes, is_same_code
from gate.commands import ALL_MIN, OVERHEAD_S, SHARD_MIN, TEST_MIN
from gate.costs import Form, Measured, read_costs, read_measured, update_costs, write_costs
from gate.processor_time import MIN_SCAN_INTERVAL_S, ProcessorClock
from gate.selecting import is_selected, read_selection, write_selection
from gate.stages import CPU_S_PER_MINUTE
from gate.tiers import Selection
from support.timeouts import WAIT_TIMEOUT_S

ROOT = Path(__file__).parents[2]


def make_failure(test: str = "tests/web/test_x.py::test_a", **changes: object) -> Failure:
    """A failure that may be chance."""
    facts = {"when": "call", "took_s": 0.1, "place": "tests/web/test_x.py", "message": "assert 3 == 4", "report": ""}
    return Failure(test, **(facts | changes))  # type: ignore[arg-type]


def passes(_failure: Failure) -> int:
    return 1


def never_runs(failure: Failure) -> int:
    raise AssertionError(f"{failure.test} ran again")


NEVER_CHANCE = {
    "hangs": make_failure(took_s=WAIT_TIMEOUT_S),
    "does not end": make_failure(message="TimeoutError: process 17 did not end within 120 s"),
    "is killed": make_failure(message="worker 'gw1' crashed while running 'tests/web/test_x.py::test_a'"),
    "is of faults": make_failure("tests/faults/test_power_cuts.py::test_a"),
    "fails in check_lab": make_failure(when="teardown", report="tests/support/lab_checks.py:40: AssertionError"),
    "fails in fsck": make_failure("tests/log/test_fsck.py::test_a"),
    "is not collected": make_failure(when="collect"),
    "is touched": make_failure("tests/touched/test_x.py::test_a"),
}


@pytest.mark.parametrize("case", NEVER_CHANCE)
def test_what_is_never_chance_is_red_and_not_tried_again(case: str) -> None:
    verdict = judge([NEVER_CHANCE[case]], touched={"tests/touched/test_x.py"}, passes_alone=never_runs)
    assert verdict.flaky == []
    assert len(verdict.red) == 1


def test_a_test_that_fails_in_its_call_and_its_teardown_is_one_failure() -> None:
    verdict = judge([make_failure(), make_failure(when="teardown")], touched=(), passes_alone=passes)
    assert (len(verdict.flaky), verdict.red) == (1, [])


def test_more_than_ten_failures_are_no_chance() -> None:
    verdict = judge([make_failure(f"a::{n}") for n in range(11)], touched=(), passes_alone=never_runs)
    assert "11 tests failed" in verdict.red[0]


def test_chance_of_several_stages_counts_together() -> None:
    earlier = [(make_failure(f"a::{n}"), 1) for n in range(3)]
    assert judge([make_failure()], touched=(), passes_alone=passes, earlier=earlier).red
    assert not judge([make_failure()], touched=(), passes_alone=passes, earlier=earlier[1:]).red


def test_a_signature_is_the_same_for_tests_that_meet_the_same_chance() -> None:
    one = make_failure(message="OSError: port 8080 of 0x7f21 is taken\nmore")
    other = make_failure("tests/web/test_x.py::test_b", message="OSError: port 91 of 0x1a is taken")
    assert one.signature == other.signature == "tests/web/test_x.py: OSError: port # of # is taken"


@pytest.mark.parametrize(("age", "is_landing", "refuses"), [(199, True, False), (200, True, True), (200, False, False)])
def test_a_chance_that_was_listed_too_long_ago_refuses_a_landing_alone(
    monkeypatch: pytest.MonkeyPatch, age: int, is_landing: bool, refuses: bool
) -> None:
    monkeypatch.setattr(chance, "count_commits_since", {"0123abc": age}.__getitem__)
    known = Listed(make_failure().signature, "the web team", "a port", "0123abc")
    verdict = judge([make_failure()], touched=(), passes_alone=passes, listed=[known], is_landing=is_landing)
    assert bool(verdict.red) == refuses


def test_each_listed_chance_has_an_owner_and_a_commit() -> None:
    for listed in chance.read_listed():
        assert listed.owner, listed
        assert listed.known, listed
        assert re.fullmatch(r"[0-9a-f]{7,40}", listed.seen_at), listed


SAME = [
    ("import a\nassert a.b()", "from x import a\nassert a.b()  # moved"),
    ("from a import one\nassert one()", "from b import two\n\nassert two()"),
]
OTHER = [
    ("assert f(1)", "assert f(2)"),
    ("from a import one\nassert one()", "from a import one\nassert not one()"),
    ("from a import one, two\nassert one() == two()", "from a import one, two\nassert one() == one()"),
    ("from a import VALID\nx = 1\nassert VALID", "from a import VALID\nx = 1\nassert x"),
    ("assert f(1)", "assert f(1"),
]


@pytest.mark.parametrize(
    ("before", "after", "same"), [*((*pair, True) for pair in SAME), *((*p, False) for p in OTHER)]
)
def test_imports_and_the_names_that_they_bind_touch_no_test(before: str, after: str, same: bool) -> None:
    assert is_same_code(before, after) == same


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., None]:
    """Returns a function that runs git in a new repository, at a time."""

    def git(*arguments: str, at: datetime | None = None) -> None:
        who = {f"GIT_{role}_{what}": "committer" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": at.isoformat() for role in ("AUTHOR", "COMMITTER")} if at else {}
        subprocess.run(
            ["git", *arguments], cwd=tmp_path, env={**os.environ, **who, **dates}, check=True, capture_output=True
        )

    git("init", "--quiet", "--initial-branch", "main")
    return git


def write(root: Path, **texts: str) -> None:
    """Write test files: `log__test_a` is tests/log/test_a.py."""
    for name, text in texts.items():
        path = root / "tests" / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(git: Callable[..., None], at: datetime) -> None:
    git("add", "--all", at=at)
    git("commit", "--quiet", "--message", "a change", at=at)


NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def test_a_landing_is_what_was_committed_in_six_hours(tmp_path: Path, repository: Callable[..., None]) -> None:
    write(tmp_path, log__test_old="assert f(1)", log__test_kept="assert f(1)")
    commit(repository, NOW - LANDING - timedelta(minutes=2))
    write(tmp_path, log__test_old="assert f(2)")
    commit(repository, NOW - LANDING - timedelta(minutes=1))
    write(tmp_path, web__test_new="assert f(1)", log__test_kept="import f\nassert f(1)")
    commit(repository, NOW - LANDING + timedelta(minutes=1))
    (tmp_path / "tests" / "web" / "test_new.py").rename(tmp_path / "tests" / "log" / "test_moved.py")
    write(tmp_path, web__test_newest="assert f(1)")
    commit(repository, NOW)

    changes = find_changes(tmp_path)

    assert changes.test_files == {"tests/log/test_moved.py", "tests/web/test_newest.py"}
    assert changes.folders == {"tests/log/", "tests/web/"}


def test_a_landing_begins_at_origin_where_that_is_behind(tmp_path: Path, repository: Callable[..., None]) -> None:
    write(tmp_path, web__test_old="assert f(1)")
    commit(repository, NOW - timedelta(minutes=1))
    repository("update-ref", "refs/remotes/origin/main", "HEAD")
    write(tmp_path, web__test_new="assert f(1)")
    commit(repository, NOW)
    write(tmp_path, web__test_uncommitted="assert f(1)")

    assert find_changes(tmp_path).test_files == {"tests/web/test_new.py", "tests/web/test_uncommitted.py"}


def test_outside_of_a_repository_nothing_is_touched(tmp_path: Path) -> None:
    assert find_changes(tmp_path) == Changes(frozenset(), frozenset(), frozenset())


def test_code_and_tests_of_a_folder_belong_together(tmp_path: Path, repository: Callable[..., None]) -> None:
    write(tmp_path, log__test_a="assert f(1)")
    commit(repository, NOW - 2 * LANDING)
    (tmp_path / "attestlab" / "log").mkdir(parents=True)
    (tmp_path / "attestlab" / "log" / "service.py").write_text("x = 1")
    commit(repository, NOW)

    changes = find_changes(tmp_path)

    assert changes.concern("tests/log/test_a.py::test_x")
    assert not changes.concern("tests/web/test_a.py::test_x")


def test_a_shared_fixture_is_charged_to_its_users_in_equal_parts(tmp_path: Path) -> None:
    lines = [
        {"test": "tests/a.py::test_1", "cpu_s": 0.5, "wall_s": 1, "fixtures": ["world"]},
        {"test": "tests/a.py::test_2", "cpu_s": 0.1, "wall_s": 1, "fixtures": ["world"]},
        {"test": "tests/a.py::test_3", "cpu_s": 0.1, "wall_s": 1, "fixtures": []},
        {"fixture": "world", "module": "tests/a.py", "cpu_s": 3.0},
        {"fixture": "world", "module": "tests/a.py", "cpu_s": 1.0},
        {"fixture": "asked for by another", "module": "tests/a.py", "cpu_s": 3.0},
    ]
    (tmp_path / "gw0.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    assert read_measured(tmp_path).costs == pytest.approx(
        {"tests/a.py::test_1": 3.5, "tests/a.py::test_2": 3.1, "tests/a.py::test_3": 1.1}
    )


def test_a_test_that_was_skipped_keeps_its_cost() -> None:
    measured = Measured({"a": 0.001, "b": 0.5}, skipped={"a"})
    assert update_costs({"a": 7.0, "gone": 1.0}, measured) == {"a": 7.0, "b": 0.5}


def test_costs_are_read_as_they_were_written(tmp_path: Path) -> None:
    costs = {Form.BOUNDED: {"a[\\t]": 1.5, "b": 0.03, "cheap": 0.02}, Form.FULL: {"a[\\t]": 60.0}, Form.NOTEBOOK: {}}
    write_costs(costs, tmp_path / "costs.tsv")
    read = read_costs(tmp_path / "costs.tsv")
    assert read == {**costs, Form.BOUNDED: {"a[\\t]": 1.5, "b": 0.03}}


def test_three_cases_of_a_dear_matrix_stay(tmp_path: Path) -> None:
    cases = {f"t.py::test_a[{n}]": 0.05 for n in range(7)} | {f"t.py::test_b[{n}]": 0.05 for n in range(4)}
    assert tiers.find_dear(cases, ()) == {f"t.py::test_a[{n}]" for n in (1, 2, 4, 5)}


def test_a_selection_is_read_as_it_was_written(tmp_path: Path) -> None:
    selection = Selection(frozenset({"a"}), frozenset({"b"}), (2, 7))
    write_selection(selection, tmp_path / "selection.json")
    assert read_selection(tmp_path / "selection.json") == selection


@given(st.dictionaries(st.text("abc", min_size=1), st.floats(0.03, 300)), st.integers(1, 9))
def test_each_dear_test_is_in_one_shard_and_each_other_one_in_one_share(dear: dict[str, float], count: int) -> None:
    costs = {Form.BOUNDED: {test: cost + 0.3 for test, cost in dear.items()}, Form.FULL: dear, Form.NOTEBOOK: {}}
    shards = tiers.cut_into_shards(costs, ())
    for form in (Form.BOUNDED, Form.FULL):
        assert sorted(test for shard in shards for test in shard.tests[form]) == sorted(dear)
    shares = [Selection(share=(number, count)) for number in range(count)]
    assert [sum(is_selected(share, test) for share in shares) for test in dear] == [1] * len(dear)


@given(st.dictionaries(st.text("abc", min_size=1), st.floats(0.03, 60), min_size=1))
def test_shards_are_equal_but_for_one_unit(dear: dict[str, float]) -> None:
    seconds = [
        shard.seconds for shard in tiers.cut_into_shards({Form.BOUNDED: {}, Form.FULL: dear, Form.NOTEBOOK: {}}, ())
    ]
    assert max(seconds) - min(seconds) <= tiers.MAX_UNIT_S + 1e-6


def test_what_is_taken_within_a_budget_is_the_cheapest() -> None:
    assert tiers.take_within({"a": 3.0, "b": 1.0, "c": 1.5}, 2.6) == ({"b", "c"}, {"a"})


def test_each_representative_exists_once_with_its_reason() -> None:
    entries = tomllib.loads((ROOT / "tests" / "representatives.toml").read_text())["representative"]
    for entry in entries:
        path, _, function = entry["test"].partition("::")
        assert (ROOT / path).is_file(), entry
        assert f"def {function.partition('[')[0]}(" in (ROOT / path).read_text() or path.endswith(".ipynb"), entry
        assert entry["kind"], entry
        assert entry["reason"], entry
    assert len({entry["test"] for entry in entries}) == len(entries)


def test_the_plan_of_each_command_fits_its_limit() -> None:
    """By the list of costs, which is the same on each machine: what outgrows a command is seen before it is slow."""
    costs, representatives = read_costs(), tiers.read_representatives()
    left_out = tiers.find_dear(costs[Form.BOUNDED], representatives)
    kept = [cost for test, cost in costs[Form.BOUNDED].items() if test not in left_out]
    notebooks = [cost for test, cost in costs[Form.NOTEBOOK].items() if test in representatives]
    test_s = sum(kept) + sum(notebooks) + 2 * OVERHEAD_S
    assert test_s < TEST_MIN * CPU_S_PER_MINUTE, f"`make test` costs {test_s:.0f} s: give a dear kind one test less"
    shards = tiers.cut_into_shards(costs, representatives)
    assert max(shard.seconds for shard in shards) + OVERHEAD_S < SHARD_MIN * CPU_S_PER_MINUTE
    assert sum(shard.seconds for shard in shards) + test_s < ALL_MIN * CPU_S_PER_MINUTE


LEAVES_TWO = """\
import subprocess
from gate import running

running.LEFT_BEHIND_S = 0.1
left = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
print(*running._end_what_is_left()[0], sep=",")
"""


def test_each_process_that_is_left_behind_is_named_once() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    ran = subprocess.run(
        [sys.executable, "-c", LEAVES_TWO], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "sleep 600,sleep 600\n"


def test_the_clock_keeps_what_a_process_used_whose_parent_ended() -> None:
    """The processes of a browser that was closed outlive their parent for a moment, and are no descendants then."""
    clock = ProcessorClock()
    began_s = clock.read()
    starts_a_busy_child = f"{sys.executable} -c 'while True: pass' & echo $!; wait"
    with subprocess.Popen(["sh", "-c", starts_a_busy_child], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        try:
            while (used_s := clock.read()) < began_s + 0.2:
                time.sleep(MIN_SCAN_INTERVAL_S)
            parent.kill()
            parent.wait()
            time.sleep(2 * MIN_SCAN_INTERVAL_S)

            assert clock.read() >= used_s
        finally:
            os.kill(child, signal.SIGKILL)
