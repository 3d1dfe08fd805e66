"""Compiles a policy to SQL for other engines: the groups of a replay, on Spark or on PostgreSQL.

sqlglot translates the DuckDB text of `policy.sql.compiler`; only this module loads sqlglot. PostgreSQL has no
unsigned integers, so the matching rules are a text with one `0` or `1` for each counting rule, in decision order,
instead of the bits of an integer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

import sqlglot

from attestlab.core.errors import ValidationFailed
from attestlab.policy.language.ast import Policy, Rule
from attestlab.policy.sql.compiler import case_sql, rule_sql
from attestlab.policy.sql.replay import DecisionGroup

_TABLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")


class Dialect(StrEnum):
    """A SQL dialect, by its name in sqlglot."""

    DUCKDB = "duckdb"
    POSTGRESQL = "postgres"
    SPARK = "spark"


def groups_sql(policy: Policy, *, dialect: Dialect, table: str = "contexts") -> str:
    """Return a query that counts the rows of `table` for each set of matching rules: `(allowed, matched, n)`.

    The table has one typed column per attribute that the policy uses, named by its path: texts for `enum` and `text`,
    64-bit floats for `number`, 64-bit integers, booleans; NULL if the attribute is missing.

    Raises:
        ValidationFailed: the table's name is not lower-case letters, digits and underscores.
    """
    if not _TABLE.fullmatch(table):
        raise ValidationFailed.of("/table", "name", "Name the table with lower-case letters, digits and underscores.")
    decided = f"SELECT {case_sql(policy)} AS allowed, {_bits_sql(policy.enforced_rules)} AS matched FROM {table}"
    query = f"SELECT allowed, matched, count(*) AS n FROM ({decided}) AS decided GROUP BY allowed, matched"
    return sqlglot.transpile(query, read=Dialect.DUCKDB.value, write=dialect.value)[0]


def parse_groups(policy: Policy, rows: Iterable[tuple[bool, str, int]]) -> list[DecisionGroup]:
    """Parse the rows of `groups_sql` into groups with rule names; the largest first, as in `Replay.groups`."""
    names = [rule.id for rule in policy.enforced_rules]
    found = [
        DecisionGroup(allowed, tuple(name for name, bit in zip(names, bits, strict=True) if bit == "1"), count)
        for allowed, bits, count in rows
    ]
    return sorted(found, key=lambda group: (-group.count, group.allowed, group.matched))


def _bits_sql(rules: tuple[Rule, ...]) -> str:
    return _concatenate([f"CASE WHEN {rule_sql(rule)} THEN '1' ELSE '0' END" for rule in rules] or ["''"])


def _concatenate(terms: list[str]) -> str:
    """Concatenate terms in a balanced tree, for engines that parse expressions recursively."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_concatenate(terms[:half])} || {_concatenate(terms[half:])})"
