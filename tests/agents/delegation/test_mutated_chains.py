"""A changed chain is never valid for the leaf that it was made for, for the service and for strangers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import permutations
from random import Random

from attestlab.agents.delegation.hops import ALGORITHM, TYP, read_hop
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.agents.delegation.verification import ChainReport, Knowledge, judge_chain
from attestlab.agents.scopes import find_widening
from attestlab.core.crypto import signing
from attestlab.core.encoding import b64url_decode, b64url_encode
from support.delegation_world import DelegationWorld, Grant, WorldKey

MUTATIONS = 2_000
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
OTHER_ID = "00000000-0000-0000-0000-0000000000ff"
OTHER_HASH = "A" * 43
MEMBER_VALUES: dict[str, list[object]] = {
    "v": [0, 2, "1", None, True],
    "id": [OTHER_ID, "", None, 7],
    "tenant_id": [OTHER_ID, None],
    "parent": [OTHER_ID, None, []],
    "child": [OTHER_ID, None],
    "child_key": [OTHER_HASH, "", None],
    "scopes": [["docs:*", "mail:*"], ["docs:*"], [], ["docs:read", "docs:read"], ["*:*"], "docs:read", None],
    "denies": [[], ["docs:x"], ["mail:*"], None],
    "depth": [0, -1, 1.0, 9, "2", None, 2**53],
    "iat": [0, -1, 1.5, 2**53, None, "0"],
    "exp": [4_000_000_000, 2**62, -1, None, "4000000000"],
    "prev": [OTHER_HASH, None, "", 7],
}
HEADERS: list[dict[str, object]] = [
    {"alg": "none", "typ": TYP},
    {"alg": "HS256", "typ": TYP},
    {"alg": "Ed25519", "typ": TYP},
    {"alg": "ES256", "typ": TYP},
    {"typ": TYP},
    {"alg": "EdDSA"},
    {"alg": "EdDSA", "typ": "agent-statement+jwt"},
    {"alg": "EdDSA", "typ": "agent-assertion+jwt"},
    {"alg": "EdDSA", "typ": "agent-vote+jwt"},
    {"alg": "EdDSA", "typ": TYP.upper()},
    {"alg": "EdDSA", "typ": TYP, "crit": ["b64"], "b64": False},
    {"alg": "EdDSA", "typ": TYP, "jwk": {"kty": "OKP"}},
]


@cache
def valid_chain() -> tuple[DelegationWorld, Grant]:
    """A chain of four, in a world with further agents whose keys an attacker may use."""
    world = DelegationWorld()
    root, *line = (world.add_agent("docs:*", "mail:send", "!docs:delete") for _ in range(5))
    before = root
    for agent in line:
        grant = world.delegate(before, agent, "docs:*", hours=20)
        before = agent
    stranger, other = world.add_agent("docs:*"), world.add_agent("docs:*")
    world.delegate(stranger, other, "docs:*")
    return world, grant


def spell(value: object) -> bytes:
    """The canonical spelling, also of numbers that canonical JSON does not have."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def write(header: object, payload: object, key: WorldKey) -> str:
    """A JWS of any header and payload, rightly signed by a key."""
    signed = f"{b64url_encode(spell(header))}.{b64url_encode(spell(payload))}"
    return f"{signed}.{b64url_encode(signing.sign(ALGORITHM, key.private, signed.encode()))}"


def change_members(token: str) -> list[dict[str, object]]:
    """The payload with each wrong value of each member, without a member, and with one more."""
    members = json.loads(b64url_decode(token.split(".")[1]))
    changed = [{**members, name: value} for name, values in MEMBER_VALUES.items() for value in values]
    changed += [{other: value for other, value in members.items() if other != name} for name in members]
    changed += [{**members, "aud": "docs"}, {**members, "V": 1}]
    return [each for each in changed if each != members]


def forge_members(token: str) -> Iterator[str]:
    """Changed payloads under the signature of the true one."""
    header, _, signature = token.split(".")
    for each in change_members(token):
        yield f"{header}.{b64url_encode(spell(each))}.{signature}"


def resign_members(world: DelegationWorld, token: str) -> Iterator[str]:
    """Changed payloads that the parent itself signed."""
    key = world.agents[read_hop(token).hop.parent].keys[-1]
    for each in change_members(token):
        yield write({"alg": "EdDSA", "kid": key.kid, "typ": TYP}, each, key)


def mutate_spelling(world: DelegationWorld, token: str) -> Iterator[str]:
    """The same members in another spelling, rightly signed."""
    members = json.loads(b64url_decode(token.split(".")[1]))
    key = world.agents[members["parent"]].keys[-1]
    header = b64url_encode(spell({"alg": "EdDSA", "kid": key.kid, "typ": TYP}))
    text = json.dumps(members, separators=(",", ":"))
    spellings = [
        text,
        json.dumps(members, sort_keys=True),
        spell(members).decode() + "\n",
        spell(members).decode().replace('"v":1', '"v":1,"v":1'),
        spell(members).decode().replace('"v":1', '"v":1.0'),
        spell(members).decode().replace('"docs:*"', '"\\u0064ocs:*"'),
        spell(members).decode().replace('{"child"', '{"child":"x","child"'),
    ]
    for each in spellings:
        signed = f"{header}.{b64url_encode(each.encode())}"
        yield f"{signed}.{b64url_encode(signing.sign(ALGORITHM, key.private, signed.encode()))}"


