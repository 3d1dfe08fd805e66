"""The filters of each list, by name and type, so that an editor completes them; a test compares them with the routes.

`since` is inclusive and `until` exclusive. Both are times: aware datetimes, dates (their beginning, UTC), or text.
"""

from __future__ import annotations

from typing import Literal, TypedDict
from uuid import UUID

from attestlab.client.arguments import When

CaseOutcomeName = Literal["fraud", "legitimate", "inconclusive"]


class NoFilterArgs(TypedDict, total=False):
    """A list without filters."""


class AttestationFilterArgs(TypedDict, total=False):
    """Filters of attestations: times are those of their creation, `document_hash` is a SHA-256 in hex."""

    issuer_id: UUID | str | None
    status: Literal["VALID", "REVOKED", "SUPERSEDED", "EXPIRED"] | None
    schema: str | None
    kid: str | None
    document_hash: str | None
    pack_id: UUID | str | None
    since: When | None
    until: When | None


class SignalFilterArgs(TypedDict, total=False):
    """Filters of signals: times are those of the occurrence, scores are whole numbers from 0 to 100, inclusive."""

    source: str | None
    signal_source: str | None
    signal_type: str | None
    entity_type: str | None
    subject_type: str | None
    entity_id: str | None
    subject_id: str | None
    min_score: int | None
    max_score: int | None
    since: When | None
    until: When | None


class CaseFilterArgs(TypedDict, total=False):
    """Filters of cases."""

    status: Literal["open", "resolved"] | None
    outcome: CaseOutcomeName | None
    entity_type: str | None
    entity_id: str | None


class ChallengeFilterArgs(TypedDict, total=False):
    """Filters of challenges."""

    subject_type: str | None
    subject_id: str | None


class ListFilterArgs(TypedDict, total=False):
    """Filters of list entries; `list_` is another name of `list`."""

    list: Literal["allow", "deny"] | None
    list_: Literal["allow", "deny"] | None
    entity_type: str | None
    entity_id: str | None


class AuditFilterArgs(TypedDict, total=False):
    """Filters of audit lines; each matches exactly."""

    actor_id: str | None
    action: str | None
    resource_type: str | None
    resource_id: str | None
    outcome: Literal["SUCCESS", "FAILURE"] | None
    since: When | None
    until: When | None


class DecisionFilterArgs(TypedDict, total=False):
    """Filters of recorded decisions; `action` is such as `MINT`."""

    since: When | None
    until: When | None
    action: str | None
    allowed: bool | None
