"""Chains as Biscuits (eclipse-biscuit, version 3.3): tokens that tool servers check, and that third parties narrow.

The authority block states the chain and holds three kinds of checks: each resource and operation of a request is
allowed (`check all`), none is denied (`reject if`), and the chain has not expired. The authorizer adds the facts
`resource`, `operation` and `time`, and a policy such as `allow if true`. A Biscuit cannot be called back: its facts
`delegation` name the ids to look for in the public list of revocations.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from attestlab.agents.delegation.hops import Hop
from attestlab.agents.scopes import ScopeSet
from attestlab.core.encoding import b64url_encode
from attestlab.core.extras import naming_extras

if TYPE_CHECKING:
    from biscuit_auth import BiscuitBuilder

SIGNING_PURPOSE: Final = b"attestlab biscuits of delegations v1"
_WILDCARD: Final = ":*"


class BiscuitExport(NamedTuple):
    """A Biscuit in base64url, the Ed25519 key that verifies it as base64url, and the ids that revoke it, in hex."""

    biscuit: str
    root_public_key: str
    revocation_ids: tuple[str, ...]


def export_biscuit(hops: Sequence[Hop], scopes: ScopeSet, expires_at: datetime, *, seed: bytes) -> BiscuitExport:
    """Export a verified chain as a Biscuit, signed by the Ed25519 key with the 32 bytes `seed`.

    Raises:
        MissingExtra: biscuit-python is not installed.
    """
    with naming_extras():
        from biscuit_auth import Algorithm, KeyPair, PrivateKey

    private = PrivateKey.from_bytes(seed, Algorithm.Ed25519)  # type: ignore[call-arg, attr-defined]  # its types lag
    pair = KeyPair.from_private_key(private)
    token = _build_authority(hops, scopes, expires_at).build(pair.private_key)
    public = b64url_encode(bytes(pair.public_key.to_bytes()))
    return BiscuitExport(token.to_base64(), public, tuple(token.revocation_ids))


def _build_authority(hops: Sequence[Hop], scopes: ScopeSet, expires_at: datetime) -> BiscuitBuilder:
    from biscuit_auth import BiscuitBuilder

    builder = BiscuitBuilder()
    facts = {"tenant": hops[0].tenant_id, "root": hops[0].parent, "agent": hops[-1].child}
    builder.add_code("tenant({tenant}); root_agent({root}); agent({agent});", facts)
    for hop in hops:
        builder.add_code("delegation({id});", {"id": hop.id})
    builder.add_code(_allow(scopes.allows))
    for scope in sorted(scopes.denies):
        builder.add_code(*_deny(scope))
    builder.add_code("check if time($t), $t < {end};", {"end": expires_at})
    return builder


def _allow(allows: frozenset[str]) -> str:
    """Return the check that bounds a request to the allows; the lists are literal, because scopes have no quotes."""
    wild = json.dumps(sorted(scope.removesuffix(_WILDCARD) for scope in allows if scope.endswith(_WILDCARD)))
    single = json.dumps(sorted(scope for scope in allows if not scope.endswith(_WILDCARD)))
    return f'check all resource($r), operation($o), {single}.contains($r + ":" + $o) || {wild}.contains($r);'


def _deny(scope: str) -> tuple[str, dict[str, str]]:
    resource, _, action = scope.partition(":")
    if action == "*":
        return "reject if resource({resource});", {"resource": resource}
    return "reject if resource({resource}), operation({action});", {"resource": resource, "action": action}
