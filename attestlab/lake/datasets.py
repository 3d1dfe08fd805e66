"""The data sets: the sequence that numbers each one's facts, and their columns.

A fact never changes, so it is exported once. A later status of an attestation is an entry of the log and another fact
(`ends`); the view joins both. Ids are texts (Spark rejects Parquet's UUID), times are UTC. Loaded with pyarrow by
the first export or query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from uuid import UUID

import pyarrow as pa
from sqlalchemy import Connection

from attestlab.lake import activity_columns, context_columns
from attestlab.lake.columns import (
    AT_THE_MINT,
    BOOL,
    DECISION_ID,
    KEY_CREATED_AT,
    NUMBER,
    SIGNER,
    TEXT,
    TEXTS,
    TIME,
    WHOLE,
    Column,
    list_types,
)
from attestlab.lake.facts import (
    Fact,
    read_agent_events,
    read_audit,
    read_decisions,
    read_deliveries,
    read_ends,
    read_entries,
    read_mints,
    read_receipt_ends,
    read_receipts,
    read_redactions,
    read_risk_events,
    read_signals,
    read_verifications,
)
from attestlab.lake.store import Numbering


@dataclass(frozen=True)
class Dataset:
    """Facts of one type. The columns begin with the fact's number; parts are sorted by `time`.

    `read` returns the facts of a range, all of them or one tenant's; `typed` adds one column per context attribute to
    `columns`. The parts are in `folder`, which is `name` unless the data set was renamed. `time_alias` is a second name
    of `time` in views, because `at` is a reserved word of SQL; the parts have the first alone.
    """

    name: str
    numbering: Numbering
    declarations: dict[str, Column]
    time: str
    read: Callable[[Connection, int, int, UUID | None], Iterator[Fact]]
    typed: bool = False
    time_alias: str | None = None
    older_name: str | None = None

    @cached_property
    def columns(self) -> dict[str, pa.DataType]:
        """The types of the columns in Arrow."""
        return list_types(self.declarations)

    @property
    def folder(self) -> str:
        """The name of the folder with the parts."""
        return self.older_name or self.name

    def select_with_alias(self, rows: str) -> str:
        """Return SQL for the rows of a table or query, with the time by both of its names."""
        alias = f', "{self.time}" AS {self.time_alias}' if self.time_alias else ""
        return f"SELECT *{alias} FROM {rows}"

    @property
    def is_public(self) -> bool:
        """Whether every caller may see every fact."""
        return "tenant_id" not in self.columns

    @property
    def by_tenant(self) -> bool:
        """Whether each tenant has a separate sequence, and so a separate folder."""
        return self.numbering is Numbering.TRAIL

    @property
    def number(self) -> str:
        """The column with the fact's number."""
        return next(iter(self.columns))

    @property
    def order(self) -> list[str]:
        """The columns that sort a part: tenant, time and number."""
        return [*([] if self.is_public else ["tenant_id"]), self.time, self.number]

    def table(self, facts: Iterable[Fact]) -> pa.Table:
        """Return facts as a table, sorted by tenant, time and number."""
        rows = list(facts)
        fields = {**self.columns, **context_columns.column_types(set().union(*rows))}
        columns = {name: [row.get(name) for row in rows] for name in fields}
        table = pa.table(columns, schema=pa.schema(list(fields.items())))
        return table.sort_by([(name, "ascending") for name in self.order])


