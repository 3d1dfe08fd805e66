"""Counts of verifications: VALID answers of the API by protection and day, soon after they are given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from attestlab.attestations.metering import service as metering
from attestlab.attestations.metering.service import MAX_ATTESTATIONS, MeteredVerification, UnwrittenVerifications
from attestlab.attestations.rules import Verdict
from attestlab.core.clock import FixedClock
from attestlab.core.ids import new_id
from attestlab.installation import Installation
from support.in_process_server import make_client, wait_until
from support.protections import PORTFOLIO, PROTECTIONS, Consumer, hash_of, verify


def count_of(ada: Consumer, made: dict[str, Any]) -> int:
    count: int = ada.client.get(f"{PROTECTIONS}/{made['id']}").json()["verification_count"]
    return count


def days_of(ada: Consumer, made: dict[str, Any], **query: int) -> dict[str, Any]:
    answer = ada.client.get(f"{PROTECTIONS}/{made['id']}/verifications", params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.both_engines
def test_valid_answers_are_counted_by_day(ada: Consumer, url: str, clock: FixedClock) -> None:
    ada.choose_profile("ada")
    made, other = ada.protect("sunset", visibility="public"), ada.protect("dawn")
    verdicts = [verify(url, made), verify(url, made, document_hash=hash_of("sunset"))]
    wait_until(lambda: count_of(ada, made), 2)
    clock.advance(timedelta(days=1))  # longer than she stays signed in
    ada.sign_in_again(url)
    verdicts += [verify(url, made), verify(url, made, document_hash=hash_of("dawn"))]
    wait_until(lambda: days_of(ada, made)["total"], 4)

    assert verdicts == ["VALID", "VALID", "VALID", "ALTERED"]
    assert count_of(ada, made) == 3
    assert days_of(ada, made, days=3) == {
        "total": 4,
        "items": [
            {"day": "2026-11-22", "valid": 1, "other": 1},
            {"day": "2026-11-21", "valid": 2, "other": 0},
            {"day": "2026-11-20", "valid": 0, "other": 0},
        ],
    }
    assert days_of(ada, made, days=1)["total"] == 2
    assert len(days_of(ada, made)["items"]) == 30
    assert (count_of(ada, other), days_of(ada, other)["total"]) == (0, 0)
    with make_client(url) as anyone:
        assert anyone.get(f"{PORTFOLIO}/ada").json()["protections"][0]["verification_count"] == 3
        assert anyone.get(made["verify_url"].replace("http://127.0.0.1", url)).status_code == 200
    assert count_of(ada, made) == 3, "the view of a page is no verification"


def test_the_number_of_days_is_bounded(ada: Consumer) -> None:
    place = f"{PROTECTIONS}/{ada.protect()['id']}/verifications"

    answers = [ada.client.get(place, params={"days": days}) for days in ("0", "366", "x", "", "-1")]

    assert {answer.status_code for answer in answers} == {400}
    assert {answer.json()["details"]["fields"][0]["field"] for answer in answers} == {"/days"}


def test_a_deleted_protection_is_counted_no_longer(ada: Consumer, url: str) -> None:
    made = ada.protect("sunset")
    verify(url, made)
    wait_until(lambda: count_of(ada, made), 1)
    ada.client.delete(f"{PROTECTIONS}/{made['id']}")

    assert verify(url, made) == "VALID"
    assert count_of(ada, ada.protect("sunset")) == 0


def test_a_verification_of_the_embedded_lab_counts_too(ada: Consumer, lab: Installation) -> None:
    made = ada.protect()
    verified = lab.attestations.verify(UUID(made["attestation_id"]))

    with lab.storage.write() as tx:
        lab.attestations.meter(tx, verified)

    assert count_of(ada, made) == 1


def make_verification(clock: FixedClock, verdict: Verdict = Verdict.VALID) -> MeteredVerification:
    now = clock.now()
    return MeteredVerification(new_id(now), new_id(now), new_id(now), verdict, now)


def test_split_and_merge_lose_no_count(clock: FixedClock) -> None:
    pending, one = UnwrittenVerifications(), make_verification(clock)
    for verified in [one] * 3 + [make_verification(clock) for _ in range(7)]:
        pending.add(verified)

    taken = pending.split(5)
    assert (len(taken.by_attestation), len(pending.by_attestation)) == (5, 3)
    pending.merge(taken)

    assert sum(pending.by_attestation.values()) == 10
    assert pending.by_attestation[metering.AttestationDay(one.attestation_id, one.at.date(), is_valid=True)] == 3


def test_memory_is_bounded_while_writes_fail(clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_ATTESTATIONS == 50_000
    monkeypatch.setattr(metering, "MAX_ATTESTATIONS", 4)
    pending, known = UnwrittenVerifications(), make_verification(clock)
    for verified in [known, *(make_verification(clock) for _ in range(9)), known]:
        pending.add(verified)

    assert len(pending.by_attestation) == 4
    assert max(pending.by_attestation.values()) == 2, "what is counted already counts on"
    assert sum(group.count for group in pending.groups.values()) == 11
