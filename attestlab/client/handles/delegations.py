"""Delegations between agents: their chains, verdicts about them, revocation, proofs and Biscuits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import ClassVar, NamedTuple
from uuid import UUID

from attestlab.agents.delegation.bundle import DelegationBundle, verify_delegation_bundle
from attestlab.agents.delegation.shapes import (
    BiscuitOut,
    ChainVerdictOut,
    DelegationOut,
    DelegationProofOut,
    DelegationRevokeOut,
    RevocationOut,
)
from attestlab.agents.proof_shapes import AgentKeyProofOut
from attestlab.client import agent_cards, arguments
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.file_replacement import save_document
from attestlab.client.handles.base import Handle
from attestlab.client.handles.bundles import read_trust
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import ValidationFailed
from attestlab.log.note.trust_policy import TrustPolicy

DELEGATIONS = "/v1/delegations"


class ChainVerdictHandle(ChainVerdictOut, Handle):
    """The one verdict about a chain of delegations, and what its leaf may do."""

    shown_fields: ClassVar = ("verdict", "depth", "effective_scopes", "reasons")

    @property
    def valid(self) -> bool:
        """Whether the verdict is VALID."""
        return self.verdict == "VALID"

    def _repr_html_(self) -> str:
        return agent_cards.draw_verdict(self)


class BiscuitHandle(BiscuitOut, Handle):
    """A delegation as a Biscuit, which third parties can narrow; its text is `biscuit`."""

    shown_fields: ClassVar = ("root_public_key", "revocation_ids")


class RevokedDelegationHandle(RevocationOut, Handle):
    """A revoked delegation of any tenant."""

    shown_fields: ClassVar = ("id", "revoked_at", "log_index")


class DelegationProofHandle(DelegationProofOut, Handle):
    """What anyone needs to verify a chain without the service."""

    shown_fields: ClassVar = ("format", "depth")

    keys: Records[AgentKeyProofOut]

    @property
    def depth(self) -> int:
        """The number of hops."""
        return len(self.chain)

    def verify(self, *, trust: TrustPolicy | str | None = None) -> ChainVerdictHandle:
        """Verify the chain in this process; what changed after the proof was made does not count.

        Args:
            trust: the pinned log and witnesses, as C2SP tlog-policy text or parsed; by default the key that the
                service itself publishes, which proves that both agree, not that the service is honest.

        Returns:
            The verdict; `effective_scopes` are those of the chain alone.

        Raises:
            ValidationFailed: the trust policy cannot be read.

        >>> made = lab.agents.register("Librarian", scopes=["docs:*"]).delegate(
        ...     {"display_name": "Reader of books"}, ["docs:read"])
        >>> made.proof().verify(trust=lab.log.vkey().trust_policy).effective_scopes
        ['docs:read']
        """
        policy = read_trust(self._client, trust)
        found = verify_delegation_bundle(DelegationBundle.parse(self.to_dict()), trust=policy, now=datetime.now(UTC))
        report = found.report
        answer = {
            "verdict": report.verdict.value,
            "depth": report.depth,
            "root_agent_id": report.root_agent_id,
            "leaf_agent_id": report.leaf_agent_id,
            "effective_scopes": sorted(report.scopes.allows),
            "denied_scopes": sorted(report.scopes.denies),
            "expires_at": report.expires_at,
            "reasons": list(report.reasons),
        }
        return ChainVerdictHandle.parse(self._client, answer)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof as a JSON file, for `attestlab verify`; returns its path.

        Args:
            path: of the file, which is replaced.

        Raises:
            ValidationFailed: it cannot be written.

        >>> made = lab.agents.register("Archivist", scopes=["docs:*"]).delegate(
        ...     {"display_name": "Reader of files"}, ["docs:read"])
        >>> made.proof().save("chain.json").name
        'chain.json'
        """
        return save_document(path, self.to_dict())