LOG_ENTRIES = Dataset(
    "log_entries",
    Numbering.LOG,
    {
        "log_index": Column(WHOLE, "Its index in the log. Format: from 0."),
        "at": Column(TIME, "The time in the entry. Format: UTC, microseconds."),
        "type": Column(TEXT, "The type of the entry. Format: an entry type."),
        "issuer_id": Column(TEXT, "The issuer it names. Format: UUID, 36 characters.", nullable=True),
        "attestation_id": Column(TEXT, "The attestation it names. Format: UUID, 36 characters.", nullable=True),
        "kid": Column(TEXT, "The key it names. Format: a key id.", nullable=True),
        "alg": Column(TEXT, "The algorithm it names. Format: a signature algorithm.", nullable=True),
        "status": Column(TEXT, "The status it gives. Format: a status.", nullable=True),
        "leaf_hash": Column(TEXT, "RFC 6962 hash of the entry. Format: 64 lowercase hex digits."),
        "entry": Column(TEXT, "The entry's exact text. Format: canonical JSON."),
    },
    "at",
    read_entries,
    time_alias="logged_at",
)
ATTESTATIONS = Dataset(
    "attestations",
    Numbering.LOG,
    {
        "log_index": Column(WHOLE, "Its first entry in the log. Format: from 0."),
        "id": Column(TEXT, "The attestation. Format: UUID, 36 characters."),
        **SIGNER,
        "schema_id": Column(TEXT, "The schema of the claims in the payload. Format: a schema id of the catalogue."),
        "content_type": Column(TEXT, "The type of the attested file. Format: a MIME type."),
        "document_hash": Column(
            TEXT, "Hash of the original file. Format: SHA-256, 64 lowercase hex digits.", nullable=True
        ),
        **AT_THE_MINT,
        "pack_id": Column(TEXT, "The verification pack it belongs to. Format: UUID, 36 characters.", nullable=True),
        "supersedes": Column(TEXT, "The attestation that it replaced. Format: UUID, 36 characters.", nullable=True),
        "decision_id": DECISION_ID,
        "payload_size": Column(WHOLE, "Size of the file. Format: bytes.", nullable=True),
        "key_created_at": KEY_CREATED_AT,
        "expiry_at": Column(TIME, "From this moment on it is expired. Format: UTC, microseconds.", nullable=True),
        "created_at": Column(TIME, "When it was minted. Format: UTC, microseconds."),
    },
    "created_at",
    read_mints,
)
ENDS = Dataset(
    "ends",
    Numbering.LOG,
    {
        "log_index": Column(WHOLE, "The index of the status entry. Format: from 0."),
        "tenant_id": Column(TEXT, "The tenant of the attestation. Format: UUID, 36 characters."),
        "attestation_id": Column(TEXT, "The attestation that ended. Format: UUID, 36 characters."),
        "status": Column(TEXT, "Its final status. Format: REVOKED, SUPERSEDED or EXPIRED."),
        "superseded_by": Column(TEXT, "The attestation that replaced it. Format: UUID, 36 characters.", nullable=True),
        "at": Column(TIME, "When the entry was made. Format: UTC, microseconds."),
    },
    "at",
    read_ends,
)
RECEIPTS = Dataset(
    "receipts",
    Numbering.LOG,
    {
        "log_index": Column(WHOLE, "Its first entry in the log. Format: from 0."),
        "receipt_id": Column(TEXT, "The receipt. Format: UUID, 36 characters."),
        **SIGNER,
        "receipt_type": Column(TEXT, "The type. Format: 1-64 of a-z 0-9 _ . -."),
        "receipt_version": Column(TEXT, "The version of the type. Format: Semantic Versioning 2.0.0."),
        **AT_THE_MINT,
        "decision_id": DECISION_ID,
        "retention_policy": Column(TEXT, "How long the payload is kept. Format: standard, extended or permanent."),
        "retain_until": Column(
            TIME, "When the service redacts it; null for permanent. Format: UTC, microseconds.", nullable=True
        ),
        "key_created_at": KEY_CREATED_AT,
        "issued_at": Column(TIME, "When it was minted. Format: UTC, microseconds."),
    },
    "issued_at",
    read_receipts,
)
RECEIPT_ENDS = Dataset(
    "receipt_ends",
    Numbering.LOG,
    {
        "log_index": Column(WHOLE, "The index of the status entry. Format: from 0."),
        "tenant_id": Column(TEXT, "The tenant of the receipt. Format: UUID, 36 characters."),
        "receipt_id": Column(TEXT, "The receipt that was revoked. Format: UUID, 36 characters."),
        "status": Column(TEXT, "Its final status. Format: REVOKED."),
        "at": Column(TIME, "When the entry was made. Format: UTC, microseconds."),
    },
    "at",
    read_receipt_ends,
)
RECEIPT_REDACTIONS = Dataset(
    "receipt_redactions",
    Numbering.TRAIL,
    {
        "seq": Column(WHOLE, "Its line in the tenant's audit trail. Format: from 0."),
        "tenant_id": Column(TEXT, "The tenant of the receipt. Format: UUID, 36 characters."),
        "receipt_id": Column(TEXT, "The receipt that was redacted. Format: UUID, 36 characters."),
        "at": Column(TIME, "When it was redacted. Format: UTC, microseconds."),
    },
    "at",
    read_redactions,
)
VERIFICATIONS = Dataset(
    "verifications",
    Numbering.OUTBOX,
    {
        "seq": Column(WHOLE, "Its position in the outbox. Format: from 0."),
        "id": Column(TEXT, "The event. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The issuer's tenant. Format: UUID, 36 characters."),
        "issuer_id": Column(TEXT, "The issuer of the verified attestations. Format: UUID, 36 characters."),
        "attestation_id": Column(
            TEXT,
            "The attestation; null of a receipt, or if the row is aggregated. Format: UUID, 36 characters.",
            nullable=True,
        ),
        "receipt_id": Column(
            TEXT,
            "The receipt, if one was verified; null if the row is aggregated. Format: UUID, 36 characters.",
            nullable=True,
        ),
        "verdict": Column(
            TEXT, "The verdict; null if the row is aggregated and not VALID. Format: a verdict.", nullable=True
        ),
        "valid": Column(BOOL, "Whether the verdict is VALID. Format: true or false."),
        "count": Column(WHOLE, "The number of verifications in the row. Format: from 1."),
        "minute": Column(TIME, "The minute of an aggregated row. Format: UTC, microseconds.", nullable=True),
        "at": Column(TIME, "When the event was published. Format: UTC, microseconds."),
    },
    "at",
    read_verifications,
    time_alias="verified_at",
)
AUDIT = Dataset(
    "audit",
    Numbering.TRAIL,
    {
        "seq": Column(WHOLE, "Its line in the tenant's audit trail. Format: from 0."),
        "timestamp": Column(TIME, "When it happened. Format: UTC, microseconds."),
        "id": Column(TEXT, "The line. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The tenant of the audit trail. Format: UUID, 36 characters."),
        "actor_type": Column(TEXT, "The type of the actor. Format: USER, API_KEY, AGENT or SERVICE."),
        "actor_id": Column(TEXT, "The actor. Format: an id, or the name of a part of the service."),
        "action": Column(TEXT, "The action that was done or attempted. Format: <kind>.<verb>."),
        "resource_type": Column(TEXT, "The type of the resource. Format: 1-40 characters."),
        "resource_id": Column(TEXT, "The id of the resource. Format: 1-128 characters."),
        "outcome": Column(TEXT, "Whether it succeeded. Format: SUCCESS or FAILURE."),
        "metadata": Column(TEXT, "Further details. Format: JSON."),
        "integrity_hash": Column(TEXT, "Its link in the hash chain. Format: 64 lowercase hex digits."),
        "prev_hash": Column(TEXT, "The previous link. Format: 64 lowercase hex digits."),
    },
    "timestamp",
    read_audit,
)
DECISIONS = Dataset(
    "decisions",
    Numbering.TRAIL,
    {
        "seq": Column(WHOLE, "Its line in the tenant's audit trail. Format: from 0."),
        "id": Column(TEXT, "The decision. Format: dec_ and a ULID."),
        "tenant_id": Column(TEXT, "The tenant of the decision. Format: UUID, 36 characters."),
        "action": Column(TEXT, "The action. Format: MINT, VERIFY or BUNDLE_EXPORT."),
        "target_type": Column(TEXT, "The type of the target. Format: ISSUER, VERIFICATION_PROFILE or TENANT_DEFAULT."),
        "target_id": Column(TEXT, "The id of the target. Format: UUID, 36 characters.", nullable=True),
        "policy_set_digest": Column(
            TEXT, "Digest of the evaluated versions. Format: SHA-256, 64 lowercase hex digits."
        ),
        "members": Column(
            TEXT, "The versions that policy_set_digest covers. Format: JSON array of [policy id, version, in shadow]."
        ),
        "input_sha256": Column(
            TEXT, "Digest of action, target and typed context. Format: SHA-256, 64 lowercase hex digits."
        ),
        "created_at": Column(TIME, "When it was made. Format: UTC, microseconds."),
        "allowed": Column(BOOL, "The decision. Format: true or false."),
        "matched_rules": Column(
            TEXTS, "Ids of all enforced rules that matched. Format: if a rule decided, it is first."
        ),
    },
    "created_at",
    read_decisions,
    typed=True,
)
SIGNALS = Dataset(
    "signals",
    Numbering.SIGNALS,
    {
        "seq": Column(WHOLE, "Its number among the signals of all tenants. Format: from 0."),
        "id": Column(TEXT, "The signal. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "source": Column(TEXT, "What produced the signal. Format: a-z, 0-9 and _, at most 64. Source: docs/risk.md."),
        "signal_type": Column(
            TEXT, "What kind of risk it states. Format: a-z, 0-9 and _, at most 64. Source: docs/risk.md."
        ),
        "entity_type": Column(
            TEXT,
            "What the signal is about. "
            "Format: user, device, ip, document, session, issuer or attestation. "
            "Source: docs/risk.md.",
        ),
        "entity_id": Column(TEXT, "The id of that entity. Format: at most 256 characters. Source: docs/risk.md."),
        "score": Column(NUMBER, "How risky the entity looked. Format: from 0 to 100. Source: docs/risk.md."),
        "occurred_at": Column(TIME, "When it happened. Format: UTC, microseconds. Source: docs/risk.md."),
        "details": Column(
            TEXT, "Its details; with factors if the service scored it. Format: a JSON object. Source: docs/risk.md."
        ),
        "case_id": Column(
            TEXT, "The case that it opened or joined. Format: UUID, 36 characters. Source: docs/risk.md.", nullable=True
        ),
        "event_id": Column(
            TEXT,
            "The raw event that it was normalized from. Format: UUID, 36 characters. Source: docs/risk.md.",
            nullable=True,
        ),
        "replaces": Column(
            TEXT,
            "The signal that an earlier mapping had made of that event. "
            "Format: UUID, 36 characters. "
            "Source: docs/risk.md.",
            nullable=True,
        ),
        "created_at": Column(TIME, "When it was recorded. Format: UTC, microseconds. Source: docs/risk.md."),
    },
    "occurred_at",
    read_signals,
)
RAW_EVENTS = Dataset(
    "raw_events",
    Numbering.RISK_EVENTS,
    {
        "seq": Column(WHOLE, "Its number among the raw events of all tenants. Format: from 0."),
        "id": Column(TEXT, "The event. Format: UUID, 36 characters."),
        "tenant_id": Column(TEXT, "The tenant. Format: UUID, 36 characters."),
        "event_type": Column(
            TEXT, "What happened. Format: a dotted name, at most 128 characters. Source: docs/risk.md."
        ),
        "entity_type": Column(
            TEXT,
            "What it happened to. "
            "Format: user, device, ip, document, session, issuer or attestation. "
            "Source: docs/risk.md.",
        ),
        "entity_id": Column(TEXT, "The id of that entity. Format: at most 256 characters. Source: docs/risk.md."),
        "data": Column(TEXT, "What the sender added. Format: a JSON object. Source: docs/risk.md."),
        "occurred_at": Column(TIME, "When it happened. Format: UTC, microseconds. Source: docs/risk.md."),
        "created_at": Column(TIME, "When it was recorded. Format: UTC, microseconds. Source: docs/risk.md."),
    },
    "occurred_at",
    read_risk_events,
    older_name="risk_events",
)
DELIVERIES = Dataset(
    "deliveries",
    Numbering.ATTEMPTS,
    activity_columns.DELIVERIES,
    "at",
    read_deliveries,
    time_alias="attempted_at",
)
AGENT_EVENTS = Dataset(
    "agent_events", Numbering.AGENT_EVENTS, activity_columns.AGENT_EVENTS, "occurred_at", read_agent_events
)
ALL = (
    *(LOG_ENTRIES, ATTESTATIONS, ENDS, RECEIPTS, RECEIPT_ENDS, RECEIPT_REDACTIONS, VERIFICATIONS, AUDIT, DECISIONS),
    *(SIGNALS, RAW_EVENTS, DELIVERIES, AGENT_EVENTS),
)
BY_NAME = {dataset.name: dataset for dataset in ALL} | {"risk_events": replace(RAW_EVENTS, name="risk_events")}
