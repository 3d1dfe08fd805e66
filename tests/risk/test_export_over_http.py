"""Export of signals over real HTTP: the rows of the list as CSV, JSON and Parquet, streamed."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import httpx
import pyarrow.parquet as parquet
import pytest

from attestlab.core.encoding import parse_time
from attestlab.orgs.rules import Plan
from attestlab.risk.signals import service
from support.orgs import TenantClients
from support.risk import add_signal, get

pytestmark = [pytest.mark.one_world]


def export(key: httpx.Client, file_format: str, **filters: Any) -> httpx.Response:
    answer = key.get("/v1/risk/signals/export", params={"format": file_format, **filters})
    assert answer.status_code == 200, answer.text
    return answer


def read_csv(answer: httpx.Response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.text, newline=""), strict=True))


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "ROWS_A_PART", 2)


@pytest.mark.both_engines
def test_each_format_has_the_rows_of_the_list(key: httpx.Client) -> None:
    for number in range(5):
        add_signal(key, entity_id=f"user-{number}", score=50 + number, details={"text": 'a "b", c\n'})
    wanted = get(key, "signals", min_score=51)["items"]

    as_json = export(key, "json", min_score=51)
    as_csv = export(key, "csv", min_score=51)
    as_parquet = export(key, "parquet", min_score=51)

    assert as_json.json() == wanted
    rows = read_csv(as_csv)
    assert [{**row, "details": json.loads(row["details"])} for row in rows] == [
        {name: value if name == "details" else "" if value is None else str(value) for name, value in each.items()}
        for each in wanted
    ]
    table = parquet.read_table(io.BytesIO(as_parquet.content))
    assert table.column_names == list(wanted[0])
    for row, each in zip(table.to_pylist(), wanted, strict=True):
        moments = {name: parse_time(each[name]) for name in ("occurred_at", "created_at")}
        assert {**row, "details": json.loads(row["details"])} == {**each, **moments}
    assert parquet.ParquetFile(io.BytesIO(as_parquet.content)).num_row_groups == 2


def test_csv_begins_with_a_byte_order_mark_on_request(key: httpx.Client) -> None:
    for number in range(3):
        add_signal(key, entity_id=f"Zoë {number}")
    plain, marked = export(key, "csv"), export(key, "csv", bom="true")
    refused = key.get("/v1/risk/signals/export", params={"format": "json", "bom": "true"})

    assert marked.content == b"\xef\xbb\xbf" + plain.content
    assert "Zoë 0" in marked.content.decode("utf-8-sig")
    assert (refused.status_code, "Only a CSV file" in refused.text) == (400, True)


@pytest.mark.parametrize(
    ("file_format", "media_type"),
    [
        ("csv", "text/csv; charset=utf-8; header=present"),
        ("json", "application/json"),
        ("parquet", "application/vnd.apache.parquet"),
    ],
)
def test_file_has_a_type_and_a_name_and_is_sent_in_chunks(key: httpx.Client, file_format: str, media_type: str) -> None:
    answer = export(key, file_format)

    headers = answer.headers
    assert (headers["Content-Type"], headers["Transfer-Encoding"]) == (media_type, "chunked")
    assert headers["Content-Disposition"].startswith('attachment; filename="risk-signals-2')
    assert headers["Content-Disposition"].endswith(f'Z.{file_format}"')
    assert "Content-Length" not in headers
    assert get(key, "signals")["items"] == []  # on the same connection


def test_file_without_signals_is_whole(key: httpx.Client) -> None:
    assert export(key, "json").json() == []
    assert export(key, "csv").text.startswith("id,tenant_id,source,")
    assert parquet.read_table(io.BytesIO(export(key, "parquet").content)).num_rows == 0


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d"])
def test_text_that_a_spreadsheet_would_run_is_text_in_csv(key: httpx.Client, start: str) -> None:
    formula = f'{start}HYPERLINK("https://evil.example")'
    add_signal(key, entity_id=formula)

    assert [row["entity_id"] for row in read_csv(export(key, "csv"))] == [f"'{formula}"]
    assert [row["entity_id"] for row in export(key, "json").json()] == [formula]


def test_signals_that_arrive_during_the_export_are_not_in_the_file(key: httpx.Client) -> None:
    made = [add_signal(key)["id"] for _ in range(5)]
    url = "/v1/risk/signals/export?format=csv"
    with key.stream("GET", url) as answer:
        parts = answer.iter_raw()
        text = next(parts)
        add_signal(key)
        text += b"".join(parts)

    rows = csv.DictReader(io.StringIO(text.decode(), newline=""))
    assert [row["id"] for row in rows] == made[::-1]


def test_export_of_another_tenant_is_empty(key: httpx.Client, tenant_clients: TenantClients) -> None:
    add_signal(key)
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert export(stranger, "json").json() == []


@pytest.mark.parametrize("query", ["", "format=xlsx", "format=csv&min_score=101", "format=csv&limit=5"])
def test_unacceptable_export_is_rejected(key: httpx.Client, query: str) -> None:
    assert key.get(f"/v1/risk/signals/export?{query}").status_code == 400


def test_head_of_an_export_sends_no_body(key: httpx.Client) -> None:
    add_signal(key)
    answer = key.head("/v1/risk/signals/export?format=csv")

    assert (answer.status_code, answer.content) == (200, b"")
    assert len(get(key, "signals")["items"]) == 1
