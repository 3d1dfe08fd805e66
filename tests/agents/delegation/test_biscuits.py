"""An exported Biscuit allows what the chain allows, until the chain expires, and third parties can only narrow it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attestlab.agents.delegation.biscuits import export_biscuit
from attestlab.agents.scopes import NO_SCOPES
from support.delegation_biscuits import SEED, allows_by_biscuit, export, is_allowed, open_biscuit
from support.delegation_world import NOON, build_line

biscuit_auth = pytest.importorskip("biscuit_auth", reason="biscuit-python is not installed")
REQUESTS = ("docs:read", "docs:delete", "mail:send", "mail:read", "pay:send", "docs.x:read", "docs:*")


@pytest.fixture
def exported():
    world, grant = build_line(3, "docs:*", "mail:send", "!docs:delete", "!pay:*")
    hops, report = [world.grants[each].hop for each in grant.ids], world.judge(grant.chain)
    return hops, report, export(hops, report)


def test_it_allows_what_the_chain_allows(exported):
    hops, report, _ = exported

    allowed = allows_by_biscuit(hops, report, REQUESTS, at=NOON)

    assert allowed == {"docs:read", "mail:send", "docs:*"}, "an action named * is one of any"


def test_it_ends_with_the_chain(exported):
    _, report, biscuit = exported
    token = open_biscuit(biscuit)

    assert is_allowed(token, ["docs:read"], at=report.expires_at - timedelta(seconds=1))
    assert not is_allowed(token, ["docs:read"], at=report.expires_at)


def test_several_requests_at_once_are_each_allowed_or_all_refused(exported):
    token = open_biscuit(exported[2])

    assert not is_allowed(token, ["docs:read", "docs:delete"], at=NOON)
    assert not is_allowed(token, ["docs:read", "pay:send"], at=NOON)
    assert not is_allowed(token, [], at=NOON), "an authorizer that names no request gets nothing"


def test_a_chain_without_scopes_allows_nothing(exported):
    hops, report, _ = exported
    token = open_biscuit(export_biscuit(hops, NO_SCOPES, report.expires_at, seed=SEED))

    assert not any(is_allowed(token, [request], at=NOON) for request in REQUESTS)


def test_it_names_the_chain(exported):
    hops, _, biscuit = exported
    source = open_biscuit(biscuit).block_source(0)

    assert all(f'delegation("{hop.id}");' in source for hop in hops)
    assert f'root_agent("{hops[0].parent}");' in source
    assert f'agent("{hops[-1].child}");' in source
    assert open_biscuit(biscuit).revocation_ids == list(biscuit.revocation_ids)


def test_the_reject_checks_are_the_denies(exported):
    lines = open_biscuit(exported[2]).block_source(0).splitlines()

    assert [line for line in lines if line.startswith("reject if")] == [
        'reject if resource("docs"), operation("delete");',
        'reject if resource("pay");',
    ]


def test_a_third_party_narrows_it_and_cannot_widen_it(exported):
    token = open_biscuit(exported[2])
    third = biscuit_auth.KeyPair()
    narrower = biscuit_auth.BlockBuilder('check if operation("read");')
    wider = biscuit_auth.BlockBuilder('operation("read"); resource("docs"); right("pay", "send");')

    narrowed = token.append_third_party(
        third.public_key, token.third_party_request().create_block(third.private_key, narrower)
    )
    claimed = token.append(wider)

    assert is_allowed(narrowed, ["docs:read"], at=NOON)
    assert not is_allowed(narrowed, ["mail:send"], at=NOON)
    for request in REQUESTS:
        assert is_allowed(claimed, [request], at=NOON) <= is_allowed(token, [request], at=NOON)


def test_another_key_does_not_verify_it(exported):
    with pytest.raises(biscuit_auth.BiscuitValidationError):
        biscuit_auth.Biscuit.from_base64(exported[2].biscuit, biscuit_auth.KeyPair().public_key)
