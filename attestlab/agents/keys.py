"""Service for the keys of agents: proof of possession, rotation, compromise and the ledger (CONTRACT 11.8).

A key is made by the service and sealed at rest, or it is the agent's own: then its holder signs a challenge, and the
service can neither sign nor delegate for the agent. Each change of a key is an entry of the log.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.agents import rules, store
from attestlab.agents.events import AgentKeyRotated
from attestlab.agents.evidence import note_evidence
from attestlab.agents.lifecycle import AgentLifecycle
from attestlab.agents.rules import AgentStatus, TrustCause
from attestlab.agents.tables import AgentChallengeRecord, AgentKeyRecord
from attestlab.core.clock import Clock, truncate_to_milliseconds
from attestlab.core.crypto import sealing, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import Conflict, SignatureInvalid, ValidationFailed
from attestlab.core.execution.long_verbs import long_write
from attestlab.core.ids import new_id
from attestlab.core.records import audited_write, outbox
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers.new_keys import UNLOGGED, NewKey, load_external_key, make_managed_key
from attestlab.issuers.rules import KeyStatus, require_past, require_withdrawable
from attestlab.log import agent_entries, entries
from attestlab.log.entries import EntryType
from attestlab.log.service import Log
from attestlab.orgs.rules import Caller

ALG: Final = Algorithm.ED25519
KID_BYTES: Final = 12
CHALLENGE_BYTES: Final = 32
CHALLENGE_TTL: Final = timedelta(minutes=5)


class SentKey(NamedTuple):
    """An agent's own public key as its holder sends it, and the signature of the challenge."""

    public_key: str
    proof: str | None


class RotatedAgentKey(NamedTuple):
    """Both keys of a rotation."""

    old: AgentKeyRecord
    new: AgentKeyRecord


@dataclass(frozen=True)
class PreparedKey:
    """A key to register, with the proof of possession if it is the agent's own."""

    key: NewKey = field(repr=False)
    proof: bytes | None = field(repr=False)


def prepare_key(sent: SentKey | None) -> PreparedKey:
    """Make a managed key, or read the one that was sent; needs no transaction.

    Raises:
        ValidationFailed: the public key or the proof cannot be read, or the proof is missing.
    """
    kid = f"agk_{secrets.token_hex(KID_BYTES)}"
    if sent is None:
        return PreparedKey(make_managed_key(kid, ALG, None), None)
    key = load_external_key(kid, ALG, _read_public_key(sent.public_key))
    if sent.proof is None:
        message = "An agent's own key needs a proof: sign the challenge of POST /v1/agents/challenges."
        raise ValidationFailed.of("/proof", "missing", message)
    return PreparedKey(key, b64url_decode(sent.proof, field="/proof"))


def _read_public_key(text: str) -> bytes:
    signing.reject_private(text, field="/public_key")
    raw = b64url_decode(text, field="/public_key")
    signing.load_new_public(ALG, raw, field="/public_key")
    return raw


