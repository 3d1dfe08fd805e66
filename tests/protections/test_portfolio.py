"""The public portfolio: what everyone sees of a consumer, and what stays hidden."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from support.in_process_server import make_client
from support.protections import PORTFOLIO, PROTECTIONS, Consumer, hash_of

ENTRY = {"id", "attestation_id", "title", "description", "content_type", "category", "verification_count"}
ENTRY |= {"created_at", "content_hash", "attestation_status"}


@pytest.fixture
def anyone(url: str) -> Iterator[httpx.Client]:
    with make_client(url) as client:
        yield client


def read_portfolio(anyone: httpx.Client, username: str = "ada", **query: Any) -> dict[str, Any]:
    answer = anyone.get(f"{PORTFOLIO}/{username}", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
def test_everyone_sees_what_is_public(ada: Consumer, grace: Consumer, anyone: httpx.Client) -> None:
    ada.choose_profile("ada")
    shown = ada.protect("sunset", visibility="public", file_name="secret.png")
    ada.protect("link", visibility="unlisted")
    ada.protect("diary")
    grace.protect("dawn", visibility="public")

    found = read_portfolio(anyone)

    assert found["user"] == {"name": "Ada Lovelace", "username": "ada", "bio": "Photographs"}
    assert found["protections"] == [{name: shown[name] for name in ENTRY}]
    assert found["protections"][0]["content_hash"] == hash_of("sunset")
    assert found["next_cursor"] is None


def test_a_revoked_one_stays_and_a_hidden_or_deleted_one_goes(ada: Consumer, anyone: httpx.Client) -> None:
    ada.choose_profile("ada")
    revoked, hidden, deleted = (ada.protect(name, visibility="public") for name in ("one", "two", "three"))
    ada.client.post(f"{PROTECTIONS}/{revoked['id']}/revoke", json={"reason": "Not mine"})
    ada.client.patch(f"{PROTECTIONS}/{hidden['id']}", json={"visibility": "unlisted"})
    ada.client.delete(f"{PROTECTIONS}/{deleted['id']}")

    found = read_portfolio(anyone)["protections"]

    assert [(entry["id"], entry["attestation_status"]) for entry in found] == [(revoked["id"], "REVOKED")]


def test_the_portfolio_is_cached_for_a_minute_and_asked_for_by_its_tag(ada: Consumer, anyone: httpx.Client) -> None:
    ada.choose_profile("ada")
    ada.protect("one", visibility="public")
    first = anyone.get(f"{PORTFOLIO}/ada")
    tag = first.headers["ETag"]

    assert first.headers["Cache-Control"] == "public, max-age=60"
    unchanged = anyone.get(f"{PORTFOLIO}/ada", headers={"If-None-Match": tag})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    ada.protect("two", visibility="public")
    changed = anyone.get(f"{PORTFOLIO}/ada", headers={"If-None-Match": tag})
    assert (changed.status_code, len(changed.json()["protections"])) == (200, 2)
    assert changed.headers["ETag"] != tag


def test_unknown_nameless_and_private_are_the_same_404(
    ada: Consumer, grace: Consumer, anyone: httpx.Client, lab: Installation
) -> None:
    ada.choose_profile("ada", visibility="private")
    ada.protect(visibility="public")
    grace.protect(visibility="public")

    answers = {name: anyone.get(f"{PORTFOLIO}/{name}") for name in ("ada", "grace", "unknown", "None", "ADA")}

    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 404)
    assert answers["ada"].json()["message"] == "No portfolio ada is known."
    assert answers["unknown"].json()["message"] == "No portfolio unknown is known."
    assert "max-age" not in answers["ada"].headers.get("Cache-Control", "")


def test_the_portfolio_has_pages(ada: Consumer, anyone: httpx.Client, clock: FixedClock) -> None:
    ada.choose_profile("ada")
    made = []
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        made.append(ada.protect(f"content {number}", visibility="public")["id"])

    first = read_portfolio(anyone, limit=2)
    second = read_portfolio(anyone, limit=3, cursor=first["next_cursor"])

    ids = [entry["id"] for page in (first, second) for entry in page["protections"]]
    assert ids == made[::-1]
    assert second["next_cursor"] is None
    for wrong in ({"limit": 0}, {"limit": 101}, {"cursor": "x"}, {"offset": 1}):
        assert anyone.get(f"{PORTFOLIO}/ada", params=wrong).status_code == 400
