"""Wire models of protections and of the public portfolio (CONTRACT 11.3; SPEC, Consumer portfolio entry)."""

from datetime import date
from typing import Annotated

from pydantic import Field, StrictInt, StringConstraints

from attestlab.attestations.rules import Status
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, ReasonText, SecretText, Sha256Hex, Uuid, omit_default, one_of
from attestlab.protections.rules import (
    CATEGORY_FORM,
    CONTENT_TYPE_FORM,
    MAX_CONTENT_TYPE_LENGTH,
    MAX_DAYS,
    MAX_DESCRIPTION_LENGTH,
    MAX_FILE_NAME_LENGTH,
    MAX_FILE_SIZE,
    ProtectionSource,
    Visibility,
)
from attestlab.web.paging import Page, PageQuery

ProtectionTitle = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Description = Annotated[str, StringConstraints(max_length=MAX_DESCRIPTION_LENGTH)]
ProtectionCategory = Annotated[str, StringConstraints(pattern=CATEGORY_FORM)]
ProtectedContentType = Annotated[str, StringConstraints(pattern=CONTENT_TYPE_FORM, max_length=MAX_CONTENT_TYPE_LENGTH)]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_FILE_NAME_LENGTH)]
FileSize = Annotated[StrictInt, Field(ge=0, le=MAX_FILE_SIZE)]
ProtectionVisibilityName = Annotated[str, one_of(Visibility)]
SourceName = Annotated[str, one_of(ProtectionSource)]


class ProtectionIn(In, source="CONTRACT 11.3"):
    """Content to protect by its hash, or a received credential to show."""

    content_hash: Sha256Hex | None = None
    """Hash of the content, which itself never leaves the device. Format: SHA-256, 64 hex digits of either case."""
    attestation_id: Uuid | None = None
    """Instead of a hash: a received credential of the inbox. Format: UUID, 36 characters."""
    title: ProtectionTitle
    """What the owner calls it. Format: one line, 1-200 characters."""
    description: Description = ""
    """What the owner says about it. Format: text, at most 2000 characters."""
    content_type: ProtectedContentType = "other"
    """What it is. Format: image, video, audio, document or other, or a MIME type of at most 127 characters."""
    category: ProtectionCategory = "general"
    """The owner's own grouping. Format: 1-64 of a-z 0-9 _ -."""
    file_name: FileName | None = None
    """The file's name, which only the owner sees. Format: text, 1-255 characters."""
    file_size: FileSize | None = None
    """The file's size, which only the owner sees. Format: bytes, from 0."""
    visibility: Visibility = Visibility.PRIVATE
    """Who can see it. Format: public, unlisted or private."""


class ProtectionPatch(In, wire_name="protection_update", source="CONTRACT 11.3"):
    """Changes of a protection; a field that is left out stays as it is."""

    title: ProtectionTitle = Field(default="", json_schema_extra=omit_default)
    """What the owner calls it. Format: one line, 1-200 characters."""
    description: Description = Field(default="", json_schema_extra=omit_default)
    """What the owner says about it. Format: text, at most 2000 characters."""
    category: ProtectionCategory = Field(default="", json_schema_extra=omit_default)
    """The owner's own grouping. Format: 1-64 of a-z 0-9 _ -."""
    visibility: Visibility = Field(default=Visibility.PRIVATE, json_schema_extra=omit_default)
    """Who can see it. Format: public, unlisted or private."""


class ProtectionRevocationIn(In, wire_name="protection_revocation_input", source="CONTRACT 11.3"):
    """Reason for the revocation of a protection; the log contains only a commitment to it."""

    reason: Annotated[ReasonText, StringConstraints(max_length=1000)]
    """Why it is revoked; the log contains only a commitment to it. Format: text, 1-1000 characters."""


class ProtectionsQuery(PageQuery, Filters, wire_name="protections_query", source="CONTRACT 11.3"):
    """Filters of the owner's list of protections."""

    visibility: Annotated[Visibility | None, Where("visibility")] = None
    """Only those that these people can see. Format: public, unlisted or private."""
    category: Annotated[ProtectionCategory | None, Where("category")] = None
    """Only those of this category. Format: 1-64 of a-z 0-9 _ -."""


