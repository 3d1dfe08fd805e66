"""`lab.delegations`: what agents let each other do, and the verification of any chain of it."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from typing import cast
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import read_filters
from attestlab.client.handles.delegations import (
    DELEGATIONS,
    BiscuitHandle,
    ChainVerdictHandle,
    DelegationHandle,
    DelegationLike,
    DelegationProofHandle,
    DelegationRevocationHandle,
    RevokedDelegationHandle,
    export_biscuit,
    fetch_proof,
    revoke_delegation,
    verify_chain,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import Json, ServiceClient, path_of

_NEWEST = "SELECT id FROM this ORDER BY created_at DESC, id DESC"


@name_in_examples("delegations")
class DelegationCollection(DatasetCollection[DelegationHandle]):
    """The delegations between the tenant's agents, newest first, each read with its chain; `df` reads rows alone.

    `agent.delegations()` lists those of one agent, and `agent.delegate` makes one.
    """

    noun = "a delegation"
    dataset = "delegations"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, DelegationHandle)

    def verify(
        self, chain: DelegationHandle | DelegationProofHandle | Iterable[str], required_scope: str | None = None
    ) -> ChainVerdictHandle:
        """Verify a chain of delegations by the service, of whatever tenant; it needs no credential.

        Args:
            chain: the hops, the root's first, or an object that has them.
            required_scope: what the leaf needs to be allowed, such as `docs:read`.

        Returns:
            One verdict: VALID, CHAIN_BROKEN, DEPTH_EXCEEDED, EXPIRED, REVOKED or SCOPE_VIOLATION. It counts what
            changed since the hops were signed.

        Raises:
            ValidationFailed: the chain is no list of 1 to 32 texts, or the scope is none.

        >>> parent = lab.agents.register("Owner of docs", scopes=["docs:*"])
        >>> made = parent.delegate({"display_name": "Docs bot"}, ["docs:read"])
        >>> lab.delegations.verify(made.chain, "docs:read").verdict
        'VALID'
        >>> lab.delegations.verify(["a.b.c"]).verdict
        'CHAIN_BROKEN'
        """
        hops = chain.chain if isinstance(chain, DelegationHandle | DelegationProofHandle) else chain
        return verify_chain(self._client, hops, required_scope)

    def revoke(self, delegation: DelegationLike, reason: str, *, dry_run: bool = False) -> DelegationRevocationHandle:
        """Revoke a delegation with all below it, and end the sessions of their agents; the agents stay.

        Args:
            delegation: the delegation or its id.
            reason: for people and the audit trail, 1 to 1,000 characters.
            dry_run: whether to count only, and change nothing.

        Returns:
            What ended, or would end.

        Raises:
            NotFound: the tenant has no such delegation.
            Conflict: it is revoked already.

        >>> parent = lab.agents.register("Lender", scopes=["docs:*"])
        >>> made = parent.delegate({"display_name": "Borrower"}, ["docs:read"])
        >>> lab.delegations.revoke(made, "given back").revoked_delegations
        1
        >>> lab.delegations.verify(made).verdict
        'REVOKED'
        """
        return revoke_delegation(self._client, self._id_of(delegation), reason, dry_run)

    def proof(self, delegation: DelegationLike) -> DelegationProofHandle:
        """Fetch what anyone needs to verify a chain without the service; `attestlab verify` reads its file.

        Args:
            delegation: the delegation or its id.

        Returns:
            The hops, the agents' keys in the log, and a signed head of the log.

        Raises:
            NotFound: the tenant has no such delegation.

        >>> parent = lab.agents.register("Author", scopes=["docs:*"])
        >>> made = parent.delegate({"display_name": "Translator"}, ["docs:read"])
        >>> lab.delegations.proof(made).depth
        1
        """
        return fetch_proof(self._client, self._id_of(delegation))

    def biscuit(self, delegation: DelegationLike) -> BiscuitHandle:
        """Export a delegation as a Biscuit, with what its chain allows now; third parties can narrow it.

        Args:
            delegation: the delegation or its id.

        Returns:
            The token, the key that verifies it, and its revocation ids.

        Raises:
            NotFound: the tenant has no such delegation.
            Conflict: its chain is not valid.
            MissingExtra: the service lacks biscuit-python.

        >>> parent = lab.agents.register("Mill", scopes=["flour:*"])
        >>> made = parent.delegate({"display_name": "Bakery"}, ["flour:read"])
        >>> lab.delegations.biscuit(made).root_public_key == lab.delegations.biscuit(made).root_public_key
        True
        """
        return export_biscuit(self._client, self._id_of(delegation))

    def revocations(self, since: int = -1) -> Records[RevokedDelegationHandle]:
        """List the revoked delegations of all tenants in the order of the log, for those who verify chains offline.

        Args:
            since: the last `log_index` that the reader has; by default from the beginning.

        Returns:
            Ids, times and entries of the log, and neither agents nor reasons; `.df()` has a row for each.

        Raises:
            ValidationFailed: `since` is no whole number.

        >>> parent = lab.agents.register("Editor in chief", scopes=["docs:*"])
        >>> made = parent.delegate({"display_name": "Columnist"}, ["docs:read"])
        >>> revoked = made.revoke("moved on")
        >>> made.id in [each.id for each in lab.delegations.revocations(since=made.log_index)]
        True
        """
        after = -1 if since == -1 else arguments.read_count(since, name="since")
        return Records(self._read_revocations(after), RevokedDelegationHandle)

    def _list(self, limit: int | None, filters: Mapping[str, object]) -> Listing[DelegationHandle]:
        read_filters(self.query, filters)
        return self._list_read(self._read_newest, limit)

    def _find(self, which: object) -> DelegationHandle:
        return self._parse(self._client.get(f"{DELEGATIONS}{path_of(arguments.read_id(which, self.noun))}"))

    def _read_newest(self) -> Iterator[Json]:
        """Read the delegations one by one, in the order of the data set."""
        for row in self.sql(_NEWEST):
            yield self._client.get(f"{DELEGATIONS}{path_of(row['id'])}")

    def _read_revocations(self, after: int) -> Iterator[RevokedDelegationHandle]:
        since: int | None = after
        while since is not None:
            page = self._client.get(f"{DELEGATIONS}/revocations", {"since": since, "limit": 1000})
            for each in cast("builtins.list[Json]", page["items"]):
                yield RevokedDelegationHandle.parse(self._client, each)
            since = cast("int | None", page["next_after"])

    def _id_of(self, delegation: DelegationLike) -> UUID:
        return arguments.read_id(delegation, self.noun)
