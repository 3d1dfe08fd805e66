"""Agent cards: A2A 1.0 (a2a-protocol.org), with signatures over their RFC 8785 form, and the keys that verify them.

A signature is a JWS (RFC 7515) of which the card holds the header and the signature; its payload is the canonical JSON
of the card without `signatures`, and without empty texts, lists and objects, as A2A 1.0 section 8.4 wants.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, NotRequired, TypedDict

from attestlab.agents.scopes import ScopeSet
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm, PrivateKey, PublicKey

CARD_TYP: Final = "JOSE"  # what A2A recommends; no other token has it
ALGORITHM: Final = Algorithm.ED25519
PROTOCOL_VERSION: Final = "1.0"
PROTOCOL_BINDING: Final = "JSONRPC"
DEFAULT_VERSION: Final = "1.0.0"
MEDIA_TYPE: Final = "application/json"


class Skill(TypedDict):
    """A skill that an agent offers."""

    id: str
    name: str
    description: str
    tags: list[str]


class CardSource(TypedDict):
    """What a tenant states about an agent for its card; `url` is where other agents reach it."""

    url: str
    version: NotRequired[str | None]
    skills: NotRequired[Sequence[Skill] | None]


class CardFacts(NamedTuple):
    """What the service knows about an agent for its card."""

    name: str
    description: str
    scopes: ScopeSet
    """The effective scopes; without skills in the source, each is one."""
    source: CardSource | None


def build_card(facts: CardFacts) -> dict[str, object]:
    """Build the unsigned card of an agent, without empty members."""
    source = facts.source
    version, skills = (None, None) if source is None else (source.get("version"), source.get("skills"))
    card: dict[str, object] = {
        "name": facts.name,
        "description": facts.description or f"Machine agent {facts.name}",
        "version": version or DEFAULT_VERSION,
        "supportedInterfaces": _list_interfaces(source),
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": [MEDIA_TYPE],
        "defaultOutputModes": [MEDIA_TYPE],
        "skills": skills or _list_scope_skills(facts.scopes),
    }
    return _remove_empty(card)


def card_signing_input(card: Mapping[str, object], kid: str) -> str:
    """Return the text that the owner of key `kid` signs: the JWS signing input of the card."""
    return jws.typed_signing_text(ALGORITHM, kid, CARD_TYP, _payload(card))


def sign_card(card: Mapping[str, object], kid: str, private: PrivateKey) -> dict[str, object]:
    """Return the card with a signature of this key, beside those that it has."""
    token = jws.sign_typed(ALGORITHM, private, kid, CARD_TYP, _payload(card))
    return attach_signature(card, token)


def attach_signature(card: Mapping[str, object], token: str) -> dict[str, object]:
    """Return the card with the header and signature of a compact JWS over it."""
    protected, _, signature = token.split(".")
    present = card.get("signatures")
    earlier = list(present) if isinstance(present, list) else []
    return {**card, "signatures": [*earlier, {"protected": protected, "signature": signature}]}


def list_jwks(keys: Iterable[tuple[str, PublicKey]]) -> dict[str, list[dict[str, str]]]:
    """List an agent's public keys, by kid, as a JWK set (RFC 7517)."""
    return {"keys": [signing.jwk(ALGORITHM, public, kid) for kid, public in keys]}


def _payload(card: Mapping[str, object]) -> bytes:
    return canonical({name: value for name, value in card.items() if name != "signatures"})


def _list_interfaces(source: CardSource | None) -> list[dict[str, str]]:
    if source is None:
        return []
    return [{"url": source["url"], "protocolBinding": PROTOCOL_BINDING, "protocolVersion": PROTOCOL_VERSION}]


def _list_scope_skills(scopes: ScopeSet) -> list[Skill]:
    """List one skill for each scope that the agent has, because tool servers ask for scopes."""
    return [
        Skill(id=scope, name=scope, description=_describe(scope), tags=[scope.partition(":")[0]])
        for scope in sorted(scopes.allows)
    ]


def _describe(scope: str) -> str:
    resource, _, action = scope.partition(":")
    return f"May do everything with {resource}." if action == "*" else f"May {action} {resource}."


def _remove_empty(members: Mapping[str, object]) -> dict[str, object]:
    cleaned = {name: _clean(value) for name, value in members.items()}
    return {name: value for name, value in cleaned.items() if not _is_empty(value)}


def _clean(value: object) -> object:
    if isinstance(value, Mapping):
        return _remove_empty(value)
    if isinstance(value, list | tuple):
        return [each for each in map(_clean, value) if not _is_empty(each)]
    return value


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | list | dict) and not value)
