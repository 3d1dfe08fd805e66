"""The vocabulary of an API: what its objects, properties and codes are called, and what they mean.

Routes and models determine the structure of the description; an application adds the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from pydantic import BaseModel

JsonObject = dict[str, Any]  # a part of a JSON document
PATH = "path"  # the object whose fields are path parameters, each with the segment before it: `issuers/{id}`


@dataclass(frozen=True)
class Vocabulary:
    """The names and meanings that an application gives to the parts of its API.

    `objects` are the models by their name, such as `mint_response`; the schema of that one is `MintResponse`.
    `enums` are the closed sets of texts by the name of their schema, `meanings` those of a field of an object.
    `examples` are requests and responses by operation id, and under the status of an error its response.
    `webhooks` are the requests that the application sends.
    """

    objects: Mapping[str, type[BaseModel]] = field(default_factory=dict)
    enums: Mapping[str, Sequence[str] | type[StrEnum]] = field(default_factory=dict)
    meanings: Mapping[tuple[str, str], str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, JsonObject] = field(default_factory=dict)
    info: Mapping[str, object] = field(default_factory=dict)
    webhooks: Mapping[str, JsonObject] = field(default_factory=dict)

    def name_schema(self, model: type[BaseModel]) -> str:
        """Return the name of a model's schema; a page of objects is named after them."""
        if (name := self._names.get(model)) is not None:
            return _pascal_case(name)
        generic = model.__pydantic_generic_metadata__
        if (origin := generic["origin"]) is not None and issubclass(generic["args"][0], BaseModel):
            return self.name_schema(generic["args"][0]) + origin.__name__
        return "".join(part for part in model.__name__ if part.isalnum())

    def find_meaning(self, model: type[BaseModel], member: str) -> str | None:
        """Find the meaning of a member among those of the model and of its bases."""
        names = (self._names.get(base) for base in model.__mro__)
        found = (self.meanings.get((name, member)) for name in names if name is not None)
        return next((meaning for meaning in found if meaning is not None), None)

    def find_enum(self, values: Sequence[object]) -> str | None:
        """Find the name of a closed set of values."""
        return self._enum_names.get(frozenset(values))

    @cached_property
    def _names(self) -> Mapping[type, str]:
        return {model: name for name, model in self.objects.items()}

    @cached_property
    def _enum_names(self) -> Mapping[frozenset[object], str]:
        return {frozenset(values): name for name, values in self.enums.items()}


def _pascal_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
