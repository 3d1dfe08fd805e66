"""The data dictionary: every field of the public objects, with its meaning from the line under its declaration.

`make reference` runs `python -m attestlab.cli.data_dictionary data/dictionary.csv`, which writes it; a test compares
the two. Objects stand in the order in which the routes name them, then what is signed or logged, path parameters and
the data sets of the lake.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import pyarrow as pa
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from typing_extensions import TypeAliasType

from attestlab.attestations.proof_shapes import StatementMembers
from attestlab.core.shapes import DescribedAs, In, find_wire_name
from attestlab.lake import context_columns, views
from attestlab.lake.columns import Column
from attestlab.log import entry_shapes
from attestlab.receipts.shapes import ReceiptStatementMembers
from attestlab.server.api_reference import load_vocabulary
from attestlab.server.app import list_described_routes
from attestlab.simulation.shapes import ReportOut
from attestlab.web.openapi.meanings import Meaning, find_meaning, list_wire_fields
from attestlab.web.openapi.operations import list_path_parameters, media_types
from attestlab.web.openapi.schemas import build_schemas, name_schema, without_null
from attestlab.web.openapi.vocabulary import DocumentPart
from attestlab.web.problems import ErrorEnvelope
from attestlab.web.routing.routes import Route

_ANY = "any value"
_LAKE = "docs/lake.md"  # the source of its columns, unless they name another


class DictionaryRow(NamedTuple):
    """A line of the dictionary."""

    object: str
    field: str
    type: str
    format: str
    meaning: str
    source: str


def render_dictionary() -> str:
    """Render the dictionary as CSV.

    Raises:
        ValueError: a field has no meaning or no source.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(DictionaryRow._fields)
    writer.writerows(list_rows())
    return text.getvalue()


def list_rows() -> Iterator[DictionaryRow]:
    """List the lines of the dictionary."""
    routes = list_described_routes()
    yield from _describe_models(list_public_models(routes), queries={route.query for route in routes})
    yield from _describe_path_parameters(routes)
    for view in views.ALL:
        yield from (_describe_column(view.name, name, column) for name, column in view.declarations.items())
    yield _describe_attributes()


def list_public_models(routes: Iterable[Route]) -> list[type[BaseModel]]:
    """List the models of bodies and queries, of kept reports, of the signed statement and of the log's entries."""
    found: dict[type[BaseModel], None] = {}
    for route in routes:
        for kind in (route.body, route.query, *media_types(route).values()):
            _collect_models(kind, found)
    for model in (ErrorEnvelope, ReportOut, StatementMembers, ReceiptStatementMembers, *entry_shapes.ALL):
        _collect_models(model, found)
    return list(found)


def _collect_models(kind: object, found: dict[type[BaseModel], None]) -> None:
    """Add the models of a type to those that were found, each before those of its fields; a page without its items."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        generic = kind.__pydantic_generic_metadata__
        model = generic["origin"] or kind
        parts: Sequence[object] = [*generic["args"], *kind.model_fields.values()]
        if model in found and not generic["args"]:
            return
        found.setdefault(model)
    else:
        parts = _list_parts(kind)
    for part in parts:
        _collect_models(part, found)


def _list_parts(kind: object) -> Sequence[object]:
    """List the types of which a type, a field or an annotation consists."""
    match kind:
        case FieldInfo():
            return [kind.annotation, *kind.metadata]
        case DescribedAs():
            return [kind.kind]
        case TypeAliasType():
            return [kind.__value__]
        case _:
            return get_args(kind)


def _describe_models(models: Iterable[type[BaseModel]], *, queries: Collection[object]) -> Iterator[DictionaryRow]:
    """Describe the fields of models; a field of a query is omitted where the model has null."""
    vocabulary = load_vocabulary()
    inputs = [((find_wire_name(model), ""), _mode(model), TypeAdapter(model)) for model in models]
    _, components = build_schemas(inputs, vocabulary)
    objects = {name_schema(model): find_wire_name(model) for model in models}
    types = {name: f"object {objects[name]}" for name in objects} | dict.fromkeys(vocabulary.enums, "string")
    for model in models:
        fields = list_wire_fields(model)
        for name, part in components[name_schema(model)].get("properties", {}).items():
            kind = _describe_type(without_null(part) if model in queries else part, types)
            yield _make_row(find_wire_name(model), name, kind, find_meaning(model, fields[name]))


def _mode(model: type[BaseModel]) -> str:
    return "validation" if issubclass(model, In) else "serialization"


def _make_row(
    object_name: str, field: str, kind: str, meaning: Meaning | None, source: str | None = None
) -> DictionaryRow:
    """Make a row; without a format it refers to the object that is the field's type.

    Raises:
        ValueError: the field has no meaning, no source or no format.
    """
    named = re.search(r"object (?!or\b)(\w+)", kind)
    text, form = (meaning.text, meaning.format or (named and f"see {named[1]}")) if meaning else (None, None)
    specified = (meaning and meaning.source) or source
    if text is None or form is None or specified is None:
        raise ValueError(f"{object_name}.{field} lacks a meaning, a format or a source; see web/openapi/meanings.py.")
    return DictionaryRow(object_name, field, kind, form, text, specified)


def _describe_type(schema: DocumentPart, types: Mapping[str, str]) -> str:
    """Return the type of a JSON value in words; `types` are those of components."""
    if "$ref" in schema:
        return types.get(schema["$ref"].rpartition("/")[2], "object")
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return _join(_describe_type(choice, types) for choice in choices)
    kinds = schema.get("type", _ANY)
    return _join(_describe_kind(kind, schema, types) for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _describe_kind(kind: str, schema: DocumentPart, types: Mapping[str, str]) -> str:
    items = _describe_type(schema.get("items", {}), types) if kind == "array" else _ANY
    return kind if items == _ANY or " or " in items else f"array of {items}"


def _join(kinds: Iterable[str]) -> str:
    *others, last = dict.fromkeys(kinds)
    return f"{', '.join(others)} or {last}" if others else last


def _describe_path_parameters(routes: Iterable[Route]) -> Iterator[DictionaryRow]:
    meanings = load_vocabulary().path_parameters
    types = {key: route.path_types[name] for route in routes for key, name in list_path_parameters(route)}
    for key, kind in types.items():
        yield _make_row("path", key, "integer" if kind is int else "string", Meaning.parse(meanings[key]))


def _describe_column(dataset: str, name: str, column: Column) -> DictionaryRow:
    kinds = [_describe_arrow_type(column.type), *(["null"] if column.nullable else [])]
    return _make_row(f"lake:{dataset}", name, _join(kinds), Meaning.parse(column.meaning), _LAKE)


def _describe_attributes() -> DictionaryRow:
    kinds = [*map(_describe_arrow_type, context_columns.ARROW.values()), "null"]
    meaning = Meaning.parse(context_columns.MEANING)
    return _make_row(f"lake:{views.DECISIONS.name}", "<attribute>", _join(kinds), meaning, _LAKE)


def _describe_arrow_type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array of {_describe_arrow_type(kind.value_type)}"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return {pa.string(): "string", pa.int64(): "integer", pa.float64(): "number", pa.bool_(): "boolean"}[kind]


def main() -> None:
    """Write the file that the first argument names."""
    Path(sys.argv[1]).write_text(render_dictionary(), encoding="utf-8")


if __name__ == "__main__":
    main()
