"""Types of JSON documents, and of the parameters of a query.

A function that only passes a document on takes `Mapping[str, object]`. One that builds or reads a document uses these
types; a reader narrows each value with `isinstance`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]
SqlParameters: TypeAlias = Sequence[object] | Mapping[str, object] | None  # by place, or by name
