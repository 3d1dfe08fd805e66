"""A policy document in JSON (or TOML), validated completely before any other module reads it.

Pydantic validates the shape, then the binder validates the meaning with the registry of attributes; every error has
its position as an RFC 6901 pointer. A document is untrusted until it is validated: its size, depth and counts are
limited before it is traversed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Literal

from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails
from typing_extensions import TypeAliasType

from attestlab.core.crypto.canonical_json import canonical, sha256_hex
from attestlab.core.encoding import json_pointer
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError, ValidationFailed
from attestlab.core.shapes import In, Uuid
from attestlab.core.suggestions import MAX_SUGGESTIONS, describe_unknown, find_nearest
from attestlab.core.text_forms import describe_form, explain_form
from attestlab.policy.language.ast import Effect, Mode
from attestlab.policy.language.attributes import Op
from attestlab.policy.language.document_bounds import require_bounded
from attestlab.policy.language.document_schema import (
    COMBINATION,
    describe_comparison,
    describe_condition,
    describe_path,
)

MAX_RULES = 1_000
MAX_TESTS = 1_000
MAX_OPERANDS = 200  # of one `all` or `any`
MAX_VALUES = 1_000  # of one `in` or `not_in`
MAX_DOCUMENT_BYTES = 1_048_576  # of its canonical form
_ID = describe_form(
    r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$",
    "Use 1 to 64 letters, digits and characters of _ . : -, with a letter or digit first.",
)
_OWN_PREFIX = "Value error, "  # pydantic puts it before the message of our validators
_SUGGESTED_TYPES = frozenset({"enum", "literal_error"})
_KNOWN_WORDS = re.compile("'([^']+)'")  # the known words in a pydantic message


class Category(StrEnum):
    """The action that a policy decides about (SPEC, `POST /v1/policies/evaluate`)."""

    MINT = "MINT"
    VERIFY = "VERIFY"
    BUNDLE_EXPORT = "BUNDLE_EXPORT"


class TargetType(StrEnum):
    """The type of target that a policy is bound to."""

    ISSUER = "ISSUER"
    VERIFICATION_PROFILE = "VERIFICATION_PROFILE"
    TENANT_DEFAULT = "TENANT_DEFAULT"


class SourceModel(In):
    """A part of a document, with strict types, so that a policy means exactly what it contains."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def list_members(model: type[SourceModel]) -> list[str]:
    """List the names that the fields of a model have in a document."""
    return [field.alias or name for name, field in model.model_fields.items()]


DocumentName = Annotated[str, Field(min_length=1, max_length=128)]
RuleId = Annotated[str, Field(pattern=_ID, max_length=64)]
# A word of JSON or TOML is a text; it becomes the enum's member.
Word = Field(strict=False)
WrittenValue = StrictBool | StrictInt | StrictFloat | StrictStr


WrittenValues = Annotated[
    tuple[WrittenValue, ...], Field(min_length=1, max_length=MAX_VALUES, strict=False, fail_fast=True)
]
Operands = Annotated[tuple["Condition", ...], Field(min_length=1, max_length=MAX_OPERANDS, strict=False)]


class AllDoc(SourceModel, wire_name="policy_all", source="CONTRACT 9"):
    """Holds if each of the conditions holds."""

    all: Operands
    """The conditions that must all hold. Format: 1-200 conditions."""


class AnyDoc(SourceModel, wire_name="policy_any", source="CONTRACT 9"):
    """Holds if one of the conditions holds."""

    any: Operands
    """The conditions of which one must hold. Format: 1-200 conditions."""


class NotDoc(SourceModel, wire_name="policy_not", source="CONTRACT 9"):
    """Holds if the condition does not."""

    not_: Condition = Field(alias="not")
    """The condition that must not hold. Format: a condition."""


