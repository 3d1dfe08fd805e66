"""A clock that leaps or goes back: checkpoint times only grow, and nothing ends for good until a person confirms."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import select

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rules import Status, Verdict
from attestlab.attestations.store import attestations
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.log.timekeeping import MAX_LEAP, TimeUnconfirmed
from attestlab.orgs.rules import Caller
from attestlab.server import readiness
from support import patient_http
from support.in_process_server import serve_in_thread

TEN_YEARS = timedelta(days=3653)


@pytest.fixture
def request_of_main(lab: Installation, caller: Caller, clock: FixedClock) -> MintRequest:
    """A mint whose attestation runs out in a year."""
    made = lab.issuers.create({"name": "N", "domain": "n.example"}, caller=caller, alg=Algorithm.ED25519, kid="main")
    return MintRequest(
        issuer_id=made.issuer.id,
        kid="main",
        schema="degree",
        claims={"student_name": "Ada"},
        expiry_at=clock.now() + timedelta(days=365),
    )


def minted(lab: Installation, caller: Caller, request: MintRequest) -> UUID:
    draft = lab.attestations.prepare(request, caller=caller)
    return lab.attestations.issue_or_raise(draft).id


def checkpoint_time(lab: Installation) -> datetime:
    with lab.storage.read() as connection:
        return lab.log.head(connection).at


def last_known_time(lab: Installation) -> datetime | None:
    with lab.storage.read() as connection:
        return lab.log.time.last_known(connection)


def expire(lab: Installation) -> None:
    with lab.storage.write() as tx:
        lab.expire(tx)


def stored_status(lab: Installation, attestation_id: UUID) -> str:
    with lab.storage.read() as connection:
        found = connection.scalar(select(attestations.c.status).where(attestations.c.id == attestation_id))
    return str(found)


def test_checkpoint_times_never_go_backwards(
    lab: Installation, caller: Caller, clock: FixedClock, request_of_main: MintRequest
) -> None:
    minted(lab, caller, request_of_main)
    first = checkpoint_time(lab)

    clock.advance(timedelta(days=-2))
    minted(lab, caller, request_of_main)
    assert checkpoint_time(lab) == first

    clock.advance(timedelta(days=2, seconds=5))
    minted(lab, caller, request_of_main)
    assert checkpoint_time(lab) == first + timedelta(seconds=5)


def test_clock_ten_years_ahead_expires_nothing(
    lab: Installation, caller: Caller, clock: FixedClock, request_of_main: MintRequest
) -> None:
    made = minted(lab, caller, request_of_main)
    right, first = clock.now(), checkpoint_time(lab)
    clock.advance(TEN_YEARS)

    with pytest.raises(TimeUnconfirmed, match="attestlab log confirm-time"):
        expire(lab)
    assert lab.attestations.verify(made).report.verdict is Verdict.EXPIRED, "reads compute it"
    lab.issuers.create({"name": "O", "domain": "o.example"}, caller=caller, alg=Algorithm.ED25519, kid="other")
    assert checkpoint_time(lab) == first
    with pytest.raises(TimeUnconfirmed):
        expire(lab)

    clock.at = right
    expire(lab)
    assert stored_status(lab, made) == Status.VALID
    assert lab.attestations.verify(made).report.verdict is Verdict.VALID


def test_after_a_year_without_a_server_a_confirmation_lets_time_continue(
    lab: Installation, caller: Caller, clock: FixedClock, request_of_main: MintRequest
) -> None:
    made = minted(lab, caller, request_of_main)
    clock.advance(timedelta(days=400))
    with pytest.raises(TimeUnconfirmed):
        readiness.list_checks(lab)["time"]()

    with lab.storage.write() as tx:
        lab.log.time.confirm(tx)

    readiness.list_checks(lab)["time"]()
    expire(lab)
    assert stored_status(lab, made) == Status.EXPIRED
    assert checkpoint_time(lab) == clock.now()
    clock.advance(MAX_LEAP + timedelta(days=1))
    with pytest.raises(TimeUnconfirmed):
        readiness.list_checks(lab)["time"]()
    with lab.storage.write() as tx:
        lab.log.time.confirm(tx)
    readiness.list_checks(lab)["time"]()


def test_a_quiet_log_needs_no_confirmation_while_a_server_runs(lab: Installation, clock: FixedClock) -> None:
    """Each check makes its time the last known one, so that the next check sees a leap of a month and not of eight."""
    for _ in range(8):
        clock.advance(timedelta(days=30))
        readiness.list_checks(lab)["time"]()
        assert last_known_time(lab) == clock.now()


def test_status_lists_are_published_again_as_soon_as_the_clock_is_right(
    lab: Installation, caller: Caller, clock: FixedClock, request_of_main: MintRequest
) -> None:
    right = clock.now()
    clock.advance(TEN_YEARS)
    lab.issuers.create({"name": "O", "domain": "o.example"}, caller=caller)
    with lab.storage.write() as tx:
        assert lab.status_lists.append_if_due(tx) is not None
    clock.at = right + timedelta(minutes=2)
    minted(lab, caller, request_of_main)

    with lab.storage.write() as tx:
        assert lab.status_lists.append_if_due(tx) is not None


def test_limits_of_requests_end_when_the_clock_is_right(lab: Installation, clock: FixedClock) -> None:
    right = clock.now()
    with serve_in_thread(lab) as url, patient_http.open_client(base_url=url) as stranger:
        clock.advance(TEN_YEARS)
        lab.counters.take("address:127.0.0.1", per_minute=3000, now=clock.now(), cost=10**6)
        lab.counters.block("block:127.0.0.1", for_s=900, now=clock.now())
        assert stranger.get("/v1/schemas").status_code == 429
        clock.at = right
        assert stranger.get("/v1/schemas").status_code == 200
