"""`attestlab.connect`: which addresses and keys it takes, and what it says about the others."""

from __future__ import annotations

import pytest

import attestlab
from attestlab.core.errors import (
    AttestLabError,
    FieldError,
    PermissionDenied,
    ServiceFailed,
    Unavailable,
    ValidationFailed,
)
from support.ports import hold_port
from support.scripted_server import Answer, error, serve_script


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("", "not the address of a service"),
        ("attest.example.org", "not the address of a service"),
        ("ftp://attest.example.org", "not the address of a service"),
        ("http://", "not the address of a service"),
        ("http://127.0.0.1:99999", "not the address of a service"),
        ("https://ann:hunter2@attest.example.org", "not the address of a service"),
        ("https://attest.example.org/?key=1", "not the address of a service"),
        ("sqlite:///records.db", "belongs in attestlab.open"),
        (7, "A value of type int is no address"),
    ],
)
def test_what_is_no_address_is_refused_in_one_line(url: str, expected: str) -> None:
    with pytest.raises(ValidationFailed, match=expected) as caught:
        attestlab.connect(url)

    assert "\n" not in caught.value.message
    assert "hunter2" not in caught.value.message


def test_a_key_is_not_sent_over_plain_http_to_another_machine() -> None:
    with pytest.raises(ValidationFailed, match=r"Use https://attest\.example\.org"):
        attestlab.connect("http://attest.example.org", "al_live_x")


@pytest.mark.parametrize("key", ["", " ", "a\nb", "ä", 7])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValidationFailed, match="not an API key"):
        attestlab.connect("http://127.0.0.1:1", key)


def test_an_address_where_nothing_listens_is_reported_with_the_remedy() -> None:
    with hold_port() as port, pytest.raises(Unavailable, match="attestlab serve") as caught:
        attestlab.connect(f"http://127.0.0.1:{port}", sleep=lambda _: None)

    assert "\n" not in caught.value.message


def test_another_server_is_not_taken_for_a_service() -> None:
    with (
        serve_script(Answer(200, b"<h1>It works", {"Content-Type": "text/html"})) as server,
        pytest.raises(ServiceFailed, match="is not an AttestLab service"),
    ):
        attestlab.connect(server.url)


def test_the_key_is_in_no_repr() -> None:
    with serve_script(Answer(200)) as server, attestlab.connect(server.url, "al_live_hunter2") as lab:
        shown = [repr(lab), repr(lab._client), repr(lab._door), repr(lab.attestations), repr(lab.log)]

    assert repr(lab) == f"Lab({server.url})"
    assert [text for text in shown if "hunter2" in text] == []


def test_a_closed_lab_says_so() -> None:
    with serve_script(Answer(200)) as server:
        lab = attestlab.connect(server.url)
        lab.close()
        lab.close()

    with pytest.raises(AttestLabError, match="This lab is closed"):
        lab.log.head()


def test_another_tenant_needs_a_key_of_its_own() -> None:
    me = b'{"tenant_id": "0193b5a0-7f3c-7abc-8def-0123456789ab", "tenant_name": "Acme"}'
    with serve_script(Answer(200, me)) as server, attestlab.connect(server.url, "al_live_x") as lab:
        assert lab.as_("acme") is not lab
        with pytest.raises(PermissionDenied, match="connect with a key of that tenant"):
            lab.as_("Another")


def test_an_error_lists_the_faults_that_the_service_names() -> None:
    fault = {"field": "/score", "code": "missing", "message": "Field required"}
    junk = [{"field": "/a"}, 7, {**fault, "message": None}]
    refusal = error(400, "VALIDATION_ERROR", fields=[fault, *junk])
    with (
        serve_script(Answer(200), refusal) as server,
        attestlab.connect(server.url) as lab,
        pytest.raises(ValidationFailed) as caught,
    ):
        lab.log.head()

    assert caught.value.fields == (FieldError("/score", "missing", "Field required"),)
