"""Whatever happens in whatever order: verdict and reasons are those of the reference model, after every step."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle as rendered
from attestlab.attestations.shapes import AttestationsQuery
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, PermissionDenied
from attestlab.core.ids import new_id
from attestlab.governance.rules import RequestType
from attestlab.governance.shapes import IssuerRequestIn
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Role
from support.attestation_model import AttestationModel
from support.faults.crash_points import portable_settings
from support.fork_server import ForkServer

pytestmark = pytest.mark.both_engines

RUNS = {"sqlite": 220, "postgresql": 30}  # some end before their 50 steps: so 10,000 steps are taken in the soak
SHORT = 8  # times fewer in the bounded form
STEPS = 50
ATTESTED = 6  # the maximum of a run, each judged after every step
DEATHS = 2  # the maximum of a run; each is a process
STATEMENTS = 30  # a change has fewer, so some deaths come when it is durable
STANDINGS = {
    "SUSPENDED": RequestType.SUSPEND_ISSUER,
    "ACTIVE": RequestType.REINSTATE_ISSUER,
    "REVOKED": RequestType.REVOKE_ISSUER,
}
PICK = st.integers(0, 99)
HOURS = st.sampled_from([None, 1, 5, 100])


class Story(RuleBasedStateMachine):
    """One issuer of a lab that many stories share, beside the model of it."""

    lab: Installation
    caller: Caller
    clock: FixedClock
    fork_server: ForkServer
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.first_lab = self.lab
        self.deaths = 0
        self.model = AttestationModel()
        self.ids: dict[str, UUID] = {}
        self.tag = new_id(self.clock.now()).hex[-12:]
        profile = {"name": "Northfield", "domain": "north.example"}
        kid = self.new_kid()
        made = self.lab.issuers.create(profile, caller=self.caller, alg=Algorithm.ED25519, kid=kid)
        self.issuer = made.issuer.id
        self.model.add_key(kid)
        for hours in (None, 5):  # each story leaves out some rules, often that of minting
            self.mint(0, hours)

    def new_kid(self) -> str:
        return f"{self.tag}-{len(self.model.keys)}"

    def key(self, pick: int) -> str:
        return list(self.model.keys)[pick % len(self.model.keys)]

    def name(self, pick: int) -> str:
        return list(self.ids)[pick % len(self.ids)]

    def request(self, kid: str, **changes: Any) -> MintRequest:
        return MintRequest(issuer_id=self.issuer, kid=kid, schema="degree", claims={"student_name": "Ada"}, **changes)

    def happens(self, may: bool, act: Any) -> Any:
        """What the model allows happens; what it does not is a conflict, and leaves no trace."""
        if may:
            return act()
        before = self.log_size()
        with pytest.raises((Conflict, PermissionDenied)):
            act()
        assert self.log_size() == before
        return None

    def log_size(self) -> int:
        with self.lab.storage.read() as connection:
            return self.lab.log.size(connection)

    def has_room(self) -> bool:
        return len(self.ids) < ATTESTED

    def has_some(self) -> bool:
        return bool(self.ids)

    @precondition(has_room)
    @rule(pick=PICK, hours=HOURS)
    def minted(self, pick: int, hours: int | None) -> None:
        self.mint(pick, hours)

    def mint(self, pick: int, hours: int | None) -> None:
        kid, at = self.key(pick), self.clock.now()
        expiry_at = None if hours is None else at + timedelta(hours=hours)
        request = self.request(kid, expiry_at=expiry_at)
        made = self.happens(self.model.may_mint(kid), lambda: self.lab.attestations.mint(request, caller=self.caller))
        if made is not None:
            name = f"a{len(self.ids)}"
            self.ids[name] = made.id
            self.model.mint(name, kid, at=at, expiry_at=expiry_at)

    @precondition(has_some)
    @rule(pick=PICK)
    def revoke(self, pick: int) -> None:
        name = self.name(pick)
        may = self.model.may_end(name, now=self.clock.now())
        self.happens(may, lambda: self.lab.attestations.revoke(self.ids[name], reason="a story", caller=self.caller))
        if may:
            self.model.revoke(name)

    @precondition(lambda self: self.has_some() and self.has_room())
    @rule(pick=PICK, key=PICK)
    def supersede(self, pick: int, key: int) -> None:
        name, kid, at = self.name(pick), self.key(key), self.clock.now()
        may = self.model.may_end(name, now=at) and self.model.may_mint(kid)
        made = self.happens(
            may, lambda: self.lab.attestations.supersede(self.ids[name], self.request(kid), caller=self.caller)
        )
        if may:
            successor = f"a{len(self.ids)}"
            self.ids[successor] = made.id
            self.model.supersede(name, successor, kid, at=at)

    @rule(pick=PICK)
    def rotate(self, pick: int) -> None:
        kid, new_kid = self.key(pick), self.new_kid()
        may = self.model.may_rotate(kid)
        rotate = self.lab.signing_keys.rotate
        self.happens(may, lambda: rotate(kid, new_kid=new_kid, alg=Algorithm.ED25519, caller=self.caller))
        if may:
            self.model.rotate(kid, new_kid)

    @rule(pick=PICK, status=st.sampled_from(["revoked", "compromised"]), ago=st.sampled_from([None, 0, 1, 7, 200]))
    def withdraw(self, pick: int, status: str, ago: int | None) -> None:
        """A key is withdrawn; the issuer gets another, so that the run can continue."""
        kid, keys = self.key(pick), self.lab.signing_keys
        since = None if ago is None or status == "revoked" else self.clock.now() - timedelta(hours=ago)
        acts = {
            "revoked": lambda: keys.revoke(kid, reason="a story", caller=self.caller),
            "compromised": lambda: keys.compromise(kid, reason="a story", compromised_at=since, caller=self.caller),
        }
        may = self.model.may_withdraw(kid, status)
        done = self.happens(may, acts[status])
        if may:
            assert done.affected.attestations == self.model.signed_by(kid)
            self.model.withdraw(kid, status, compromised_at=since)
            new_kid = self.new_kid()
            self.lab.signing_keys.add(self.issuer, kid=new_kid, alg=Algorithm.ED25519, caller=self.caller)
            self.model.add_key(new_kid)

    @rule(standing=st.sampled_from(["SUSPENDED", "ACTIVE", "SUSPENDED", "ACTIVE", "REVOKED"]))
    def govern(self, standing: str) -> None:
        """The issuer is suspended, reinstated or revoked: one asks, two approve, the tenant carries it out."""
        asked = IssuerRequestIn(type=STANDINGS[standing], target_issuer_id=self.issuer, reason="a story")
        may = self.model.may_become(standing)
        request = self.happens(may, lambda: self.lab.governance.request(asked, caller=self.person("asks")))
        if may:
            for number in range(2 if standing == "REVOKED" else 1):
                self.lab.governance.approve(request.id, caller=self.person(f"approves-{number}"))
            self.lab.governance.execute(request.id, caller=self.person("asks"))
            self.model.become(standing)

    def person(self, name: str) -> Caller:
        return replace(self.caller, actor_id=name, roles=frozenset({Role.OWNER, Role.SUPER_ADMIN}))

    @precondition(lambda self: self.deaths < DEATHS and self.has_some() and self.has_room())
    @rule(
        change=st.sampled_from(["mint", "revoke", "supersede"]),
        pick=PICK,
        key=PICK,
        statement=st.integers(1, STATEMENTS),
    )
    def killed(self, change: str, pick: int, key: int, statement: int) -> None:
        """A process is killed over a change: all of it happened or nothing, and the next one continues."""
        name, kid, at = self.name(pick), self.key(key), self.clock.now()
        ends, mints = change != "mint", change != "revoke"
        may = (not ends or self.model.may_end(name, now=at)) and (not mints or self.model.may_mint(kid))
        if not may:
            return
        before = self.log_size()
        self.die(change, self.ids[name], kid, statement)
        self.restart()
        if self.log_size() == before:
            return
        assert self.log_size() == before + ends + mints
        successor = f"a{len(self.ids)}"
        if mints:
            self.ids[successor] = self.lab.attestations.page(
                AttestationsQuery(issuer_id=self.issuer), caller=self.caller
            )[0].id
        if change == "mint":
            self.model.mint(successor, kid, at=at, expiry_at=None)
        elif change == "revoke":
            self.model.revoke(name)
        else:
            self.model.supersede(name, successor, kid, at=at)

    def restart(self) -> None:
        """A fresh process continues; the first one lives as long as the test."""
        self.end()
        self.lab = Installation.open(self.lab.settings, clock=self.clock)

    def end(self) -> None:
        if self.lab is not self.first_lab:
            self.lab.close()

    def die(self, change: str, attestation_id: UUID, kid: str, statement: int) -> None:
        self.deaths += 1
        wish = {
            "settings": portable_settings(self.lab),
            "now": format_time(self.clock.now()),
            "tenant_id": str(self.caller.tenant_id),
            "issuer_id": str(self.issuer),
            "kid": kid,
            "change": change,
            "attestation_id": str(attestation_id),
            "statement": statement,
        }
        out = self.folder / "dying"
        code = self.fork_server.start("die", json.dumps(wish), out=out, errors=out).wait()
        assert code == -signal.SIGKILL, out.read_text()

    @rule(minutes=st.sampled_from([1, 30, 60, 300, 6000, -45]))
    def time_passes(self, minutes: int) -> None:
        """Also backwards: what was made permanent stays so."""
        self.clock.advance(timedelta(minutes=minutes))

    @rule()
    def sweep(self) -> None:
        with self.lab.storage.write() as tx:
            self.lab.attestations.expire_due(tx, limit=1000)
            self.lab.list_statuses(tx)
        self.model.sweep(now=self.clock.now())
        stored = {name: self.lab.attestations.get(self.ids[name], caller=self.caller).status for name in self.ids}
        assert stored == {name: one.status for name, one in self.model.attested.items()}

    def check_invariants(self, *arguments: Any, **more: Any) -> None:
        """After every step; hypothesis calls this."""
        super().check_invariants(*arguments, **more)
        now = self.clock.now()
        for name, attestation_id in self.ids.items():
            found = self.lab.attestations.verify(attestation_id, follow=True)
            expected = self.model.judged(name, now=now)
            assert (found.verdict.value, [reason.value for reason in found.report.reasons]) == expected, name
            latest = self.model.latest(name)
            assert found.latest == (None if latest is None else self.ids[latest])

    def teardown(self) -> None:
        """What the service said last, a bundle shows offline; a process that started after a death is ended."""
        now, trust = self.clock.now(), self.lab.trust
        for name, attestation_id in self.ids.items():
            row, proofs, head = self.lab.attestations.load_evidence(attestation_id, caller=self.caller)
            text = rendered(row, proofs, head, now=now).model_dump_json(by_alias=True).encode()
            report = verify_bundle(Bundle.read(text), trust=trust, now=now)
            expected, reasons = self.model.judged_offline(name, now=now)
            if report.as_of is None:  # no list shows that nothing happened, so nothing says it
                reasons = [reason for reason in reasons if reason not in ("status_current", "governance_ok")]
            assert (report.verdict.value, [reason.value for reason in report.report.reasons]) == (expected, reasons)
        self.end()


def test_verdict_and_reasons_equal_the_model_after_every_step(
    lab: Installation, caller: Caller, clock: FixedClock, fork_server: ForkServer, tmp_path: Path, is_long: bool
) -> None:
    """
    The stories share one log, so that lists and proofs grow; each has its own issuer.
    """
    story = type(
        "StoryOfThisLab",
        (Story,),
        {"lab": lab, "caller": caller, "clock": clock, "fork_server": fork_server, "folder": tmp_path},
    )
    runs = RUNS["sqlite" if lab.storage.is_sqlite else "postgresql"] // (1 if is_long else SHORT)
    quiet = settings(
        max_examples=runs, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
    )

    run_state_machine_as_test(story, settings=quiet)
