"""The four commands: which stages each of them has, and what it may take on two quiet processors."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from gate import costs, tiers
from gate.changes import ROOT, read_head
from gate.costs import Costs, Form, Measured
from gate.reporting import say
from gate.running import PASSED
from gate.stages import CPU_S_PER_MINUTE, SELECTING, Gate, Stage, file_of
from gate.tiers import Selection, Shard

QUICK_MIN, TEST_MIN, SHARD_MIN, ALL_MIN = 1, 5, 6, 60
OVERHEAD_S = 100  # processor seconds of a run of two processes: imports, collection, forking, fixtures of the session
HANG = ("--timeout", "180")  # no test of `make test` takes three minutes, however busy the machine is
REPEATS = 2
REPEATS_MIN = 2
LEFT_ITS_TIER = 2  # times over the bound; a busy machine inflates processor time, too
MAX_NAMED = 10
NEW_SEEDS = ("--hypothesis-profile", "new-seeds")
FULL_FORM = ("-m", "(soak or more_in_soak) and not spark", "--hypothesis-profile", "soak")


def run_quick(gate: Gate) -> int:
    """Run the tests that cost next to nothing, then those of the changed test files; nothing is tried again."""
    listed = costs.read_costs()
    ended, _ = gate.run(Stage(Form.BOUNDED, tiers.select_quick(listed)), SELECTING)
    if ended.code == PASSED and gate.changes.test_files:
        _run_changed_files(gate, listed)
    gate.report("quick", QUICK_MIN)
    return gate.ended.code


def _run_changed_files(gate: Gate, listed: Costs) -> None:
    """Run the dearer tests of changed files, as many as what is left of the minute pays for; the others ran already."""
    dearer = {test: cost for test, cost in listed[Form.BOUNDED].items() if file_of(test) in gate.changes.test_files}
    taken, left = tiers.take_within(dearer, QUICK_MIN * CPU_S_PER_MINUTE - gate.ended.cpu_s - OVERHEAD_S / 2)
    if left:
        say(f"{len(left)} dearer tests of changed files are left out: `pytest FILE` runs all of a file.")
    gate.run(Stage.of_tests(Form.BOUNDED, taken), SELECTING)


def run_test(gate: Gate) -> int:
    """Run what is cheap and one of each dear kind; tests of files that the landing touches run three times."""
    listed, representatives = costs.read_costs(), tiers.read_representatives()
    cheap = tiers.select_cheap(listed, representatives)
    notebooks = [test for test in representatives if test.endswith(".ipynb")]
    say(
        f"make test: every test that costs less than {tiers.CHEAP_BELOW_S} s of processor time, and one of each dear "
        f"kind. The other {len(cheap.unwanted)} run in shards (`make shard`); `make all` runs everything."
    )
    limit_min: float = TEST_MIN
    measured = gate.judge(Stage(Form.BOUNDED, cheap, arguments=HANG))
    if measured is not None:
        _name_what_left_its_tier(measured, listed, representatives)
        if gate.judge(Stage(Form.NOTEBOOK, Selection(), notebooks)) is not None:
            limit_min += _repeat_touched(gate, measured)
    return gate.finish("test", limit_min)


def _name_what_left_its_tier(measured: Measured, listed: Costs, representatives: Sequence[str]) -> None:
    known = {test for test, cost in listed[Form.BOUNDED].items() if cost >= tiers.CHEAP_BELOW_S} | {*representatives}
    left = {test: cost for test, cost in measured.costs.items() if cost >= LEFT_ITS_TIER * tiers.CHEAP_BELOW_S}
    for test in sorted(left.keys() - known, key=left.__getitem__, reverse=True)[:MAX_NAMED]:
        say(f"Dear now: {test} used {left[test]:.1f} s of processor time; `make all` moves it into a shard.")


def _repeat_touched(gate: Gate, measured: Measured) -> float:
    """Run the tests of touched files again, as many as two minutes pay for; returns the minutes that this may take."""
    touched = {test: cost for test, cost in measured.costs.items() if file_of(test) in gate.changes.test_files}
    taken, left = tiers.take_within(touched, REPEATS_MIN * CPU_S_PER_MINUTE / REPEATS - OVERHEAD_S / 2)
    if touched:
        say(f"Touched test files: {len(taken)} tests run twice more; for {len(left)} the time does not suffice.")
    repeats = Stage.of_tests(Form.BOUNDED, taken, HANG)
    all(gate.judge(repeats) is not None for _ in range(REPEATS if taken else 0))
    return REPEATS_MIN if taken else 0


def run_shard(gate: Gate, number: int | None, *, seed: int) -> int:
    """Run one part of what `make test` leaves out, and the dear tests of changed folders."""
    listed, representatives = costs.read_costs(), tiers.read_representatives()
    shards = tiers.cut_into_shards(listed, representatives)
    number = int(read_head()[:8], 16) % len(shards) if number is None else number
    if not 0 <= number < len(shards):
        print(f"There is no shard {number}: choose N=0 to N={len(shards) - 1}.", file=sys.stderr)
        return 2
    own = shards[number]
    say(f"make shard N={number} of 0 to {len(shards) - 1}: tests that cost {own.seconds:.0f} s of processor time.")
    changed = _take_changed(gate, own, listed, representatives)
    tests = {form: own.tests[form] | changed[form] for form in Form}
    others = frozenset(listed[Form.FULL]) - tests[Form.FULL]
    full = Selection(frozenset(tests[Form.FULL]), others, share=(number, len(shards)))
    stages = [
        Stage.of_tests(Form.BOUNDED, tests[Form.BOUNDED], (*NEW_SEEDS, *_use_seed(seed))),
        Stage(Form.FULL, full, arguments=(*FULL_FORM, *_use_seed(seed))),
        Stage(Form.NOTEBOOK, Selection(), sorted(tests[Form.NOTEBOOK])),
    ]
    all(gate.judge(stage) is not None for stage in stages)
    return gate.finish("shard", SHARD_MIN)


def _take_changed(gate: Gate, own: Shard, listed: Costs, representatives: Sequence[str]) -> dict[Form, set[str]]:
    """Choose the dear tests of changed folders that the limit of a shard pays for, the cheapest first."""
    dear = {**listed, Form.BOUNDED: _only(listed[Form.BOUNDED], tiers.find_dear(listed[Form.BOUNDED], representatives))}
    concerned = {
        (form, test): cost
        for form, found in dear.items()
        for test, cost in found.items()
        if test not in own.tests[form] and gate.changes.concern(test)
    }
    taken, left = tiers.take_within(concerned, SHARD_MIN * CPU_S_PER_MINUTE - OVERHEAD_S - own.seconds)
    if concerned:
        say(f"Changed folders: {len(taken)} of their dear tests run as well, {len(left)} wait for their shard.")
    return {form: {test for its_form, test in taken if its_form == form} for form in Form}


def _only(listed: Mapping[str, float], tests: set[str]) -> dict[str, float]:
    return {test: listed[test] for test in tests}


def run_all(gate: Gate, *, seed: int) -> int:
    """Run everything, and list what each test costs."""
    stages = [
        Stage(Form.BOUNDED, Selection(), arguments=(*NEW_SEEDS, *_use_seed(seed))),
        Stage(Form.FULL, Selection(), arguments=(*FULL_FORM, *_use_seed(seed))),
        Stage(Form.NOTEBOOK, Selection(), ("notebooks",)),
    ]
    measured: dict[Form, Mapping[str, float]] = {}
    listed = costs.read_costs()
    for stage in stages:
        if (found := gate.judge(stage)) is None:
            break
        measured[stage.form] = costs.update_costs(listed[stage.form], found)
    if len(measured) == len(stages) and not gate.options:
        costs.write_costs(measured)
        say(f"{costs.FILE.relative_to(ROOT)} lists what each test costs now.")
    return gate.finish("all", ALL_MIN)


def _use_seed(seed: int) -> tuple[str, str]:
    return "--hypothesis-seed", str(seed)
