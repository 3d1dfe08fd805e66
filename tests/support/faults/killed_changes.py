"""Changes whose process is killed before one of their statements, from the side of the test."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from support.faults.crash_points import portable_settings
from support.fork_server import ForkServer
from support.lab_checks import check_lab

Found = TypeVar("Found")

MAX_STATEMENTS = 120  # every change has fewer
AFTER_ALL = 1000  # when it is durable


def kill_before(
    fork_server: ForkServer,
    lab: Installation,
    change: str,
    statement: int,
    *,
    tenant_id: UUID,
    issuer_id: UUID | None,
    out: Path,
    subject: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Make a change in another process, which dies before the given statement; `subject` is what of agents changes."""
    wish = {
        **{"settings": portable_settings(lab), "now": format_time(lab.clock.now()), "change": change},
        **{"tenant_id": str(tenant_id), "issuer_id": str(issuer_id or tenant_id), "kid": "main"},
        **{"attestation_id": None, "statement": statement, "subject": dict(subject)},
    }
    code = fork_server.start("die", json.dumps(wish), out=out, errors=out).wait()
    assert code == -signal.SIGKILL, out.read_text()


def list_outcomes(kill: Callable[[int], None], find: Callable[[], Found], lab: Installation, step: int) -> list[Found]:
    """Kill a change before each `step`-th of its statements until it is durable; return what each kill left."""
    nothing, outcomes = find(), []
    for statement in [*range(1, MAX_STATEMENTS, step), AFTER_ALL]:
        kill(statement)
        outcomes.append(find())
        check_lab(lab)
        if outcomes[-1] != nothing:
            return outcomes
    raise AssertionError("The change is not durable when it is over.")
