"""The filters of each list, by name and type, so that an editor completes them; a test compares them with the routes.

`since` is inclusive and `until` exclusive. Both are times: aware datetimes, dates (their beginning, UTC), or text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import NoneType
from typing import Final, Literal, TypedDict, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel

from attestlab.client import arguments
from attestlab.client.arguments import When
from attestlab.client.json_values import encode_parameter
from attestlab.core.errors import ValidationFailed
from attestlab.core.suggestions import find_nearest
from attestlab.web.paging import OffsetPageQuery
from attestlab.web.validation import validate_parameters

OTHER_NAMES = {"from": "since", "from_": "since", "to": "until", "list_": "list"}  # on the wire, and words of Python
_PAGE_NAMES = OffsetPageQuery.model_fields
_KINDS: Final[Mapping[type, str]] = {  # the first that a filter takes names it
    datetime: "a time, such as '2026-11-02T09:00Z'",
    UUID: "an id",
    bool: "True or False",
    int: "a whole number",
    str: "a text",
}

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


class AgentFilterArgs(TypedDict, total=False):
    """Filters of agents: `q` is a text in name or description, in any case."""

    status: Literal["active", "suspended", "revoked"] | None
    agent_type: Literal["orchestrator", "worker", "inference", "pipeline", "service", "bot", "llm"] | None
    owner_user_id: UUID | str | None
    parent_agent_id: UUID | str | None
    q: str | None


class AgentReviewFilterArgs(TypedDict, total=False):
    """Filters of the review of agents."""

    finding: Literal["ownerless", "unused_30d", "no_expiry", "wildcard", "key_over_90d", "expiring_7d"] | None
    agent_type: Literal["orchestrator", "worker", "inference", "pipeline", "service", "bot", "llm"] | None
    owner_user_id: UUID | str | None


class AgentSessionFilterArgs(TypedDict, total=False):
    """Filters of agents' sessions."""

    agent_id: UUID | str | None
    status: Literal["active", "expired", "terminated"] | None


class SessionFilterArgs(TypedDict, total=False):
    """Filters of people's sessions: of one person, or of everyone."""

    user_id: UUID | str | None
    everyone: bool


class ComplianceFilterArgs(TypedDict, total=False):
    """Filters of compliance checks."""

    entity_type: Literal["agent", "issuer", "tenant"] | None
    entity_id: UUID | str | None
    regulation: Literal["baseline", "SOC2", "ISO27001", "GDPR", "HIPAA", "EU_AI_ACT"] | None
    status: Literal["passed", "warning", "failed"] | None


class VoteRequestFilterArgs(TypedDict, total=False):
    """Filters of requests for votes: `originator_agent_id` is the agent that makes the claim."""

    status: Literal["pending", "confirmed", "denied", "expired"] | None
    originator_agent_id: UUID | str | None


class RunFilterArgs(TypedDict, total=False):
    """Filters of runs: `agent_id` is the agent whose runs they are."""

    status: Literal["running", "completed", "failed", "canceled"] | None
    agent_id: UUID | str | None


class ChartFilterArgs(TypedDict, total=False):
    """Filters of the signals in a chart: texts are equal, scores are whole numbers from 0 to 100, inclusive."""

    source: str | None
    signal_type: str | None
    entity_type: str | None
    entity_id: str | None
    min_score: int | None
    max_score: int | None


class SignalFilterArgs(ChartFilterArgs, total=False):
    """Filters of signals: besides those of charts, other names of them, and the times of the occurrence."""

    signal_source: str | None
    subject_type: str | None
    subject_id: str | None
    since: When | None
    until: When | None


class CaseFilterArgs(TypedDict, total=False):
    """Filters of cases."""

    status: Literal["open", "resolved"] | None
    outcome: CaseOutcomeName | None
    entity_type: str | None
    entity_id: str | None
    assignee_id: UUID | str | None
    linked_type: str | None
    linked_id: str | None


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


class ReceiptTypeFilterArgs(TypedDict, total=False):
    """Filters of receipt types; `versions` is `newest` of each name by default."""

    status: Literal["active", "deprecated"] | None
    versions: Literal["newest", "all"] | None


class ReceiptFilterArgs(TypedDict, total=False):
    """Filters of receipts: times are those of their mints, `subject` matches exactly."""

    receipt_type: str | None
    issuer_id: UUID | str | None
    status: Literal["ACTIVE", "REVOKED"] | None
    subject: str | None
    since: When | None
    until: When | None


class InboxFilterArgs(TypedDict, total=False):
    """The filter of an inbox; without it the list has what is UNREAD."""

    read_state: Literal["UNREAD", "ALL", "READ", "ARCHIVED"] | None


class ProtectionFilterArgs(TypedDict, total=False):
    """Filters of protections; each matches exactly."""

    visibility: Literal["public", "unlisted", "private"] | None
    category: str | None


class ViewFilterArgs(TypedDict, total=False):
    """The filter of saved views."""

    page: Literal["risk", "policy", "log", "issuers", "agents", "usage", "access"] | None


class AnnotationFilterArgs(TypedDict, total=False):
    """The period that annotations overlap."""

    since: When | None
    until: When | None


def read_filters(query: type[BaseModel], filters: Mapping[str, object]) -> dict[str, object]:
    """Read filters as a person writes them, and check them as the service does; returns the parameters of its list.

    Args:
        query: the model of these parameters.
        filters: by the names of the HTTP interface, or those of `OTHER_NAMES`; times are text or dates too, and an
            object stands for its id.

    Raises:
        ValidationFailed: there is no such filter, it does not take this value, or a range ends before it begins.
    """
    wire = (field.alias or name for name, field in query.model_fields.items())
    asked = name_filters(filters, [OTHER_NAMES.get(name, name) for name in wire if name not in _PAGE_NAMES])
    since, until = asked.pop("since", None), asked.pop("until", None)
    period = arguments.read_period(since, until)  # type: ignore[arg-type]  # it checks the types
    values = {name: getattr(value, "id", value) for name, value in {**asked, **period}.items() if value is not None}
    validate_parameters(query, {name: encode_parameter(name, value) for name, value in values.items()})
    return values


def name_filters(filters: Mapping[str, object], known: Collection[str]) -> dict[str, object]:
    """Return filters by their names in Python; the values may still be anything.

    Raises:
        ValidationFailed: one is none of the known.
    """
    named = {OTHER_NAMES.get(name, name): value for name, value in filters.items()}
    for name in [each for each in named if each not in known]:
        nearest = find_nearest(name, known)
        remedy = f"Did you mean {nearest}?" if nearest else f"It has {', '.join(known) or 'none'}."
        raise ValidationFailed(f"{arguments.show(name)} is no filter of this list. {remedy}")
    return named


def describe_filters(verb: Callable[..., object]) -> dict[str, str]:
    """Describe the filters of a `list` by its annotations: each name, and what it takes."""
    (named,) = get_args(get_type_hints(verb)["filters"]) or (NoFilterArgs,)
    return {name: _describe_values(kind) for name, kind in get_type_hints(named).items()}


def _describe_values(kind: object) -> str:
    """Describe what a filter takes: its words, or the kind of its values."""
    kinds = [each for each in get_args(kind) if each is not NoneType]
    words = [repr(word) for each in kinds if get_origin(each) is Literal for word in get_args(each)]
    if words or get_origin(kind) is Literal:
        return f"one of {', '.join(words)}"
    return next(text for known, text in _KINDS.items() if known in kinds or known is kind)
