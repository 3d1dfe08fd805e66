"""A process that is killed while it protects content leaves the attestation and the protection, or neither."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from uuid import UUID

import pytest

from attestlab.attestations.shapes import AttestationsQuery
from attestlab.core.encoding import format_time
from attestlab.installation import Installation
from attestlab.protections.shapes import ProtectionsQuery
from support.faults.crash_points import portable_settings
from support.fork_server import ForkServer
from support.lab_checks import check_lab
from support.orgs import PASSWORD

STATEMENTS = 60  # it has fewer
AFTER_ALL = 1000  # when it is durable
STEP = 12  # the bounded form leaves out the statements between


def kill_before(fork_server: ForkServer, lab: Installation, tenant_id: UUID, statement: int, out: Path) -> None:
    wish = {
        **{"settings": portable_settings(lab), "now": format_time(lab.clock.now()), "change": "protect"},
        **{"tenant_id": str(tenant_id), "issuer_id": str(tenant_id), "kid": "none", "attestation_id": None},
        "statement": statement,
    }
    code = fork_server.start("die", json.dumps(wish), out=out, errors=out).wait()
    assert code == -signal.SIGKILL, out.read_text()


@pytest.mark.both_engines
def test_a_kill_at_any_statement_leaves_both_or_neither(
    lab: Installation, fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    ada = lab.orgs.add_consumer("ada@consumers.example", PASSWORD, name="Ada")
    lab.platform_issuer.ensure()
    caller, operator = lab.orgs.service_caller(ada.tenant_id), lab.operator_caller()
    found: list[tuple[int, int]] = []
    for statement in [*range(1, STATEMENTS, 1 if is_long else STEP), AFTER_ALL]:
        kill_before(fork_server, lab, ada.tenant_id, statement, tmp_path / "out")
        _, protections = lab.protections.page(ProtectionsQuery(), caller=caller)
        found.append((len(lab.attestations.page(AttestationsQuery(), caller=operator)), protections))
        check_lab(lab)
        if found[-1] != (0, 0):
            break

    assert found[0] == (0, 0), "the first statement only reads"
    assert found[-1] == (1, 1)
    assert set(found) == {(0, 0), (1, 1)}
