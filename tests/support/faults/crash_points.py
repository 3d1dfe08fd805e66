"""One change of an attestation, a protection, a plan or an agent, in a process that is killed before it ends.

It dies before the given statement of the records, counted from 1, a commit being one too; or,
where the change takes fewer, when it is durable and no client has its answer.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import event

from attestlab.agents.keys import prepare_key
from attestlab.agents.runs.shapes import RunCompleteIn
from attestlab.attestations.minting import MintRequest
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import parse_time
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.protections.shapes import ProtectionIn
from attestlab.settings import Settings
from attestlab.views.schedules.results import DrawnReport


def crash_during_change(wish: str) -> None:
    """Do what `wish` says, and die.

    It is `{settings, now, tenant_id, issuer_id, kid, change, attestation_id, statement}`, for agents with `subject`.
    """
    task: dict[str, Any] = json.loads(wish)
    lab = Installation.open(Settings(**task["settings"]), clock=FixedClock(parse_time(task["now"])))
    caller = lab.orgs.service_caller(UUID(task["tenant_id"]))
    request = MintRequest(
        issuer_id=UUID(task["issuer_id"]), kid=task["kid"], schema="degree", claims={"student_name": "Ada"}
    )
    subject: dict[str, str] = task.get("subject", {})
    attestation_id = task["attestation_id"] and UUID(task["attestation_id"])
    changes: dict[str, Callable[[], object]] = {
        "mint": lambda: lab.attestations.mint(request, caller=caller),
        "revoke": lambda: lab.attestations.revoke(attestation_id, reason="a story", caller=caller),
        "deliver": lambda: lab.attestations.mint(replace(request, recipient_email="ada@people.example"), caller=caller),
        "upgrade": lambda: lab.billing.change(Plan.PROFESSIONAL, caller=caller),
        "protect": lambda: _protect(lab, caller),
        "supersede": lambda: lab.attestations.supersede(attestation_id, request, caller=caller),
        "kill an agent": lambda: lab.agents.lifecycle.kill(UUID(subject["id"]), reason="it probes", caller=caller),
        "rotate a key": lambda: lab.agents.keys.rotate(UUID(subject["id"]), prepare_key(None), caller=caller),
        "refresh a session": lambda: lab.agents.sessions.refresh(UUID(subject["id"]), subject["refresh_token"]),
        "send a report": lambda: send_report(lab),
        "complete a run": lambda: lab.agents.runs.complete(UUID(subject["id"]), RunCompleteIn(), caller=caller),
    }
    _kill_before(lab, task["statement"])
    changes[task["change"]]()
    _kill_process()


def send_report(lab: Installation) -> int:
    """Lease the report that is due, and send it as a server does once it is drawn; returns the number of mails."""
    with lab.storage.write() as tx:
        report = lab.views.schedules.lease(tx)
    if report is None:
        return 0
    drawn = DrawnReport(("Signals: 53",), b"<!doctype html><p>53")
    with lab.storage.write() as tx:
        return lab.views.schedules.send(tx, report, dict.fromkeys(report.recipients, drawn))


def _protect(lab: Installation, consumer: Caller) -> None:
    prepared = lab.protections.prepare(ProtectionIn(content_hash="ab" * 32, title="Sunset"), caller=consumer)
    assert prepared is not None
    lab.protections.create(prepared)


def _kill_before(lab: Installation, statement: int) -> None:
    left = [statement]

    def count(*_arguments: object) -> None:
        left[0] -= 1
        if not left[0]:
            _kill_process()

    event.listen(lab.storage.engine, "before_cursor_execute", count)
    event.listen(lab.storage.engine, "commit", count)


def _kill_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def portable_settings(lab: Installation) -> dict[str, str]:
    """What another process needs to open the same installation."""
    url = lab.storage.full_url
    return {"data": str(Path(lab.settings.data)), "database_url": url}
