"""The data sets as analysts query them: the SQL of each one's view over its sources, and the scope that it needs.

The types of a view never depend on its rows. A status, tier, rating or verdict is an enumeration, which Arrow has as a
dictionary and pandas as a category; its values and their order are those of the service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

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
from attestlab.lake import agent_rows, current_rows, datasets
from attestlab.lake.columns import TEXT, TIME, WHOLE, Column
from attestlab.lake.current_rows import CurrentRows
from attestlab.lake.datasets import Dataset
from attestlab.log.entries import EntryType
from attestlab.orgs.rules import Scope
from attestlab.policy.rules import PolicyStatus
from attestlab.policy.sql.compiler import literal
from attestlab.risk.rules import CaseOutcome, CaseStatus

Source = Dataset | CurrentRows


class AddedColumn(NamedTuple):
    """A column that a view adds: its SQL, and its declaration."""

    sql: str
    declaration: Column


class StatusJoin(NamedTuple):
    """What a view adds to the rows of its first source, `minted`: columns, and the join that has them."""

    columns: Mapping[str, AddedColumn]
    tables: str

    @property
    def query(self) -> str:
        """The SQL of the rows with these columns; `{name}` stands for the table of a source."""
        added = ", ".join(f"{column.sql} AS {name}" for name, column in self.columns.items())
        return f"SELECT minted.*, {added} FROM {self.tables}"


_ATTESTATION_STATUS = {
    "status": AddedColumn(
        "coalesce(ended.status, 'VALID')",
        Column(TEXT, "Its status in the log. Format: VALID, REVOKED, SUPERSEDED or EXPIRED."),
    ),
    "ended_at": AddedColumn("ended.at", Column(TIME, "When it ended. Format: UTC, microseconds.", nullable=True)),
    "ended_index": AddedColumn(
        "ended.log_index", Column(WHOLE, "The log entry of its end. Format: from 0.", nullable=True)
    ),
    "superseded_by": AddedColumn(
        "ended.superseded_by",
        Column(TEXT, "The attestation that replaced it. Format: UUID, 36 characters.", nullable=True),
    ),
}
_ATTESTATIONS = StatusJoin(
    _ATTESTATION_STATUS,
    "{attestations} AS minted LEFT JOIN (SELECT attestation_id, arg_max(ends_, ends_.log_index) AS ended "
    "FROM {ends} AS ends_ GROUP BY attestation_id) ON attestation_id = minted.id",
)
_RECEIPT_STATUS = {
    "status": AddedColumn(
        "coalesce(ended.status, 'ACTIVE')", Column(TEXT, "Its status in the log. Format: ACTIVE or REVOKED.")
    ),
    "revoked_at": AddedColumn(
        "ended.at", Column(TIME, "When it was revoked. Format: UTC, microseconds.", nullable=True)
    ),
    "status_log_index": AddedColumn(
        "ended.log_index", Column(WHOLE, "The log entry of the revocation. Format: from 0.", nullable=True)
    ),
    "redacted_at": AddedColumn(
        "redacted_at",
        Column(TIME, "When payload, subject and metadata were deleted. Format: UTC, microseconds.", nullable=True),
    ),
}
_RECEIPTS = StatusJoin(
    _RECEIPT_STATUS,
    "{receipts} AS minted LEFT JOIN (SELECT receipt_id, arg_max(ends_, ends_.log_index) AS ended "
    "FROM {receipt_ends} AS ends_ GROUP BY receipt_id) AS ends ON ends.receipt_id = minted.receipt_id "
    'LEFT JOIN (SELECT receipt_id, min("at") AS redacted_at FROM {receipt_redactions} GROUP BY receipt_id) '
    "AS redacted ON redacted.receipt_id = minted.receipt_id",
)


@dataclass(frozen=True)
class LakeView:
    """A data set that analysts query; its rows are those of its first source.

    `time` is the column that a period selects by. `enums` are the columns with enumerated values. Without a `scope`,
    every credential of a tenant may read it: the log is public.
    """

    sources: tuple[Source, ...]
    time: str
    scope: Scope | None = None
    enums: Mapping[str, Iterable[type[StrEnum]]] = field(default_factory=dict)
    joined: StatusJoin | None = None

    @property
    def name(self) -> str:
        """The name in SQL, in paths and in Python."""
        return self.sources[0].name

    @property
    def declarations(self) -> dict[str, Column]:
        """The columns with their meanings, without those of a decision's context."""
        added = self.joined.columns if self.joined else {}
        return self.sources[0].declarations | {name: column.declaration for name, column in added.items()}

    @property
    def key(self) -> str:
        """The column that orders rows of the same time."""
        source = self.sources[0]
        if isinstance(source, Dataset):
            return source.number
        return "id" if "id" in source.columns else "resource"

    def select(self, tables: Mapping[str, str], attributes: Sequence[str] = ()) -> str:
        """Return the SQL of the view; `tables` are the tables of its sources by name.

        `attributes` are SQL for the columns of a decision's context.
        """
        if attributes:
            return f"SELECT {', '.join([*datasets.DECISIONS.columns, *attributes])} FROM {tables[self.name]}"
        rows = f"({self.joined.query.format_map(tables)})" if self.joined else tables[self.name]
        typed = ", ".join(f"{name}::{_enum_type(kinds)} AS {name}" for name, kinds in self.enums.items())
        query = f"SELECT * REPLACE ({typed}) FROM {rows}" if typed else f"SELECT * FROM {rows}"
        source = self.sources[0]
        return source.select_with_alias(f"({query})") if isinstance(source, Dataset) else query