class VerificationDaysQuery(In, wire_name="verification_days_query", source="CONTRACT 11.3"):
    """How many days of verifications to return."""

    days: Annotated[int, Field(ge=1, le=MAX_DAYS), NO_CONDITION] = 30
    """The number of days, today included, by UTC. Format: 1-365, by default 30."""


class PortfolioEntryOut(Out, source="SPEC Consumer portfolio entry"):
    """A protection as everyone sees it in the portfolio of its owner."""

    id: Uuid
    """The protection. Format: UUID, 36 characters."""
    attestation_id: Uuid
    """Its attestation, which anyone can verify. Format: UUID, 36 characters."""
    title: str
    """What the owner calls it. Format: one line, 1-200 characters."""
    description: str
    """What the owner says about it. Format: text, at most 2000 characters."""
    content_type: str
    """What it is. Format: image, video, audio, document or other, or a MIME type."""
    category: str
    """The owner's own grouping. Format: 1-64 of a-z 0-9 _ -."""
    verification_count: int
    """How often it was verified with the verdict VALID, at most 5 seconds late. Format: from 0."""
    created_at: Moment
    """When it was protected. Format: RFC 3339 date-time, UTC, milliseconds."""
    content_hash: str | None
    """Hash of the content; null if a received credential names none. Format: SHA-256, 64 lowercase hex digits.
    Source: CONTRACT 11.3.
    """
    attestation_status: Status
    """The status of its attestation. Format: VALID, REVOKED, EXPIRED or SUPERSEDED. Source: CONTRACT 11.3."""


class ProtectionOut(PortfolioEntryOut, source="CONTRACT 11.3"):
    """A protection as its owner sees it."""

    file_name: str | None
    """The file's name. Format: text, 1-255 characters."""
    file_size: int | None
    """The file's size. Format: bytes, from 0."""
    visibility: ProtectionVisibilityName
    """Who can see it. Format: public, unlisted or private."""
    source: SourceName
    """Where its attestation comes from: the owner's content, or their inbox. Format: own or received."""
    verify_url: str
    """The public page, which shows the verdict to anyone. Format: URL."""
    share_url: SecretText
    """The link that also shows the claims; who has it can pass it on. Format: URL."""
    updated_at: Moment
    """When it last changed. Format: RFC 3339 date-time, UTC, milliseconds."""


class ProtectionPage(Page[ProtectionOut], wire_name="protection_page", source="CONTRACT 11.3"):
    """One page of the owner's protections."""

    total: int
    """The number of all that match. Format: from 0."""


class VerificationDayOut(Out, source="CONTRACT 11.3"):
    """Verifications of a protection on one day."""

    day: date
    """The UTC day. Format: YYYY-MM-DD."""
    valid: int
    """How many had the verdict VALID. Format: from 0."""
    other: int
    """How many had another verdict. Format: from 0."""


class VerificationDaysOut(Out, source="CONTRACT 11.3"):
    """Verifications of a protection by day."""

    total: int
    """How many there were on these days, of any verdict. Format: from 0."""
    items: list[VerificationDayOut]
    """Each day, also one without a verification. Format: newest first."""


class PortfolioUserOut(Out, source="SPEC Consumer portfolio entry"):
    """The owner of a portfolio."""

    name: str
    """Their name. Format: one line, 1-200 characters."""
    username: str
    """Their username. Format: 3-30 of a-z 0-9 _ -."""
    bio: str | None
    """What they say about themselves. Format: text, at most 500 characters. Source: CONTRACT 11.3."""


class PortfolioOut(Out, source="SPEC Consumer portfolio entry"):
    """The public portfolio of a consumer."""

    user: PortfolioUserOut
    """Its owner."""
    protections: list[PortfolioEntryOut]
    """The public protections of this page. Format: newest first."""
    next_cursor: str | None
    """The cursor of the next page; null at the end. Format: opaque. Source: CONTRACT 11.3."""
