"""The data sets: the sequence that numbers each one's facts, and their columns.

A fact never changes, so it is exported once. A later status of an attestation is an entry of the log and a fact of its
own (`ends`); the view joins both. Ids are texts (Spark rejects Parquet's UUID), times are UTC. Loaded with pyarrow by
the first export or query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

import pyarrow as pa
from sqlalchemy import Connection

from attestlab.lake import context_columns
from attestlab.lake.facts import (
    Fact,
    read_audit,
    read_decisions,
    read_deliveries,
    read_ends,
    read_entries,
    read_mints,
    read_risk_events,
    read_signals,
    read_verifications,
)
from attestlab.lake.store import Numbering

TEXT, WHOLE, NUMBER, BOOL, TEXTS = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Dataset:
    """Facts of one type. `columns` begin with the fact's number; parts are sorted by `time`.

    `read` returns the facts of a range, all of them or one tenant's; `typed` adds one column per context attribute to
    `columns`. The parts are in `folder`, which is `name` unless the data set was renamed. `time_alias` is a second name
    of `time` in views, because `at` is a reserved word of SQL; the parts have the first alone.
    """

    name: str
    numbering: Numbering
    columns: dict[str, pa.DataType]
    time: str
    read: Callable[[Connection, int, int, UUID | None], Iterator[Fact]]
    typed: bool = False
    time_alias: str | None = None
    older_name: str | None = None

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


def make_columns(kind: pa.DataType, names: str) -> dict[str, pa.DataType]:
    """Return columns of one type; `names` are separated by spaces."""
    return dict.fromkeys(names.split(), kind)


LOG_ENTRIES = Dataset(
    "log_entries",
    Numbering.LOG,
    {
        "log_index": WHOLE,
        "at": TIME,
        **make_columns(TEXT, "type issuer_id attestation_id kid alg status leaf_hash entry"),
    },
    "at",
    read_entries,
    time_alias="logged_at",
)
ATTESTATIONS = Dataset(
    "attestations",
    Numbering.LOG,
    {
        "log_index": WHOLE,
        **make_columns(TEXT, "id tenant_id issuer_id kid alg schema_id content_type document_hash custody"),
        **make_columns(TEXT, "snapshot_status snapshot_trust_tier snapshot_risk_rating snapshot_jurisdiction"),
        **make_columns(TEXT, "pack_id supersedes decision_id"),
        "payload_size": WHOLE,
        **make_columns(TIME, "key_created_at expiry_at created_at"),
    },
    "created_at",
    read_mints,
)
ENDS = Dataset(
    "ends",
    Numbering.LOG,
    {"log_index": WHOLE, **make_columns(TEXT, "tenant_id attestation_id status superseded_by"), "at": TIME},
    "at",
    read_ends,
)
VERIFICATIONS = Dataset(
    "verifications",
    Numbering.OUTBOX,
    {
        "seq": WHOLE,
        **make_columns(TEXT, "id tenant_id issuer_id attestation_id verdict"),
        "valid": BOOL,
        "count": WHOLE,
        **make_columns(TIME, "minute at"),
    },
    "at",
    read_verifications,
    time_alias="verified_at",
)
AUDIT = Dataset(
    "audit",
    Numbering.TRAIL,
    {
        "seq": WHOLE,
        "timestamp": TIME,
        **make_columns(TEXT, "id tenant_id actor_type actor_id action resource_type resource_id outcome metadata"),
        **make_columns(TEXT, "integrity_hash prev_hash"),
    },
    "timestamp",
    read_audit,
)
DECISIONS = Dataset(
    "decisions",
    Numbering.TRAIL,
    {
        "seq": WHOLE,
        **make_columns(TEXT, "id tenant_id action target_type target_id policy_set_digest members input_sha256"),
        "created_at": TIME,
        "allowed": BOOL,
        "matched_rules": TEXTS,
    },
    "created_at",
    read_decisions,
    typed=True,
)
SIGNALS = Dataset(
    "signals",
    Numbering.SIGNALS,
    {
        "seq": WHOLE,
        **make_columns(TEXT, "id tenant_id source signal_type entity_type entity_id"),
        "score": NUMBER,
        "occurred_at": TIME,
        **make_columns(TEXT, "details case_id event_id replaces"),
        "created_at": TIME,
    },
    "occurred_at",
    read_signals,
)
RAW_EVENTS = Dataset(
    "raw_events",
    Numbering.RISK_EVENTS,
    {
        "seq": WHOLE,
        **make_columns(TEXT, "id tenant_id event_type entity_type entity_id data"),
        **make_columns(TIME, "occurred_at created_at"),
    },
    "occurred_at",
    read_risk_events,
    older_name="risk_events",
)
DELIVERIES = Dataset(
    "deliveries",
    Numbering.ATTEMPTS,
    {
        "seq": WHOLE,
        "at": TIME,
        **make_columns(TEXT, "tenant_id endpoint_id delivery_id event_id event_type"),
        "number": WHOLE,
        "success": BOOL,
        **make_columns(WHOLE, "http_status response_time_ms"),
        "error": TEXT,
        **make_columns(BOOL, "test manual"),
    },
    "at",
    read_deliveries,
    time_alias="attempted_at",
)
ALL = (LOG_ENTRIES, ATTESTATIONS, ENDS, VERIFICATIONS, AUDIT, DECISIONS, SIGNALS, RAW_EVENTS, DELIVERIES)
BY_NAME = {dataset.name: dataset for dataset in ALL} | {"risk_events": replace(RAW_EVENTS, name="risk_events")}
