"""A reference model of what becomes of attestations: no database, no cryptography, no log; only the rules, said again.

It numbers what happens (`order`); the numbers stand for the order of the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

Judged = tuple[str, list[str]]
SOUND = ["signature_ok", "transparency_proof_ok", "policy_ok"]


@dataclass
class Key:
    """A signing key: its status, when in the order of things that was, and since when others may have it."""

    status: str = "active"
    changed: int = -1
    compromised_at: datetime | None = None


@dataclass
class Attested:
    """One attestation."""

    kid: str
    order: int
    at: datetime
    expiry_at: datetime | None
    status: str = "VALID"
    successor: str | None = None

    def status_at(self, now: datetime) -> str:
        ran_out = self.status == "VALID" and self.expiry_at is not None and self.expiry_at <= now
        return "EXPIRED" if ran_out else self.status


@dataclass
class AttestationModel:
    """Everything that one issuer did, by the names that the story gives."""

    keys: dict[str, Key] = field(default_factory=dict)
    attested: dict[str, Attested] = field(default_factory=dict)
    order: int = 0
    standing: str = "ACTIVE"
    revoked: int = -1  # when in the order of things that was

    def _next(self) -> int:
        self.order += 1
        return self.order

    def add_key(self, kid: str) -> None:
        self._next()
        self.keys[kid] = Key()

    def may_mint(self, kid: str) -> bool:
        return self.standing == "ACTIVE" and self.keys[kid].status == "active"

    def may_become(self, standing: str) -> bool:
        before = {"ACTIVE": ("SUSPENDED",), "SUSPENDED": ("ACTIVE",), "REVOKED": ("ACTIVE", "SUSPENDED")}
        return self.standing in before[standing]

    def become(self, standing: str) -> None:
        """The issuer is suspended, reinstated or revoked."""
        self.standing, order = standing, self._next()
        self.revoked = order if standing == "REVOKED" else -1

    def mint(self, name: str, kid: str, *, at: datetime, expiry_at: datetime | None) -> None:
        assert self.may_mint(kid)
        self.attested[name] = Attested(kid, self._next(), at, expiry_at)

    def may_end(self, name: str, *, now: datetime) -> bool:
        return self.attested[name].status_at(now) == "VALID"

    def revoke(self, name: str) -> None:
        self._next()
        self.attested[name].status = "REVOKED"

    def supersede(self, name: str, successor: str, kid: str, *, at: datetime) -> None:
        self.mint(successor, kid, at=at, expiry_at=None)
        self._next()
        self.attested[name].status = "SUPERSEDED"
        self.attested[name].successor = successor

    def sweep(self, *, now: datetime) -> None:
        """Make every expiry permanent."""
        for each in self.attested.values():
            if each.status_at(now) != each.status:
                self._next()
                each.status = "EXPIRED"

    def may_rotate(self, kid: str) -> bool:
        return self.keys[kid].status == "active"

    def rotate(self, kid: str, new_kid: str) -> None:
        self._become(kid, "rotated")
        self.add_key(new_kid)

    def may_withdraw(self, kid: str, status: str) -> bool:
        worse = {"revoked": ("revoked", "compromised"), "compromised": ("compromised",)}[status]
        return self.keys[kid].status not in worse

    def withdraw(self, kid: str, status: str, *, compromised_at: datetime | None = None) -> None:
        self._become(kid, status)
        self.keys[kid].compromised_at = compromised_at

    def _become(self, kid: str, status: str) -> None:
        self.keys[kid].status, self.keys[kid].changed = status, self._next()

    def signed_by(self, kid: str) -> int:
        return sum(each.kid == kid for each in self.attested.values())

    def latest(self, name: str) -> str | None:
        """What a superseded one leads to in the end."""
        if self.attested[name].successor is None:
            return None
        while (successor := self.attested[name].successor) is not None:
            name = successor
        return name

    def judged(self, name: str, *, now: datetime) -> Judged:
        """The verdict and its reasons, as the service gives them."""
        verdict, flags = self._judged(self.attested[name], now)
        return verdict, [*flags, *(SOUND if verdict == "VALID" else [])]

    def judged_offline(self, name: str, *, now: datetime) -> Judged:
        """The same of a bundle that was made now; of policies it tells nothing."""
        verdict, flags = self._judged(self.attested[name], now)
        return verdict, ["transparency_proof_ok", "signature_ok", *flags]

    def _judged(self, one: Attested, now: datetime) -> Judged:
        """What status, issuer and key say, in this order, until one of them ends the matter."""
        status = one.status_at(now)
        if status != "VALID":
            return status, [f"attestation_{status.lower()}"]
        verdict, flag = self._of_issuer(one)
        if verdict != "VALID":
            return verdict, ["status_current", flag]
        verdict, flags = self._of_key(one)
        return verdict, ["status_current", flag, *flags]

    def _of_issuer(self, one: Attested) -> tuple[str, str]:
        if self.standing == "ACTIVE":
            return "VALID", "governance_ok"
        before = self.standing == "SUSPENDED" or one.order < self.revoked
        return "VALID" if before else "INVALID", f"issuer_{self.standing.lower()}"

    def _of_key(self, one: Attested) -> Judged:
        key = self.keys[one.kid]
        if key.status == "active":
            return "VALID", []
        if key.status == "rotated":
            return "VALID", ["key_rotated"]
        before = one.order < key.changed if key.compromised_at is None else one.at < key.compromised_at
        return "VALID" if before else "INVALID", [f"key_{key.status}"]
