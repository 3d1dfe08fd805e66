"""`policy.*`: time to replay ten million contexts, to decide one context, to analyse a policy; and other engines.

All figures use the same 20 rules with 39 conditions. The replay runs in a separate process, and its
peak of resident memory is a figure too.
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
from attestlab.policy.evaluation.counterfactual import find_counterfactual
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.evaluation.policy_set import PolicySet, PolicySetMember
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.context import ContextNormalizer
from benchmarks import policy_data, policy_enforcement, policy_risk, policy_rivals
from benchmarks.figures import Figure

ROUNDS = 5
SAMPLE = 2_000  # contexts that each other engine decides per round
SINGLES = 20_000
RULES = 20


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures of the policy engine."""
    yield from policy_enforcement.figures(folder)
    yield from policy_risk.figures(folder)
    contexts = folder / "contexts.parquet"
    policy_data.write_contexts(contexts)
    replays = [_run_replay(contexts, folder / "decided.parquet") for _ in range(ROUNDS)]
    seconds = [each["seconds"] for each in replays]
    yield Figure.of_rounds("policy.replay_10m", seconds, "s")
    yield Figure.of_rounds("policy.replay_10m_peak", [each["peak_mib"] for each in replays], "MiB")
    yield from _few_contexts_figures(folder)
    yield from _simulation_figures(folder, contexts)
    sample = policy_data.read_complete_contexts(contexts, SAMPLE)
    yield from _rival_ratios(sample, 1e6 * median(seconds) / policy_data.CONTEXTS)
    yield _single_decision(sample)
    yield from _proof_figures()
    yield _counterfactual_figure(sample)


def growth(folder: Path) -> Iterator[Figure]:
    """Yield how simulation grows: 20, 200 and 1,000 rules over one and ten million decisions, each once.

    A name contains the route: distinct contexts `kept` in memory, or `rows` that each query reads again.
    """
    for millions in (1, 10):
        decisions = folder / f"{millions}m.parquet"
        policy_data.write_decisions(decisions, millions * 1_000_000)
        for rules in (RULES, 10 * RULES, 50 * RULES):
            done = _run_module("policy_simulation", decisions, rules)
            name = f"policy_growth.{rules}_rules_{millions}m_{'kept' if done['is_kept'] else 'rows'}"
            yield Figure.of_rounds(f"{name}_compare_s", [done["compare_s"]], "s")
            yield Figure.of_rounds(f"{name}_slider_ms", done["sweep_ms"], "ms")
            yield Figure.of_rounds(f"{name}_peak", [done["peak_mib"]], "MiB")


def _simulation_figures(folder: Path, contexts: Path) -> Iterator[Figure]:
    """Yield the time of a comparison, which reads the history, and of sweeps over distinct contexts in memory.

    `compare_10m_apart_s` is the case in which nearly all contexts differ and none is kept in memory.
    """
    apart = [_run_module("policy_simulation", contexts, RULES)["compare_s"] for _ in range(ROUNDS)]
    yield Figure.of_rounds("policy.compare_10m_apart_s", apart, "s")
    decisions = folder / "decisions.parquet"
    policy_data.write_decisions(decisions)
    done = [_run_module("policy_simulation", decisions, RULES) for _ in range(ROUNDS)]
    yield Figure.of_rounds("policy.compare_10m_s", [each["compare_s"] for each in done], "s")
    yield Figure.of_rounds("policy.slider_ms", [ms for each in done for ms in each["sweep_ms"]], "ms")
    yield Figure.of_rounds("policy.simulation_10m_peak", [each["peak_mib"] for each in done], "MiB")


