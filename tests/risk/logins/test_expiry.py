"""Documents expire by the time of logins: what was learnt long before a login does not count for it."""

from __future__ import annotations

from datetime import timedelta

from attestlab.risk.logins.circumstances import trace_confirmation
from attestlab.risk.logins.detector import LoginAssessment, confirm_trace
from attestlab.risk.logins.login import count_ms
from support.logins import FAILURE, MONDAY, SUCCESS, Tenant, home_of, people


def come_back(days: int, *, subject: str) -> LoginAssessment:
    """Let a user who logged in for a week come back after `days` on a new device from abroad."""
    tenant = Tenant()
    now = tenant.settle(["ada"])
    return tenant.assess(subject, SUCCESS, now + timedelta(days=days), "101.0.0.1", "new-laptop")


def test_a_user_who_was_away_for_200_days_is_new():
    """Nothing deletes a document here: the same holds in a life, in a load, and between two rounds of cleaning."""
    assert come_back(200, subject="ada") == come_back(200, subject="eve")
    assert come_back(100, subject="ada").score > come_back(100, subject="eve").score


def test_an_address_without_logins_for_200_days_has_no_known_users():
    tenant, other = Tenant(), Tenant()
    for subject in people(6):
        tenant.assess(subject, SUCCESS, MONDAY, "50.0.0.1", f"pc-{subject}")
    later = MONDAY + timedelta(days=200)

    after = [each.settle(["ada"], since=later) for each in (tenant, other)]

    scores = [
        [each.assess(f"user-{n}", FAILURE, now, "50.0.0.1", f"new-{n}") for n in range(6)]
        for each, now in zip((tenant, other), after, strict=True)
    ]
    assert scores[0] == scores[1]


def test_an_expired_profile_is_not_confirmed():
    """A challenge that is passed after 200 days must not revive what had expired."""
    tenant = Tenant()
    tenant.settle(["ada"])
    after = count_ms(MONDAY + timedelta(days=200))

    assert confirm_trace(trace_confirmation("ada", after), tenant.store.documents) == {}


def test_a_login_of_the_last_day_of_a_document_still_meets_it():
    tenant = Tenant()
    now = tenant.settle(["ada"])

    known = tenant.assess("ada", SUCCESS, now + timedelta(days=178), home_of("ada"), "pc-ada")

    assert known == Tenant().assess("eve", SUCCESS, now, home_of("eve"), "pc-eve")
    assert tenant.assess("ada", SUCCESS, now + timedelta(days=178, hours=1), "101.0.0.1", "new").score > 10
