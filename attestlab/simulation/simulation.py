"""`Simulation`: one draft over one history, with the queries for a decision on its activation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from attestlab.core.errors import FieldError, NotFound, ValidationFailed
from attestlab.policy.evaluation.counterfactual import Counterfactual, find_counterfactual
from attestlab.policy.evaluation.policy_set import PolicySet
from attestlab.policy.language.attributes import Attribute, AttributeType, AttributeValue, Registry
from attestlab.policy.language.context import ContextNormalizer, Values
from attestlab.policy.sql.compiler import literal, quote_column
from attestlab.simulation import report_queries
from attestlab.simulation.decision_queries import COUNT, list_labels
from attestlab.simulation.history import (
    FIRST_MINT_NUMBER,
    ID,
    NUMBER,
    TARGET,
    TARGET_SEGMENT,
    DecisionHistory,
    History,
    materialize_contexts,
    typed_query,
)
from attestlab.simulation.query_session import Frame, QuerySession
from attestlab.simulation.scenarios import Scenario, TargetSets
from attestlab.simulation.self_check import MAX_EXAMPLES, SelfCheck, run_self_check
from attestlab.simulation.signing import SignedReport
from attestlab.simulation.sweeps import Threshold, ThresholdName, sweep_sql

MAX_SEGMENTS = 3
TEXTS = frozenset({AttributeType.ENUM, AttributeType.TEXT})
POINTS, POINTS_OF_TWO = 1_000, 100
MAX_ROW_NUMBERS = 1 << 63  # a row's number is a BIGINT


@dataclass(frozen=True)
class SimulationComparison:
    """The comparison with the active policies: transitions, flips by segment, their reasons, examples."""

    transitions: Frame
    flips: Frame
    why: Frame
    examples: Frame


@dataclass(frozen=True)
class IsolatedRule:
    """What one rule of a draft does, by segment and by the target of the decisions."""

    segments: Frame
    targets: Frame


class Simulation:
    """A draft with its history; made by `Simulations.of`, used by one thread, cancelled by any.

    The first query reads the rows. All later queries use the same snapshot, without later decisions.
    """

    def __init__(
        self,
        session: QuerySession,
        history: History,
        scenario: Scenario,
        registry: Registry,
        *,
        by: Sequence[str] = (),
        recorded: Callable[[str], PolicySet] | None = None,
        reporter: Callable[[Simulation], SignedReport] | None = None,
    ) -> None:
        self.session = session
        self.history = history
        self.scenario = scenario
        self.sets = scenario.sets
        self.by = _segments(by, registry)
        self._registry = registry
        self._recorded = recorded
        self._reporter = reporter
        self._typed: dict[str, str] = {}
        self._rows: str | None = None
        self._cached_paths: frozenset[str] | None = None
        self._tables = 0
        self.is_cached = False
        """Whether the distinct contexts are in memory, so that later queries do not read the rows."""

    def __enter__(self) -> Simulation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def progress(self) -> float:
        """The completed fraction of the running or last operation, 0 to 1, from any thread; reading a frame is an
        operation.
        """
        return self.session.progress

    def cancel(self, message: str = "The simulation was cancelled.") -> None:
        """Cancel permanently, from any thread; the thread that waits for a result gets Cancelled."""
        self.session.cancel(message)

    def close(self) -> None:
        """Release the memory."""
        self.session.close()

    def load(self) -> int:
        """Read the history and return the number of decisions; every other method does so if needed.

        Raises:
            ValidationFailed: a column of a file does not fit its attribute.
            Cancelled, Unavailable: see `QuerySession.run`.
        """
        with self.session.steps(2):
            self._require(self.by)
            ((count,),) = self.session.run(f"SELECT coalesce(sum({COUNT}), 0)::BIGINT FROM contexts")
        return int(count)

    def decide(self) -> Frame:
        """Return the decisions with the draft active.

        Columns: `allowed` (bool), the deciding `policy` and `rule` (None: no policy, the default), `matched_rules`
        (list, the deciding policy's first), `count`.
        """
        self._require(self.by)
        return self.session.frame(report_queries.groups(self.sets))

    def compare(self, by: Sequence[str] | None = None) -> SimulationComparison:
        """Compare with the active policies; flips by attributes, or by `target_id`.

        Columns of `transitions`: `from`, `to` (ALLOW or DENY), `count`; `flips` has the segments, `why` and `examples`
        have `policy_before`, `rule_before`, `policy_after`, `rule_after`; `examples` the context and `decision_id`, or
        `attestation_id` for a mint without a decision.
        """
        segments = self.by if by is None else _segments(by, self._registry)
        with self.session.steps(3):
            self._require(segments)
            self._tables += 1
            table = f"outcomes_{self._tables}"
            query = report_queries.flips_table(self.sets, self._plain_columns(segments))
            self.session.run(f"CREATE TABLE {table} AS {query}")
            frames = [
                report_queries.transitions(table),
                report_queries.flips(table, segments),
                report_queries.why(table),
            ]
            asked = map(self.session.frame, [*frames, self._examples(table)])
            return SimulationComparison(*asked)

    def sweep(self, rule_id: str, attribute: str, *, op: str | None = None, points: int = POINTS) -> Frame:
        """Return the results for every value of one numeric threshold of the draft.

        Columns: `value`, `allowed`, `denied`, `opened` (denied by the active policies, would be allowed), `closed`
        (the opposite), `is_current`. At most about `points` values, including values from the history.

        Raises:
            ValidationFailed: the rule has no such threshold, or several; or `points` is less than 1.
        """
        return self.sweep_thresholds([(rule_id, attribute, op)], points=points)

    def sweep2(self, first: ThresholdName, second: ThresholdName, *, points: int = POINTS_OF_TWO) -> Frame:
        """Return the results for pairs of values of two thresholds, each `(rule_id, attribute)` or `(rule_id,
        attribute, op)`.

        Columns as of `sweep`, with `value_0` and `value_1`; at most about `points` of each.

        Raises:
            ValidationFailed: a rule has no such threshold, or several; both are the same; `points` is less than 1.
        """
        return self.sweep_thresholds([first, second], points=points)

    def sweep_thresholds(self, named: Sequence[ThresholdName], *, points: int, field: str = "/sweep") -> Frame:
        """Do the same as `sweep` for one name, as `sweep2` for two; `field` is where a request has them, for errors."""
        rules = self.scenario.rules
        found = [Threshold.find(rules, *each, field=f"{field}/{number}") for number, each in enumerate(named)]
        if len(found) > 1 and found[0] == found[1]:
            raise ValidationFailed.of(f"{field}/1", "same_threshold", "Both thresholds are the same; sweep it alone.")
        if type(points) is not int or points < 1:
            raise ValidationFailed.of(
                "/points", "points", f"{points!r} is not a number of points; use a whole number of at least 1."
            )
        self._require(self.by)
        return self.session.frame(sweep_sql(self.scenario, found, points=points))

    def coverage(self) -> Frame:
        """Return how often each rule of the draft matches (`hits`) and decides in it (`decisive`); 0 hits: never
        matched.
        """
        self._require(self.by)
        return self.session.frame(report_queries.coverage(self.scenario))

    def marginal(self) -> Frame:
        """Return the flips if one rule of the draft were removed: `rule`, `effect`, `would_allow`, `would_deny`."""
        self._require(self.by)
        return self.session.frame(report_queries.marginal(self.scenario))

    def isolate(self, rule_id: str) -> IsolatedRule:
        """Return what one rule of the draft does alone, by the segments of the simulation and by target.

        Columns: the segments, `hits`, `decisive`, and the flips without it, `would_allow` and `would_deny`; at most
        100 rows where it matches, those that it changes most first.

        Raises:
            ValidationFailed: the draft has no such enforced rule.
        """
        rule = next((each for each in self.scenario.rules if each.id == rule_id), None)
        if rule is None:
            message = f"The draft has no enforced rule {rule_id!r}; name one of its `rules`."
            raise ValidationFailed.of("/rule", "unknown_rule", message)
        self._require([*self.by, TARGET_SEGMENT])
        asked = map(self._plain_columns, (self.by, [TARGET_SEGMENT]))
        return IsolatedRule(*(self.session.frame(report_queries.alone(self.scenario, rule, by)) for by in asked))

    def self_check(self) -> SelfCheck:
        """Evaluate the recorded sets again, and count decisions that do not reproduce.

        Raises:
            ValidationFailed: the history has no recorded decisions.
            Cancelled, Unavailable: see `QuerySession.run`.
        """
        if self._recorded is None or not self.history.has_history:
            raise ValidationFailed("A contexts file has no recorded decisions; a self-check needs those of the lake.")
        return run_self_check(self.session, self.history, self._recorded, self._typed)

    def counterfactual(self, of: int | str | Mapping[str, AttributeValue]) -> Counterfactual:
        """Return the smallest change that reverses the new decision, for a decision's id, a row's number, or a
        context.

        Raises:
            NotFound: there is no such row.
            ValidationFailed: it is none of these; an attribute is unknown, or its value is invalid.
        """
        with self.session.steps(3):
            if isinstance(of, Mapping):
                values, place = self._normalize_strictly(of), self.sets.places[0]
            else:
                values, place = self._context(of)
            return find_counterfactual(PolicySet(place.after), values)

    def report(self) -> SignedReport:
        """Store and return the signed report: self-check, transitions, flips, why, examples.

        An activation names its `digest`.

        Raises:
            ValidationFailed: the history has no recorded decisions.
        """
        if self._reporter is None:
            raise ValidationFailed("This simulation cannot store reports; create it with `lab.simulations.of`.")
        return self._reporter(self)

    @property
    def extent(self) -> tuple[int, int | None]:
        """The number of mints without a decision, because no policy applied; and the last decision's number.

        That number is its line in the audit trail; None if there is no decision.
        """
        mints, decisions = f"{NUMBER} >= {FIRST_MINT_NUMBER}", f"{NUMBER} < {FIRST_MINT_NUMBER}"
        columns = f"count(*) FILTER ({mints}), max({NUMBER}) FILTER ({decisions})"
        with self.session.steps(3):
            ((unasked, last),) = self.session.run(f"SELECT {columns} FROM ({self._read()})")
        return int(unasked), None if last is None else int(last)

    @property
    def excluded_rows(self) -> int:
        """The number of rows of the history outside the window."""
        history = self.history
        if not isinstance(history, DecisionHistory) or history == history.without_window:
            return 0
        seen, whole = history, history.without_window
        windowed = self.session.with_connection(lambda connection: seen.raw(connection, {}))
        all_of_it = self.session.with_connection(lambda connection: whole.raw(connection, {}))
        ((count,),) = self.session.run(
            f"SELECT (SELECT count(*) FROM ({all_of_it})) - (SELECT count(*) FROM ({windowed}))"
        )
        return int(count)

    def count_without_risk(self) -> list[dict[str, object]]:
        """Return how many decisions store nothing about the risk that the draft tests: `{entity, decisions}`."""
        tested = self.scenario.draft.policy.attributes()
        return report_queries.count_without_risk(self.session, self.history, tested)

    def _attributes(self, paths: Sequence[str] = ()) -> dict[str, Attribute]:
        return {**self._registered_attributes((*self.by, *paths)), **self.sets.attributes()}

    def _registered_attributes(self, paths: Sequence[str]) -> dict[str, Attribute]:
        return {path: self._registry[path] for path in paths if path in self._registry}

    def _read(self, paths: Sequence[str] = ()) -> str:
        return typed_query(self.session, self.history, self._attributes(paths), self._typed)

    def _require(self, paths: Sequence[str]) -> None:
        """Materialize `contexts` with every attribute that is needed."""
        needed = frozenset({*self._attributes(paths), *(path for path in (*self.by, *paths) if path == TARGET_SEGMENT)})
        with self.session.steps(7):  # two to type, three to keep, two for labels
            if self._cached_paths is not None and needed <= self._cached_paths:
                return
            needed |= self._cached_paths or frozenset()
            attributes = {**self._registered_attributes(sorted(needed)), **self.sets.attributes()}
            self._rows = typed_query(self.session, self.history, attributes, self._typed)
            segments = [TARGET] if TARGET_SEGMENT in needed else []
            self.is_cached = materialize_contexts(self.session, self._rows, segments, attributes, self.sets.places)
            if self._cached_paths is None:
                self._label()
            self._cached_paths = needed

    def _plain_columns(self, segments: Sequence[str]) -> dict[str, str]:
        """Return the columns of segments, as SQL that yields plain values."""
        found = {path: quote_column(path) for path in segments if path in self._registry}
        texts = {path: f"{text}::VARCHAR" for path, text in found.items() if self._registry[path].type in TEXTS}
        return {path: TARGET for path in segments if path == TARGET_SEGMENT} | found | texts

    def _label(self) -> None:
        labels = list_labels(self.sets)
        columns = [[each.code for each in labels], [each.policy for each in labels], [each.rule for each in labels]]
        self.session.run("CREATE TABLE labels (code INTEGER, policy VARCHAR, rule VARCHAR)")
        self.session.run("INSERT INTO labels SELECT unnest(?), unnest(?), unnest(?)", columns)

    def _examples(self, table: str) -> str:
        """Return some rows that flip, one for each reason, looked up by number.

        Every column is qualified, because attributes may have the names of our columns.
        """
        picked = report_queries.sample(table, MAX_EXAMPLES)
        numbers = [str(row[0]) for row in self.session.run(f"SELECT number FROM ({picked})")]
        chosen = f"SELECT * FROM ({self._rows}) WHERE {NUMBER} IN ({', '.join(numbers) or 'NULL'})"
        context = ", ".join(f"{quote_column(path)} := r.{quote_column(path)}" for path in sorted(self._attributes()))
        return (
            f"SELECT p.number, CASE WHEN p.number < {FIRST_MINT_NUMBER} THEN r.{ID} END AS decision_id, "
            f"CASE WHEN p.number >= {FIRST_MINT_NUMBER} THEN r.{ID} END AS attestation_id, "
            f'r.{TARGET} AS target_id, p."from", p."to", p.policy_before, p.rule_before, '
            f"p.policy_after, p.rule_after, p.count, {f'struct_pack({context})' if context else 'NULL'} AS context "
            f"FROM ({picked}) AS p JOIN ({chosen}) AS r ON r.{NUMBER} = p.number "
            'ORDER BY p."from" DESC, p.count DESC, p.number'
        )

    def _normalize_strictly(self, context: Mapping[str, object]) -> Values:
        """Normalize a context; reject elements that decisions would ignore, because here they are mistakes."""
        found = ContextNormalizer(self._registry)(context)
        if found.diagnostics:
            fields = [FieldError(f"/{each.path}", each.code, each.message) for each in found.diagnostics]
            raise ValidationFailed(f"The context is not valid; {fields[0].field[1:]}: {fields[0].message}", fields)
        return found.values

    def _context(self, of: int | str) -> tuple[dict[str, AttributeValue], TargetSets]:
        if not isinstance(of, int | str):
            raise ValidationFailed(f"{of!r} is neither a decision id, a row number nor a context.")
        if isinstance(of, int) and not 0 <= of < MAX_ROW_NUMBERS:
            raise NotFound("decision of the simulated past", of)
        attributes = self._attributes()
        key = f"{NUMBER} = {of}" if isinstance(of, int) else f"{ID} = {literal(of)}"
        listed = ", ".join([TARGET, *map(quote_column, attributes)])
        rows = self.session.run(f"SELECT {listed} FROM ({self._read()}) WHERE {key} LIMIT 1")
        if not rows:
            raise NotFound("decision of the simulated past", of)
        target, *values = rows[0]
        named = {str(place.target.id): place for place in self.sets.places if place.target is not None}
        found = {path: value for path, value in zip(attributes, values, strict=True) if value is not None}
        return found, named.get(target, self.sets.places[0])


def _segments(by: Sequence[str], registry: Registry) -> tuple[str, ...]:
    unknown = [path for path in by if path not in registry and path != TARGET_SEGMENT]
    if unknown:
        close = registry.nearest(unknown[0])
        hint = f"; did you mean {close}?" if close else "; name attributes, or target_id."
        raise ValidationFailed.of(
            f"/by/{[*by].index(unknown[0])}", "unknown_attribute", f"No attribute {unknown[0]!r} is registered{hint}"
        )
    if len(set(by)) > MAX_SEGMENTS:
        raise ValidationFailed.of("/by", "too_many", f"Flips are segmented by at most {MAX_SEGMENTS} attributes.")
    return tuple(dict.fromkeys(by))