class AgentKeys:
    """The keys of agents. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(
        self, *, storage: Storage, keyring: Keyring, clock: Clock, log: Log, lifecycle: AgentLifecycle
    ) -> None:
        self.storage = storage
        self.keyring = keyring
        self.clock = clock
        self.log = log
        self.lifecycle = lifecycle

    def challenge(self, public_key: str, *, caller: Caller, tx: Transaction | None = None) -> AgentChallengeRecord:
        """Make a challenge for the holder of a private key; it replaces an earlier one for the same key.

        Raises:
            ValidationFailed: the public key cannot be read.
            Conflict: an agent of the tenant has this key already.
        """
        spki = signing.spki(signing.load_new_public(ALG, _read_public_key(public_key)))
        with self.storage.write(tx) as tx:
            now = self.clock.now()
            _require_unknown(tx, spki, caller.tenant_id)
            store.delete_challenges(tx, tenant_id=caller.tenant_id, spki=spki)
            text = b64url_encode(secrets.token_bytes(CHALLENGE_BYTES))
            row = AgentChallengeRecord(new_id(now), caller.tenant_id, spki, text, now + CHALLENGE_TTL)
            tx.add(store.challenges, row)
        return row

    def add(self, tx: Transaction, agent_id: UUID, prepared: PreparedKey, *, context: AuditContext) -> AgentKeyRecord:
        """Add a key to an agent, whose tenant is that of the context: log entry, row and audit line.

        Raises:
            ValidationFailed: the proof is not that of a current challenge for this key.
            Conflict: an agent of the tenant has this key already.
        """
        key, tenant_id = prepared.key, context.tenant_id
        if key.private is None:  # a key that the service made is new, and the unique index holds for all
            _require_unknown(tx, signing.spki(key.public), tenant_id)
        if prepared.proof is not None:
            self._meet_challenge(tx, key, prepared.proof, tenant_id, context.at)
        columns = key.build_columns(self._seal(tx, key, tenant_id, agent_id), tenant_id, context.at)
        unlogged = AgentKeyRecord(agent_id=agent_id, reported_at=None, **columns)
        row = unlogged._replace(log_index=self._log(tx, unlogged, context.at))
        return audited_write.insert(tx, store.keys, row, replace(context, action="agent_key.create", metadata={}))

    def page(
        self, agent_id: UUID, *, caller: Caller, before: int | None = None, limit: int = 50
    ) -> Sequence[AgentKeyRecord]:
        """List the keys of an agent, newest first, with log entries below `before`.

        Raises:
            NotFound: the caller's tenant has no such agent.
        """
        with self.storage.read() as connection:
            store.get(connection.execute, agent_id, tenant_id=caller.tenant_id)
            return store.page_keys(connection.execute, agent_id, before=before, limit=limit)

    def rotate(
        self, agent_id: UUID, prepared: PreparedKey, *, caller: Caller, tx: Transaction | None = None
    ) -> RotatedAgentKey:
        """Replace the current key of an agent; what the old one signed stays valid.

        A suspended agent can get another key, so that it can be resumed after a compromise.

        Raises:
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the caller is another agent.
            ValidationFailed: the proof is not that of a current challenge for this key.
            Conflict: the agent is revoked, or an agent of the tenant has this key already.
        """
        rules.require_own(caller, agent_id, verb="rotate the key of")
        with self.storage.write(tx) as tx:
            agent = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id)
            now = self.clock.now()
            rules.require_unrevoked(rules.status_at(agent.status, agent.expires_at, now))
            context = AuditContext(caller.tenant_id, caller, "agent.rotate_key", now)
            old = store.get_key(tx.exec, agent_id, agent.key_id)
            if old.status == KeyStatus.ACTIVE:
                rotated = old._replace(status=KeyStatus.ROTATED.value, rotated_at=now)
                old = self._change_status(tx, rotated, replace(context, action="agent_key.rotate"))
            new = self.add(tx, agent_id, prepared, context=context)
            changes = {"key_id": new.kid, "custody": new.custody, "updated_at": now}
            audited_write.change(tx, store.agents, agent, changes, context)
            note_evidence(tx, agent_id, TrustCause.KEY)
            outbox.publish(tx, caller.tenant_id, AgentKeyRotated(agent_id, old.kid, new.kid, now), at=now)
        return RotatedAgentKey(old, new)

    def _suspends_many(self, execute: Execute, agent_id: UUID, *_arguments: object, **_named: object) -> bool:
        return self.lifecycle.has_many_sessions(execute, agent_id)

    @long_write(_suspends_many)
    def compromise(
        self,
        agent_id: UUID,
        kid: str,
        *,
        reason: str,
        caller: Caller,
        compromised_at: datetime | None = None,
        tx: Transaction | None = None,
    ) -> AgentKeyRecord:
        """Report that others may have a key of an agent; an active agent is suspended with it.

        Raises:
            NotFound: the caller's tenant has no such agent, or the agent no such key.
            PermissionDenied: the caller is another agent.
            Conflict: the key is already reported as compromised.
            ValidationFailed: the time is in the future.
        """
        rules.require_own(caller, agent_id, verb="report the key of")
        require_past(compromised_at, now=self.clock.now())
        with self.storage.write(tx) as tx:
            agent = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id)
            old = store.get_key(tx.exec, agent_id, kid)
            require_withdrawable(KeyStatus(old.status), KeyStatus.COMPROMISED)
            now = self.clock.now()
            since = now if compromised_at is None else truncate_to_milliseconds(compromised_at)
            changed = old._replace(status=KeyStatus.COMPROMISED.value, reported_at=now, compromised_at=since)
            context = AuditContext(caller.tenant_id, caller, "agent_key.compromise", now, {"reason": reason})
            row = self._change_status(tx, changed, context)
            note_evidence(tx, agent_id, TrustCause.KEY)
            if rules.status_at(agent.status, agent.expires_at, now) is AgentStatus.ACTIVE:
                self.lifecycle.suspend(agent_id, reason=reason, caller=caller, tx=tx)
        return row

    def unseal_signer(self, key: AgentKeyRecord) -> signing.PrivateKey | None:
        """Unseal the private key of a managed key; None for an agent's own key, with which only its holder signs."""
        if key.sealed is None:
            return None
        der = self.keyring.unseal(key.sealed, tenant_id=key.tenant_id, issuer_id=key.agent_id, kid=key.kid, alg=key.alg)
        return signing.load_private(ALG, der)

    def rewrap(self, tx: Transaction, new: Keyring, *, on_sealed: Callable[[], None] = lambda: None) -> int:
        """Seal all private keys of agents under another key-encryption key, and return their number.

        `on_sealed` is called after each.
        """
        now, rows = self.clock.now(), store.list_managed_keys(tx)
        for row in rows:
            if row.sealed is None:  # an agent's own key, which `list_managed_keys` leaves out
                continue
            sealed = self.keyring.rewrap(
                row.sealed, new, tenant_id=row.tenant_id, issuer_id=row.agent_id, kid=row.kid, alg=row.alg
            )
            context = AuditContext(row.tenant_id, COMMAND_LINE, "agent_key.rewrap", now)
            audited_write.change(tx, store.keys, row, {"sealed": sealed}, context)
            on_sealed()
        return len(rows)

    def _meet_challenge(self, tx: Transaction, key: NewKey, proof: bytes, tenant_id: UUID, now: datetime) -> None:
        """Verify the proof of possession, and use the challenge up."""
        spki = signing.spki(key.public)
        found = store.find_challenge(tx.exec, tenant_id=tenant_id, spki=spki)
        if found is None or now >= found.expires_at:
            message = "There is no current challenge for this key. Ask for one: POST /v1/agents/challenges."
            raise ValidationFailed.of("/proof", "no_challenge", message)
        try:
            signing.verify(ALG, key.public, proof, rules.PROOF_PREFIX + found.challenge.encode())
        except SignatureInvalid:
            message = (
                "The proof is not this key's signature of its newest challenge. Sign the bytes attestlab-agent-key-v1, "
                "a line feed and the challenge."
            )
            raise ValidationFailed.of("/proof", "proof", message) from None
        store.delete_challenges(tx, tenant_id=tenant_id, spki=spki)

    def _change_status(self, tx: Transaction, changed: AgentKeyRecord, context: AuditContext) -> AgentKeyRecord:
        """Log a key's new status, and write its row with an audit line; `changed` is the row with the new status."""
        row = changed._replace(changed_index=self._log(tx, changed, context.at))
        names = ("status", "rotated_at", "reported_at", "compromised_at", "changed_index")
        return audited_write.change(tx, store.keys, row, {name: getattr(row, name) for name in names}, context)

    def _log(self, tx: Transaction, key: AgentKeyRecord, at: datetime) -> int:
        subject = agent_entries.agent_key_subject(key.agent_id, key.kid)
        is_new = key.log_index == UNLOGGED
        entry = agent_entries.agent_key_entry(
            entries.FIRST_LINK if is_new else self.log.next_status_link(tx, subject),
            agent_id=key.agent_id,
            kid=key.kid,
            alg=key.alg,
            public_spki=key.spki,
            status=key.status,
            at=at,
            compromised_at=key.compromised_at,
        )
        return self.log.append(tx, entry, kind=EntryType.AGENT_KEY, subject=subject).index

    def _seal(self, tx: Transaction, key: NewKey, tenant_id: UUID, agent_id: UUID) -> bytes | None:
        if key.private is None:
            return None
        der = signing.dump_private(key.private)
        return sealing.seal(tx, self.keyring, der, tenant_id=tenant_id, issuer_id=agent_id, kid=key.kid, alg=key.alg)


def get_raw_public_key(key: AgentKeyRecord) -> bytes:
    """Return the raw 32 bytes of a key; they are the end of the SubjectPublicKeyInfo (RFC 8410)."""
    return key.spki[-32:]


def _require_unknown(tx: Transaction, spki: bytes, tenant_id: UUID) -> None:
    """Reject a known public key: otherwise one key would speak for two agents, or a stolen one could return."""
    known = store.find_kid(tx.exec, tenant_id=tenant_id, spki=spki)
    if known is not None:
        raise Conflict(f"This public key is registered as {known}. Generate a new pair.", details={"kid": known})
