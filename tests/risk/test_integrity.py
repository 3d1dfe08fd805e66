"""fsck finds what was changed in the tables of risk outside the service, also where it reads like the original."""

from __future__ import annotations

import pytest

from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals.recording import NewSignal


@pytest.mark.tampered
@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE risk_signals SET score = CAST('90. ' AS BLOB)", "unreadable"),
        ("UPDATE risk_cases SET max_score = CAST('90. ' AS BLOB)", "risk_case"),
        ("UPDATE risk_signals SET score = 91", "risk"),
        ("UPDATE risk_signals SET details = '{\"a\":1}'", "risk"),
        ("DELETE FROM risk_signals", "risk"),
        ("UPDATE risk_cases SET signal_count = 2", "risk_case"),
    ],
)
def test_changed_row_is_found(lab: Installation, caller: Caller, statement: str, kind: str) -> None:
    new = NewSignal("login", "ato", 90.0, Entity(EntityType.USER, "ada"), "{}", lab.clock.now())
    lab.risk.signals.add(new, caller=caller)
    assert list(fsck(lab)) == []

    with lab.storage.engine.begin() as connection:
        connection.exec_driver_sql(statement)

    assert kind in {problem.kind for problem in fsck(lab)}