def mutate_header(world: DelegationWorld, token: str) -> Iterator[str]:
    """Other headers, signed by the parent, and hops that another agent signed."""
    members = json.loads(b64url_decode(token.split(".")[1]))
    key = world.agents[members["parent"]].keys[-1]
    for header in HEADERS:
        yield write({**header, "kid": key.kid}, members, key)
    yield write({"alg": "EdDSA", "typ": TYP}, members, key)
    for other in world.agents.values():
        if other.id != members["parent"]:
            for kid in (key.kid, other.keys[-1].kid):
                yield write({"alg": "EdDSA", "kid": kid, "typ": TYP}, members, other.keys[-1])


def mutate_text(token: str, random: Random) -> Iterator[str]:
    """One character replaced, removed, doubled or added, anywhere in the text; and the token cut."""
    for _ in range(330):
        at = random.randrange(len(token))
        yield (
            token[:at]
            + random.choice(ALPHABET.replace(token[at], "") if token[at] != "." else ALPHABET)
            + token[at + 1 :]
        )
    for at in random.sample(range(len(token)), 12):
        yield token[:at] + token[at + 1 :]
        yield token[:at] + token[at] + token[at:]
    yield from (
        token[:-1],
        token + "=",
        token + "A",
        token + ".",
        token + " ",
        "\n" + token,
        token.replace(".", "..", 1),
    )


def mutate_order(chain: list[str]) -> Iterator[list[str]]:
    """The hops in every other order, with some left out or repeated, the last one included."""
    for length in range(1, len(chain) + 1):
        for order in permutations(chain, length):
            if list(order) != chain and order[-1] == chain[-1]:
                yield list(order)
    for at in range(len(chain)):
        yield [*chain[:at], chain[at], *chain[at:]]


def put(chain: list[str], at: int, tokens: Iterable[str]) -> list[list[str]]:
    """The chain with each of the tokens in one place."""
    return [[*chain[:at], each, *chain[at + 1 :]] for each in tokens]


@cache
def forged_chains() -> list[list[str]]:
    """What someone without the keys of the parents can make of a chain."""
    world, grant = valid_chain()
    random, found = Random(15), list(mutate_order(grant.chain))
    foreign = next(each for each in reversed(world.grants.values())).chain
    found += [[*foreign, *grant.chain], [*grant.chain, *foreign], [*foreign, *grant.chain[1:]]]
    for at, token in enumerate(grant.chain):
        found += put(grant.chain, at, [*forge_members(token), *mutate_text(token, random), foreign[0]])
        found += put(grant.chain, at, [*mutate_header(world, token), *mutate_spelling(world, token)])
    return [chain for chain in found if chain != grant.chain]


@cache
def resigned_chains() -> list[list[str]]:
    """What a dishonest parent can make of a chain."""
    world, grant = valid_chain()
    return [
        chain
        for at, token in enumerate(grant.chain)
        for chain in put(grant.chain, at, resign_members(world, token))
        if chain != grant.chain
    ]


def judge(chain: list[str], known: Knowledge) -> ChainReport:
    return judge_chain(chain, lambda _: known, now=valid_chain()[0].now)


def list_valid(chains: list[list[str]], known: Knowledge) -> list[list[str]]:
    """Those that are valid for the leaf; one cut at its end is valid for another."""
    leaf = valid_chain()[1].hop.child
    reports = [(chain, judge(chain, known)) for chain in chains]
    return [chain for chain, report in reports if report.verdict is ChainVerdict.VALID and report.leaf_agent_id == leaf]


def test_there_are_two_thousand_mutations():
    assert len({tuple(chain) for chain in [*forged_chains(), *resigned_chains()]}) >= MUTATIONS


def test_no_mutated_chain_is_valid_for_the_service():
    world, grant = valid_chain()

    assert list_valid([grant.chain], world.knowledge())
    assert list_valid([*forged_chains(), *resigned_chains()], world.knowledge()) == []


def test_no_forged_chain_is_valid_for_a_stranger():
    world, grant = valid_chain()

    assert list_valid([grant.chain], world.stranger_knowledge())
    assert list_valid(forged_chains(), world.stranger_knowledge()) == []


def test_a_dishonest_parent_cannot_widen_its_own_chain():
    """A stranger takes a parent's signature for another grant, which is still within the hop before."""
    world, grant = valid_chain()
    before = read_hop(grant.chain[-2]).hop

    valid = list_valid(resigned_chains(), world.stranger_knowledge())

    assert valid
    for chain in valid:
        changed = read_hop(chain[-1]).hop
        assert chain[:-1] == grant.chain[:-1]
        assert find_widening(changed.scopes, before.scopes) is None
        assert changed.expires_at <= before.expires_at