def _few_contexts_figures(folder: Path) -> Iterator[Figure]:
    """Yield the replay of 32,000 distinct contexts: row by row, and by context with a much larger policy."""
    contexts = folder / "few.parquet"
    policy_data.write_contexts(contexts, distinct=32_000)
    for rules in (RULES, 10 * RULES):
        done = [_run_module("policy_replay", contexts, folder / "decided.parquet", rules) for _ in range(ROUNDS)]
        name = f"policy.replay_10m_few_contexts_{rules}_rules_by_{done[0]['route']}"
        yield Figure.of_rounds(name, [each["seconds"] for each in done], "s")
        yield Figure.of_rounds(f"{name}_peak", [each["peak_mib"] for each in done], "MiB")


def _run_replay(contexts: Path, out: Path) -> dict[str, Any]:
    return _run_module("policy_replay", contexts, out)


def _run_module(module: str, *arguments: object) -> dict[str, Any]:
    """Run a module of ours in a separate process and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def _rival_ratios(sample: list[dict[str, Any]], replay_us: float) -> Iterator[Figure]:
    """Yield how many times as long another engine takes per decision as the replay of ten million."""
    policy = policy_data.make_policy(RULES)
    evaluate, normalise = Evaluator(policy), ContextNormalizer(PLATFORM)
    expected = [evaluate(normalise(context).values).allowed for context in sample]
    for rival in policy_rivals.list_rivals(policy_data.make_document(RULES), policy):
        few = [rival.prepare(context) for context in sample[: policy_rivals.MAX_CONTEXTS.get(rival.name, SAMPLE)]]
        if rival.decide(few) != expected[: len(few)]:
            raise RuntimeError(f"{rival.name} decides differently, so its time is meaningless.")
        each_us = [_time_each_us(rival.decide, few) for _ in range(ROUNDS)]
        yield Figure.of_rounds(
            f"policy.ratio_{rival.name}", [us / replay_us for us in each_us], "ratio", against="policy.replay_10m"
        )


def _time_each_us(batch: Callable[[list[Any]], object], contexts: list[Any]) -> float:
    begin = perf_counter()
    batch(contexts)
    return 1e6 * (perf_counter() - begin) / len(contexts)


def _single_decision(sample: list[dict[str, Any]]) -> Figure:
    """Return the time to normalise one raw context and decide it with all matching rules."""
    evaluate, normalise = Evaluator(policy_data.make_policy(RULES)), ContextNormalizer(PLATFORM)
    contexts = (sample * (SINGLES // len(sample) + 1))[:SINGLES]

    def decide_all(contexts: list[dict[str, Any]]) -> None:
        for context in contexts:
            evaluate(normalise(context).values)

    return Figure.of_rounds("policy.single_us", [_time_each_us(decide_all, contexts) for _ in range(ROUNDS)], "us")


def _proof_figures() -> Iterator[Figure]:
    """Yield the time to analyse a policy, and to decide whether another version is equivalent."""
    for rules in (RULES, 10 * RULES):
        policy = policy_data.make_policy(rules)
        other = policy_data.make_policy(rules, seed=6)
        analyze(policy)  # the first call loads z3
        yield Figure.of_rounds(
            f"policy.proof_{rules}_ms", [_time_ms(partial(analyze, policy)) for _ in range(ROUNDS)], "ms"
        )
        times = [_time_ms(partial(compare, policy, other)) for _ in range(ROUNDS)]
        yield Figure.of_rounds(f"policy.equivalence_{rules}_ms", times, "ms")


def _time_ms(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return 1000 * (perf_counter() - begin)


def _counterfactual_figure(sample: list[dict[str, Any]]) -> Figure:
    """Return the time to find the smallest change for a context: the slowest of a hundred per round."""
    policies = PolicySet([PolicySetMember("p", "0" * 64, policy_data.make_policy(RULES))])
    values = [ContextNormalizer(PLATFORM)(context).values for context in sample[:100]]
    slowest = [max(_time_ms(partial(find_counterfactual, policies, each)) for each in values) for _ in range(ROUNDS)]
    return Figure.of_rounds("policy.counterfactual_ms", slowest, "ms")