class ComparisonDoc(SourceModel, wire_name="policy_comparison", source="CONTRACT 9"):
    """Compares an attribute with a value; the operator determines which values it takes."""

    model_config = ConfigDict(json_schema_extra=describe_comparison)

    attr: Annotated[str, Field(json_schema_extra=describe_path)]
    """The attribute that is compared. Format: a path, see GET /v1/policies/attributes."""
    op: Annotated[Op, Word]
    """The operator, which the type of the attribute must have. Format: eq, ne, in, not_in, lt, lte, gt, gte or exists.
    """
    value: WrittenValue | WrittenValues
    """The value that the attribute is compared with.
    Format: a list for in and not_in, a number for lt lte gt gte, true or false for exists.
    """


def _find_form(written: object) -> str | None:
    """Return the tag of the form that has exactly these members, or None; a condition that was read has its own."""
    if isinstance(written, SourceModel):
        return type(written).__name__
    return _FORMS.get(frozenset(written)) if isinstance(written, Mapping) else None


Condition = TypeAliasType(
    "Condition",
    Annotated[
        Annotated[ComparisonDoc, Tag("ComparisonDoc")]
        | Annotated[AllDoc, Tag("AllDoc")]
        | Annotated[AnyDoc, Tag("AnyDoc")]
        | Annotated[NotDoc, Tag("NotDoc")],
        Discriminator(
            _find_form,
            custom_error_type="condition",
            custom_error_message="Invalid condition. "
            "Expected {all: [...]}, {any: [...]}, {not: ...} or {attr, op, value}.",
        ),
        Field(
            title="PolicyCondition",
            description="A comparison, or a combination of conditions.",
            json_schema_extra=describe_condition,
        ),
    ],
)
_FORMS = {frozenset(list_members(form)): form.__name__ for form in (ComparisonDoc, AllDoc, AnyDoc, NotDoc)}
_CONDITION_MEMBERS = sorted(member for form in _FORMS for member in form)


class RuleDoc(SourceModel, wire_name="policy_rule", source="CONTRACT 9"):
    """A rule; without a `reason` a denial names the rule's id."""

    id: RuleId
    """Its name in decisions, used once in the policy. Format: 1-64 of A-Z a-z 0-9 _ . : -."""
    effect: Annotated[Effect, Word]
    """The decision if it is the first that matches. Format: ALLOW or DENY."""
    priority: Annotated[int, Field(ge=0, le=1_000_000)]
    """Its place: a lower number comes first, then DENY before ALLOW. Format: 0-1000000."""
    enabled: bool = True
    """Whether it is evaluated. Format: true or false, by default true."""
    mode: Annotated[Mode, Word] = Mode.ENFORCE
    """MONITOR is evaluated and reported, without effect. Format: ENFORCE or MONITOR, by default ENFORCE."""
    reason: Annotated[str, Field(max_length=500)] = ""
    """What a denial says to people; without one it names the rule. Format: at most 500 characters."""
    when: Condition
    """The condition under which it matches. Format: a condition, see docs/policies.md."""


class PolicyTest(SourceModel, source="CONTRACT 9"):
    """The expected result of the policy alone for a context; without `matched_rules` only `allowed` is compared."""

    name: DocumentName
    """Its name, used once in the policy. Format: 1-128 characters."""
    context: dict[str, object]
    """The values that the rules compare. Format: attributes, nested or with dotted names."""
    allowed: bool
    """The expected decision. Format: true or false."""
    matched_rules: Annotated[tuple[RuleId, ...], Field(strict=False)] | None = None
    """The rules that are expected to match; null compares only allowed. Format: rule ids."""


def _describe_document(schema: JsonSchemaValue) -> None:
    """Describe in JSON Schema for which types of target a `target_id` is named, with an example."""
    schema["if"] = {"properties": {"target_type": {"const": TargetType.TENANT_DEFAULT.value}}}
    schema["then"] = {"properties": {"target_id": {"type": "null"}}}
    schema["else"] = {"properties": {"target_id": {"type": "string"}}, "required": ["target_id"]}
    rule = {"id": "trusted", "effect": "ALLOW", "priority": 20, "when": COMBINATION}
    head = {"name": "Minting by verified issuers", "category": "MINT", "target_type": "TENANT_DEFAULT"}
    schema["examples"] = [{**head, "default_effect": "DENY", "rules": [rule]}]


