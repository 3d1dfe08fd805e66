"""Service for the cards of agents and the keys that verify them; public where the agent is discoverable.

The service signs the card of an agent whose key it holds at each read: Ed25519 is deterministic, so an unchanged card
keeps its bytes. The holder of an agent's own key signs the card once. A card that changed since then, or whose key was
replaced, is served without a signature until the holder signs it again.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from uuid import UUID

from attestlab.agents import holder_signatures, rules, store
from attestlab.agents.cards.rules import (
    ALGORITHM,
    CARD_TYP,
    CardFacts,
    attach_signature,
    build_card,
    card_signing_input,
    sign_card,
)
from attestlab.agents.effective_scopes import compute_effective_scopes
from attestlab.agents.keys import AgentKeys
from attestlab.agents.rules import AgentStatus
from attestlab.agents.tables import AgentKeyRecord, AgentRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import jws, signing
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.encoding import quote
from attestlab.core.errors import NotFound, SignatureInvalid
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.issuers.rules import KeyStatus
from attestlab.orgs.rules import Caller, Scope

Card = dict[str, object]


class _CardParts(NamedTuple):
    """An unsigned card, the agent, and the key that signs for it now."""

    card: Card
    agent: AgentRecord
    status: AgentStatus
    key: AgentKeyRecord

    @property
    def signing_input(self) -> str:
        """The text that the key signs."""
        return card_signing_input(self.card, self.key.kid)


class AgentCards:
    """The cards of agents. `tx` is the unit of work to join; without it, a verb commits its own."""

    def __init__(self, *, storage: Storage, clock: Clock, keys: AgentKeys) -> None:
        self.storage = storage
        self.clock = clock
        self.keys = keys

    def get(self, agent: str, *, caller: Caller | None) -> Card:
        """Get the card of an agent, by UUID or maip id, signed if its key can sign now; the caller None is a stranger.

        A stranger sees the card of an agent that is discoverable and active, its tenant that of each of its agents.

        Raises:
            NotFound: there is no such agent, or the caller may not see its card.
        """
        with self.storage.read() as connection:
            row = _find_visible(connection.execute, agent, caller)
            parts = self._build(connection.execute, row)
        if parts.status is not AgentStatus.ACTIVE and not _is_own(row, caller):
            raise NotFound("agent", quote(agent))
        return self._sign(parts)

    def list_keys(self, agent: str, *, caller: Caller | None) -> list[dict[str, str]]:
        """List an agent's public keys as JWKs (RFC 7517) with their status, newest first, without compromised ones.

        The agent is named as for `get`. A rotated key stays, because what it signed stays valid; so do the keys of a
        suspended or revoked agent.

        Raises:
            NotFound: there is no such agent, or the caller may not see its keys.
        """
        with self.storage.read() as connection:
            found = _find_visible(connection.execute, agent, caller)
            rows = store.list_keys(connection.execute, [found.id])[found.id]
        return [_render_jwk(row) for row in rows if row.status != KeyStatus.COMPROMISED]

    def attach(self, agent_id: UUID, signature: str | None, *, caller: Caller, tx: Transaction | None = None) -> Card:
        """Keep the signature of the present card by the holder of the agent's own key; returns the signed card.

        Raises:
            NotFound: the caller's tenant has no such agent.
            PermissionDenied: the caller is another agent.
            Conflict: the agent is not active.
            ValidationFailed: the service holds the key; or the signature is missing, or not of this card and key.
                `details` has what to sign.
        """
        rules.require_own(caller, agent_id, verb="sign the card of")
        with self.storage.write(tx) as tx:
            agent, now = store.get(tx.exec, agent_id, tenant_id=caller.tenant_id), self.clock.now()
            parts = self._build(tx.exec, agent)
            rules.require_active(parts.status, "sign its card")
            _require_signed(parts, signature)
            if signature != agent.card_signature:
                context = AuditContext(caller.tenant_id, caller, "agent.sign_card", now, {"kid": parts.key.kid})
                changes = {"card_signature": signature, "updated_at": now}
                agent = audited_write.change(tx, store.agents, agent, changes, context)
        return self._sign(parts._replace(agent=agent))

    def _build(self, execute: Execute, agent: AgentRecord) -> _CardParts:
        now = self.clock.now()
        above = store.list_ancestors(execute, [agent.id]).get(agent.id, ())
        facts = CardFacts(
            agent.display_name,
            agent.description,
            compute_effective_scopes(agent, above, now=now),
            None if agent.card is None else json.loads(agent.card),
        )
        key = store.get_key(execute, agent.id, agent.key_id)
        return _CardParts(build_card(facts), agent, rules.status_at(agent.status, agent.expires_at, now), key)

    def _sign(self, parts: _CardParts) -> Card:
        """Return the card with the signature that can be had now, if any."""
        if parts.status is not AgentStatus.ACTIVE or parts.key.status != KeyStatus.ACTIVE:
            return parts.card
        private = self.keys.unseal_signer(parts.key)
        if private is not None:
            return sign_card(parts.card, parts.key.kid, private)
        kept = parts.agent.card_signature
        if kept is None or kept.rpartition(".")[0] != parts.signing_input:
            return parts.card
        return attach_signature(parts.card, kept)


def _find_visible(execute: Execute, agent: str, caller: Caller | None) -> AgentRecord:
    row = store.find(execute, rules.parse_agent_id(agent))
    if row is None or not (row.discoverable or _is_own(row, caller)):
        raise NotFound("agent", quote(agent))
    if agent.startswith("maip:") and agent != rules.format_agent_id(row.id, row.tenant_id):
        raise NotFound("agent", quote(agent))
    return row


def _is_own(row: AgentRecord, caller: Caller | None) -> bool:
    """Whether a caller sees an agent of their tenant: with the scope, or because it is the agent itself."""
    if caller is None or caller.tenant_id != row.tenant_id:
        return False
    return Scope.AGENTS_READ in caller.scopes or caller.actor_id == str(row.id)


def _render_jwk(row: AgentKeyRecord) -> dict[str, str]:
    return {**signing.jwk(ALGORITHM, signing.load_public(ALGORITHM, row.spki), row.kid), "status": row.status}


def _require_signed(parts: _CardParts, signature: str | None) -> None:
    if parts.key.sealed is not None:
        raise holder_signatures.refuse_superfluous("signature")
    if signature is None:
        raise holder_signatures.ask_for_signature(parts.signing_input, "the JWS as signature")
    try:
        read = jws.read_typed(signature, alg=ALGORITHM, typ=CARD_TYP)
        if read.signed.decode("ascii") != parts.signing_input:
            raise SignatureInvalid("It states another card, or names another key. Ask again what to sign.")
        read.verify(ALGORITHM, signing.load_public(ALGORITHM, parts.key.spki))
    except SignatureInvalid as error:
        raise holder_signatures.refuse_signature("card", error.message) from None
