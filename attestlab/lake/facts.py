"""The facts of each data set: reads the rows of a range, and converts them to columns.

Ids are texts, because Spark rejects Parquet's UUID; times are UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import Connection, Table

from attestlab.agents.observability import store as observability_store
from attestlab.attestations.rules import Verdict
from attestlab.attestations.store import attestations
from attestlab.core.encoding import parse_time
from attestlab.lake import context_columns, store
from attestlab.log.entries import EntryType
from attestlab.receipts.store import receipts

Fact = dict[str, object]


def read_entries(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the log's entries."""
    for row in store.select_entries(connection, first, end, tenant_id):
        entry = json.loads(row.entry)
        fields = {name: entry.get(name) for name in ("type", "issuer_id", "kid", "alg", "status")}
        attestation_id = entry.get("id") if entry["type"].startswith("attestation.") else None
        yield {
            **fields,
            "log_index": row.index,
            "at": parse_time(entry["at"]),
            "attestation_id": attestation_id,
            "leaf_hash": row.leaf_hash.hex(),
            "entry": row.entry.decode(),
        }


def read_mints(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the mints."""
    return map(_to_fact, store.select_mints(connection, first, end, tenant_id))


def read_ends(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the final statuses of attestations."""
    kind = EntryType.ATTESTATION_STATUS
    for entry, fact in _read_ends(connection, kind, attestations, first, end, tenant_id):
        yield {**fact, "attestation_id": entry["id"], "superseded_by": entry["superseded_by"]}


def read_receipts(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the mints of receipts."""
    return map(_to_fact, store.select_receipts(connection, first, end, tenant_id))


def read_receipt_ends(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the revocations of receipts."""
    kind = EntryType.RECEIPT_STATUS
    for entry, fact in _read_ends(connection, kind, receipts, first, end, tenant_id):
        yield {**fact, "receipt_id": entry["id"]}


def read_redactions(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the redactions of receipts."""
    return map(_to_fact, store.select_redactions(connection, first, end, tenant_id))


def read_verifications(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the verifications."""
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
            "receipt_id": data.get("receipt_id"),
            "valid": data.get("verdict") == Verdict.VALID,
            "verdict": data.get("verdict"),
            "count": data["count"],
            "minute": None if minute is None else parse_time(minute),
        }


def read_audit(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the lines of tenants' audit trails."""
    for row in store.select_audit_lines(connection, first, end, tenant_id):
        record = orjson.loads(row.record)
        record["seq"] = row.seq
        record["timestamp"] = datetime.fromisoformat(record["timestamp"])
        record["metadata"] = orjson.dumps(record["metadata"]).decode()
        record["integrity_hash"] = row.integrity_hash.hex()
        record["prev_hash"] = row.prev_hash.hex()
        yield record


def read_decisions(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the decisions, with a column for each attribute of their contexts."""
    for row in store.select_decisions(connection, first, end, tenant_id):
        fact = _to_fact(row)
        fact["matched_rules"] = _parse_rules(row.matched_rules)
        del fact["input"]
        yield fact | _parse_context(row.input)


def read_signals(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the risk signals."""
    return map(_to_unchained_fact, store.select_signals(connection, first, end, tenant_id))


def read_risk_events(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the raw events."""
    return map(_to_unchained_fact, store.select_risk_events(connection, first, end, tenant_id))


def read_deliveries(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the attempts to deliver webhooks."""
    for row in store.select_attempts(connection, first, end, tenant_id):
        yield _to_fact(row) | {"success": row.error is None}


def read_agent_events(connection: Connection, first: int, end: int, tenant_id: UUID | None) -> Iterator[Fact]:
    """Read the events of agents."""
    return map(_to_unchained_fact, observability_store.select_events(connection, first, end, tenant_id))


def _read_ends(
    connection: Connection, kind: EntryType, table: Table, first: int, end: int, tenant_id: UUID | None
) -> Iterator[tuple[dict[str, str], Fact]]:
    """Read the log's entries that end rows of a table, each with what all kinds of them have."""
    entries = [(row.index, json.loads(row.entry)) for row in store.select_status_entries(connection, kind, first, end)]
    owners = store.find_tenants(connection, table, {UUID(entry["id"]) for _, entry in entries})
    for index, entry in entries:
        owner = owners[UUID(entry["id"])]
        if tenant_id in (None, owner):
            at = parse_time(entry["at"])
            yield entry, {"log_index": index, "tenant_id": str(owner), "status": entry["status"], "at": at}


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
