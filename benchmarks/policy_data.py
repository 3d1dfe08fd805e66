"""Input of the policy benchmarks: 20 rules with 39 conditions, and ten million typed contexts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb

from attestlab.policy.evaluation.binder import bind
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.document import Document

CONTEXTS = 10_000_000
COUNTRIES = ["CH", "DE", "FR", "US", "NO", "SE", "IT", "ES", "GB", "NL",
             "BR", "JP", "IN", "NG", "KE", "ZA", "CA", "AU", "PL", "AT"]  # fmt: skip
ENUMS = ("trust_tier", "status", "risk_rating", "assurance_level", "key.status")


def make_document(rules: int, seed: int = 5) -> dict[str, Any]:
    """Return a policy over the specification's seven keys; each rule has two conditions, except the last one."""
    chance = random.Random(seed)
    written = [
        {
            "id": f"r{number}",
            "effect": chance.choice(["ALLOW", "DENY"]),
            "priority": number,
            "when": {"all": [_random_condition(chance) for _ in range(1 if number == rules - 1 else 2)]},
        }
        for number in range(rules)
    ]
    return {"name": "benchmark", "category": "VERIFY", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW",
            "rules": written}  # fmt: skip


def make_policy(rules: int, seed: int = 5) -> Policy:
    """Return the same policy, typed."""
    return bind(Document.read(make_document(rules, seed)), PLATFORM)


def _random_condition(chance: random.Random) -> dict[str, Any]:
    kind = chance.randrange(4)
    if kind == 0:
        op = chance.choice(["lt", "lte", "gt", "gte"])
        return {"attr": "key.age_days", "op": op, "value": chance.randrange(1_500)}
    if kind == 1:
        op = chance.choice(["in", "not_in"])
        return {"attr": "jurisdiction", "op": op, "value": chance.sample(COUNTRIES, 4)}
    path = chance.choice(ENUMS)
    return {"attr": path, "op": chance.choice(["eq", "ne"]), "value": chance.choice(PLATFORM[path].values)}


def write_contexts(path: Path, count: int = CONTEXTS, *, distinct: int | None = None) -> None:
    """Write typed Parquet, one column per key; every tenth risk rating and every twentieth age is missing.

    `distinct` limits the number of distinct contexts, which are in no order.
    """
    columns = [f"{_pick_sql(COUNTRIES, 0)} AS jurisdiction"]
    for salt, name in enumerate(ENUMS, 1):
        value = _pick_sql(list(PLATFORM[name].values), salt)
        columns.append(f'{_missing_sql(value, 10, 20) if name == "risk_rating" else value} AS "{name}"')
    columns.append(f'{_missing_sql("(hash(i * 31 + 9) % 1500)::DOUBLE", 20, 21)} AS "key.age_days"')
    seed = "range" if distinct is None else f"hash(range) % {distinct}"
    rows = f"SELECT {seed} AS i FROM range({count})"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {', '.join(columns)} FROM ({rows})) TO '{path}' (FORMAT parquet)")


def write_decisions(path: Path, count: int = CONTEXTS) -> None:
    """Write typed Parquet like real decisions: a thousand issuers on 406 days, with keys a day older each day.

    So there are 406,000 distinct contexts. Every tenth issuer has no risk rating, every twentieth key no age.
    """
    columns = [f"{_pick_sql(COUNTRIES, 0, 'issuer')} AS jurisdiction"]
    for salt, name in enumerate(ENUMS, 1):
        value = _pick_sql(list(PLATFORM[name].values), salt, "issuer")
        columns.append(f'{_missing_sql(value, 10, 20, "issuer") if name == "risk_rating" else value} AS "{name}"')
    age = "(hash(issuer * 31 + 9) % 1100 + day)::DOUBLE"
    columns.append(f'{_missing_sql(age, 20, 21, "issuer")} AS "key.age_days"')
    rows = f"SELECT hash(i) % 1000 AS issuer, hash(i + 1) % 406 AS day FROM range({count}) t(i)"
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT {', '.join(columns)} FROM ({rows})) TO '{path}' (FORMAT parquet)")


def _pick_sql(values: list[str], salt: int, what: str = "i") -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return f"[{listed}][1 + (hash({what} * 31 + {salt}) % {len(values)})::INTEGER]"


def _missing_sql(value: str, one_in: int, salt: int, what: str = "i") -> str:
    return f"CASE WHEN hash({what} * 31 + {salt}) % {one_in} <> 0 THEN {value} END"


def read_complete_contexts(path: Path, count: int) -> list[dict[str, Any]]:
    """Return the first contexts without missing values; engines treat those differently, and only time is compared.

    Attributes that the file lacks, as those of risk, are in no context.
    """
    with duckdb.connect() as connection:
        contexts = connection.read_parquet(str(path))
        names = [name for name in contexts.columns if name in PLATFORM]
        complete = " AND ".join(f'"{name}" IS NOT NULL' for name in names)
        rows = contexts.filter(complete).project(", ".join(f'"{name}"' for name in names)).limit(count).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]
