"""Schemas of payloads: JSON Schema 2020-12, compiled by jsonschema-rs.

Tenants write these schemas, so nothing in them may reach another host or take the server's time: references stay inside
the schema, patterns are matched in linear time, and the work that a payload can cause is bounded before it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, NoReturn, cast

import jsonschema_rs
import orjson
from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationErrorKind

from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.encoding import quote
from attestlab.core.errors import MAX_REPORTED_ERRORS, ValidationFailed
from attestlab.core.short_text import shorten
from attestlab.core.strict_json import MAX_DEPTH
from attestlab.receipts.types.subschemas import Subschemas, bound_checks, escape, list_subschemas, refuse

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_BYTES: Final = 64 * 1024
MAX_SCHEMA_DEPTH: Final = 32
MAX_PATTERNS: Final = 100
MAX_CHECKS: Final = 5_000_000
"""How many checks a payload may cause; that many take some 50 ms."""
MAX_CHECKS_OF_REPORT: Final = 10_000
"""From how many checks on a refused payload gets one fault; describing each of many takes a thousand times as long."""
_PATTERNS_BYTES: Final = 4 * 1024 * 1024  # of all compiled patterns of a schema
_ALTERNATIVES: Final = frozenset({"anyOf", "oneOf"})
_CHARACTERS_PER_CHECK: Final = 16  # of a text, which patterns and formats read
_MAX_MESSAGE_LENGTH: Final = 200
_MAX_COMPILED: Final = 32


class CheckedSchema(NamedTuple):
    """A schema that payloads can be validated by: in the form of RFC 8785, and the SHA-256 of that."""

    text: str
    sha256: str


class CompiledSchema(NamedTuple):
    """A compiled schema.

    `checks` are how many a value at each depth of a payload takes at most. The error of one that `has_alternatives`
    (`anyOf`, `oneOf`) describes the errors of each alternative.
    """

    validator: Draft202012Validator
    checks: Sequence[int]
    has_alternatives: bool


def check_schema(schema: Mapping[str, object]) -> CheckedSchema:
    """Check a schema that a tenant sent.

    Raises:
        ValidationFailed: it is no JSON Schema 2020-12 of an object, or exceeds a bound; the field is `/schema...`.
    """
    raw = canonical(schema)
    if len(raw) > MAX_SCHEMA_BYTES:
        refuse("", f"The schema has {len(raw):,} bytes; at most {MAX_SCHEMA_BYTES:,} are allowed.")
    if (depth := len(list(_iterate_levels(schema)))) > MAX_SCHEMA_DEPTH:
        refuse("", f"The schema is nested {depth} deep; at most {MAX_SCHEMA_DEPTH} are allowed.")
    _require_dialect(schema)
    _compile(raw.decode())
    return CheckedSchema(raw.decode(), sha256_b64url(raw))


def find_faults(schema_text: str, payload: Mapping[str, object]) -> list[tuple[str, str]]:
    """Find the faults of a payload: for each a JSON Pointer that begins with `/payload`, and a message.

    Raises:
        ValidationFailed: validating it could take more than `MAX_CHECKS` checks.
    """
    compiled = _compile(schema_text)
    checks = _require_affordable(compiled, payload)
    if compiled.validator.is_valid(payload):
        return []
    if checks <= MAX_CHECKS_OF_REPORT:
        return list(islice(_iterate_faults(compiled.validator.iter_errors(payload)), MAX_REPORTED_ERRORS))
    if not compiled.has_alternatives:
        return list(_iterate_faults([_find_first_error(compiled.validator, payload)]))
    return [("/payload", "The payload does not conform to the schema, and is too large to say where.")]


def _iterate_levels(value: object) -> Iterator[list[object]]:
    """Yield the values at each depth of a document, from the whole down."""
    level = [value]
    while level:
        yield level
        level = [child for one in level for child in _list_children(one)]


def _list_children(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _require_dialect(schema: Mapping[str, object]) -> None:
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.removesuffix("#") != DIALECT:
        refuse("/$schema", f"{quote(str(dialect)[:80])} is another dialect. Write the schema for {DIALECT}.")


@lru_cache(maxsize=_MAX_COMPILED)
def _compile(schema_text: str) -> CompiledSchema:
    # Where the schema says that it was published does not matter here, and the validator would know it by that name.
    schema = {name: value for name, value in orjson.loads(schema_text).items() if name not in ("$id", "$schema")}
    try:
        jsonschema_rs.meta.validate(schema)
        subschemas = list_subschemas(schema)
        _require_object(schema)
        checks = bound_checks(subschemas, max_depth=MAX_DEPTH)
        options = _limit_patterns(subschemas)
        validator = Draft202012Validator(
            schema, validate_formats=True, pattern_options=options, offline=True, mask="The value"
        )
        return CompiledSchema(validator, checks, any(one.find_links(_ALTERNATIVES) for one in subschemas.values()))
    except jsonschema_rs.ValidationError as error:
        _refuse_fault(error)
    except jsonschema_rs.ReferencingError as error:
        refuse("", shorten(str(error), _MAX_MESSAGE_LENGTH))


def _require_object(schema: Mapping[str, object]) -> None:
    kinds = schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        refuse("/type", f"A payload is an object, and this schema takes {quote(str(kinds)[:80])}. Write object.")


def _limit_patterns(subschemas: Subschemas) -> RegexOptions:
    """Let patterns be matched in linear time, and share the memory that they may take among them."""
    documents = [one.document for one in subschemas.values() if isinstance(one.document, Mapping)]
    patterns = [place for one in documents for place in ("pattern",) if place in one]
    patterns += [name for one in documents for name in cast(Mapping[str, object], one.get("patternProperties", {}))]
    if len(patterns) > MAX_PATTERNS:
        refuse("", f"The schema has {len(patterns):,} patterns; at most {MAX_PATTERNS} are allowed.")
    size = _PATTERNS_BYTES // max(len(patterns), 1)
    return RegexOptions(size_limit=size, dfa_size_limit=size)


def _refuse_fault(error: jsonschema_rs.ValidationError) -> NoReturn:
    """Refuse a schema for what the library says about it."""
    place = "".join(f"/{escape(str(part))}" for part in error.instance_path)
    if isinstance(error.kind, ValidationErrorKind.Format) and error.kind.format == "regex":
        message = (
            f"The pattern {quote(str(error.instance)[:80])} cannot be used. It is malformed, has look-around or a "
            "back-reference, or is too large: bound the length with maxLength, not with {1,1000}."
        )
        refuse(place, message)
    refuse(place, _end_sentence(error.message))


def _end_sentence(text: str) -> str:
    return shorten(text, _MAX_MESSAGE_LENGTH).rstrip(".") + "."


def _require_affordable(compiled: CompiledSchema, payload: Mapping[str, object]) -> int:
    """Return how many checks validating a payload may take, if it is not too many."""
    checks = sum(
        at_depth * sum(map(_weigh, level))
        for at_depth, level in zip(compiled.checks, _iterate_levels(payload), strict=False)
    )
    if checks > MAX_CHECKS:
        message = (
            f"Validating this payload could take {checks:,} checks; at most {MAX_CHECKS:,} are made. Send a smaller "
            "payload, or create a version of the type whose schema has fewer alternatives."
        )
        raise ValidationFailed.of("/payload", "too_costly", message)
    return checks


def _find_first_error(validator: Draft202012Validator, payload: Mapping[str, object]) -> jsonschema_rs.ValidationError:
    try:
        validator.validate(payload)
    except jsonschema_rs.ValidationError as error:
        return error
    raise AssertionError("The payload was invalid a moment ago.")


def _weigh(value: object) -> int:
    return 1 + len(value) // _CHARACTERS_PER_CHECK if isinstance(value, str) else 1


def _iterate_faults(errors: Iterable[jsonschema_rs.ValidationError]) -> Iterator[tuple[str, str]]:
    for error in errors:
        place = "/payload" + "".join(f"/{escape(str(part))}" for part in error.instance_path)
        message = _end_sentence(error.message)
        yield from ((place + name, message) for name in _name_members(error))


def _name_members(error: jsonschema_rs.ValidationError) -> list[str]:
    """Name the members that are missing or unknown; other faults are of the value itself."""
    kind = error.kind
    if isinstance(kind, ValidationErrorKind.Required):
        return [f"/{escape(kind.property)}"]
    if isinstance(kind, ValidationErrorKind.AdditionalProperties | ValidationErrorKind.UnevaluatedProperties):
        return [f"/{escape(name)}" for name in kind.unexpected]
    return [""]
