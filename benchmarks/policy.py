"""`policy.*`: a past of ten million contexts replayed, one context decided, a policy proven; other engines beside it.

All on the same 20 rules with 39 conditions. The replay runs in a process of its own, whose peak of
resident memory is told too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from attestlab.policy.analysis.analyzer import analyze, compare
from attestlab.policy.evaluation.counterfactual import counterfactual
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.context import ContextNormalizer
from benchmarks import policy_in_force, policy_rivals, policy_world
from benchmarks.figures import Figure

ROUNDS = 5
SAMPLE = 2_000  # contexts that other engines decide in a round
SINGLES = 20_000
RULES = 20


def figures(folder: Path) -> Iterator[Figure]:
    """Every figure of the policy engine."""
    yield from policy_in_force.figures(folder)
    contexts = folder / "contexts.parquet"
    policy_world.write_contexts(contexts)
    replays = [_replayed(contexts, folder / "decided.parquet") for _ in range(ROUNDS)]
    seconds = [each["seconds"] for each in replays]
    yield Figure.of_rounds("policy.replay_10m", seconds, "s")
    yield Figure.of_rounds("policy.replay_10m_peak", [each["peak_mib"] for each in replays], "MiB")
    yield from _replayed_with_few_contexts(folder)
    yield from _simulated(folder, contexts)
    sample = policy_world.complete_contexts(contexts, SAMPLE)
    yield from _ratios(sample, 1e6 * median(seconds) / policy_world.CONTEXTS)
    yield _single(sample)
    yield from _proofs()
    yield _counterfactuals(sample)


def growth(folder: Path) -> Iterator[Figure]:
    """How simulation grows: 20, 200 and 1,000 rules over one and ten million decisions, each once.

    A name ends with the route: distinct contexts `kept` in memory, or `rows` read anew by each question.
    """
    for millions in (1, 10):
        decisions = folder / f"{millions}m.parquet"
        policy_world.write_decisions(decisions, millions * 1_000_000)
        for rules in (RULES, 10 * RULES, 50 * RULES):
            done = _run("policy_simulation", decisions, rules)
            name = f"policy_growth.{rules}_rules_{millions}m_{'kept' if done['is_kept'] else 'rows'}"
            yield Figure.of_rounds(f"{name}_compare_s", [done["compare_s"]], "s")
            yield Figure.of_rounds(f"{name}_slider_ms", done["sweep_ms"], "ms")
            yield Figure.of_rounds(f"{name}_peak", [done["peak_mib"]], "MiB")


def _simulated(folder: Path, contexts: Path) -> Iterator[Figure]:
    """What a draft would change, the past read for it; then every value of a threshold, distinct contexts at hand.

    `compare_10m_apart_s` is where nearly every context is another and none is kept.
    """
    apart = [_run("policy_simulation", contexts, RULES)["compare_s"] for _ in range(ROUNDS)]
    yield Figure.of_rounds("policy.compare_10m_apart_s", apart, "s")
    decisions = folder / "decisions.parquet"
    policy_world.write_decisions(decisions)
    done = [_run("policy_simulation", decisions, RULES) for _ in range(ROUNDS)]
    yield Figure.of_rounds("policy.compare_10m_s", [each["compare_s"] for each in done], "s")
    yield Figure.of_rounds("policy.slider_ms", [ms for each in done for ms in each["sweep_ms"]], "ms")
    yield Figure.of_rounds("policy.simulation_10m_peak", [each["peak_mib"] for each in done], "MiB")


def _replayed_with_few_contexts(folder: Path) -> Iterator[Figure]:
    """The same with 32,000 distinct contexts: row by row, and by a policy so large that contexts are decided."""
    contexts = folder / "few.parquet"
    policy_world.write_contexts(contexts, distinct=32_000)
    for rules in (RULES, 10 * RULES):
        done = [_run("policy_replay", contexts, folder / "decided.parquet", rules) for _ in range(ROUNDS)]
        name = f"policy.replay_10m_few_contexts_{rules}_rules_by_{done[0]['route']}"
        yield Figure.of_rounds(name, [each["seconds"] for each in done], "s")
        yield Figure.of_rounds(f"{name}_peak", [each["peak_mib"] for each in done], "MiB")


def _replayed(contexts: Path, out: Path) -> dict[str, Any]:
    return _run("policy_replay", contexts, out)


def _run(module: str, *arguments: object) -> dict[str, Any]:
    """What a module of ours prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def _ratios(sample: list[dict[str, Any]], replay_us: float) -> Iterator[Figure]:
    """How many times as long another engine takes for a decision as the replay of ten million does."""
    policy = policy_world.policy(RULES)
    evaluate, normalised = Evaluator(policy), ContextNormalizer(PLATFORM)
    expected = [evaluate(normalised(context).values).allowed for context in sample]
    for rival in policy_rivals.rivals(policy_world.document(RULES), policy):
        few = [rival.prepare(context) for context in sample[: policy_rivals.PATIENCE.get(rival.name, SAMPLE)]]
        if rival.decide(few) != expected[: len(few)]:
            raise RuntimeError(f"{rival.name} decides otherwise, so its time says nothing.")
        each_us = [_each_us(rival.decide, few) for _ in range(ROUNDS)]
        yield Figure.of_rounds(
            f"policy.ratio_{rival.name}", [us / replay_us for us in each_us], "ratio", against="policy.replay_10m"
        )


def _each_us(batch: Callable[[list[Any]], object], contexts: list[Any]) -> float:
    begin = perf_counter()
    batch(contexts)
    return 1e6 * (perf_counter() - begin) / len(contexts)


def _single(sample: list[dict[str, Any]]) -> Figure:
    """One raw context normalised and decided, all matching rules found."""
    evaluate, normalised = Evaluator(policy_world.policy(RULES)), ContextNormalizer(PLATFORM)
    contexts = (sample * (SINGLES // len(sample) + 1))[:SINGLES]

    def decide_all(contexts: list[dict[str, Any]]) -> None:
        for context in contexts:
            evaluate(normalised(context).values)

    return Figure.of_rounds("policy.single_us", [_each_us(decide_all, contexts) for _ in range(ROUNDS)], "us")


def _proofs() -> Iterator[Figure]:
    """All findings of a policy, and whether it is equivalent to a version with one rule less."""
    for rules in (RULES, 10 * RULES):
        policy = policy_world.policy(rules)
        other = policy_world.policy(rules, seed=6)
        analyze(policy)  # z3 is loaded by the first
        yield Figure.of_rounds(f"policy.proof_{rules}_ms", [_ms(partial(analyze, policy)) for _ in range(ROUNDS)], "ms")
        times = [_ms(partial(compare, policy, other)) for _ in range(ROUNDS)]
        yield Figure.of_rounds(f"policy.equivalence_{rules}_ms", times, "ms")


def _ms(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return 1000 * (perf_counter() - begin)


def _counterfactuals(sample: list[dict[str, Any]]) -> Figure:
    """The smallest change for each of a hundred contexts; the slowest of a round counts."""
    policies = PolicySet([PolicySetMember("p", "0" * 64, policy_world.policy(RULES))])
    values = [ContextNormalizer(PLATFORM)(context).values for context in sample[:100]]
    slowest = [max(_ms(partial(counterfactual, policies, each)) for each in values) for _ in range(ROUNDS)]
    return Figure.of_rounds("policy.counterfactual_ms", slowest, "ms")
