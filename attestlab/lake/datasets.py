"""The data sets: the sequence that numbers each one's facts, their columns, and the conversion of rows to facts.

A fact never changes, so it is exported once. A later status of an attestation is an entry of the log and a fact of its
own (`ends`); the view joins both. Ids are texts (Spark rejects Parquet's UUID), times are UTC. Loaded with pyarrow by
the first export or query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import orjson
import pyarrow as pa
from sqlalchemy import Connection

from attestlab.attestations.rules import Verdict
from attestlab.core.encoding import parse_time
from attestlab.lake import context_columns, store
from attestlab.lake.store import Numbering

TEXT, WHOLE, NUMBER, BOOL, TEXTS = pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.list_(pa.string())
TIME = pa.timestamp("us", tz="UTC")

Fact = dict[str, object]


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


def _read_entries(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    for row in store.select_entries(connection, first, end, tenant_id):
        entry = json.loads(row.entry)
        fields = {name: entry.get(name) for name in ("type", "issuer_id", "kid", "alg", "status")}
        attestation_id = entry.get("id")
        yield {
            **fields,
            "log_index": row.index,
            "at": parse_time(entry["at"]),
            "attestation_id": attestation_id,
            "leaf_hash": row.leaf_hash.hex(),
            "entry": row.entry.decode(),
        }


def _read_mints(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    return map(_to_fact, store.select_mints(connection, first, end, tenant_id))


def _read_ends(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    entries = [(row.index, json.loads(row.entry)) for row in store.select_status_entries(connection, first, end)]
    owners = store.find_tenants(connection, {UUID(entry["id"]) for _, entry in entries})
    for index, entry in entries:
        owner = owners[UUID(entry["id"])]
        if tenant_id in (None, owner):
            yield {
                "log_index": index,
                "tenant_id": str(owner),
                "attestation_id": entry["id"],
                "status": entry["status"],
                "superseded_by": entry["superseded_by"],
                "at": parse_time(entry["at"]),
            }


def _read_verifications(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    for row in store.select_verifications(connection, first, end, tenant_id):
        data = json.loads(row.body)["data"]
        minute = data.get("minute")
        yield {
            "seq": row.seq,
            "id": str(row.id),
            "tenant_id": str(row.tenant_id),
            "at": row.created_at,
            "issuer_id": data["issuer_id"],
            "attestation_id": data.get("attestation_id"),
            "valid": data.get("verdict") == Verdict.VALID,
            "verdict": data.get("verdict"),
            "count": data["count"],
            "minute": None if minute is None else parse_time(minute),
        }


def _read_audit(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    for row in store.select_audit_lines(connection, first, end, tenant_id):
        record = orjson.loads(row.record)
        record["seq"] = row.seq
        record["timestamp"] = datetime.fromisoformat(record["timestamp"])
        record["metadata"] = orjson.dumps(record["metadata"]).decode()
        record["integrity_hash"] = row.integrity_hash.hex()
        record["prev_hash"] = row.prev_hash.hex()
        yield record


def _read_decisions(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    for row in store.select_decisions(connection, first, end, tenant_id):
        fact = _to_fact(row)
        fact["matched_rules"] = _parse_rules(row.matched_rules)
        del fact["input"]
        yield fact | _parse_context(row.input)


def _read_signals(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    return map(_to_unchained_fact, store.select_signals(connection, first, end, tenant_id))


def _read_risk_events(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    return map(_to_unchained_fact, store.select_risk_events(connection, first, end, tenant_id))


def _read_deliveries(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    for row in store.select_attempts(connection, first, end, tenant_id):
        yield _to_fact(row) | {"success": row.error is None}


@lru_cache(maxsize=1_024)  # many decisions share few contexts
def _parse_context(canonical_input: str) -> Fact:
    return context_columns.to_columns(json.loads(canonical_input)["context"])


@lru_cache(maxsize=1_024)
def _parse_rules(rules_json: str) -> list[str]:
    rules: list[str] = json.loads(rules_json)
    return rules


def _to_fact(record: NamedTuple) -> Fact:
    """Return a record by column, with ids as texts."""
    return {
        name: str(value) if type(value) is UUID else value for name, value in zip(record._fields, record, strict=True)
    }


def _to_unchained_fact(record: NamedTuple) -> Fact:
    """Return a record by column, without the link of its chain."""
    fact = _to_fact(record)
    del fact["hash"]
    return fact


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
    _read_entries,
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
    _read_mints,
)
ENDS = Dataset(
    "ends",
    Numbering.LOG,
    {"log_index": WHOLE, **make_columns(TEXT, "tenant_id attestation_id status superseded_by"), "at": TIME},
    "at",
    _read_ends,
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
    _read_verifications,
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
    _read_audit,
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
    _read_decisions,
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
    _read_signals,
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
    _read_risk_events,
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
    _read_deliveries,
    time_alias="attempted_at",
)
ALL = (LOG_ENTRIES, ATTESTATIONS, ENDS, VERIFICATIONS, AUDIT, DECISIONS, SIGNALS, RAW_EVENTS, DELIVERIES)
BY_NAME = {dataset.name: dataset for dataset in ALL} | {"risk_events": replace(RAW_EVENTS, name="risk_events")}
