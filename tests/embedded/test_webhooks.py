"""Webhooks of a lab in this process: it sends test deliveries itself, and what it enqueues waits for a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.webhooks import verify
from support.installations import install
from support.scripted_server import Answer, ScriptedServer, serve_script


@pytest.fixture
def receiver() -> Iterator[ScriptedServer]:
    """A receiver on this machine that accepts everything."""
    with serve_script(Answer(204, b"")) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation whose webhooks may go to this machine."""
    monkeypatch.setenv("ATTESTLAB_WEBHOOK_ALLOW_PRIVATE", "1")
    install(tmp_path, f"sqlite:///{tmp_path / 'records.db'}")
    return tmp_path


@pytest.fixture
def lab(folder: Path) -> Iterator[Lab]:
    with attestlab.open(folder) as opened:
        yield opened


def test_a_test_delivery_arrives_with_a_valid_signature(lab: Lab, receiver: ScriptedServer) -> None:
    endpoint = lab.webhooks.create(f"{receiver.url}/hooks", events="key.*")

    outcome = endpoint.test("ledger.ping", {"number": 7})

    (request,) = receiver.received
    event = verify(request.headers, request.body, endpoint.secret)
    assert (outcome.success, outcome.status_code, outcome.error) == (True, 204, None)
    assert (event.type, event.data) == ("ledger.ping", {"number": 7})


def test_a_delivery_has_its_attempts_as_a_table(lab: Lab, receiver: ScriptedServer) -> None:
    endpoint = lab.webhooks.create(receiver.url, events="key.*")
    endpoint.test()

    (delivery,) = endpoint.deliveries()

    assert (delivery.status, delivery.test, delivery.attempts.df()["http_status"].to_list()) == (
        *("delivered", True, [204]),
    )
    assert endpoint.deliveries().df()["event_type"].to_list() == ["webhook.test"]
    assert endpoint.deliveries(status="failed") == []


def test_what_a_lab_enqueues_waits_for_a_server(folder: Path, receiver: ScriptedServer) -> None:
    with attestlab.open(folder) as lab:
        endpoint = lab.webhooks.create(receiver.url, events="issuer.*")
        lab.issuers.create("Registrar", "registrar.example")
        endpoint.test()
        resent = endpoint.deliveries()[0].resend()

    with attestlab.open(folder) as lab:
        waiting = lab.webhooks.deliveries(endpoint, status="pending")
        assert [(each.id, each.attempt_count) for each in waiting] == [(resent.id, 0)]
        assert len(receiver.received) == 1


def test_a_removed_endpoint_is_not_found_again(lab: Lab, receiver: ScriptedServer) -> None:
    lab.webhooks.create(receiver.url, events="key.*", name="Ledger").delete()

    assert list(lab.webhooks) == []
