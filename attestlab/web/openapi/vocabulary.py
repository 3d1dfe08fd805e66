"""The vocabulary of an API: what its groups and codes are called, and the words that no model has.

Routes and models determine the structure of the description and, with the lines under their fields, most of its words;
an application adds the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

DocumentPart = dict[str, Any]  # a part of a JSON document


@dataclass(frozen=True)
class Vocabulary:
    """The names and meanings that an application gives to the parts of its API.

    `enums` are the closed sets of texts by the name of their schema. `path_parameters` are the meanings of path
    parameters, each by its name with the segment before it: `issuers/{id}`. `examples` are requests and responses by
    operation id, and under the status of an error its response. `webhooks` are the requests that the application sends.
    """

    enums: Mapping[str, Sequence[str] | type[StrEnum]] = field(default_factory=dict)
    path_parameters: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, DocumentPart] = field(default_factory=dict)
    info: Mapping[str, object] = field(default_factory=dict)
    webhooks: Mapping[str, DocumentPart] = field(default_factory=dict)

    def find_enum(self, values: Sequence[object]) -> str | None:
        """Find the name of a closed set of values."""
        return self._enum_names.get(frozenset(values))

    @cached_property
    def _enum_names(self) -> Mapping[frozenset[object], str]:
        return {frozenset(values): name for name, values in self.enums.items()}
