"""HTTP routes of agent cards and of the keys that verify what agents sign (CONTRACT 11.8)."""

from pydantic import JsonValue

from attestlab.agents.access import WRITERS
from attestlab.agents.cards.service import AgentCards, Card
from attestlab.agents.cards.shapes import AgentCardSignatureIn
from attestlab.agents.rules import parse_agent_id
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict, NotFound
from attestlab.issuers.shapes import JwksOut
from attestlab.orgs.rules import Caller
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
ANYONE = Requirement(or_else="anyone if the agent is discoverable")
_JSON = "application/json"
_CARD = {_JSON: dict[str, JsonValue]}


@routes.get("/v1/agents/{id}/card", scope=ANYONE, produces=_CARD, raises=(NotFound,))
def get_agent_card(id: str, caller: Caller | None, agent_cards: AgentCards) -> RawResponse:
    """Get the card of an agent, as A2A 1.0 defines it: where it answers, what it can do, and its signature.

    Public if the agent is discoverable and active; its tenant gets that of each agent. The signature is a JWS over the
    RFC 8785 form of the card without `signatures` and empty members; `GET /v1/agents/{id}/jwks.json` has its key. The
    card of an agent with its own key has the signature that its holder sent, as long as the card is the same.
    """
    return _respond(agent_cards.get(id, caller=caller))


@routes.put("/v1/agents/{id}/card/signature", scope=WRITERS, produces=_CARD, raises=(Conflict, NotFound))
def put_agent_card_signature(
    id: str, body: AgentCardSignatureIn, tx: Transaction, caller: Caller, agent_cards: AgentCards
) -> RawResponse:
    """Sign the card of an agent with its own key, which only its holder has.

    A first call without `signature` answers 400 with what to sign, and a second one takes the JWS. When the card or
    the key changes, its holder signs again. The service itself signs the cards of agents whose keys it holds.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    return _respond(agent_cards.attach(agent_id, body.signature, caller=caller, tx=tx))


@routes.get("/v1/agents/{id}/jwks.json", scope=ANYONE, raises=(NotFound,))
def get_agent_jwks(id: str, caller: Caller | None, agent_cards: AgentCards) -> JwksOut:
    """Get an agent's public keys as a JSON Web Key Set, newest first, without compromised keys.

    Public if the agent is discoverable; its tenant gets those of each agent. Each key has the additive member
    `status`: what a rotated key signed stays valid, but only an active key signs.
    """
    return JwksOut(keys=agent_cards.list_keys(id, caller=caller))


def _respond(card: Card) -> RawResponse:
    return RawResponse(canonical(card), _JSON)
