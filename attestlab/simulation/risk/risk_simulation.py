"""`RiskSimulation`: one candidate rule set over one history of signals, compared with the live rule and the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.policy.evaluation.explanation import ExplainedRule, explain
from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Rule, iterate_comparisons
from attestlab.policy.language.attributes import NUMERIC, ORDERING
from attestlab.policy.language.context import Values
from attestlab.policy.sql.compiler import literal, quote_column
from attestlab.simulation.decision_queries import EXAMPLE, before_and_after
from attestlab.simulation.query_session import Frame, QuerySession
from attestlab.simulation.risk.examples import SignalExample, find_examples
from attestlab.simulation.risk.metrics import Confusion, ErrorCosts
from attestlab.simulation.risk.rule_sets import SCORE, true_labels
from attestlab.simulation.risk.signal_history import LABEL, REPLAYED
from attestlab.simulation.risk.tally import Tallies, count_signals
from attestlab.simulation.scenarios import Scenario, ScenarioSets, TargetSets
from attestlab.simulation.sweeps import Threshold, ThresholdName, sweep_sql

MAX_POINTS = 1_000


class CurvePoint(NamedTuple):
    """The result for one value of the threshold."""

    value: float
    confusion: Confusion
    cost: float
    is_current: bool

    @classmethod
    def of(cls, value: float, confusion: Confusion, costs: ErrorCosts, is_current: bool) -> CurvePoint:
        """Return a point with its cost."""
        return cls(value, confusion, costs.total(confusion), is_current)


class ExplainedSignal(NamedTuple):
    """One signal under the candidate: the values of its attributes, and the truth of every condition."""

    signal_id: str
    values: Values
    rules: tuple[ExplainedRule, ...]

    @property
    def rule_id(self) -> str | None:
        """The rule that escalates the signal, the first that matches; None if it passes."""
        return next((each.rule.id for each in self.rules if each.matched), None)


class RiskSimulation:
    """A candidate with its history; made by `RiskSimulations.of`, used by one thread, cancelled by any.

    The first query reads the signals. All later queries use the same snapshot.
    """

    def __init__(
        self,
        session: QuerySession,
        candidate: PolicySetMember,
        live: PolicySetMember,
        load: Callable[[QuerySession, frozenset[str]], None],
        live_threshold: float,
    ) -> None:
        self.session = session
        self.candidate = candidate
        self.live = live
        self.live_threshold = live_threshold
        self._load = load
        self._is_loaded = False

    def __enter__(self) -> RiskSimulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def progress(self) -> float:
        """The completed fraction of the running or last operation, 0 to 1, from any thread."""
        return self.session.progress

    def cancel(self, message: str = "The simulation was cancelled.") -> None:
        """Cancel permanently, from any thread; the thread that waits for a result gets Cancelled."""
        self.session.cancel(message)

    def close(self) -> None:
        """Release the memory."""
        self.session.close()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The candidate's enabled rules, in decision order."""
        return self.candidate.policy.enforced_rules

    def load(self) -> None:
        """Read the history; every other method does so if needed.

        Raises:
            ValidationFailed: there are too many signals.
            Cancelled, Unavailable: see `QuerySession.run`.
        """
        if not self._is_loaded:
            self._load(self.session, frozenset({SCORE, *self.candidate.policy.attributes()}))
            self._is_loaded = True

    def tally(self) -> Tallies:
        """Count the signals by label and by both decisions; see `load` for errors."""
        with self.session.steps(5):
            self.load()
            return count_signals(self.session, self._sets, REPLAYED, self.rules)

    def find_threshold(self, name: ThresholdName | None = None) -> Threshold | None:
        """Return the threshold of this name; without a name the first on `signal.score`, else the first at all.

        Raises:
            ValidationFailed: the rule has no such threshold, or several.
        """
        name = name or _first_threshold(self.rules)
        return None if name is None else Threshold.find(self.rules, *name, field="/threshold")

    def curve(self, threshold: Threshold, *, costs: ErrorCosts, points: int = 100) -> list[CurvePoint]:
        """Return the results for about `points` values of one threshold of the candidate, including its present one.

        Raises:
            ValidationFailed: `points` is not 1 to 1,000; or see `load`.
        """
        if not 1 <= points <= MAX_POINTS:
            raise ValidationFailed.of(
                "/points", "points", f"{points!r} is no number of points: use 1 to {MAX_POINTS:,}."
            )
        with self.session.steps(2):
            self.load()
            rows = self.session.run(sweep_sql(self._against_truth, [threshold], points=points))
        return [
            CurvePoint.of(value, Confusion(denied - closed, closed, opened, allowed - opened), costs, is_current)
            for value, allowed, denied, opened, closed, is_current in rows
        ]

    def examples(self) -> list[SignalExample]:
        """Return some signals of each kind of result, with the values that decided; see `load` for errors."""
        with self.session.steps(3):
            self.load()
            return find_examples(self.session, self._sets, REPLAYED, self.candidate)

    def decisions(self) -> Frame:
        """Return each signal's number, label and decisions (`live`, `candidate`: whether it is escalated)."""
        self.load()
        decided = before_and_after(self._sets, REPLAYED)
        return self.session.frame(
            f'SELECT {EXAMPLE} AS number, {LABEL} AS label, NOT "@before" AS live, NOT "@after" AS candidate '
            f"FROM ({decided}) ORDER BY number"
        )

    def explain(self, signal_id: str) -> ExplainedSignal:
        """Explain the candidate's decision about one signal.

        Raises:
            NotFound: the signal is not in the replayed history; or see `load`.
        """
        with self.session.steps(2):
            self.load()
            paths = sorted(self.candidate.policy.attributes())
            listed = ", ".join(map(quote_column, paths))
            number = f"SELECT seq FROM this WHERE id = {literal(signal_id)}"
            rows = self.session.run(f"SELECT {listed} FROM {REPLAYED} WHERE {EXAMPLE} IN ({number})")
        if not rows:
            raise NotFound("signal of the replayed history", signal_id)
        values = {path: value for path, value in zip(paths, rows[0], strict=True) if value is not None}
        return ExplainedSignal(signal_id, values, explain(self.candidate.policy, values))

    @cached_property
    def _sets(self) -> ScenarioSets:
        """The candidate in place of the live rule."""
        return ScenarioSets.of([TargetSets(None, (self.live,), (self.candidate,))])

    @cached_property
    def _against_truth(self) -> Scenario:
        """The candidate in place of the labels: what it opens is missed fraud, what it closes is a false alarm."""
        places = [TargetSets(None, (true_labels(),), (self.candidate,))]
        return Scenario(self.candidate, ScenarioSets.of(places, self.candidate))


def _first_threshold(rules: Sequence[Rule]) -> ThresholdName | None:
    found = [
        (rule.id, leaf.attribute.path, leaf.op.value)
        for rule in rules
        for leaf in iterate_comparisons(rule.when)
        if leaf.op in ORDERING and leaf.attribute.type in NUMERIC
    ]
    unique = [name for name in found if found.count(name) == 1]
    return min(unique, key=lambda name: name[1] != SCORE, default=None)