class DelegationHandle(DelegationOut, Handle):
    """A delegation with the chain that proves it."""

    shown_fields: ClassVar = ("delegation_id", "parent_agent_id", "child_agent_id", "scopes", "depth", "status")

    @property
    def id(self) -> UUID:
        """The id of the delegation."""
        return self.delegation_id

    @property
    def child_agent_id(self) -> UUID:
        """The agent that received it."""
        return self.child.id

    def _repr_html_(self) -> str:
        return agent_cards.draw_delegation(self)

    def verify(self, required_scope: str | None = None) -> ChainVerdictHandle:
        """Verify the chain by the service; `lab.delegations.verify` explains the arguments and errors.

        >>> made = lab.agents.register("Cook", scopes=["menu:*"]).delegate({"display_name": "Waiter"}, ["menu:read"])
        >>> made.verify("menu:read").verdict, made.verify("menu:write").verdict
        ('VALID', 'SCOPE_VIOLATION')
        """
        return verify_chain(self._client, self.chain, required_scope)

    def revoke(self, reason: str, *, dry_run: bool = False) -> DelegationRevocationHandle:
        """Revoke the delegation and all below it; `lab.delegations.revoke` explains the arguments and errors.

        >>> made = lab.agents.register("Chef", scopes=["menu:*"]).delegate({"display_name": "Steward"}, ["menu:read"])
        >>> made.revoke("only a look", dry_run=True).revoked_delegations, made.verify().verdict
        (1, 'VALID')
        """
        return revoke_delegation(self._client, self.id, reason, dry_run)

    def proof(self) -> DelegationProofHandle:
        """Fetch what anyone needs to verify the chain without the service.

        Returns:
            The hops, the agents' keys in the log, and a signed head of the log; `save` writes it.

        >>> made = lab.agents.register("Baker", scopes=["menu:*"]).delegate({"display_name": "Seller"}, ["menu:read"])
        >>> made.proof().verify().verdict
        'VALID'
        """
        return fetch_proof(self._client, self.id)

    def biscuit(self) -> BiscuitHandle:
        """Export the delegation as a Biscuit; `lab.delegations.biscuit` explains the result and errors.

        >>> made = lab.agents.register("Butcher", scopes=["menu:*"]).delegate({"display_name": "Vendor"}, ["menu:read"])
        >>> len(made.biscuit().revocation_ids) > 0
        True
        """
        return export_biscuit(self._client, self.id)


class DelegationRevocationHandle(DelegationRevokeOut, Handle):
    """What a revocation ended, or with a dry run would end."""

    shown_fields: ClassVar = ("revoked_delegations", "terminated_sessions", "dry_run")


DelegationLike = UUID | str | DelegationHandle


def delegate(
    client: ServiceClient,
    parent_id: UUID,
    child: Mapping[str, object],
    scopes: Iterable[str],
    expires_at: When | None,
    key: OwnKey | None,
) -> DelegationHandle:
    """Delegate scopes to the agent of `child`; with the parent's own key in two requests."""
    asked = arguments.read_texts(scopes, name="scopes")
    body: dict[str, object] = {**child, "scopes": asked}
    latest = arguments.read_time(expires_at, name="expires_at")
    if latest is not None:
        body["expires_at"] = latest
    holder = None if key is None else require_key(key)
    path = path_of("v1", "agents", parent_id, "delegations")
    try:
        return DelegationHandle.parse(client, client.post(path, body))
    except ValidationFailed as error:
        asks, child_id = read_signing_input(error, holder), child.get("child_agent_id")
        if child_id is None:  # a new agent has no id yet that its parent could sign
            raise
    body["signature"] = asks.key.sign_hop(
        asks.signing_input, parent_id=parent_id, child_id=str(child_id), scopes=asked, expires_at=latest
    )
    return DelegationHandle.parse(client, client.post(path, body))


class AskedSignature(NamedTuple):
    """What the service asks the holder of a key to sign, and the details of its answer."""

    key: OwnKey
    signing_input: str
    details: Mapping[str, object]


def read_signing_input(error: ValidationFailed, key: OwnKey | None) -> AskedSignature:
    """Read what the service asks the holder of a key to sign.

    Raises:
        ValidationFailed: it is another error, or there is no key.
    """
    asked = error.details.get("signing_input_b64url")
    if not isinstance(asked, str):
        raise error
    if key is None:
        message = "The agent's key is its own, so its holder signs. Pass key=..., the OwnKey of the agent."
        raise ValidationFailed(message, details=error.details)
    return AskedSignature(key, asked, error.details)


def verify_chain(client: ServiceClient, chain: Iterable[str], required_scope: str | None) -> ChainVerdictHandle:
    """Verify a chain by the service."""
    body: dict[str, object] = {"chain": arguments.read_texts(chain, name="chain")}
    if required_scope is not None:
        body["required_scope"] = arguments.read_text(required_scope, name="required_scope")
    return ChainVerdictHandle.parse(client, client.post(f"{DELEGATIONS}/verify", body, is_read=True))


def revoke_delegation(
    client: ServiceClient, delegation_id: UUID, reason: str, dry_run: bool
) -> DelegationRevocationHandle:
    """Revoke a delegation and all below it, or count what that would end."""
    body = {"reason": arguments.read_text(reason, name="reason"), "dry_run": dry_run}
    answer = client.post(f"{DELEGATIONS}{path_of(delegation_id, 'revoke')}", body)
    return DelegationRevocationHandle.parse(client, answer)


def fetch_proof(client: ServiceClient, delegation_id: UUID) -> DelegationProofHandle:
    """Fetch the proof of a chain."""
    answer = client.get(f"{DELEGATIONS}{path_of(delegation_id, 'proof-bundle')}")
    return DelegationProofHandle.parse(client, answer)


def export_biscuit(client: ServiceClient, delegation_id: UUID) -> BiscuitHandle:
    """Export a delegation as a Biscuit."""
    return BiscuitHandle.parse(client, client.get(f"{DELEGATIONS}{path_of(delegation_id, 'biscuit')}"))
