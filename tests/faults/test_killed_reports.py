"""A server that is killed while it leases, draws or sends a report sends it once: it is neither lost nor doubled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan
from attestlab.views.schedules.rules import LEASE_TTL
from attestlab.views.schedules.shapes import ScheduleIn
from attestlab.views.shapes import ViewIn
from support.faults.crash_points import send_report
from support.faults.killed_changes import AFTER_ALL, MAX_STATEMENTS, kill_before
from support.fork_server import ForkServer
from support.identity import add_user
from support.lab_checks import check_lab

STEP = 7  # the bounded form leaves out the statements between
RECIPIENTS = ("sofia@reports.example", "emil@reports.example")
pytestmark = pytest.mark.both_engines


def test_a_report_is_sent_once_wherever_its_server_is_killed(
    lab: Installation, clock: FixedClock, fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    """After each kill another server sends what is due; then the next day begins."""
    tenant = lab.orgs.create_tenant("Reported", plan=Plan.ENTERPRISE)
    people = [add_user(lab, tenant, address, "a long enough one").id for address in RECIPIENTS]
    caller = replace(lab.orgs.service_caller(tenant.tenant_id), actor_type="USER", actor_id=str(people[0]))
    view = lab.views.save(ViewIn(name="Risk of the day", page="risk", query=""), caller=caller)
    lab.views.schedules.set(view.id, ScheduleIn(hour=clock.now().hour, recipients=people), caller=caller)
    kill = partial(
        kill_before,
        fork_server,
        lab,
        "send a report",
        tenant_id=tenant.tenant_id,
        issuer_id=None,
        out=tmp_path / "out",
    )

    def count_mails() -> int:
        with lab.storage.read() as connection:
            own = select(func.count()).select_from(mails).where(mails.c.tenant_id == tenant.tenant_id)
            return int(connection.execute(own).scalar_one())

    states = set()
    for day, statement in enumerate([*range(1, MAX_STATEMENTS, 1 if is_long else STEP), AFTER_ALL], 1):
        clock.advance(timedelta(days=1))
        kill(statement)
        left = count_mails() - len(RECIPIENTS) * (day - 1)
        states.add(left)
        clock.advance(LEASE_TTL)  # that of the process which was killed
        assert send_report(lab) == len(RECIPIENTS) - left
        assert count_mails() == len(RECIPIENTS) * day
        assert send_report(lab) == 0
        clock.advance(-LEASE_TTL)
        if left:
            break
    check_lab(lab)
    assert states == {0, len(RECIPIENTS)}, "no kill was before, or none after the report was sent"
