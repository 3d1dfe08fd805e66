"""Replay of a Parquet history: each row has the evaluator's decision, by either route."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import OPERATORS, PLATFORM, Attribute, AttributeType, Operand
from attestlab.policy.language.context import ContextNormalizer
from attestlab.policy.sql.replay import Replay, ReplayRoute, replay
from support.policies.documents import REGISTRY, bind_document, make_condition, make_document, make_rule
from support.policies.strategies import HOSTILE_TEXTS, sample_values

ARROW = {
    AttributeType.ENUM: pa.string(),
    AttributeType.TEXT: pa.string(),
    AttributeType.NUMBER: pa.float64(),
    AttributeType.INTEGER: pa.int64(),
    AttributeType.BOOLEAN: pa.bool_(),
}
ODD = {
    AttributeType.ENUM: ["basic", "nowhere", "", "x\x00y"],
    AttributeType.NUMBER: [float("nan"), float("inf"), -1.0],
    AttributeType.INTEGER: [6, -(2**60)],
    AttributeType.TEXT: ["x" * 1_025, "a\x00b"],
    AttributeType.BOOLEAN: [None],
}


def written(path: Path, contexts: list[dict[str, Any]]) -> Path:
    """Contexts as typed columns."""
    columns = {name: pa.array([c.get(name) for c in contexts], ARROW[a.type]) for name, a in REGISTRY.items()}
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture(scope="module")
def contexts() -> list[dict[str, Any]]:
    """Three thousand, some of them odd, with few different ones among the first."""
    chance = random.Random(7)
    made = [
        {
            name: chance.choice(
                [*map(_typed(a.type), sample_values(a)), None, *(ODD[a.type] if chance.random() < 0.1 else [])]
            )
            for name, a in REGISTRY.items()
        }
        for _ in range(1_000)
    ]
    return made + [made[n % 7] for n in range(2_000)]


def _typed(kind: AttributeType) -> Any:
    return float if kind is AttributeType.NUMBER else lambda value: value


@pytest.fixture(scope="module")
def past(contexts: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("past") / "contexts.parquet", contexts)


def many_rules(count: int) -> Policy:
    """A policy over every attribute; more rules than a word of the mask has bits."""
    chance = random.Random(count)
    rules = []
    for n in range(count):
        parts = []
        for attribute in chance.sample(list(REGISTRY.values()), 2):
            op = chance.choice(sorted(attribute.ops() - {"exists"}))
            value = [chance.choice(sample_values(attribute)) for _ in range(2)]
            parts.append(
                make_condition(attribute.path, op, value if OPERATORS[op].operand is Operand.LIST else value[0])
            )
        mode = "MONITOR" if n % 9 == 0 else "ENFORCE"
        rules.append(make_rule(f"r{n}", chance.choice(["ALLOW", "DENY"]), {"all": parts}, n // 3, mode=mode))
    return bind_document(make_document(*rules))


def matched_in(done: Replay, row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(n for i, n in enumerate(done.rules) if int(row[f"matched_{i // 64}"]) >> i % 64 & 1)


@pytest.mark.parametrize("route", list(ReplayRoute))
@pytest.mark.parametrize("count", [1, 20, 90])
def test_replay_agrees_with_evaluator(
    past: Path, contexts: list[dict[str, Any]], count: int, route: ReplayRoute
) -> None:
    policy = many_rules(count)
    done = replay(policy, past, route=route)
    expected = [Evaluator(policy)(ContextNormalizer(REGISTRY)(context).values) for context in contexts]

    rows = done.df().to_dict("records")

    assert [row["row"] for row in rows] == list(range(len(contexts)))
    assert [(bool(row["allowed"]), matched_in(done, row) if done.rules else ()) for row in rows] == [
        (decision.allowed, decision.matched) for decision in expected
    ]


def test_groups_count_every_row_once(past: Path, contexts: list[dict[str, Any]]) -> None:
    policy = many_rules(20)

    groups = replay(policy, past).groups()

    assert sum(group.count for group in groups) == len(contexts)
    decide, normalised = Evaluator(policy), ContextNormalizer(REGISTRY)
    first = groups[0]
    found = [decide(normalised(context).values) for context in contexts]
    assert first.count == sum(1 for d in found if (d.allowed, d.matched) == (first.allowed, first.matched))


def test_written_decisions_equal_the_frame(past: Path, contexts: list[dict[str, Any]], tmp_path: Path) -> None:
    done = replay(many_rules(20), past)

    assert done.write(tmp_path / "it's decided.parquet") == len(contexts)
    shown = pq.read_table(tmp_path / "it's decided.parquet").to_pandas().sort_values("row", ignore_index=True)
    assert shown.equals(done.df())


def test_route_depends_on_data(tmp_path: Path) -> None:
    """A thousand times the same context is decided once, if there is enough to decide."""
    few = written(tmp_path / "few.parquet", [{"claims.amount": float(n % 3)} for n in range(3_000)])
    many = written(tmp_path / "many.parquet", [{"claims.amount": float(n)} for n in range(3_000)])
    bounds = [make_condition("claims.amount", "gt", n) for n in range(60)]
    policy = bind_document(make_document(*[make_rule(f"r{n}", "DENY", when) for n, when in enumerate(bounds)]))

    assert replay(policy, few).route is ReplayRoute.DISTINCT
    assert replay(policy, many).route is ReplayRoute.ROWS


def test_small_policy_uses_rows_and_groups_need_no_route(tmp_path: Path) -> None:
    """To count distinct contexts takes longer than to decide each row by fewer than sixty leaves."""
    few = written(tmp_path / "few.parquet", [{"claims.amount": float(n % 3)} for n in range(3_000)])
    policy = bind_document(
        make_document(*[make_rule(f"r{n}", "DENY", make_condition("claims.amount", "gt", n)) for n in range(59)])
    )

    assert replay(policy, few).route is ReplayRoute.ROWS
    counted = replay(many_rules(20), few)
    counted.groups()
    assert "route" not in vars(counted)


def test_join_holds_distinct_contexts_not_rows(past: Path) -> None:
    """DuckDB chose the rows: ten million of them took 400 MB."""
    done = replay(many_rules(20), past, route=ReplayRoute.DISTINCT)

    ((_, plan),) = done.connection.execute(f"EXPLAIN (FORMAT json) {done.sql}").fetchall()

    joins = [each for each in _nodes(json.loads(plan)) if each["name"].strip() == "HASH_JOIN"]
    kept = [[node["name"].strip() for node in _nodes(join["children"][1:])] for join in joins]
    assert kept == [["CTE_SCAN"]]


def _nodes(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in plan:
        yield node
        yield from _nodes(node.get("children", []))


def test_absent_column_is_missing(tmp_path: Path) -> None:
    pq.write_table(pa.table({"unrelated": [1, 2]}), tmp_path / "c.parquet")
    policy = bind_document(
        make_document(make_rule("d", "DENY", make_condition("status", "exists", False)), default_effect="ALLOW")
    )

    assert replay(policy, tmp_path / "c.parquet").groups()[0].matched == ("d",)


@pytest.mark.parametrize(
    ("name", "values"), [("key.age_days", ["5"]), ("status", [5]), ("is_resident", [1]), ("claims.amount", [True])]
)
def test_column_of_wrong_type_is_rejected(tmp_path: Path, name: str, values: list[Any]) -> None:
    pq.write_table(pa.table({name: values}), tmp_path / "c.parquet")
    policy = bind_document(
        make_document(*[make_rule(f"r{n}", "DENY", make_condition(p, "exists", True)) for n, p in enumerate(REGISTRY)])
    )

    with pytest.raises(ValidationFailed, match=f"The column {name} is"):
        replay(policy, tmp_path / "c.parquet")


def test_policy_without_enabled_rules_returns_its_default(past: Path, contexts: list[dict[str, Any]]) -> None:
    policy = bind_document(
        make_document(
            make_rule("r", "DENY", make_condition("status", "exists", True), enabled=False), default_effect="ALLOW"
        )
    )

    (group,) = replay(policy, past).groups()
    assert (group.allowed, group.matched, group.count) == (True, (), len(contexts))
    assert replay(policy, past, route=ReplayRoute.DISTINCT).df()["allowed"].all()


def test_hostile_texts_are_values(tmp_path: Path) -> None:
    """Neither in a policy nor in a file."""
    path = written(tmp_path / "c.parquet", [{"note": text} for text in HOSTILE_TEXTS])
    for text in HOSTILE_TEXTS:
        (group,) = [
            g
            for g in replay(
                bind_document(make_document(make_rule("r", "ALLOW", make_condition("note", "eq", text)))), path
            ).groups()
            if g.allowed
        ]

        assert group.count == 1


OUR_OWN_NAMES = [
    "allowed", "context_hash", "contexts", "d", "file_index", "file_row_number", "filename", "hash", "matched_0",
    "monitored_0", "n", "none", "nothing", "row",
]  # fmt: skip


@pytest.mark.parametrize("route", list(ReplayRoute))
def test_attributes_may_have_names_of_internal_columns(tmp_path: Path, route: ReplayRoute) -> None:
    """Also as the number that DuckDB gives a row, in any case."""
    registry = PLATFORM.with_own(Attribute(name, AttributeType.NUMBER) for name in OUR_OWN_NAMES)
    columns = {name: [100.0 + n, 200.0 + n, None] for n, name in enumerate(OUR_OWN_NAMES)}
    pq.write_table(pa.table(columns), tmp_path / "past.parquet")
    rules = [
        make_rule(f"r{n}", "ALLOW", make_condition(name, "eq", 200 + n), n) for n, name in enumerate(OUR_OWN_NAMES)
    ]

    done = replay(bind_document(make_document(*rules), registry), tmp_path / "past.parquet", route=route)

    assert done.df()["allowed"].tolist() == [False, True, False]
    assert [(g.matched, g.count) for g in done.groups()] == [((), 2), (tuple(done.rules), 1)]


@pytest.mark.parametrize("name", ["file_row_number", "File_Row_Number"])
def test_unused_column_may_have_any_name(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({name: [7, 7], 'q"@': [1, 1], "note": ["a", "b"]}), tmp_path / "past.parquet")

    done = replay(
        bind_document(make_document(make_rule("r", "ALLOW", make_condition("note", "eq", "b")))),
        tmp_path / "past.parquet",
    )

    assert done.df()[["row", "allowed"]].to_numpy().tolist() == [[0, False], [1, True]]


def test_contexts_must_be_parquet_file_or_pattern(past: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is refused, and so is the empty text, which would be the current folder."""
    monkeypatch.chdir(past.parent)
    (tmp_path / "text.parquet").write_text("no Parquet at all")
    for path in ("", ".", past.parent, tmp_path / "none.parquet", tmp_path / "text.parquet"):
        with pytest.raises(ValidationFailed, match="a Parquet file"):
            replay(many_rules(1), path)
    assert sum(group.count for group in replay(many_rules(1), "*.parquet").groups()) == 3_000
