"""Each verdict about a chain of delegations, in its order, and who may sign what."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from attestlab.agents.delegation import rules
from attestlab.agents.delegation.hops import TYP, Hop, compute_digest, read_hop
from attestlab.agents.delegation.rules import ChainVerdict
from attestlab.agents.delegation.verification import Knowledge, judge_chain
from attestlab.agents.scopes import NO_SCOPES, parse_scopes
from attestlab.core.crypto import jws
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import Conflict, IntegrityFailed, PermissionDenied, ValidationFailed
from support.delegation_world import NOON, DelegationWorld, build_line

HOUR = timedelta(hours=1)


def resign(world: DelegationWorld, hop: Hop, **changes: object) -> str:
    """A hop with other members, signed by its parent's key and recorded, as if the service had allowed it."""
    grant = world.record(hop._replace(**changes), world.agents[hop.parent].keys[-1])
    return grant.chain[-1]


def test_a_chain_grants_what_its_last_hop_says():
    world = DelegationWorld()
    root, worker, helper = (world.add_agent("docs:*", "mail:send", "!docs:delete") for _ in range(3))
    world.delegate(root, worker, "docs:*", hours=9)
    chain = world.delegate(worker, helper, "docs:read", "!docs:read.private", hours=2).chain

    report = world.judge(chain)

    assert (report.verdict, report.depth, report.reasons) == (ChainVerdict.VALID, 2, ())
    assert (report.root_agent_id, report.leaf_agent_id) == (root.id, helper.id)
    assert report.scopes == parse_scopes(["docs:read", "!docs:delete", "!docs:read.private"])
    assert report.expires_at == NOON + 2 * HOUR


def test_a_chain_cut_at_its_end_is_that_of_the_parent():
    world, grant = build_line(3, "docs:read")

    report = world.judge(grant.chain[:-1])

    assert report.verdict is ChainVerdict.VALID
    assert report.leaf_agent_id == grant.hop.parent


@pytest.mark.parametrize("scope", ["docs:read", "docs:*", "mail:send"])
def test_a_required_scope_is_granted_or_a_violation(scope):
    world, grant = build_line(2, "docs:*", "!docs:delete")

    report = world.judge(grant.chain, scope)

    assert report.verdict is (ChainVerdict.VALID if scope == "docs:read" else ChainVerdict.SCOPE_VIOLATION)
    assert report.scopes.permits("docs:read"), "what the chain does grant is shown with either verdict"


def test_an_empty_chain_and_a_too_long_one_are_bad_input():
    world, grant = build_line(1, "docs:read")

    for chain, expected in [([], "empty"), (grant.chain * 33, "33 hops; at most 32"), ("abc", "list"), (None, "list")]:
        with pytest.raises(ValidationFailed, match=expected) as refused:
            world.judge(chain)
        assert refused.value.fields[0].field == "/chain"


@pytest.mark.parametrize("junk", ["", "a", "a.b", "a.b.c", "a.b.c.d", "..", None, 7, "ü.ü.ü", "a" * 40_000])
def test_what_is_no_hop_breaks_a_chain(junk):
    world, grant = build_line(1, "docs:read")

    report = world.judge([*grant.chain, junk])

    assert report.verdict is ChainVerdict.CHAIN_BROKEN
    assert report.reasons[0].startswith("Hop 2: ")
    assert (report.leaf_agent_id, report.scopes, report.expires_at) == (None, NO_SCOPES, None)


def test_hops_in_another_order_break_a_chain():
    world, grant = build_line(3, "docs:read")
    first, second, third = grant.chain

    for chain in (
        [second, first, third],
        [first, third],
        [second, third],
        [first, first],
        [first, second, third, third],
    ):
        assert world.judge(chain).verdict is ChainVerdict.CHAIN_BROKEN


@pytest.mark.parametrize(
    "typ", ["agent-statement+jwt", "agent-assertion+jwt", "agent-vote+jwt", "JOSE", "jwt", "", TYP + "x"]
)
def test_another_kind_of_token_is_no_hop(typ):
    """Rightly signed by the parent, and with the payload of a hop: only `typ` distinguishes it."""
    world, grant = build_line(1, "docs:read")
    key = world.agents[grant.hop.parent].keys[-1]
    token = jws.sign_typed(Algorithm.ED25519, key.private, key.kid, typ, grant.hop.payload())
    world.grants[grant.hop.id] = replace(grant, chain=[token])

    report = world.judge([token])

    assert report.verdict is ChainVerdict.CHAIN_BROKEN
    assert "The JWS header's typ is" in report.reasons[0]


