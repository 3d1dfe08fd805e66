"""Entries of lists about networks: they hold for each address, in every spelling, wherever lists are read."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from attestlab.attestations.risk_context import RiskSubjects
from attestlab.core.clock import FixedClock
from attestlab.core.ids import new_id
from attestlab.risk.recent import read_recent_risk
from attestlab.risk.rules import EntityType
from support.orgs import TenantClients
from support.risk import add_signal, get, list_ids, post, put_on_list

pytestmark = pytest.mark.one_world

NETWORKS = {
    "203.0.113.0/24": ["203.0.113.5", "::ffff:203.0.113.5", "::FFFF:CB00:7105"],
    "203.0.113.0/255.255.255.0": ["203.0.113.5"],
    "::ffff:203.0.113.0/120": ["203.0.113.5"],
    "10.0.0.0/8": ["10.255.0.1"],
    "2001:db8:aa:bb::/64": ["2001:db8:aa:bb::5", "2001:DB8:AA:BB::5", "2001:0db8:00aa:00bb:0:0:0:5"],
    "2001:DB8:00AA::/48": ["2001:db8:aa:1::5"],
    "2001:DB8::9": ["2001:db8::9", "2001:db8:0:0::9"],
    "::ffff:203.0.113.5": ["203.0.113.5"],
    "203.0.113.5/32": ["203.0.113.5"],
}
OUTSIDE = ["203.0.114.5", "11.0.0.1", "2001:db9::5", "2001:db8::10"]


def score_login(key: httpx.Client, ip: str) -> Any:
    return post(key, "ato/evaluate", {"subject_id": "ada", "outcome": "failure", "ip": ip})["score"]


def score_velocity(key: httpx.Client, ip: str) -> Any:
    return post(key, "velocity/record", {"entity_type": "ip", "entity_id": ip, "action": "upload"})["score"]


@pytest.mark.parametrize("network", NETWORKS)
def test_a_denied_network_denies_each_address_in_it(
    network: str, key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    before = {score_login(key, ip) for ip in OUTSIDE}
    put_on_list(key, "deny", entity_type="ip", entity_id=network)

    assert {score_login(key, ip) for ip in NETWORKS[network]} == {100.0}
    assert {score_velocity(key, ip) for ip in NETWORKS[network]} == {100.0}
    assert {read_policy_context(tenant_clients, ip, clock) for ip in NETWORKS[network]} == {True}
    assert max(before) < 100
    assert {score_login(key, ip) == 100 for ip in OUTSIDE} == {False}
    assert {read_policy_context(tenant_clients, ip, clock) for ip in OUTSIDE} == {False}


def read_policy_context(clients: TenantClients, ip: str, clock: FixedClock) -> Any:
    subjects = RiskSubjects(new_id(clock.now()), client_address=ip)
    with clients.lab.storage.read() as connection:
        found = subjects.look_up(
            lambda tenant_id, entities: read_recent_risk(connection.execute, tenant_id, entities, now=clock.now()),
            clients.tenant.tenant_id,
            [EntityType.IP],
        )
    return found["risk.ip.deny_listed"]


@pytest.mark.both_engines
@pytest.mark.parametrize("network", ["203.0.113.0/24", "2001:db8:aa:bb::/64"])
def test_an_allowed_network_exempts_each_address_in_it(network: str, key: httpx.Client) -> None:
    inside, outside = NETWORKS[network][-1], "198.51.100.1"
    entry = put_on_list(key, "allow", entity_type="ip", entity_id=network)
    challenge = {"subject_type": "ip", "reason": "Login from a new country"}
    signals = [
        add_signal(key, entity_type="ip", entity_id=ip, score=99, details={"user": "ada"}) for ip in (inside, outside)
    ]

    assert [each["case_id"] is None for each in signals] == [True, False]
    assert post(key, "challenge", {**challenge, "subject_id": inside})["challenge_required"] is False
    assert post(key, "challenge", {**challenge, "subject_id": outside})["challenge_required"] is True
    spelt = signals[0]["entity_id"]
    assert [each["id"] for each in get(key, f"entities/ip/{spelt}")["lists"]] == [entry["id"]]
    nodes = {each["id"]: each["list"] for each in get(key, "entities/user/ada/graph")["nodes"]}
    assert (nodes[spelt], nodes[outside]) == ("allow", None)


def test_an_id_is_found_in_every_spelling(key: httpx.Client) -> None:
    signal = add_signal(key, entity_type="ip", entity_id="2001:DB8:0:0::9", score=91)
    digest = "AB" * 32
    document = add_signal(key, entity_type="document", entity_id=digest)

    assert (signal["entity_id"], document["entity_id"]) == ("2001:db8::9", digest.lower())
    assert list_ids(key, entity_type="ip", entity_id="2001:0DB8::0009") == [signal["id"]]
    assert list_ids(key, "cases", entity_type="ip", entity_id="2001:0DB8::0009") == [signal["case_id"]]
    assert get(key, "entities/ip/2001:DB8::9")["signals"][0]["id"] == signal["id"]
    put_on_list(key, "deny", entity_type="document", entity_id=digest)
    assert len(list_ids(key, "lists", entity_type="document", entity_id=digest)) == 1


@pytest.mark.parametrize(
    ("entity_id", "remedy"),
    [
        ("203.0.113.*", "is no IP address or network. Use one such as 203.0.113.9"),
        ("203.0.113.0-203.0.113.9", "is no IP address or network"),
        ("203.0.113.5, 203.0.113.6", "is no IP address or network"),
        ("203.0.113.0/33", "is no IP address or network"),
        ("2001:db8::/129", "is no IP address or network"),
        ("[2001:db8::1]", "is no IP address or network"),
        ("[2001:db8::1]:443", "Use 2001:db8::1."),
        ("203.0.113.5:443", "Use 203.0.113.5."),
        ("fe80::1%eth0", "Use fe80::1."),
        ("2130706433", "is no IP address or network"),
        ("0x7f000001", "is no IP address or network"),
        ("0x7f.1", "is no IP address or network"),
        ("127.1", "is no IP address or network"),
        ("http://203.0.113.9/login", "is no IP address or network"),
        ("203.0.113.9 (office)", "is no IP address or network"),
        ("２０３.0.113.9", "is no IP address or network"),  # noqa: RUF001  # digits of another script
        ("010.0.0.1", "is no IP address or network"),
        ("10.0.0.5/8", "has bits of a host. Did you mean 10.0.0.0/8?"),
        ("10.0.0.5/255.0.0.0", "has bits of a host. Did you mean 10.0.0.0/8?"),
        ("::ffff:203.0.113.77/120", "has bits of a host. Did you mean 203.0.113.0/24?"),
        ("2001:db8:aa::5/48", "has bits of a host. Did you mean 2001:db8:aa::/48?"),
        ("0.0.0.0/0", "has a prefix of at least /8"),
        ("::/0", "has a prefix of at least /32"),
        ("2001:db8::/16", "has a prefix of at least /32"),
    ],
)
def test_an_entry_that_could_never_hold_is_refused(entity_id: str, remedy: str, key: httpx.Client) -> None:
    entry = {"list": "deny", "entity_type": "ip", "entity_id": entity_id, "reason": "known to us"}
    refused = key.post("/v1/risk/lists", json=entry)

    assert (refused.status_code, refused.json()["code"]) == (400, "VALIDATION_ERROR")
    assert remedy in refused.text


def test_an_entry_from_before_with_bits_of_a_host_holds(key: httpx.Client) -> None:
    """They were dropped when it was added; the lists are read with either spelling."""
    entry = put_on_list(key, "deny", entity_type="ip", entity_id="203.0.113.0/24")

    assert list_ids(key, "lists", entity_type="ip", entity_id="203.0.113.77/24") == [entry["id"]]
    assert score_velocity(key, "203.0.113.77") == 100


def test_an_address_that_a_tenant_hashes_is_an_id_of_its_own(key: httpx.Client) -> None:
    put_on_list(key, "deny", entity_type="ip", entity_id="sha256:0f3c")

    assert score_velocity(key, "sha256:0f3c") == 100
