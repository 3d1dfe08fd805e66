"""Wire models of receipt types (CONTRACT 11.5)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, Uuid, one_of
from attestlab.receipts.types.rules import (
    MAX_DESCRIPTION_LENGTH,
    MAX_REASON_LENGTH,
    MAX_VERSION_LENGTH,
    TYPE_NAME_FORM,
    VERSION_FORM,
    TypeStatus,
)
from attestlab.web.paging import OffsetPageQuery

TypeName = Annotated[str, StringConstraints(pattern=TYPE_NAME_FORM)]
TypeVersion = Annotated[str, StringConstraints(pattern=VERSION_FORM, max_length=MAX_VERSION_LENGTH)]
TypeDisplayName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
ReceiptReason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON_LENGTH)]
TypeStatusName = Annotated[str, one_of(TypeStatus)]


class ReceiptTypeIn(In, source="CONTRACT 11.5"):
    """A receipt type, or a further version of one."""

    name: TypeName
    """The name that receipts give. Format: 1-64 of a-z 0-9 _ . -, the first a letter or digit."""
    version: TypeVersion
    """The version, higher than all that the type has. Format: Semantic Versioning 2.0.0, at most 64 characters."""
    payload_schema: dict[str, object] = Field(alias="schema")
    """What the payload of a receipt conforms to. Format: JSON Schema 2020-12 of an object, at most 64 KB and 32 deep,
    references within it alone.
    """
    display_name: TypeDisplayName | None = None
    """The name for people; the name if left out. Format: one line, 1-200 characters."""
    description: Annotated[str, StringConstraints(max_length=MAX_DESCRIPTION_LENGTH)] = ""
    """What its receipts record. Format: text, at most 2000 characters."""


class DeprecateTypeIn(In, wire_name="receipt_type_deprecation_input", source="CONTRACT 11.5"):
    """Which version to deprecate, and why."""

    version: TypeVersion | None = None
    """The version; all of them if left out. Format: Semantic Versioning 2.0.0, at most 64 characters."""
    reason: ReceiptReason | None = None
    """Why it is deprecated. Format: text, 1-1000 characters."""


class ReceiptTypesQuery(OffsetPageQuery, Filters, wire_name="receipt_types_query", source="CONTRACT 11.5"):
    """Filters of the list of receipt types."""

    status: Annotated[TypeStatus | None, Where("status")] = None
    """Only versions in this state. Format: active or deprecated."""
    versions: Annotated[Literal["newest", "all"], NO_CONDITION] = "newest"
    """Of each name the newest version, or all. Format: newest or all."""


class ReceiptTypeOut(Out, wire_name="receipt_type", source="CONTRACT 11.5"):
    """A version of a receipt type."""

    id: Uuid
    """The version. Format: UUID, 36 characters."""
    name: str
    """The name that receipts give. Format: 1-64 of a-z 0-9 _ . -."""
    display_name: str
    """The name for people. Format: 1-200 characters."""
    version: str
    """The version. Format: Semantic Versioning 2.0.0."""
    status: TypeStatusName
    """Whether receipts of it can be minted. Format: active or deprecated."""
    payload_schema: dict[str, object] = Field(serialization_alias="schema")
    """What the payload of a receipt conforms to. Format: JSON Schema 2020-12."""
    schema_hash: str
    """SHA-256 of the schema in the form of RFC 8785, which receipts sign. Format: base64url, 43 characters."""
    description: str
    """What its receipts record. Format: text, at most 2000 characters."""
    created_at: Moment
    """When it was created. Format: RFC 3339 date-time, UTC, milliseconds."""
    deprecated_at: Moment | None
    """When it was deprecated; null for an active one. Format: RFC 3339 date-time, UTC, milliseconds."""
    deprecation_reason: str | None
    """Why it was deprecated, if that was given. Format: text, 1-1000 characters."""
