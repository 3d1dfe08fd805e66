"""The year of the served demo, read through the services: its records hold, and each dashboard has a story."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attestlab.agents.observability.rules import PROBE_REFUSALS, PROBE_WINDOW, AgentAnomaly
from attestlab.agents.rules import AgentStatus, TrustCause, format_agent_id
from attestlab.agents.trust.shapes import TrustHistoryQuery
from attestlab.attestations import store as attestation_store
from attestlab.attestations.rules import Status
from attestlab.audit.trail import ATTEMPT
from attestlab.billing import store as billing_store
from attestlab.billing.usage import usage_days
from attestlab.consumer.accounts.store import find_account_by_username
from attestlab.consumer.inbox.store import list_items
from attestlab.core.db.tables import table_of
from attestlab.core.errors import NotFound
from attestlab.core.records.audit import AuditEvent
from attestlab.demos.agent_fleet.members import OWN_KEY, PROBING, TREES
from attestlab.demos.history.past_signals import BULK_TIME
from attestlab.demos.people import CONSUMERS, PEOPLE
from attestlab.demos.world import collect_garbage_rarely
from attestlab.governance.rules import RequestStatus
from attestlab.identity.store import find_person_by_address
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.issuers.rules import IssuerStatus, KeyStatus, RiskRating, TrustTier
from attestlab.issuers.service import IssuerWithKeys
from attestlab.mail.store import mails
from attestlab.orgs.role_rules import UserStatus
from attestlab.orgs.rules import Caller
from attestlab.orgs.tables import User
from attestlab.orgs.usage import VERIFICATIONS
from attestlab.protections.platform_issuer import NAME as PLATFORM_ISSUER
from attestlab.receipts import store as receipt_store
from attestlab.risk.enforcement.store import cases
from attestlab.risk.signals.store import signals
from attestlab.settings import Settings
from support.dashboards.demo_server import copy_demo

_OF_THRESHOLD = (billing_store.thresholds.c.period_start, billing_store.thresholds.c.threshold_percent)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("served") / "lab"
    copy_demo(folder)
    lab = Installation.open(Settings(data=folder, database_url=None))
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def caller(served: Installation) -> Caller:
    tenant = served.orgs.list_tenants()[0]
    return served.orgs.service_caller(tenant.id)


@pytest.fixture(scope="module")
def issuers(served: Installation, caller: Caller) -> dict[str, IssuerWithKeys]:
    return {each.issuer.name: each for each in served.issuers.page(caller=caller)}


@pytest.mark.soak
def test_the_records_of_the_demo_year_pass_fsck(served: Installation) -> None:
    assert list(fsck(served)) == []


def test_issuers_stand_otherwise_than_when_they_signed(issuers: dict[str, IssuerWithKeys]) -> None:
    standing = {name: each.issuer for name, each in issuers.items()}

    assert standing["Ana's Workshop"].status == IssuerStatus.SUSPENDED
    assert standing["Ana's Workshop"].risk_rating == RiskRating.HIGH
    assert standing["Rowing Club Aare"].trust_tier == TrustTier.VERIFIED
    assert {each.risk_rating for each in standing.values()} == {RiskRating.LOW, RiskRating.MEDIUM, RiskRating.HIGH}


def test_keys_were_rotated_and_one_was_lost(issuers: dict[str, IssuerWithKeys]) -> None:
    statuses = Counter(KeyStatus(key.status) for each in issuers.values() for key in each.keys)

    assert statuses[KeyStatus.ACTIVE] == len(issuers)
    assert statuses[KeyStatus.ROTATED] >= 3
    assert statuses[KeyStatus.COMPROMISED] == 1


def test_attestations_of_every_issuer_ended_in_every_way(
    served: Installation, issuers: dict[str, IssuerWithKeys]
) -> None:
    table = attestation_store.attestations
    with served.storage.read() as connection:
        rows = connection.execute(select(table.c.issuer_id, table.c.status)).all()

    minted = Counter(row.issuer_id for row in rows)
    assert len(rows) > 1_000
    registry = [each for each in issuers.values() if each.issuer.name != PLATFORM_ISSUER]
    assert all(minted[each.issuer.id] > 10 for each in registry)
    assert {row.status for row in rows} == {status.value for status in Status}


def test_the_audit_trail_names_people_and_a_request_waits(served: Installation, caller: Caller) -> None:
    with served.storage.read() as connection:
        found = [find_person_by_address(connection, address) for address, *_ in PEOPLE]
        people = {str(person.id) for person in found if person is not None}
        audit = table_of(AuditEvent)
        deeds = select(audit.c.actor_id).where(audit.c.resource_type.in_(("issuer_request", "key")))
        actors = set(connection.execute(deeds).scalars())
    requests = served.governance.page(caller=caller)

    assert len(people) == len(PEOPLE)
    assert people <= actors
    assert Counter(request.status for request in requests)[RequestStatus.PENDING] == 1
    assert {request.status for request in requests} >= {RequestStatus.EXECUTED, RequestStatus.REJECTED}


def test_the_newest_version_of_the_policy_changes_decisions_both_ways(served: Installation, caller: Caller) -> None:
    ((policy, _),) = served.policies.page(caller=caller)
    with served.simulations.of(policy.id, caller=caller) as simulation:
        simulation.load()
        compared = simulation.compare().transitions.df()
    counted = {(row["from"], row["to"]): row["count"] for row in compared.to_dict("records")}

    assert (policy.version, policy.active_version) == (2, 1)
    assert counted["DENY", "ALLOW"] > 50
    assert counted["ALLOW", "DENY"] > 50


def test_a_case_opens_within_hours_of_its_first_signal(served: Installation) -> None:
    first = (
        select(signals.c.case_id, func.min(signals.c.occurred_at).label("at")).group_by(signals.c.case_id).subquery()
    )
    opened = select(cases.c.opened_at, first.c.at).join(first, first.c.case_id == cases.c.id)
    with served.storage.read() as connection:
        rows = connection.execute(opened).all()

    assert len(rows) > 500
    assert all(timedelta(milliseconds=-1) <= row.opened_at - row.at <= BULK_TIME for row in rows)


def test_one_day_of_the_year_reached_a_threshold_and_each_month_has_an_invoice(
    served: Installation, caller: Caller
) -> None:
    used = fetch_days(served)
    with served.storage.read() as connection:
        reached = connection.execute(select(billing_store.thresholds.c.resource, *_OF_THRESHOLD)).all()
    limit = served.billing.entitlements(caller=caller).limits.verifications_per_day
    assert limit is not None
    over = [day for day, count in used.items() if count >= 0.8 * limit]

    assert len(used) >= 364
    assert [(row.resource, row.period_start.date(), row.threshold_percent) for row in reached] == [
        ("verifications", over[0], 80)
    ]
    assert len(over) == 1
    assert max(used.values()) < limit
    months = [each.period_start.strftime("%Y-%m") for each in served.billing.page_invoices(caller=caller)]
    assert len(months) == len(set(months)) >= 8


def fetch_days(served: Installation) -> dict[date, int]:
    """The verifications of each day."""
    days = usage_days.c
    with served.storage.read() as connection:
        found = connection.execute(select(days.day, days.used).where(days.metric == VERIFICATIONS)).all()
    return {row.day: row.used for row in found}


def test_three_consumers_have_an_inbox_and_protections_and_one_a_public_portfolio(served: Installation) -> None:
    with served.storage.read() as connection:
        accounts = [find_account_by_username(connection.execute, each.username) for each in CONSUMERS]
        items = [list_items(connection.execute, each.id) for each in accounts if each is not None]
    portfolio = served.protections.get_portfolio("ada")

    assert [len(each) > 10 for each in items] == [True] * 3
    assert {item.state for each in items for item in each} == {"DELIVERED", "DECLINED"}
    assert {item.read_state for each in items for item in each} == {"UNREAD", "READ", "ARCHIVED"}
    assert len(portfolio.protections) == 3
    assert {each.row.source for each in portfolio.protections} == {"own", "received"}
    for username in ("emmy", "grace"):
        with pytest.raises(NotFound):
            served.protections.get_portfolio(username)


def test_two_types_have_receipts_and_no_mail_waits(served: Installation, caller: Caller) -> None:
    types = {each.name: each.status for each in served.receipt_types.page(caller=caller)}
    with served.storage.read() as connection:
        receipts = connection.execute(
            select(receipt_store.receipts.c.status, receipt_store.receipts.c.redacted_at)
        ).all()
        waiting = connection.execute(select(func.count()).where(mails.c.status != "CARRIED")).scalar()

    assert types == {"archive-loan": "active", "course-attendance": "active"}
    assert Counter(row.status for row in receipts)["REVOKED"] == 1
    assert sum(row.redacted_at is not None for row in receipts) == 1
    assert len(receipts) > 50
    assert waiting == 0


def test_forty_agents_stand_in_four_trees(served: Installation, caller: Caller) -> None:
    agents = {each.row.display_name: each for each in served.agents.registry.page(caller=caller, limit=100)}
    statuses = Counter(each.status for each in agents.values())

    assert len(agents) == 40
    assert sorted(each.row.display_name for each in agents.values() if each.row.parent_agent_id is None) == sorted(
        tree.members[0].name for tree in TREES
    )
    assert max(each.row.delegation_depth for each in agents.values()) == 4
    assert statuses == {AgentStatus.ACTIVE: 36, AgentStatus.SUSPENDED: 2, AgentStatus.REVOKED: 2}
    assert agents[OWN_KEY].row.custody == "external"
    assert agents["Badge notifier"].last_active_at is None
    assert agents["Name speller"].effective_scopes.allows == frozenset()
    assert agents[PROBING].effective_scopes.as_list() == ["docs:read", "index:write", "!docs:delete", "!index:drop"]


def test_the_person_behind_one_tree_of_agents_has_left(served: Installation, caller: Caller) -> None:
    agents = served.agents.registry.page(caller=caller, limit=100)
    with served.storage.read() as connection:
        users = table_of(User)
        left = connection.execute(select(users.c.id).where(users.c.status == UserStatus.REMOVED)).scalar_one()

    assert sum(each.row.owner_user_id == left for each in agents) == 10


def test_agents_leave_audit_lines_of_their_runs(served: Installation) -> None:
    audit = table_of(AuditEvent)
    done = select(audit.c.actor_id, audit.c.action).where(audit.c.actor_type == "AGENT")
    with served.storage.read() as connection:
        rows = connection.execute(done).all()

    assert {row.action for row in rows} == {"run.count", "run_step.record", "request.denied"}
    assert len({row.actor_id for row in rows}) == 38  # one never worked, and one has its key in its device


def test_ten_refusals_of_one_agent_are_a_signal_with_a_case_and_take_its_trust(
    served: Installation, caller: Caller
) -> None:
    agents = {each.row.display_name: each.row for each in served.agents.registry.page(caller=caller, limit=100)}
    prober, audit = agents[PROBING], table_of(AuditEvent)
    denied = select(audit.c.timestamp).where(audit.c.action == ATTEMPT, audit.c.actor_id == str(prober.id))
    probes = select(signals.c.id, signals.c.entity_id, cases.c.status).join(cases, cases.c.id == signals.c.case_id)
    with served.storage.read() as connection:
        times = connection.execute(denied).scalars().all()
        (signal,) = connection.execute(probes.where(signals.c.signal_type == AgentAnomaly.SCOPE_PROBE)).all()
    (change,) = served.agents.trust.history(prober.id, TrustHistoryQuery(), caller=caller)

    assert len(times) == PROBE_REFUSALS
    assert max(times) - min(times) < PROBE_WINDOW
    assert (signal.entity_id, signal.status) == (format_agent_id(prober.id, prober.tenant_id), "open")
    assert (change.cause, change.reference, change.score) == (TrustCause.SIGNAL, signal.id, prober.trust_score)
    assert prober.trust_score == 0.075  # of 0.5, which an agent without evidence has


def test_its_folder_has_credentials_that_only_the_owner_reads(served: Installation) -> None:
    file = Path(served.settings.data) / "demo.json"

    assert file.stat().st_mode & 0o077 == 0


def test_a_year_leaves_the_garbage_collector_as_it_was() -> None:
    usual = gc.get_threshold()
    with pytest.raises(KeyboardInterrupt), collect_garbage_rarely():
        assert gc.get_threshold() > usual
        raise KeyboardInterrupt

    assert gc.get_threshold() == usual
