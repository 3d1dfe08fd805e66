"""`check_lab`: the whole log and every signature re-verified from outside, after every story."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from sqlalchemy import select

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.attestations.rules import Verdict
from attestlab.attestations.store import attestations
from attestlab.core.db.tables import table_of
from attestlab.core.records.outbox import OutboxEvent
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.log.follower.follower import Follower
from attestlab.log.merkle.hashing import TileName, verify_consistency
from attestlab.log.note.trust_policy import TrustPolicy
from support.webhook_endpoints import find_event_faults

SAMPLE = 40
MAX_CHECKED_EVENTS = 200
OUTBOX = table_of(OutboxEvent)


def check_lab(lab: Installation) -> None:
    """No problem anywhere, no index twice, no gap, no alarm, every checkpoint consistent, bundles verify offline.

    And the newest events are as the catalogue of event types describes them.
    """
    assert list(fsck(lab)) == []
    _check_events(lab)
    with TemporaryDirectory() as folder:
        make_follower(lab, Path(folder) / "state").advance(lambda _seen: None)
    _check_checkpoints(lab)
    _check_bundles(lab)


class LabLogSource:
    """A lab's log as others read it, without the way over HTTP."""

    def __init__(self, lab: Installation) -> None:
        self.lab = lab

    def checkpoint(self) -> str:
        with self.lab.storage.read() as connection:
            return self.lab.log.head(connection).note

    def witnessed_checkpoint(self) -> str | None:
        return None

    def tile(self, name: TileName) -> bytes:
        with self.lab.storage.read() as connection:
            return self.lab.log.tile(connection, name)


def make_follower(lab: Installation, state: Path) -> Follower:
    """A follower that pinned the log's key; `state` holds what it has verified."""
    with lab.storage.read() as connection:
        vkey = lab.log.vkey(connection)
    return Follower(LabLogSource(lab), vkey, state, clock=lab.clock)


def _check_checkpoints(lab: Installation) -> None:
    """The log's own consistency proofs show that every signed head is a beginning of the newest one."""
    with lab.storage.read() as connection:
        trust = TrustPolicy.without_witnesses(lab.log.vkey(connection))
        newest = lab.log.head(connection)
        for row in lab.log.checkpoints(connection, limit=100):
            head = trust.verify_checkpoint(row.note)
            assert (head.size, head.root) == (row.size, row.root)
            if head.size:
                proof = lab.log.consistency(connection, head.size, newest.size)
                verify_consistency(head.size, newest.size, head.root, newest.root, proof.hashes)


def _check_events(lab: Installation) -> None:
    newest = select(OUTBOX.c.body).order_by(OUTBOX.c.seq.desc()).limit(MAX_CHECKED_EVENTS)
    with lab.storage.read() as connection:
        envelopes = [orjson.loads(body) for body in connection.scalars(newest)]
    assert {each["type"]: found for each in envelopes if (found := find_event_faults(each))} == {}


def _check_bundles(lab: Installation) -> None:
    with lab.storage.read() as connection:
        trust = TrustPolicy.without_witnesses(lab.log.vkey(connection))
        rows = connection.execute(select(attestations).order_by(attestations.c.log_index.desc()).limit(SAMPLE)).all()
    for row in rows:
        owner = lab.orgs.service_caller(row.tenant_id)
        found, proof, head = lab.attestations.load_evidence(row.id, caller=owner)
        text = rendered(found, proof, head, now=lab.clock.now()).model_dump_json(by_alias=True).encode()
        check_bundle(text, trust, lab)


def check_bundle(text: bytes, trust: TrustPolicy, lab: Installation) -> None:
    """A bundle as it goes over the wire holds offline; it is INVALID only where the service says so of the key."""
    bundle = Bundle.read(text)
    report = verify_bundle(bundle, trust=trust, now=lab.clock.now())
    if report.verdict is Verdict.INVALID:
        online = lab.attestations.verify(bundle.statement.id).report
        assert report.report.results[-1].step == "key", report
        assert set(report.report.results[-1].reasons) <= set(online.reasons), report
        assert online.verdict not in (Verdict.VALID, Verdict.ALTERED), report


def require_acknowledged(lab: Installation, acknowledged: Iterable[tuple[str, int]]) -> None:
    """Every acknowledged mint, as (id, log index), is there, where it was said to be."""
    with lab.storage.read() as connection:
        stored = {
            str(row.id): row.log_index
            for row in connection.execute(select(attestations.c.id, attestations.c.log_index))
        }
    missing = {item for item in acknowledged if stored.get(item[0]) != item[1]}
    assert not missing, f"{len(missing)} acknowledged mints are lost, such as {next(iter(missing))}"
