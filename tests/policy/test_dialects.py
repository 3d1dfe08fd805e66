"""SQL dialects: PostgreSQL and Spark count the same groups as our evaluator."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine

from attestlab.core.db.urls import database_url
from attestlab.core.errors import ValidationFailed
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import AttributeType
from attestlab.policy.language.context import ContextNormalizer, Values
from attestlab.policy.sql.dialects import Dialect, groups_sql, parse_groups
from attestlab.policy.sql.replay import DecisionGroup
from support.databases import create_postgres_database
from support.policies.documents import REGISTRY, bind_document, make_document
from support.policies.strategies import json_policies, raw_contexts
from support.property_tests import examples

Rows = list[tuple[bool, str, int]]
Asked = Callable[[Sequence[Values], str], Rows]
NORMALISED = ContextNormalizer(REGISTRY)
SOME = settings(
    max_examples=examples(40, many=150),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
)
FEW = settings(SOME, max_examples=examples(8, many=25))
POSTGRES_TYPES = {
    AttributeType.ENUM: "text",
    AttributeType.TEXT: "text",
    AttributeType.NUMBER: "double precision",
    AttributeType.INTEGER: "bigint",
    AttributeType.BOOLEAN: "boolean",
}
SPARK_TYPES = POSTGRES_TYPES | {
    AttributeType.ENUM: "string",
    AttributeType.TEXT: "string",
    AttributeType.NUMBER: "double",
}


@pytest.fixture(scope="module")
def postgres(postgres_url: str) -> Iterator[Asked]:
    """A real PostgreSQL with a table of typed contexts, filled again for each query."""
    engine = create_engine(database_url(create_postgres_database(postgres_url)))
    columns = ", ".join(f'"{path}" {POSTGRES_TYPES[each.type]}' for path, each in REGISTRY.items())
    places = ", ".join(["%s"] * len(REGISTRY))
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE TEMPORARY TABLE contexts ({columns})")

        def ask(contexts: Sequence[Values], query: str) -> Rows:
            connection.exec_driver_sql("TRUNCATE contexts")
            rows = [tuple(each.get(path) for path in REGISTRY) for each in contexts]
            connection.exec_driver_sql(f"INSERT INTO contexts VALUES ({places})", rows)
            driver: Any = connection.connection.cursor()  # SQLAlchemy would read % of a text as a parameter
            return list(driver.execute(query).fetchall())

        yield ask
    engine.dispose()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """A real Spark in this process' own JVM, as `make spark` installs it; without it, or without a Java, it fails."""
    from pyspark import sql  # of no use to any other test, and no part of the lock

    folder: Path = tmp_path_factory.mktemp("spark")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "1").config("spark.sql.warehouse.dir", str(folder))
    session = builder.getOrCreate()
    columns = ", ".join(f"`{path}` {SPARK_TYPES[each.type]}" for path, each in REGISTRY.items())

    def ask(contexts: Sequence[Values], query: str) -> Rows:
        rows = [tuple(each.get(path) for path in REGISTRY) for each in contexts]
        session.createDataFrame(rows, columns).createOrReplaceTempView("contexts")
        return [tuple(row) for row in session.sql(query).collect()]

    yield ask
    session.stop()


def group_by_evaluator(policy: Policy, contexts: Sequence[Values]) -> list[DecisionGroup]:
    """What the evaluator says of each context, in groups."""
    evaluate, order = Evaluator(policy), [rule.id for rule in policy.enforced_rules]
    found = Counter((d.allowed, tuple(sorted(d.matched, key=order.index))) for d in map(evaluate, contexts))
    groups = [DecisionGroup(allowed, matched, count) for (allowed, matched), count in found.items()]
    return sorted(groups, key=lambda group: (-group.count, group.allowed, group.matched))


def agree(ask: Asked, dialect: Dialect, raw: dict[str, Any], contexts: list[dict[str, Any]]) -> None:
    policy = bind_document(raw)
    values = [NORMALISED(context).values for context in [*contexts, {}]]

    found = ask(values, groups_sql(policy, dialect=dialect))

    assert parse_groups(policy, found) == group_by_evaluator(policy, values)


@pytest.mark.more_in_soak
@SOME
@given(raw=json_policies(), contexts=st.lists(raw_contexts(), min_size=1, max_size=12))
def test_postgresql_counts_the_groups_that_the_evaluator_counts(
    postgres: Asked, raw: dict[str, Any], contexts: list[dict[str, Any]]
) -> None:
    """Hostile texts, the largest numbers, neighbours of bounds and missing values among them."""
    agree(postgres, Dialect.POSTGRESQL, raw, contexts)


@pytest.mark.more_in_soak
@pytest.mark.spark
@FEW
@given(raw=json_policies(), contexts=st.lists(raw_contexts(), min_size=1, max_size=12))
def test_spark_counts_the_groups_that_the_evaluator_counts(
    spark: Asked, raw: dict[str, Any], contexts: list[dict[str, Any]]
) -> None:
    agree(spark, Dialect.SPARK, raw, contexts)


def test_thousand_rules_compile_to_one_query(postgres: Asked) -> None:
    rule = {"effect": "DENY", "when": {"attr": "claims.amount", "op": "gt", "value": 1}}
    raw = make_document(*[{**rule, "id": f"r{n}", "priority": n} for n in range(1_000)])

    agree(postgres, Dialect.POSTGRESQL, raw, [{"claims.amount": 2}, {"claims.amount": 0}])


def test_table_name_must_be_plain() -> None:
    policy = bind_document(
        make_document({"id": "r", "effect": "DENY", "priority": 1, "when": {"attr": "note", "op": "eq", "value": "x"}})
    )

    with pytest.raises(ValidationFailed, match="lower-case letters"):
        groups_sql(policy, dialect=Dialect.SPARK, table='contexts"; DROP TABLE x; --')