def _enum_type(kinds: Iterable[type[StrEnum]]) -> str:
    values = dict.fromkeys(value.value for kind in kinds for value in kind)
    return f"ENUM({', '.join(map(literal, values))})"


DECISIONS = LakeView((datasets.DECISIONS,), "created_at", Scope.POLICIES_READ)
ALL = (
    DECISIONS,
    LakeView(
        (datasets.ATTESTATIONS, datasets.ENDS),
        "created_at",
        Scope.ATTESTATIONS_READ,
        {
            "status": [Status],
            "snapshot_status": [IssuerStatus],
            "snapshot_trust_tier": [TrustTier],
            "snapshot_risk_rating": [RiskRating],
        },
        _ATTESTATIONS,
    ),
    LakeView(
        (datasets.RECEIPTS, datasets.RECEIPT_ENDS, datasets.RECEIPT_REDACTIONS),
        "issued_at",
        Scope.ATTESTATIONS_READ,
        {
            "status": [ReceiptStatus],
            "snapshot_status": [IssuerStatus],
            "snapshot_trust_tier": [TrustTier],
            "snapshot_risk_rating": [RiskRating],
        },
        _RECEIPTS,
    ),
    LakeView(
        (datasets.LOG_ENTRIES,),
        "logged_at",
        enums={"type": [EntryType], "status": [Status, IssuerStatus, KeyStatus, AgentStatus, RunStatus]},
    ),
    LakeView((datasets.AUDIT,), "timestamp", Scope.AUDIT_READ),
    LakeView((datasets.SIGNALS,), "occurred_at", Scope.RISK_READ),
    LakeView((datasets.RAW_EVENTS,), "occurred_at", Scope.RISK_READ),
    LakeView((datasets.VERIFICATIONS,), "verified_at", Scope.ATTESTATIONS_READ, {"verdict": [Verdict]}),
    LakeView((datasets.DELIVERIES,), "attempted_at", Scope.WEBHOOKS_READ),
    LakeView(
        (current_rows.ISSUERS,),
        "created_at",
        Scope.ISSUERS_READ,
        {"status": [IssuerStatus], "trust_tier": [TrustTier], "risk_rating": [RiskRating]},
    ),
    LakeView((current_rows.POLICIES,), "created_at", Scope.POLICIES_READ, {"status": [PolicyStatus]}),
    LakeView((current_rows.CASES,), "opened_at", Scope.RISK_READ, {"status": [CaseStatus], "outcome": [CaseOutcome]}),
    LakeView((current_rows.CHALLENGES,), "created_at", Scope.RISK_READ),
    LakeView((current_rows.INBOX_ITEMS,), "created_at", Scope.ATTESTATIONS_READ, {"delivery_state": [DeliveryState]}),
    LakeView((current_rows.USAGE,), "day", Scope.BILLING_READ),
    LakeView((current_rows.INVOICES,), "created_at", Scope.BILLING_READ, {"status": [InvoiceStatus]}),
    LakeView(
        (agent_rows.AGENTS,),
        "created_at",
        Scope.AGENTS_READ,
        {"status": [AgentStatus], "agent_type": [AgentType], "custody": [Custody]},
    ),
    LakeView((agent_rows.AGENT_SESSIONS,), "created_at", Scope.AGENTS_READ),
    LakeView((agent_rows.DELEGATIONS,), "created_at", Scope.AGENTS_READ),
    LakeView((datasets.AGENT_EVENTS,), "occurred_at", Scope.AGENTS_READ, {"status": [AgentEventStatus]}),
    LakeView(
        (agent_rows.WITNESS_VOTES,),
        "created_at",
        Scope.AGENTS_READ,
        {"verdict": [VoteVerdict], "request_status": [VoteRequestStatus]},
    ),
    LakeView(
        (agent_rows.RUN_STEPS,),
        "recorded_at",
        Scope.AGENTS_READ,
        {"status": [StepStatus], "run_status": [RunStatus]},
    ),
    LakeView(
        (agent_rows.COMPLIANCE_FINDINGS,),
        "created_at",
        Scope.AUDIT_READ,
        {
            "entity_type": [EntityKind],
            "regulation": [Regulation],
            "check_status": [CheckStatus],
            "control": [Control],
            "severity": [Severity],
        },
    ),
)
BY_NAME = {view.name: view for view in ALL}