def test_a_token_without_typ_is_no_hop():
    world, grant = build_line(1, "docs:read")
    key = world.agents[grant.hop.parent].keys[-1]
    token = jws.sign_compact(Algorithm.ED25519, key.private, key.kid, grant.hop.payload())

    assert world.judge([token]).verdict is ChainVerdict.CHAIN_BROKEN


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"depth": 3}, "Its depth is 3, and its place in the chain 2."),
        ({"prev": None}, "Its prev is not the hash of the hop before."),
        ({"prev": "A" * 43}, "Its prev is not the hash of the hop before."),
        ({"tenant_id": "00000000-0000-0000-0000-0000000000ff"}, "Its tenant is not that of the hop before."),
        ({"expires_at": NOON}, "It ends before it begins."),
        ({"child": "00000000-0000-0000-0000-0000000000ff"}, "is not known."),
    ],
)
def test_a_hop_that_its_parent_signed_wrongly_breaks_the_chain(changes, reason):
    world, grant = build_line(2, "docs:read")

    report = world.judge([grant.chain[0], resign(world, grant.hop, **changes)])

    assert report.verdict is ChainVerdict.CHAIN_BROKEN
    assert reason in report.reasons[0]


def test_a_cycle_breaks_a_chain():
    world, grant = build_line(2, "docs:read")
    root, leaf = world.agents[read_hop(grant.chain[0]).hop.parent], world.agents[grant.hop.child]
    back = world.build_hop(leaf, root, grant.hop.scopes, grant.hop.expires_at)

    assert "twice" in world.judge([*grant.chain, resign(world, back)]).reasons[0]


def test_only_the_parent_signs_a_hop():
    world, grant = build_line(2, "docs:read")
    stranger = world.add_agent("docs:read")
    forged = grant.hop.sign(stranger.keys[-1].kid, stranger.keys[-1].private)
    claimed = grant.hop.sign(world.agents[grant.hop.parent].keys[-1].kid, stranger.keys[-1].private)

    for token, reason in [(forged, "is not one of the parent"), (claimed, "signature does not belong")]:
        world.grants[grant.hop.id] = replace(grant, chain=[grant.chain[0], token])
        report = world.judge([grant.chain[0], token])
        assert report.verdict is ChainVerdict.CHAIN_BROKEN
        assert reason in report.reasons[0]


def test_an_unknown_key_breaks_a_chain():
    world, grant = build_line(1, "docs:read")

    report = judge_chain(grant.chain, lambda _: Knowledge({}), now=NOON)

    assert report.reasons == (f"Hop 1: The key '{world.agents[grant.hop.parent].keys[0].kid}' is not known.",)


def test_a_later_key_of_the_parent_signs_as_well_and_an_earlier_one_does_not():
    world = DelegationWorld()
    root, worker, helper = (world.add_agent("docs:read") for _ in range(3))
    world.end_key(worker)
    world.delegate(root, worker, "docs:read")  # it names the second key
    world.end_key(worker)
    earlier, named, later = worker.keys
    hop = world.build_hop(worker, helper, parse_scopes(["docs:read"]), NOON + HOUR)

    for key, expected in [(later, ChainVerdict.VALID), (earlier, ChainVerdict.CHAIN_BROKEN)]:
        assert world.judge(world.record(hop, key).chain).verdict is expected
    assert world.judge(world.record(hop, named).chain).verdict is ChainVerdict.REVOKED, "it had ended by then"


def test_a_key_that_ends_later_was_valid_by_the_order_of_the_log():
    world, grant = build_line(2, "docs:read")
    world.end_key(world.agents[grant.hop.parent])

    assert world.judge(grant.chain).verdict is ChainVerdict.VALID


@pytest.mark.parametrize(("hours", "expected"), [(1, ChainVerdict.VALID), (0, ChainVerdict.REVOKED)])
def test_a_hop_counts_unless_others_may_have_signed_it(hours, expected):
    """A report names since when others may have had the key; a hop that was logged before that stays valid."""
    world, grant = build_line(2, "docs:read")
    parent = world.agents[grant.hop.parent]
    parent.keys[-1].compromised_at = NOON + hours * HOUR
    world.end_key(parent)

    assert world.judge(grant.chain).verdict is expected


def test_nine_hops_exceed_the_depth():
    world, grant = build_line(8, "docs:read")
    assert world.judge(grant.chain).verdict is ChainVerdict.VALID
    leaf, child = world.agents[grant.hop.child], world.add_agent("docs:read")
    with pytest.raises(Conflict) as refused:
        world.delegate(leaf, child, "docs:read")

    ninth = resign(world, world.build_hop(leaf, child, grant.hop.scopes, NOON + HOUR))

    assert refused.value.details == {"reason": "depth_exceeded", "depth": 9, "limit": 8}
    assert world.judge([*grant.chain, ninth]).verdict is ChainVerdict.DEPTH_EXCEEDED


