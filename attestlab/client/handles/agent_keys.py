"""Keys of agents and what they sign: the ledger, rotations, statements, and the proof of a key of the agent's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from attestlab.agents.shapes import AgentKeyOut, AgentKeyRotationOut, AgentStatementOut
from attestlab.client import arguments
from attestlab.client.handles.base import Handle
from attestlab.client.handles.delegations import read_signing_input
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.errors import ValidationFailed

AGENTS = "/v1/agents"


class AgentKeyHandle(AgentKeyOut, Handle):
    """A key of an agent, with its entries of the log."""

    shown_fields: ClassVar = ("kid", "status", "custody", "created_at")


class AgentKeyRotationHandle(AgentKeyRotationOut, Handle):
    """Both keys of a rotation: `old_key` and `new_key`."""

    shown_fields: ClassVar = ("old_kid", "new_kid")

    @property
    def old_kid(self) -> str:
        """The id of the key that signs no more."""
        return self.old_key.kid

    @property
    def new_kid(self) -> str:
        """The id of the key that signs from now on."""
        return self.new_key.kid


class AgentStatementHandle(AgentStatementOut, Handle):
    """A statement of an agent: `jws` is the signed JWT."""

    shown_fields: ClassVar = ("kid", "jws")


def prove_key(client: ServiceClient, key: OwnKey) -> dict[str, object]:
    """Return the members that register a key of an agent's own: the holder signs the service's challenge."""
    holder = require_key(key)
    answer = client.post(f"{AGENTS}/challenges", {"public_key": holder.public_key})
    return {"public_key": holder.public_key, "proof": holder.prove(str(answer["challenge"]))}


def sign_statement(
    client: ServiceClient, agent_id: UUID, payload: Mapping[str, object], key: OwnKey | None
) -> AgentStatementHandle:
    """Sign a statement; with the agent's own key in two requests."""
    stated = arguments.read_mapping(payload, name="payload")
    holder = None if key is None else require_key(key)
    path = f"{AGENTS}{path_of(agent_id, 'sign')}"
    try:
        return AgentStatementHandle.parse(client, client.post(path, {"payload": stated}))
    except ValidationFailed as error:
        asks = read_signing_input(error, holder)
    signature = asks.key.sign_statement(asks.signing_input, agent_id=agent_id, payload=stated)
    wrapped = {name: asks.details.get(name) for name in ("iat", "jti")}
    body = {"payload": stated, "signature": signature, **wrapped}
    return AgentStatementHandle.parse(client, client.post(path, body))
