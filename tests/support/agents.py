"""Machine agents as tenants register them, and the holders of keys of their own."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from attestlab.agents import store
from attestlab.agents.tables import AgentRecord
from attestlab.core.encoding import b64url_encode
from attestlab.core.records import audited_write
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

AGENTS = "/v1/agents"
SESSIONS = "/v1/agent-sessions"
PROOF_PREFIX = b"attestlab-agent-key-v1\n"


def register_agent(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    """Register an agent, by default one without scopes."""
    answer = client.post(AGENTS, json={"display_name": "Invoice reader", **fields})
    assert answer.status_code == 201, answer.text
    registered: dict[str, Any] = answer.json()
    return registered


def make_delegation(client: httpx.Client) -> dict[str, Any]:
    """Delegate the scope `docs:read` from a new agent to another one."""
    parent = register_agent(client, scopes=["docs:read"])
    body = {"scopes": ["docs:read"], "child": {"display_name": "Child"}}
    answer = client.post(f"{AGENTS}/{parent['id']}/delegations", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def open_session(client: httpx.Client, agent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Open a session of an agent; returns it with its tokens."""
    answer = client.post(SESSIONS, json={"agent_id": agent["id"], **fields})
    assert answer.status_code == 201, answer.text
    opened: dict[str, Any] = answer.json()
    return opened


class KeyHolder:
    """An agent's own Ed25519 key, which only its holder has."""

    def __init__(self) -> None:
        self.private = Ed25519PrivateKey.generate()

    @property
    def public_key(self) -> str:
        """The raw public key."""
        return b64url_encode(self.private.public_key().public_bytes_raw())

    def sign(self, message: bytes) -> str:
        """Sign a message."""
        return b64url_encode(self.private.sign(message))

    def prove(self, client: httpx.Client) -> dict[str, str]:
        """Ask for a challenge and sign it; returns the members that register the key."""
        answer = client.post(f"{AGENTS}/challenges", json={"public_key": self.public_key})
        assert answer.status_code == 201, answer.text
        return self.answer(answer.json()["challenge"])

    def answer(self, challenge: str) -> dict[str, str]:
        """Sign a challenge; returns the members that register the key."""
        return {"public_key": self.public_key, "proof": self.sign(PROOF_PREFIX + challenge.encode())}


def sign_assertion(
    holder: KeyHolder, agent: dict[str, Any], lab: Installation, header: Any = None, **claims: Any
) -> str:
    """An assertion as a JOSE library of others writes it; `claims` replace its own, None leaves one out."""
    whole = {
        **{"iss": agent["id"], "sub": agent["id"], "aud": f"{lab.portal_url}{SESSIONS}", "jti": str(uuid4())},
        "exp": int(lab.clock.now().timestamp()) + 60,
        **claims,
    }
    parts = (
        header or {"typ": "agent-assertion+jwt", "alg": "EdDSA"},
        {k: v for k, v in whole.items() if v is not None},
    )
    signed = ".".join(b64url_encode(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{holder.sign(signed.encode())}"


def place_below(lab: Installation, parent: str, child: str, *, scopes: str, caller: Caller) -> None:
    """Make one agent the child of another, as a delegation of these scopes does."""
    with lab.storage.write() as tx:
        above, below = (store.get(tx.exec, UUID(each), tenant_id=caller.tenant_id) for each in (parent, child))
        context = AuditContext(caller.tenant_id, caller, "agent.delegate", lab.clock.now())
        changes = {
            "parent_agent_id": above.id,
            "delegation_depth": above.delegation_depth + 1,
            "delegated_scopes": scopes,
        }
        audited_write.change(tx, store.agents, below, changes, context)


def find_agent(lab: Installation, agent_id: str) -> AgentRecord:
    """The row of an agent."""
    with lab.storage.read() as connection:
        row = store.find(connection.execute, UUID(agent_id))
    assert row is not None
    return row
