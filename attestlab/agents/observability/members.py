"""The members of an event as a line has them, and the rules that service and client check alike."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from attestlab.agents.observability.rules import MAX_ATTRIBUTES_BYTES
from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.agents.rules import encode_object
from attestlab.risk.rules import resolve_occurrence
from attestlab.web.validation import validate_document

REQUIRED: Final = ("agent_id", "event_type")
MEMBERS: Final = frozenset(AgentEventIn.model_fields)


def require_event(members: Mapping[str, object], now: datetime) -> None:
    """Require what the service accepts as an event of an agent that it knows.

    Raises:
        ValidationFailed: a member is missing, unknown or not acceptable; the error names it.
    """
    body = validate_document(AgentEventIn, members)
    encode_object("attributes", body.attributes or {}, MAX_ATTRIBUTES_BYTES)
    resolve_occurrence(body.occurred_at, now)
