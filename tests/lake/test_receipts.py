"""The data set `receipts`: types, statuses and times of a tenant's receipts, exported or not, and no payload."""

from __future__ import annotations

from pathlib import Path

import pytest

from attestlab.attestations.verification.steps import VerifierInput
from attestlab.lake import datasets
from support.lake import LakeScenario

PERSONAL = "Ada Lovelace of Marylebone"
STATES = {(False, False), (True, False), (False, True), (True, True)}


@pytest.mark.parametrize("is_exported", [False, True])
def test_a_receipt_has_its_status_and_times(lake_scenario: LakeScenario, is_exported: bool) -> None:
    lab, owner = lake_scenario.lab, lake_scenario.owner
    for _ in range(6):
        owner.receive()
    if is_exported:
        lab.lake.export()

    rows = lab.lake(owner.caller).receipts.arrow().to_pylist()

    recorded = {str(each): lab.receipts.get(each, caller=owner.caller) for each in owner.receipts}
    assert {row["receipt_id"] for row in rows} == set(recorded)
    for row in rows:
        kept = recorded[row["receipt_id"]]
        assert (row["status"], row["revoked_at"], row["redacted_at"]) == (
            kept.status,
            kept.revoked_at,
            kept.redacted_at,
        )
        assert (row["status_log_index"], row["log_index"]) == (kept.changed_index, kept.log_index)
        assert (row["issued_at"], row["retain_until"]) == (kept.created_at, kept.retain_until)
        assert (row["receipt_type"], row["receipt_version"]) == (owner.receipt_type, "1.0.0")
    assert {(row["revoked_at"] is None, row["redacted_at"] is None) for row in rows} == STATES


def test_a_receipt_that_changes_after_its_export_has_its_new_status(lake_scenario: LakeScenario) -> None:
    lab, owner = lake_scenario.lab, lake_scenario.owner
    owner.receive()
    lab.lake.export()

    lab.receipts.revoke(owner.receipts[0], caller=owner.caller)
    lab.receipts.redact(owner.receipts[0], caller=owner.caller)

    (row,) = lab.lake(owner.caller).receipts.arrow().to_pylist()
    assert (row["status"], row["redacted_at"]) == ("REVOKED", lab.clock.now())


def test_another_tenant_sees_none_of_them(lake_scenario: LakeScenario) -> None:
    lab, other = lake_scenario.lab, lake_scenario.other
    lake_scenario.owner.receive()
    lab.lake.export()
    lake_scenario.owner.receive()

    assert len(lab.lake(other.caller).receipts) == 0
    other.receive()
    assert [row["receipt_id"] for row in lab.lake(other.caller).receipts.arrow().to_pylist()] == [
        str(other.receipts[0])
    ]


def test_no_file_has_what_a_receipt_discloses(lake_scenario: LakeScenario) -> None:
    lab, owner = lake_scenario.lab, lake_scenario.owner
    owner.receive(subject=PERSONAL, metadata={"of": PERSONAL}, payload={"n": 3, "note": PERSONAL})

    lab.lake.export()

    facts = [fact for each in datasets.ALL for fact in _read_all(lake_scenario, each.name)]
    assert len(facts) > 5
    assert [fact for fact in facts if PERSONAL in fact] == []
    assert list(Path(lab.settings.data, "lake").rglob("*.parquet")) != []


def test_a_verification_names_its_receipt(lake_scenario: LakeScenario) -> None:
    lab, owner = lake_scenario.lab, lake_scenario.owner
    owner.receive()
    verified = lab.receipts.verify_metered(owner.receipts[0], VerifierInput())
    with lab.storage.write() as tx:
        lab.attestations.meter(tx, verified)

    (row,) = lab.lake(owner.caller).verifications.arrow().to_pylist()

    assert (row["receipt_id"], row["attestation_id"], row["verdict"]) == (str(owner.receipts[0]), None, "VALID")


def _read_all(lake_scenario: LakeScenario, name: str) -> list[str]:
    with lake_scenario.lab.lake(lake_scenario.owner.caller).connect(name) as connection:
        return list(map(str, connection.execute(f"SELECT * FROM {name}").fetchall()))
