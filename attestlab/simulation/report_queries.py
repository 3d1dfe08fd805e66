"""Queries of a report: deciders, matching rules, flips and their reasons, effects of each rule, unknown risk.

All but the last read `contexts` (`history.materialize_contexts`) and `labels`; a query is text, so that a frame can
show it.

Unknown risk is what a draft asks about risk and replayed decisions cannot tell. A decision stores the risk that was
looked up for the policies of its time. What an address or a document would have shown a later policy is not
reconstructed, because decisions store neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Rule
from attestlab.policy.language.attributes import PLATFORM, RISK_ATTRIBUTES, RISK_ENTITIES
from attestlab.policy.sql.compiler import (
    WORD_BITS,
    case_sql,
    clear_lowest_bit,
    decided_sql,
    first_sql,
    literal,
    mask_sql,
    quote_column,
    rule_sql,
)
from attestlab.risk.rules import EntityType
from attestlab.simulation import decision_queries
from attestlab.simulation.decision_queries import COUNT, EXAMPLE, PLACE, STEP
from attestlab.simulation.history import History
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Scenario, ScenarioSets

MAX_SEGMENT_ROWS = 100  # of what one rule does
MAX_ROWS = 1_000  # of a frame that could have more; the most frequent rows come first
_RESERVED_COLUMNS = {"from", "to", "count", "n", "number", "policy_before", "rule_before", "policy_after", "rule_after"}


def decisions_query(sets: ScenarioSets, rows: str, keys: Sequence[str] = ()) -> str:
    """Return a query with `keys` of `rows`, `@n`, `@example`, and the new `allowed`, `why` (a label code),
    `matched_rules`.

    `matched_rules` are all matching enforced rules, the deciding policy's first, each id once.
    """
    words = {member: _words(index, member) for index, member in enumerate(sets.members)}
    masks = [
        f"{_where_enforced(sets, member, mask)} AS {name}"
        for member, names in words.items()
        for mask, name in zip(mask_sql(member.policy.enforced_rules), names, strict=True)
    ]
    masked = f"SELECT {', '.join(['*', *masks])} FROM ({decision_queries.before_and_after(sets, rows)})"
    named = ['"@after"', '"@why_after"', *(name for names in words.values() for name in names)]
    sums = f"sum({COUNT})::BIGINT AS {COUNT}, min({EXAMPLE}) AS {EXAMPLE}"
    grouped = f"SELECT {', '.join([sums, *keys, *named])} FROM ({masked}) GROUP BY ALL"
    named = [
        COUNT,
        EXAMPLE,
        *keys,
        '"@after" AS allowed',
        '"@why_after" AS why',
        f'{_matched_rules(sets, words)} AS "@m"',
    ]
    once = 'list_filter("@m", lambda name, place: list_position("@m", name) = place) AS matched_rules'
    columns = [COUNT, EXAMPLE, *keys, "allowed", "why", once]
    return f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(named)} FROM ({grouped}))"


def groups(sets: ScenarioSets) -> str:
    """Return the query of new decisions: `allowed`, `policy`, `rule`, `matched_rules`, `count`; largest group first."""
    decisions = decisions_query(sets, "contexts")
    return (
        f"SELECT allowed, policy, rule, matched_rules, sum({COUNT})::BIGINT AS count "
        f"FROM ({decisions}) LEFT JOIN labels ON code = why GROUP BY ALL "
        f"ORDER BY count DESC, policy, rule, matched_rules LIMIT {MAX_ROWS}"
    )


def flips_table(sets: ScenarioSets, by: Mapping[str, str]) -> str:
    """Return the query of results before and after with their deciders, counted by segment; the later queries read
    it.

    `by` has the expression of each segment by its name.
    """
    segments = [f"{text} AS {_segment_column(path)}" for path, text in by.items()]
    keys = ['"@before"', '"@after"', '"@why_before"', '"@why_after"', *segments]
    return (
        f"SELECT {', '.join(keys)}, sum({COUNT})::BIGINT AS n, min({EXAMPLE}) AS {EXAMPLE} "
        f"FROM ({decision_queries.before_and_after(sets, 'contexts')}) GROUP BY ALL"
    )


_FROM_TO = ", ".join(
    f"CASE WHEN \"@{side}\" THEN 'ALLOW' ELSE 'DENY' END AS \"{name}\""
    for side, name in (("before", "from"), ("after", "to"))
)
_DANGER_FIRST = '"from" DESC, count DESC'  # newly allowed is worse than newly denied
_FLIPPED = '"@before" <> "@after"'
_WHY = "b.policy AS policy_before, b.rule AS rule_before, a.policy AS policy_after, a.rule AS rule_after"
_LABELLED = 'LEFT JOIN labels b ON b.code = "@why_before" LEFT JOIN labels a ON a.code = "@why_after"'


def transitions(table: str) -> str:
    """Return the query of `from`, `to`, `count`."""
    return f'SELECT {_FROM_TO}, sum(n)::BIGINT AS count FROM {table} GROUP BY ALL ORDER BY "from", "to"'


def flips(table: str, by: Sequence[str]) -> str:
    """Return the query of `from`, `to`, the segments, `count`; from DENY to ALLOW first."""
    segments = "".join(f", {_segment_column(path)}" for path in by)
    return (
        f"SELECT {_FROM_TO}{segments}, sum(n)::BIGINT AS count FROM {table} WHERE {_FLIPPED} "
        f"GROUP BY ALL ORDER BY {_DANGER_FIRST}{segments} LIMIT {MAX_ROWS}"
    )


def why(table: str) -> str:
    """Return the query of `from`, `to`, the deciders before and after (a rule of NULL is the default), `count`."""
    return (
        f"SELECT {_FROM_TO}, {_WHY}, sum(n)::BIGINT AS count FROM {table} {_LABELLED} WHERE {_FLIPPED} "
        f"GROUP BY ALL ORDER BY {_DANGER_FIRST}, policy_before, rule_before, policy_after, rule_after LIMIT {MAX_ROWS}"
    )


def sample(table: str, most: int) -> str:
    """Return the query of one row per kind of flip, the most common first: its number, with the columns of `why`."""
    return (
        f"SELECT {EXAMPLE} AS number, {_FROM_TO}, {_WHY}, n AS count FROM {table} {_LABELLED} WHERE {_FLIPPED} "
        f"ORDER BY {_DANGER_FIRST}, number LIMIT {most}"
    )


def coverage(scenario: Scenario) -> str:
    """Return the query of `rule`, `effect`, `priority`, `hits` (matches), `decisive` (decides) for each rule of the
    draft.
    """
    rules = scenario.rules
    if not rules:
        return f"SELECT rule, effect, priority, 0::BIGINT AS hits, 0::BIGINT AS decisive FROM ({_rules_query(rules)})"
    hits = ", ".join(f"coalesce(sum({COUNT}) FILTER (WHERE {rule_sql(rule)}), 0)::BIGINT" for rule in rules)
    hit = f"SELECT unnest(range({len(rules)})) AS place, unnest(h) AS hits FROM (SELECT [{hits}] AS h FROM contexts)"
    first = first_sql(scenario.draft.policy)
    decisive = f"SELECT abs({first}) - 1 AS place, sum({COUNT})::BIGINT AS decisive FROM contexts GROUP BY ALL"
    return (
        f"SELECT rule, effect, priority, hits, coalesce(decisive, 0) AS decisive FROM ({_rules_query(rules)}) "
        f"JOIN ({hit}) USING (place) LEFT JOIN ({decisive}) USING (place) ORDER BY place"
    )


def marginal(scenario: Scenario) -> str:
    """Return the query of `rule`, `effect`, and the flips without that rule of the draft: `would_allow`,
    `would_deny`.
    """
    rules = scenario.rules
    if not rules or not scenario.draft.is_enforced:
        nothing = "0::BIGINT AS would_allow, 0::BIGINT AS would_deny"
        return f"SELECT rule, effect, {nothing} FROM ({_rules_query(rules)}) ORDER BY place"
    policy = scenario.draft.policy
    words = _words(0, scenario.draft)
    masks = ", ".join(f"{mask} AS {name}" for mask, name in zip(mask_sql(rules), words, strict=True))
    rest = ", ".join(f"{word} AS {name}" for word, name in zip(clear_lowest_bit(words), words, strict=True))
    places = [
        f"WHEN {word} <> 0 THEN bit_count(xor({word}, {word} - 1::UBIGINT)) - 1 + {number * WORD_BITS}"
        for number, word in enumerate(words)
    ]
    lowest = f"CASE {' '.join(places)} END"
    others = decision_queries.others_allow(scenario)
    masked = f"SELECT {COUNT}, {others} AS others, {masks} FROM contexts"
    first = f"SELECT {COUNT}, others, {lowest} AS place, {decided_sql(policy, words)} AS own, {rest} FROM ({masked})"
    without = f"SELECT {COUNT}, place, own, {decided_sql(policy, words)} AS without FROM ({first}) WHERE others"
    summed = (
        f"SELECT place, coalesce(sum({COUNT}) FILTER (without AND NOT own), 0)::BIGINT AS would_allow, "
        f"coalesce(sum({COUNT}) FILTER (own AND NOT without), 0)::BIGINT AS would_deny FROM ({without}) GROUP BY place"
    )
    return (
        "SELECT rule, effect, coalesce(would_allow, 0) AS would_allow, coalesce(would_deny, 0) AS would_deny "
        f"FROM ({_rules_query(rules)}) LEFT JOIN ({summed}) USING (place) ORDER BY place"
    )


def alone(scenario: Scenario, rule: Rule, by: Mapping[str, str]) -> str:
    """Return the query of what one rule of the draft does, by segment: `hits`, `decisive`, `would_allow`, `would_deny`.

    `by` has the expression of each segment by its name; the segments in which the rule changes most come first.
    """
    policy, place = scenario.draft.policy, scenario.rules.index(rule)
    rest = replace(policy, rules=tuple(each for each in policy.rules if each != rule))
    others, is_enforced = decision_queries.others_allow(scenario), scenario.draft.is_enforced
    marks = {
        "@hit": rule_sql(rule),
        "@decides": f"abs({first_sql(policy)}) - 1 = {place}",
        "@with": f"({others}) AND ({case_sql(policy)})" if is_enforced else others,
        "@without": f"({others}) AND ({case_sql(rest)})" if is_enforced else others,
    }
    segments = [f"{text} AS {_segment_column(path)}" for path, text in by.items()]
    columns = [COUNT, *segments, *(f'{text} AS "{name}"' for name, text in marks.items())]
    conditions = {
        "hits": '"@hit"',
        "decisive": '"@decides"',
        "would_allow": '"@without" AND NOT "@with"',
        "would_deny": '"@with" AND NOT "@without"',
    }
    names = [_segment_column(path) for path in by]
    sums = [f"coalesce(sum({COUNT}) FILTER ({text}), 0)::BIGINT AS {name}" for name, text in conditions.items()]
    order = ", ".join(["would_allow + would_deny DESC", "hits DESC", *names])
    return (
        f"SELECT {', '.join([*names, *sums])} FROM (SELECT {', '.join(columns)} FROM contexts) "
        f"GROUP BY ALL HAVING hits > 0 ORDER BY {order} LIMIT {MAX_SEGMENT_ROWS}"
    )


def _rules_query(rules: Sequence[Rule]) -> str:
    """Return the rules as rows, in decision order."""
    rows = ", ".join(
        f"({n}, {literal(rule.id)}, {literal(rule.effect.value)}, {rule.priority})" for n, rule in enumerate(rules)
    )
    values = rows or "(0, '', '', 0)"
    return f"SELECT * FROM (VALUES {values}) AS t(place, rule, effect, priority){'' if rows else ' LIMIT 0'}"


def _segment_column(path: str) -> str:
    """Return the name of a segment's column; an attribute named like another column has the prefix `@`."""
    return quote_column(path, prefix="@" if path in _RESERVED_COLUMNS else "")


