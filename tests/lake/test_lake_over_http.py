"""The lake over real HTTP: formats, types, scopes, tenants, refused queries, clients that leave."""

from __future__ import annotations

import json
import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pyarrow as pa
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.lake import views
from attestlab.orgs.rules import Plan, Scope
from support.agents import make_delegation, open_session
from support.attestations import make_mint_body, mint
from support.compliance import check_agent
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.orgs import TenantClients, create_api_key
from support.risk import add_signal, post
from support.runs import record_row, start_run
from support.votes import request_votes, vote

pytestmark = pytest.mark.one_world

ARROW = "application/vnd.apache.arrow.stream"
QUERY = "/v1/lake/query"
NAMES = tuple(view.name for view in views.ALL)
ENDLESS = "select count(*) from range(2000000) a, range(2000000) b where (a.range * b.range) % 7 = -1"
POLICY: dict[str, Any] = {
    **{"name": "A policy", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"},
    "rules": [{"id": "r", "effect": "ALLOW", "priority": 1, "when": {"attr": "status", "op": "eq", "value": "ACTIVE"}}],
}


def ask(key: httpx.Client, sql: str, parameters: object = None, **headers: str) -> httpx.Response:
    return key.post(QUERY, json={"sql": sql, "parameters": parameters}, headers=headers)


def read_json(key: httpx.Client, sql: str, parameters: object = None) -> Any:
    answer = ask(key, sql, parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def read_arrow(answer: httpx.Response) -> pa.Table:
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, ARROW), answer.text
    return pa.ipc.open_stream(answer.content).read_all()


def get_arrow(key: httpx.Client, name: str, **parameters: str) -> pa.Table:
    return read_arrow(key.get(f"/v1/lake/datasets/{name}", params=parameters, headers={"Accept": ARROW}))


def record_everything(key: httpx.Client) -> dict[str, Any]:
    """A row in every data set; returns the signal."""
    issuer = register_issuer(key)
    mint(key, make_mint_body(issuer, recipient_email="ada@people.example"))
    key.post("/v1/receipt-types", json={"name": "note", "version": "1.0.0", "schema": {"type": "object"}})
    key.post("/v1/receipts", json={"receipt_type": "note", "issuer_id": issuer["id"], "payload": {}})
    key.post("/v1/policies", json=POLICY)
    key.post("/v1/policies/evaluate", json={"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {}})
    post(key, "challenge", {"subject_id": "ada", "reason": "new device"})
    endpoint = {"name": "Receiver", "url": "https://receiver.invalid/", "event_filters": ["key.*"]}
    endpoint_id = key.post("/v1/webhooks/endpoints", json=endpoint).json()["id"]
    key.post("/v1/webhooks/test-delivery", json={"endpoint_id": endpoint_id})
    post(key, "events", {"event_type": "login.failed.repeated", "entity_type": "user", "entity_id": "bob"})
    signal: dict[str, Any] = add_signal(key, score=91, details={"a": [1, "ü"]})
    post(key, f"cases/{signal['case_id']}/resolve", {"outcome": "fraud"})
    made = make_delegation(key)
    open_session(key, made["child"])
    vote(key, request_votes(key), made["child"])
    record_row(key, start_run(key, made["child"]))
    check_agent(key, made["child"])
    key.post("/v1/observability/events", json={"agent_id": made["child"]["id"], "event_type": "tool.call"})
    return signal


@pytest.mark.both_engines
def test_data_sets_are_joined_in_one_query(key: httpx.Client) -> None:
    signal = record_everything(key)
    sql = (
        "select s.id, c.outcome, s.details, s.occurred_at, (select count(*) from issuers) as issuers,"
        " (select count(*) from policies) as policies, (select count(*) from challenges) as challenges"
        " from signals s join cases c on c.id = s.case_id where s.score >= $least"
    )
    as_json = read_json(key, sql, {"least": 90})
    as_arrow = read_arrow(ask(key, sql, {"least": 90}, Accept=ARROW))

    assert as_json["columns"][1:4] == [
        {"name": "outcome", "type": "enum"},
        {"name": "details", "type": "string"},
        {"name": "occurred_at", "type": "timestamp"},
    ]
    row = as_json["rows"][0]
    assert (row[:2], json.loads(row[2]), row[3:]) == (
        [signal["id"], "fraud"],
        {"a": [1, "ü"]},
        [signal["occurred_at"], 1, 1, 1],
    )
    assert (len(as_json["rows"]), as_json["truncated"]) == (1, False)
    assert as_arrow["id"].to_pylist() == [signal["id"]]
    assert as_arrow.schema.field("outcome").type == pa.dictionary(pa.uint8(), pa.string())
    assert as_arrow.schema.field("occurred_at").type == pa.timestamp("us", tz="UTC")


def test_every_data_set_is_listed_and_read(key: httpx.Client) -> None:
    record_everything(key)

    listed = {item["name"]: item for item in key.get("/v1/lake/datasets").json()["items"]}

    assert tuple(listed) == NAMES
    for name, item in listed.items():
        answer = key.get(f"/v1/lake/datasets/{name}")
        assert answer.json()["columns"] == item["columns"], name
        assert len(answer.json()["rows"]) == item["rows"] == get_arrow(key, name).num_rows, name
        assert item["rows"] > 0 or name in ("verifications", "invoices"), name
        assert answer.headers["Vary"] == "Accept"


def test_types_do_not_depend_on_the_rows(tenant_clients: TenantClients, key: httpx.Client, lab: Installation) -> None:
    record_everything(key)
    new = lab.orgs.create_tenant("Empty", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=new) as other:
        for name in NAMES:
            own, empty = get_arrow(key, name), get_arrow(other, name)
            assert empty.schema == own.schema, name
            assert empty.num_rows == 0 or name in ("log_entries", "audit"), name
    kinds = {name: get_arrow(key, "attestations").schema.field(name).type for name in ("status", "snapshot_trust_tier")}
    assert set(map(str, kinds.values())) == {"dictionary<values=string, indices=uint8, ordered=0>"}


def test_a_tenant_reads_its_own_rows_only(tenant_clients: TenantClients, key: httpx.Client, lab: Installation) -> None:
    record_everything(key)
    other = lab.orgs.create_tenant("Stranger", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        record_everything(stranger)
        for name in set(NAMES) - {"log_entries"}:
            owners = read_json(stranger, f"select distinct tenant_id from {name}")["rows"]
            assert owners in ([[str(other.tenant_id)]], []), name
        names = "select view_name from duckdb_views() where not internal and sql is not null"
        assert read_json(stranger, names)["rows"] == []


@pytest.mark.parametrize(
    ("sql", "dataset", "scope"),
    [
        ("select * from audit", "audit", Scope.AUDIT_READ),
        ("select 1 from log_entries where exists (select 1 from main.Audit)", "audit", Scope.AUDIT_READ),
        ("with a as (select * from query_table('attestations')) select * from a", "attestations", "attestations:read"),
        ("from query('select * from verifications')", "verifications", Scope.ATTESTATIONS_READ),
        ("select * from issuers join signals on entity_id = issuers.id", "issuers", Scope.ISSUERS_READ),
        ("select * from signals", "signals", Scope.RISK_READ),
        ("select (select count(*) from RAW_EVENTS)", "raw_events", Scope.RISK_READ),
        ("select * from cases", "cases", Scope.RISK_READ),
        ("select * from challenges", "challenges", Scope.RISK_READ),
        ("select * from decisions", "decisions", Scope.POLICIES_READ),
        ("from policies", "policies", Scope.POLICIES_READ),
        ("describe deliveries", "deliveries", Scope.WEBHOOKS_READ),
        ("describe audit", "audit", Scope.AUDIT_READ),
    ],
)
def test_each_data_set_of_a_query_requires_its_scope(
    tenant_clients: TenantClients, sql: str, dataset: str, scope: str
) -> None:
    with tenant_clients.with_key(Scope.USERS_READ) as client:
        refused = ask(client, sql)
        by_name = client.get(f"/v1/lake/datasets/{dataset}")
    assert (refused.status_code, by_name.status_code) == (403, 403)
    for answer in (refused, by_name):
        assert {"required_scope": scope, "data_set": dataset}.items() <= answer.json()["details"].items()


def test_a_scope_opens_its_data_sets(tenant_clients: TenantClients) -> None:
    with tenant_clients.with_key(Scope.ISSUERS_READ) as client:
        listed = [item["name"] for item in client.get("/v1/lake/datasets").json()["items"]]
        own = ask(client, "with audit as (select count(*) n from issuers) select n from audit")

    assert set(listed) == {"issuers", "log_entries"}
    assert own.json()["rows"] == [[0]]


def test_consumers_read_no_data_set(tenant_clients: TenantClients) -> None:
    _, client = tenant_clients.consumer()
    with client:
        assert ask(client, "select 1").status_code == 403


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("selec 1", r"not SQL: syntax error at or near \"selec\" \(line 1\)\."),
        ("select 1; select 2", "Send one query"),
        ("copy signals to '/tmp/x'", "Send one query"),
        ("select * from nothing", "There is no data set nothing. There are decisions, "),
        ("select\nnope from signals", 'does not fit the data sets: Referenced column "nope" not found'),
        ("select * from read_text('/etc/passwd')", "cannot open files"),
        ("select cast(entity_id as int) from signals", "The query failed: Could not convert string 'ada'"),
        (
            "select (case range when 9999 then 'x' end)::int from range(10000)",
            "The query failed: Could not convert string",
        ),
        ("select ?", "Values were not provided"),
        ("select getenv('PATH')", "getenv"),
    ],
)
def test_a_rejected_query_is_400_with_the_reason(key: httpx.Client, lab: Installation, sql: str, words: str) -> None:
    add_signal(key)
    answer = ask(key, sql)

    assert answer.status_code == 400, answer.text
    assert re.search(words, answer.json()["message"]), answer.text
    assert str(lab.settings.data) not in answer.text
    assert "_rows" not in answer.text


@pytest.mark.parametrize(
    "sql",
    [
        "select name, value from duckdb_settings()",
        "select current_setting('secret_directory') as place",
        "select * from duckdb_secrets()",
        "select * from duckdb_extensions()",
        "select path from duckdb_databases()",
    ],
)
def test_no_answer_names_a_folder_of_the_server(key: httpx.Client, sql: str) -> None:
    answer = ask(key, sql)

    assert answer.status_code in (200, 400)
    assert str(Path.home()) not in answer.text


def test_json_has_ten_thousand_rows_and_says_if_there_are_more(key: httpx.Client) -> None:
    exact, more = (read_json(key, f"select range as n from range({count})") for count in (10_000, 10_001))

    assert (len(exact["rows"]), exact["truncated"]) == (10_000, False)
    assert (len(more["rows"]), more["truncated"], more["rows"][-1]) == (10_000, True, [9_999])
    assert read_arrow(ask(key, "select range as n from range(10001)", Accept=ARROW)).num_rows == 10_001


def test_an_error_in_a_later_row_keeps_its_reason(key: httpx.Client) -> None:
    """DuckDB reports it to a reader of Arrow batches without its class."""
    failed = ask(key, "select (case range when 90000 then 'x' end)::int from range(90001)", Accept=ARROW)

    assert failed.status_code == 400
    assert failed.json()["message"].startswith("The query failed: Could not convert string")


def test_rows_are_computed_as_the_client_receives_them(tenant_clients: TenantClients) -> None:
    """A process with a gigabyte of memory sends the first of ten gigabytes at once."""
    sql = "select range, repeat('x', 1000) from range(10000000) where range >= ?"
    with (
        tenant_clients.with_key() as key,
        key.stream("POST", QUERY, json={"sql": sql, "parameters": [0]}, headers={"Accept": ARROW}) as answer,
    ):
        assert len(next(answer.iter_raw(1 << 20))) == 1 << 20
    with tenant_clients.with_key() as key:
        assert read_json(key, "select 1")["rows"] == [[1]]  # the process of the client that left has ended


def test_values_are_exact_in_json(key: httpx.Client) -> None:
    sql = (
        "select sum(?::bigint), 9007199254740993, 'NaN'::double, 1.5, '0193b5a0-7f3c-7abc-8def-0123456789ab'::uuid,"
        " {'a': [now() > '2020-01-01']}, '\\x00\\xff'::blob, date '2026-01-02', null"
    )
    (row,) = read_json(key, sql, [3])["rows"]

    uuid = "0193b5a0-7f3c-7abc-8def-0123456789ab"
    assert row == [3, "9007199254740993", None, 1.5, uuid, {"a": [True]}, "AP8=", "2026-01-02", None]


def test_a_period_and_columns_are_selected(key: httpx.Client, clock: FixedClock) -> None:
    start, ids = clock.now(), []
    for _ in range(3):
        ids.append(add_signal(key)["id"])
        clock.advance(timedelta(minutes=1))
    period = {"from": format_time(start + timedelta(seconds=1)), "to": format_time(start + timedelta(minutes=2))}

    assert get_arrow(key, "signals", columns="score,id", **period).to_pylist() == [{"score": 61.5, "id": ids[1]}]
    newest_first = key.get("/v1/lake/datasets/signals", params={"columns": "id"}).json()
    assert newest_first["rows"] == [[each] for each in reversed(ids)]
    unknown = key.get("/v1/lake/datasets/signals", params={"columns": 'id,"'})
    assert (unknown.status_code, unknown.json()["details"]["fields"][0]["field"]) == (400, "/columns")
    assert key.get("/v1/lake/datasets/ends").status_code == 404


def test_exported_and_newer_rows_are_read_once(key: httpx.Client, lab: Installation) -> None:
    first = add_signal(key)["id"]
    lab.lake.export()
    second = add_signal(key)["id"]

    assert read_json(key, "select id from signals order by seq")["rows"] == [[first], [second]]


def test_a_query_ends_when_its_client_disconnects(tenant_clients: TenantClients, lab: Installation) -> None:
    secret, place = create_api_key(lab, tenant_clients.tenant), urlsplit(tenant_clients.url)
    body = json.dumps({"sql": ENDLESS}).encode()
    head = (
        f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nX-API-Key: {secret}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port)) as client:
        client.sendall(head.encode() + body)
        wait_until(lambda: len(lab.lake.workers._queues), 1)
    with tenant_clients.with_key() as key:
        assert read_json(key, "select 1")["rows"] == [[1]]  # in the turn of the query that ended


def test_openapi_describes_both_formats(key: httpx.Client) -> None:
    paths = key.get("/openapi.json").json()["paths"]
    content = paths[QUERY]["post"]["responses"]["200"]["content"]

    assert set(content) == {ARROW, "application/json"}
    assert content["application/json"]["schema"]["$ref"].endswith("/LakeRows")