class Document(SourceModel, wire_name="policy_document", source="CONTRACT 9"):
    """A complete policy. The service sets `version` and `status`, which are not part of its meaning."""

    model_config = ConfigDict(json_schema_extra=_describe_document)

    name: DocumentName
    """Its name, for people. Format: 1-128 characters."""
    category: Annotated[Category, Word]
    """The action that it decides. Format: MINT, VERIFY or BUNDLE_EXPORT."""
    target_type: Annotated[TargetType, Word]
    """The type of its target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."""
    target_id: Uuid | None = None
    """The issuer or profile; none for TENANT_DEFAULT. Format: UUID, 36 characters."""
    version: Annotated[int, Field(ge=1)] | None = None
    """The number of the version; the service sets it, and ignores it here. Format: from 1."""
    status: Literal["DRAFT", "SHADOW", "ACTIVE", "ARCHIVED"] | None = None
    """The status; the service sets it, and ignores it here. Format: DRAFT, SHADOW, ACTIVE or ARCHIVED."""
    mode: Annotated[Mode, Word] = Mode.ENFORCE
    """MONITOR is evaluated and reported, without effect. Format: ENFORCE or MONITOR, by default ENFORCE."""
    default_effect: Annotated[Effect, Word]
    """Its effect if no rule matches. Format: ALLOW or DENY."""
    rules: Annotated[tuple[RuleDoc, ...], Field(min_length=1, max_length=MAX_RULES, strict=False)]
    """Its rules, each with a different id. Format: 1-1000."""
    tests: Annotated[tuple[PolicyTest, ...], Field(min_length=1, max_length=MAX_TESTS, strict=False)] | None = None
    """Its tests: the expected decisions of this policy alone. Format: 1-1000."""

    @model_validator(mode="after")
    def _names_a_target(self) -> Document:
        if (self.target_type is TargetType.TENANT_DEFAULT) != (self.target_id is None):
            raise ValueError(
                "A target_id is named for an ISSUER or a VERIFICATION_PROFILE, and not for TENANT_DEFAULT."
            )
        return self

    @classmethod
    def read(cls, raw: object) -> Document:
        """Validate a document from JSON or TOML values.

        Raises:
            ValidationFailed: the document is too large, too deep, or of the wrong shape; every error has its JSON
                Pointer.
        """
        require_bounded(raw)
        try:
            document = cls.model_validate(raw)
        except ValidationError as faults:
            raise _to_validation_failed(faults) from None
        if len(document.canonical) > MAX_DOCUMENT_BYTES:
            raise ValidationFailed.of(
                "", "too_large", f"A policy has at most {MAX_DOCUMENT_BYTES:,} bytes (canonical JSON)."
            )
        _require_unique_names(document)
        return document

    @cached_property
    def canonical(self) -> bytes:
        """The RFC 8785 JSON of the content, with explicit defaults, without `version` and `status`."""
        return canonical(self.content())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of `canonical`, 64 hex digits."""
        return sha256_hex(self.canonical)

    def content(self) -> dict[str, object]:
        """Return the content as JSON values; a condition has only the members of its form."""
        return self.model_dump(mode="json", by_alias=True, exclude={"version", "status"}, exclude_none=True)


def _require_unique_names(document: Document) -> None:
    """Reject duplicate rule ids and test names."""
    listed = [("rules", "id", [rule.id for rule in document.rules])]
    listed.append(("tests", "name", [test.name for test in document.tests or ()]))
    faults = [
        FieldError(f"/{part}/{index}/{key}", "not_unique", f"{names[index]!r} is used twice; each {key} is used once.")
        for part, key, names in listed
        for index in _repeated_indexes(names)
    ]
    if faults:
        raise invalid_policy(faults)


def _repeated_indexes(names: list[str]) -> Iterator[int]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield index
        seen.add(name)


def _to_validation_failed(faults: ValidationError) -> ValidationFailed:
    listed = faults.errors(include_url=False)
    errors = [_error_with_suggestion(fault) for fault in listed[:MAX_SUGGESTIONS]] + [
        _to_field_error(fault) for fault in listed[MAX_SUGGESTIONS:]
    ]
    places = {fault.field for fault in errors}
    too_long = {fault.field for fault in errors if fault.code == "too_long"}
    # Pydantic also reports a list with an invalid member as empty, and one that is too long as no value: omit both.
    return invalid_policy(
        [
            fault
            for fault in errors
            if not (fault.code == "too_short" and any(place.startswith(fault.field + "/") for place in places))
            and not (fault.code == "value_type" and fault.field in too_long)
        ]
    )


def _error_with_suggestion(fault: ErrorDetails) -> FieldError:
    """Convert a pydantic error, with a suggestion for a misspelt word."""
    fault = _name_unknown_member(fault)
    plain = _to_field_error(fault)
    word, known = fault["input"], _KNOWN_WORDS.findall(plain.message)
    if fault["type"] == "extra_forbidden":
        close = find_nearest(str(fault["loc"][-1]), _member_names(fault["loc"][:-1]))
        return FieldError(plain.field, plain.code, describe_unknown("member", close))
    close = find_nearest(word, known) if isinstance(word, str) and fault["type"] in _SUGGESTED_TYPES else None
    return FieldError(plain.field, plain.code, f"{plain.message}; did you mean {close}?") if close else plain


def _name_unknown_member(fault: ErrorDetails) -> ErrorDetails:
    """Return the error about a condition of no form at its first member that no form has, if there is one."""
    members = fault["input"] if fault["type"] == "condition" and isinstance(fault["input"], Mapping) else {}
    unknown = next((str(name) for name in members if name not in _CONDITION_MEMBERS), None)
    if unknown is None:
        return fault
    return {**fault, "type": "extra_forbidden", "loc": (*fault["loc"], unknown)}


def _to_field_error(fault: ErrorDetails) -> FieldError:
    """Convert a pydantic error. Each member of a union reports its own error; the pointer ends where the document
    does.
    """
    *before, last = ("", *fault["loc"])  # a tag is never the last
    parts = [*(part for part in before if part not in _FORMS.values()), last][1:]
    code, message = fault["type"], fault["msg"]
    if "value" in parts[:-1]:
        parts = parts[: parts.index("value") + 1]
        if code == "too_long":
            message = f"A list has at most {MAX_VALUES:,} values."
        else:
            code = "value_type"
            message = "A value is a text, a number, true, false, or a list of them that is not empty."
    elif code == "string_pattern_mismatch":
        message = explain_form(fault["ctx"]["pattern"])
    elif code == "extra_forbidden":
        message = describe_unknown("member", None)
    elif code == "tuple_type":
        message = "This is not a list."
    elif code == "too_short":
        message = "This list must not be empty: omit it, or add an element."
    return FieldError(json_pointer(*parts), code, message.removeprefix(_OWN_PREFIX))


def _member_names(place: tuple[int | str, ...]) -> list[str]:
    """Return the allowed member names of the part of a document at `place`."""
    if len(place) > 2:
        return _CONDITION_MEMBERS
    if not place:
        return list_members(Document)
    return list_members(PolicyTest if place[0] == "tests" else RuleDoc)


def invalid_policy(faults: list[FieldError], *, count: int = 0) -> ValidationFailed:
    """Build the error for an invalid policy from its first errors, each once; `count` is the number of all errors."""
    apart = list({(fault.field, fault.code): fault for fault in faults}.values())
    total, listed = max(len(apart), count), apart[:MAX_REPORTED_ERRORS]
    more = f" (and {total - 1:,} more)" if total > 1 else ""
    return ValidationFailed(apart[0].append_to("The policy is not valid") + more, listed, more=total - len(listed))
