"""The values of enumerated columns in their order, for rows of which there are none: Arrow sends values with rows only.

A test compares them with the views of the lake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from attestlab.agents.compliance.rules import CheckStatus, Control, EntityKind, Regulation, Severity
from attestlab.agents.observability.rules import AgentEventStatus
from attestlab.agents.rules import AgentStatus, AgentType
from attestlab.agents.runs.rules import RunStatus, StepStatus
from attestlab.agents.witnessing.rules import VoteRequestStatus, VoteVerdict
from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.attestations.rules import Status, Verdict
from attestlab.billing.rules import InvoiceStatus
from attestlab.consumer.inbox.rules import DeliveryState
from attestlab.issuers.rules import Custody, IssuerStatus, KeyStatus, RiskRating, TrustTier
from attestlab.log.entries import EntryType
from attestlab.policy.rules import PolicyStatus
from attestlab.risk.rules import CaseOutcome, CaseStatus

_ENUMS: Mapping[str, Mapping[str, Iterable[type[StrEnum]]]] = {
    "agent_events": {"status": [AgentEventStatus]},
    "agents": {"status": [AgentStatus], "agent_type": [AgentType], "custody": [Custody]},
    "attestations": {
        "status": [Status],
        "snapshot_status": [IssuerStatus],
        "snapshot_trust_tier": [TrustTier],
        "snapshot_risk_rating": [RiskRating],
    },
    "compliance_findings": {
        "entity_type": [EntityKind],
        "regulation": [Regulation],
        "check_status": [CheckStatus],
        "control": [Control],
        "severity": [Severity],
    },
    "cases": {"status": [CaseStatus], "outcome": [CaseOutcome]},
    "inbox_items": {"delivery_state": [DeliveryState]},
    "invoices": {"status": [InvoiceStatus]},
    "issuers": {"status": [IssuerStatus], "trust_tier": [TrustTier], "risk_rating": [RiskRating]},
    "log_entries": {"type": [EntryType], "status": [Status, IssuerStatus, KeyStatus, AgentStatus, RunStatus]},
    "policies": {"status": [PolicyStatus]},
    "receipts": {
        "status": [ReceiptStatus],
        "snapshot_status": [IssuerStatus],
        "snapshot_trust_tier": [TrustTier],
        "snapshot_risk_rating": [RiskRating],
    },
    "run_steps": {"status": [StepStatus], "run_status": [RunStatus]},
    "verifications": {"verdict": [Verdict]},
    "witness_votes": {"verdict": [VoteVerdict], "request_status": [VoteRequestStatus]},
}


def list_categories(dataset: str | None) -> dict[str, Sequence[str]]:
    """List the values of each enumerated column of a data set."""
    enums = _ENUMS.get(dataset or "", {})
    return {
        column: list(dict.fromkeys(value.value for kind in kinds for value in kind)) for column, kinds in enums.items()
    }