def _words(index: int, member: PolicySetMember) -> list[str]:
    return [f'"@w{index}_{number}"' for number in range(-(-len(member.policy.enforced_rules) // WORD_BITS))]


def _where_enforced(sets: ScenarioSets, member: PolicySetMember, mask: str) -> str:
    counted = [str(number) for number, place in enumerate(sets.places) if member in place.after]
    if len(counted) == len(sets.places):
        return mask
    return f"CASE WHEN {PLACE} IN ({', '.join(counted)}) THEN {mask} ELSE 0::UBIGINT END" if counted else "0::UBIGINT"


def _matched_rules(sets: ScenarioSets, words: dict[PolicySetMember, list[str]]) -> str:
    """Return the names of all matching rules, the deciding policy's first; some may occur twice."""
    lists = [_rule_names(member.policy.enforced_rules, words[member]) for member in sets.members]
    if len(lists) < 2:
        return "".join(lists) or "[]::VARCHAR[]"
    deciding = " ".join(f"WHEN {index} THEN {text}" for index, text in enumerate(lists))
    ordered = ", ".join(lists[number] for number in _member_order(sets))
    return f'list_concat(CASE "@why_after" // {STEP} {deciding} ELSE [] END, {ordered})'


def _member_order(sets: ScenarioSets) -> list[int]:
    """Return the members in set order: policies of one target come after those of all."""
    numbers = {member: index for index, member in enumerate(sets.members)}
    placed = [numbers[member] for place in sets.places for member in place.after]
    return list(dict.fromkeys([*placed, *range(len(sets.members))]))


def _rule_names(rules: Sequence[Rule], words: Sequence[str]) -> str:
    parts = [
        f"list_filter([{', '.join(literal(rule.id) for rule in rules[n * WORD_BITS : (n + 1) * WORD_BITS])}], "
        f"lambda name, place: ({word} >> (place - 1)::UBIGINT) & 1::UBIGINT = 1::UBIGINT)"
        for n, word in enumerate(words)
    ]
    if len(parts) == 1:
        return parts[0]
    return f"list_concat({', '.join(parts)})" if parts else "[]::VARCHAR[]"


def count_without_risk(session: QuerySession, history: History, tested: Iterable[str]) -> list[dict[str, object]]:
    """Return `{entity, decisions}` for each entity whose risk the paths `tested` name.

    `decisions` is the number of those that store nothing about the risk of the entity.

    Raises:
        Cancelled, Unavailable: see `QuerySession.run`.
    """
    used = {RISK_ATTRIBUTES[path] for path in tested if path in RISK_ATTRIBUTES}
    entities = [entity for entity in RISK_ENTITIES if entity in used]
    if not entities:
        return []
    attributes = {path: PLATFORM[path] for path, entity in RISK_ATTRIBUTES.items() if entity in used}
    rows = session.with_connection(lambda connection: history.raw(connection, attributes))
    counts = ", ".join(f"count(*) FILTER ({_is_without(entity)})" for entity in entities)
    ((*found,),) = session.run(f"SELECT {counts} FROM ({rows})")
    return [{"entity": entity.value, "decisions": int(count)} for entity, count in zip(entities, found, strict=True)]


def _is_without(entity: EntityType) -> str:
    paths = [path for path, of in RISK_ATTRIBUTES.items() if of is entity]
    return " AND ".join(f"{quote_column(path)} IS NULL" for path in paths)
