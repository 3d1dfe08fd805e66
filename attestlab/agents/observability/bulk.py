"""Many events of one request: NDJSON as signals have it, with the same limits and the same way to continue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from attestlab.agents.observability.members import MEMBERS
from attestlab.agents.observability.reporting import Lookup, NewAgentEvent, RememberedAgents, read_event
from attestlab.agents.observability.service import AgentEvents
from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Caller
from attestlab.risk.signals.bulk import BulkOptions, BulkRecording
from attestlab.risk.signals.ndjson import Lines, parse_object
from attestlab.web.validation import validate_body


class AgentEventRecording(BulkRecording[NewAgentEvent]):
    """Records the events of one request in slices."""

    def __init__(self, events: AgentEvents) -> None:
        super().__init__(storage=events.storage, clock=events.clock)
        self._events = events

    def read_lines(self, text: bytes, *, began_at: datetime, caller: Caller) -> Lines[NewAgentEvent]:
        """Return the lines of a request, to be parsed batch by batch."""
        look_up = RememberedAgents(self.storage, caller.tenant_id)
        return Lines(text, partial(_parse_line, caller=caller, look_up=look_up, now=began_at), known=MEMBERS)

    def measure_work(self, row: NewAgentEvent) -> int:
        """Return how much work the writer has with an event, which has neither links nor a case: one."""
        return 1

    def record(self, tx: Transaction, rows: Sequence[NewAgentEvent], options: BulkOptions, caller: Caller) -> None:
        """Record the events of a slice that no process has recorded."""
        self._events.record(tx, rows, caller=caller)


def _parse_line(line: bytes, *, caller: Caller, look_up: Lookup, now: datetime) -> NewAgentEvent:
    """Parse an event.

    Raises:
        ValidationFailed: the line is not strict JSON or no event, or not about an agent that the caller reports of.
    """
    body = validate_body(AgentEventIn, line, parse_object(line))
    try:
        return read_event(body, caller=caller, look_up=look_up, now=now)
    except (NotFound, PermissionDenied) as error:
        raise ValidationFailed(error.message) from None