def test_a_chain_expires_with_its_first_hop_that_expires():
    world = DelegationWorld()
    root, worker, helper = (world.add_agent("docs:read") for _ in range(3))
    world.delegate(root, worker, "docs:read", hours=3)
    chain = world.delegate(worker, helper, "docs:read", hours=2).chain

    world.now = NOON + 2 * HOUR - timedelta(milliseconds=1)
    assert world.judge(chain).verdict is ChainVerdict.VALID
    world.now = NOON + 2 * HOUR
    report = world.judge(chain)
    assert report.verdict is ChainVerdict.EXPIRED
    assert report.reasons == ("Hop 2: It expired at 2026-11-28T14:00:00.000Z.",)
    assert report.scopes == NO_SCOPES


def test_a_revoked_hop_revokes_what_is_below_it():
    world, grant = build_line(3, "docs:read")

    ended = world.revoke(world.grants[grant.ids[1]])

    assert [each.hop.id for each in ended] == list(grant.ids[1:])
    assert world.judge(grant.chain[:1]).verdict is ChainVerdict.VALID
    for known in (world.knowledge(), world.stranger_knowledge()):
        assert judge_chain(grant.chain, lambda _, known=known: known, now=NOON).verdict is ChainVerdict.REVOKED


@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_agent_that_may_not_act_revokes_the_chain(place):
    world, grant = build_line(2, "docs:read")
    list(world.agents.values())[place].ended = "suspended"

    report = world.judge(grant.chain)

    assert report.verdict is ChainVerdict.REVOKED
    assert report.reasons[0].endswith("is suspended.")


@pytest.mark.parametrize(
    ("scopes", "reason"),
    [
        (["docs:*", "!docs:delete"], "Hop 2: It grants docs:*, which the hop before does not allow."),
        (
            ["docs:read", "mail:send", "!docs:delete"],
            "Hop 2: It grants mail:send, which the hop before does not allow.",
        ),
        (["docs:read"], "Hop 2: It lacks the deny !docs:delete of the hop before."),
    ],
)
def test_a_hop_that_widens_is_a_violation_for_strangers_too(scopes, reason):
    world, grant = build_line(2, "docs:read", "!docs:delete")
    chain = [grant.chain[0], resign(world, grant.hop, scopes=parse_scopes(scopes))]

    for known in (world.knowledge(), world.stranger_knowledge()):
        report = judge_chain(chain, lambda _, known=known: known, now=NOON)
        assert (report.verdict, report.reasons) == (ChainVerdict.SCOPE_VIOLATION, (reason,))


def test_a_hop_that_ends_later_is_a_violation():
    world, grant = build_line(2, "docs:read")
    chain = [grant.chain[0], resign(world, grant.hop, expires_at=grant.hop.expires_at + HOUR)]

    assert world.judge(chain).reasons == ("Hop 2: It ends later than the hop before.",)


def test_a_hop_that_the_service_did_not_record_is_none():
    world, grant = build_line(1, "docs:*")
    worker, helper = world.agents[grant.hop.child], world.add_agent("docs:*")
    hop = world.build_hop(worker, helper, parse_scopes(["docs:read"]), NOON + HOUR)
    chain = [*grant.chain, hop.sign(worker.keys[-1].kid, worker.keys[-1].private)]

    assert world.judge(chain).verdict is ChainVerdict.CHAIN_BROKEN
    assert judge_chain(chain, lambda _: world.stranger_knowledge(), now=NOON).verdict is ChainVerdict.VALID


def test_narrowing_any_agent_of_a_chain_narrows_it():
    world, grant = build_line(2, "docs:*", "mail:send")
    root, worker, helper = world.agents.values()
    root.scopes, worker.scopes = parse_scopes(["docs:*", "!docs:delete"]), parse_scopes(["docs:read", "docs:delete"])
    helper.scopes = parse_scopes(["docs:*", "mail:send"])

    report = world.judge(grant.chain)

    assert report.verdict is ChainVerdict.VALID
    assert report.scopes == parse_scopes(["docs:read", "!docs:delete"])


