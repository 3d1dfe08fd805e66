"""Reports that are due: leased once, sent to whom they are for, tried again after a failure, never doubled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.core.errors import ValidationFailed
from attestlab.installation import Installation
from attestlab.mail import store as mail_store
from attestlab.mail.rules import MAX_ATTACHMENT_BYTES, HtmlFile
from attestlab.orgs.rules import Caller, Plan
from attestlab.views.schedules import rules, store
from attestlab.views.schedules.results import DrawnReport, LeasedReport
from attestlab.views.schedules.shapes import ScheduleIn
from attestlab.views.schedules.tables import ViewScheduleRecord
from attestlab.views.shapes import ViewIn
from support.identity import add_user

DRAWN = DrawnReport(("Escalations reached 53.", "Signals: 10,495 (+1 % vs previous 30 days)"), b"<!doctype html><p>53")


class Story:
    """A tenant with a view whose report goes to two people every day at eight."""

    def __init__(self, lab: Installation) -> None:
        self.lab = lab
        self.tenant = lab.orgs.create_tenant("Reported", plan=Plan.ENTERPRISE)
        self.people = [
            add_user(lab, self.tenant, f"{name}@reports.example", "a long enough one").id for name in ("sofia", "emil")
        ]
        key = lab.orgs.service_caller(self.tenant.tenant_id)
        self.caller = replace(key, actor_type="USER", actor_id=str(self.people[0]))
        self.view_id = lab.views.save(
            ViewIn(name="Risk of the day", page="risk", query="days=1"), caller=self.caller
        ).id
        lab.views.schedules.set(self.view_id, ScheduleIn(hour=8, recipients=self.people), caller=self.caller)

    @property
    def row(self) -> ViewScheduleRecord:
        with self.lab.storage.read() as connection:
            found = store.find(connection.execute, self.view_id)
        assert found is not None
        return found

    def lease(self) -> LeasedReport | None:
        with self.lab.storage.write() as tx:
            return self.lab.views.schedules.lease(tx)

    def take(self) -> LeasedReport:
        report = self.lease()
        assert report is not None
        return report

    def send(self, report: LeasedReport) -> int:
        with self.lab.storage.write() as tx:
            return self.lab.views.schedules.send(tx, report, dict.fromkeys(report.recipients, DRAWN))

    def fail(self, report: LeasedReport, error: str = "The service is out of reach.") -> None:
        with self.lab.storage.write() as tx:
            self.lab.views.schedules.mark_failed(tx, report, error=error)

    def list_mailed(self) -> list[str]:
        with self.lab.storage.read() as connection:
            own = mail_store.mails.c.tenant_id == self.tenant.tenant_id
            return sorted(connection.execute(select(mail_store.mails.c.recipient).where(own)).scalars())


@pytest.fixture
def story(lab: Installation) -> Story:
    return Story(lab)


@pytest.mark.both_engines
def test_a_due_report_is_leased_once_and_sent_to_each(story: Story, clock: FixedClock) -> None:
    assert story.lease() is None
    clock.advance(timedelta(days=1))
    due = story.row.due_at
    report = story.take()
    assert (report.page, report.query, set(report.recipients)) == ("risk", "days=1", {*story.people})
    assert story.lease() is None, "another server leased it as well"

    assert story.send(report) == 2
    assert story.send(report) == 0, "it was sent twice"
    assert story.list_mailed() == ["emil@reports.example", "sofia@reports.example"]
    row = story.row
    assert due is not None
    assert row.due_at == due + timedelta(days=1)
    assert (row.last_sent_at, row.last_error, row.attempts) == (clock.now(), None, 0)


def test_after_a_pause_of_weeks_the_newest_report_alone_is_sent(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=30))
    assert story.send(story.take()) == 2
    assert story.lease() is None
    next_due = story.row.due_at
    assert next_due is not None
    assert clock.now() < next_due <= clock.now() + timedelta(days=1)


def test_a_report_of_a_process_that_died_is_due_when_its_lease_ends(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=1))
    dead = story.take()
    clock.advance(rules.LEASE_TTL)
    again = story.take()
    assert again.attempt == dead.attempt + 1
    assert story.send(dead) == 0, "the process that lost its lease sent it"
    assert story.send(again) == 2


def test_a_renewed_lease_keeps_others_away(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=1))
    report = story.take()
    clock.advance(rules.LEASE_TTL / 2)
    with story.lab.storage.write() as tx:
        story.lab.views.schedules.renew_lease(tx, report)
    clock.advance(rules.LEASE_TTL * 0.75)
    assert story.lease() is None
    assert story.send(report) == 2


def test_a_failed_report_is_tried_again_and_then_given_up_until_the_next(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=1))
    for attempt in range(1, rules.MAX_ATTEMPTS + 1):
        report = story.take()
        assert report.attempt == attempt
        story.fail(report, error=f"Attempt {attempt} failed. " + "x" * 500)
        assert story.row.last_error is not None
        assert story.row.last_error.startswith(f"Attempt {attempt} failed.")
        assert len(story.row.last_error) <= rules.MAX_ERROR_LENGTH
        with story.lab.storage.write() as tx:
            story.lab.views.schedules.renew_lease(tx, report)  # a renewal that was under way
        assert story.send(report) == 0, "the attempt had ended"
        assert story.lease() is None
        clock.advance(rules.pause_after(attempt))
    row = story.row
    assert row.due_at is not None
    assert row.due_at > clock.now() - timedelta(hours=1)
    assert (row.attempts, story.list_mailed()) == (0, [])

    clock.advance(timedelta(days=1))
    assert story.send(story.take()) == 2
    assert story.row.last_error is None


def test_a_change_of_the_schedule_drops_the_report_that_is_being_drawn(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=1))
    report = story.take()
    body = ScheduleIn(hour=8, recipients=story.people[:1])
    story.lab.views.schedules.set(story.view_id, body, caller=story.caller)
    story.fail(report)
    assert (story.send(report), story.row.last_error, story.list_mailed()) == (0, None, [])


def test_who_left_while_it_was_drawn_gets_nothing(story: Story, clock: FixedClock) -> None:
    clock.advance(timedelta(days=1))
    report = story.take()
    owner = story.lab.orgs.service_caller(story.tenant.tenant_id)
    story.lab.people.remove(story.people[1], caller=owner)
    assert story.send(report) == 1
    assert story.list_mailed() == ["sofia@reports.example"]
    assert story.row.recipient_ids == (story.people[0],)


def test_the_file_of_a_mail_is_bounded_and_named(lab: Installation, caller: Caller) -> None:
    for file in (
        HtmlFile("../x.html", b""),
        HtmlFile("a.exe", b""),
        HtmlFile("a.html", b"x" * (MAX_ATTACHMENT_BYTES + 1)),
    ):
        with pytest.raises(ValidationFailed), lab.storage.write() as tx:
            lab.mails.enqueue(
                tx,
                tenant_id=caller.tenant_id,
                recipient="sofia@reports.example",
                subject="Report",
                text="t\n",
                at=lab.clock.now(),
                attachment=file,
            )
