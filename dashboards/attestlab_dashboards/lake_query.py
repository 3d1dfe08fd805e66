"""`LakeQuery`: one SELECT over the data sets of `lab.sql`, to run, and to copy as SQL or Python with its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple, cast

from attestlab import Lab
from attestlab.client.analysis.rows import Rows, get_query
from attestlab.policy.sql.compiler import literal

PARAMETER: Final = re.compile(r"\$([a-z]\w*)")


class LakeQuery(NamedTuple):
    """One SELECT with the values of its `$name`s."""

    sql: str
    parameters: Mapping[str, object]

    @classmethod
    def bind(cls, sql: str, values: Mapping[str, object]) -> LakeQuery:
        """Make a query with those of the values that its text names.

        >>> LakeQuery.bind("SELECT $a", {"a": 1, "b": 2})
        LakeQuery(sql='SELECT $a', parameters={'a': 1})
        """
        return cls(sql, {name: values[name] for name in dict.fromkeys(PARAMETER.findall(sql))})

    @classmethod
    def of(cls, rows: Rows) -> LakeQuery | None:
        """Return the query of rows with named parameters; None if it has others, or tables of the caller."""
        query = get_query(rows)
        if query.frames or not isinstance(query.parameters or {}, Mapping):
            return None
        return cls(query.sql, cast("Mapping[str, object]", query.parameters or {}))

    def read(self, lab: Lab) -> Rows:
        """Ask the facade."""
        return lab.sql(self.sql, dict(self.parameters))

    def read_rows(self, lab: Lab) -> list[dict[str, object]]:
        """Ask the facade for all rows at once; iterating over `Rows` may ask for their number first."""
        rows: list[dict[str, object]] = self.read(lab).arrow().to_pylist()
        return rows

    def to_sql(self) -> str:
        """Write it with its values in place, to run as it is."""
        return PARAMETER.sub(lambda found: write_literal(self.parameters[found[1]]), self.sql)


def write_literal(value: object) -> str:
    """Write a value as SQL: a number as it is, a time as one, a list of such, and everything else as a text.

    >>> write_literal(7), write_literal("O'Neill"), write_literal(["a", 1])
    ('7', "'O''Neill'", "['a', 1]")
    """
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ {literal(value.isoformat())}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_literal, value))}]"
    return str(value) if isinstance(value, int | float) else literal(str(value))


def write_python(sql: str) -> str:
    """Write the call of the facade that runs a query, after `lab = attestlab.connect(...)`."""
    quoted = sql.strip().replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'lab.sql("""\n{quoted}\n""").df()'
