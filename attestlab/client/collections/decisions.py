"""`lab.decisions`: what policies decided, newest first, read by one query; an explanation is asked for by id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack, overload

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import DecisionFilterArgs, name_filters
from attestlab.client.handles.decisions import (
    DecisionHandle,
    ExplanationHandle,
    RecordedDecisionHandle,
    explain_decision,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import ValidationFailed

_FIELDS = "id AS decision_id, created_at, action, target_type, target_id, allowed, matched_rules"
_CONDITIONS = {
    "since": "created_at >= $since::TIMESTAMPTZ",
    "until": "created_at < $until::TIMESTAMPTZ",
    "action": "action = $action",
    "allowed": "allowed = $allowed",
}


@name_in_examples("decisions")
class DecisionCollection(DatasetCollection[RecordedDecisionHandle]):
    """The tenant's policy decisions, newest first; `lab.decisions["dec_..."]` explains one."""

    noun = "a decision"
    dataset = "decisions"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, RecordedDecisionHandle)

    def list(
        self, *, limit: int | None = None, **filters: Unpack[DecisionFilterArgs]
    ) -> Listing[RecordedDecisionHandle]:
        """List the decisions as they were recorded, newest first, by one query; `explain` says why.

        Args:
            limit: how many at most; all by default.
            filters: `since` and `until` (the end is left out), `action` such as `MINT`, and `allowed`.

        Returns:
            The decisions, each with the rules that matched, the deciding one first; they are read when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> denied = lab.decisions.list(allowed=False, until="2026-11-02", limit=2)
        >>> [each.matched_rule for each in denied]
        ['old-key', 'old-key']
        """
        values = _read_filters(filters)
        where = " AND ".join(_CONDITIONS[name] for name in values) or "true"
        bound = "" if limit is None else f" LIMIT {arguments.read_count(limit, name='limit')}"
        rows = self.sql(f"SELECT {_FIELDS} FROM this WHERE {where} ORDER BY seq DESC{bound}", values or None)
        return self._list_read(lambda: rows, limit)

    @overload  # type: ignore[override]  # an id is explained, a place in the list is not
    def __getitem__(self, which: slice) -> Records[RecordedDecisionHandle]: ...

    @overload
    def __getitem__(self, which: int) -> RecordedDecisionHandle: ...

    @overload
    def __getitem__(self, which: str | RecordedDecisionHandle | DecisionHandle) -> ExplanationHandle: ...

    def __getitem__(self, which: object) -> object:
        """Explain the decision with an id; a position or a slice returns recorded decisions."""
        if isinstance(which, slice) or arguments.find_whole_number(which) is not None:
            return super().__getitem__(which)
        return explain_decision(self._client, read_decision_id(which))


def read_decision_id(decision: object) -> str:
    """Read the id of a decision: its text, or the object.

    Raises:
        ValidationFailed: it is neither.
    """
    found = decision if isinstance(decision, str) else getattr(decision, "decision_id", None)
    if not isinstance(found, str):
        raise ValidationFailed(
            f"A value of type {type(decision).__name__} is not a decision. Pass it, or its id (dec_...)."
        )
    return found


def _read_filters(filters: Mapping[str, object]) -> dict[str, object]:
    """Read the filters that are not None, by their names in `_CONDITIONS`."""
    asked = name_filters(filters, _CONDITIONS)
    since, until = asked.get("since"), asked.get("until")
    period = arguments.read_period(since, until)  # type: ignore[arg-type]  # it checks the types
    asked |= {"since": period["from"], "until": period["to"]}
    if asked.get("action") is not None:
        asked["action"] = arguments.read_text(asked["action"], name="action")
    if not isinstance(asked.get("allowed"), bool | None):
        raise ValidationFailed(f"allowed is a {type(asked['allowed']).__name__}. Pass True or False.")
    return {name: value for name, value in asked.items() if value is not None}