def test_the_first_verdict_that_applies_is_the_only_one():
    """A chain with every fault at once loses them one by one."""
    world, grant = build_line(8, "docs:read")
    leaf, child = world.agents[grant.hop.child], world.add_agent("docs:read")
    wide = world.build_hop(leaf, child, parse_scopes(["docs:*"]), NOON + 30 * HOUR)
    ninth = resign(world, wide)
    world.revoke(world.grants[grant.ids[7]])
    world.now = NOON + 25 * HOUR
    broken = [*grant.chain, ninth[:-2] + ("A" if ninth[-2] != "A" else "B") + ninth[-1]]

    verdicts = [
        world.judge(broken).verdict,
        world.judge([*grant.chain, ninth]).verdict,
        world.judge(grant.chain).verdict,
    ]
    world.now = NOON
    verdicts += [world.judge(grant.chain).verdict, world.judge(grant.chain[:7], "mail:send").verdict]

    assert verdicts == list(ChainVerdict)[:5]


def test_a_parent_cannot_grant_what_it_may_not_do():
    world = DelegationWorld()
    root, worker = world.add_agent("docs:*", "!docs:delete"), world.add_agent("docs:*", "mail:send")

    for scope in ("docs:delete", "mail:send", "mail:*"):
        with pytest.raises(PermissionDenied) as refused:
            world.delegate(root, worker, "docs:read", scope)
        assert refused.value.details == {"reason": "scope_violation", "scope": scope}
    assert world.grants == {}


def test_a_child_has_one_live_parent_and_no_place_above_itself():
    world = DelegationWorld()
    root, worker, helper, other = (world.add_agent("docs:read") for _ in range(4))
    grant = world.delegate(root, worker, "docs:read")
    world.delegate(worker, helper, "docs:read")

    for parent, child, reason in [
        (other, worker, "already_delegated"),
        (root, root, "cycle"),
        (helper, root, "cycle"),
        (helper, worker, "cycle"),
        (other, root, "delegates_already"),
    ]:
        with pytest.raises(Conflict) as refused:
            world.delegate(parent, child, "docs:read")
        assert refused.value.details["reason"] == reason
    world.revoke(grant)
    world.delegate(other, worker, "docs:read")


def test_denies_of_parent_and_request_have_one_limit():
    world = DelegationWorld()
    root = world.add_agent("docs:*", *(f"!docs:a{number}" for number in range(63)))
    worker = world.add_agent("docs:*")

    with pytest.raises(ValidationFailed, match="the limit is 64"):
        world.delegate(root, worker, "docs:*", "!docs:b1", "!docs:b2")
    granted = world.delegate(root, worker, "docs:*", "!mail:*", "!mail:send").hop.scopes
    assert len(granted.denies) == 64


@pytest.mark.parametrize(
    ("requested", "ends", "expected"),
    [
        (None, [], NOON + 30 * 24 * HOUR),
        (None, [None, NOON + HOUR], NOON + HOUR),
        (None, [NOON + 40 * 24 * HOUR], NOON + 30 * 24 * HOUR),
        (NOON + HOUR, [NOON + HOUR, NOON + 2 * HOUR], NOON + HOUR),
        (NOON + 100 * 24 * HOUR, [None], NOON + 100 * 24 * HOUR),
        (NOON + timedelta(milliseconds=1500), [], NOON + timedelta(seconds=1)),
    ],
)
def test_a_delegation_expires_with_the_first_of_its_ends(requested, ends, expected):
    assert rules.choose_expiry(requested, ends, now=NOON) == expected


@pytest.mark.parametrize(
    ("requested", "ends", "code"),
    [
        (NOON + 2 * HOUR, [NOON + HOUR], "too_late"),
        (NOON, [], "past"),
        (NOON - HOUR, [], "past"),
        (NOON + timedelta(milliseconds=999), [], "past"),
    ],
)
def test_an_expiry_out_of_bounds_is_refused(requested, ends, code):
    with pytest.raises(ValidationFailed) as refused:
        rules.choose_expiry(requested, ends, now=NOON)

    assert [(fault.field, fault.code) for fault in refused.value.fields] == [("/expires_at", code)]


def test_a_hop_reads_back_as_it_was_signed():
    _, grant = build_line(2, "docs:*", "!docs:delete")

    read = read_hop(grant.chain[-1])

    assert read.hop == grant.hop
    assert read.digest == compute_digest(grant.chain[-1])


def test_a_newer_version_of_a_hop_is_named():
    world, grant = build_line(1, "docs:read")
    key = world.agents[grant.hop.parent].keys[-1]
    payload = grant.hop.payload().replace(b'"v":1', b'"v":2')

    with pytest.raises(IntegrityFailed, match="version 2; this verifier knows 1"):
        read_hop(jws.sign_typed(Algorithm.ED25519, key.private, key.kid, TYP, payload))
