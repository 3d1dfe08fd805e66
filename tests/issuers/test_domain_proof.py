"""An issuer proves its domain by a TXT record, asked for over real DNS; that lifts it to BASIC, in the log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.issuers.txt_resolver import DnsResolver
from attestlab.orgs.rules import Caller, Plan
from attestlab.settings import Settings
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.log.entries import read_log_entries
from support.name_server import NameServer, serve_dns
from support.orgs import create_api_key


@dataclass
class Registry:
    """A tenant with an issuer whose domain is not proven."""

    lab: Installation
    client: httpx.Client
    issuer: dict[str, Any]
    dns: NameServer

    @property
    def path(self) -> str:
        return f"/v1/issuers/{self.issuer['id']}/domain-proof"

    def write_record(self) -> None:
        challenge = self.client.get(self.path).json()
        self.dns.texts[challenge["record_name"]] = ["v=spf1 -all", challenge["record_value"]]

    def check(self) -> httpx.Response:
        return self.client.post(f"{self.path}/check")


@pytest.fixture
def registry(lab: Installation) -> Iterator[Registry]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_dns() as dns, serve_in_thread(lab) as url, make_client(url, key=create_api_key(lab, tenant)) as client:
        lab.domain_proofs.resolver = DnsResolver(dns.address)
        yield Registry(lab, client, register_issuer(client), dns)


def test_verified_record_raises_the_issuer_to_basic(registry: Registry) -> None:
    before = registry.client.get(registry.path).json()
    registry.write_record()

    done = registry.check()

    assert (before["record_type"], before["record_name"]) == ("TXT", "_attestlab-challenge.northfield.example.edu")
    assert before["record_value"].startswith("attestlab-domain-verification=")
    assert (before["proven"], before["trust_tier"]) == (False, "SELF_SIGNED")
    assert (done.status_code, done.json()["proven"], done.json()["trust_tier"]) == (200, True, "BASIC")
    assert registry.client.get(f"/v1/issuers/{registry.issuer['id']}").json()["trust_tier"] == "BASIC"
    last = read_log_entries(registry.lab)[-1].members
    assert (last["type"], last["trust_tier"]) == ("issuer.status", "BASIC")


def test_without_the_record_nothing_changes(registry: Registry) -> None:
    entries = len(read_log_entries(registry.lab))

    missing = registry.check()
    registry.dns.texts["_attestlab-challenge.northfield.example.edu"] = [
        "attestlab-domain-verification=of-another-tenant"
    ]
    wrong = registry.check()

    assert [answer.status_code for answer in (missing, wrong)] == [409, 409]
    assert missing.json()["details"]["reason"] == "record_not_found"
    assert registry.dns.asked == ["_attestlab-challenge.northfield.example.edu"] * 2
    assert len(read_log_entries(registry.lab)) == entries


def test_failing_name_server_is_a_503(registry: Registry) -> None:
    registry.write_record()
    registry.dns.is_broken = True

    refused = registry.check()

    assert (refused.status_code, refused.json()["code"]) == (503, "SERVICE_UNAVAILABLE")
    registry.dns.is_broken = False
    assert registry.check().json()["proven"]


def test_proven_domain_stays_proven_without_another_look_up(registry: Registry) -> None:
    registry.write_record()
    registry.check()
    registry.dns.texts.clear()
    asked, entries = len(registry.dns.asked), len(read_log_entries(registry.lab))

    again = registry.check()

    assert (again.status_code, again.json()["proven"]) == (200, True)
    assert (len(registry.dns.asked), len(read_log_entries(registry.lab))) == (asked, entries)


def test_a_record_proves_one_issuer_and_one_domain(registry: Registry) -> None:
    """Neither another issuer of the same domain, nor the same issuer with another one, nor another tenant."""
    registry.write_record()
    other = Registry(registry.lab, registry.client, register_issuer(registry.client), registry.dns)
    values = {one.client.get(one.path).json()["record_value"] for one in (registry, other)}

    assert len(values) == 2
    assert other.check().status_code == 409
    registry.client.patch(f"/v1/issuers/{registry.issuer['id']}", json={"domain": "elsewhere.example.edu"})
    assert registry.check().status_code == 409


def test_a_long_record_comes_in_parts(registry: Registry) -> None:
    challenge = registry.client.get(registry.path).json()
    registry.dns.texts[challenge["record_name"]] = ["x" * 600, challenge["record_value"]]

    assert registry.check().json()["proven"]


def test_suspended_issuer_is_not_raised(registry: Registry) -> None:
    registry.write_record()
    caller = registry.lab.orgs.service_caller(UUID(registry.issuer["tenant_id"]))
    registry.lab.issuers.set_governance(UUID(registry.issuer["id"]), status=IssuerStatus.SUSPENDED, caller=caller)

    refused = registry.check()

    assert (refused.status_code, refused.json()["details"]["issuer_status"]) == (409, "SUSPENDED")


@dataclass
class Noted:
    """A resolver without a network: it knows what was put into it."""

    texts: dict[str, list[str]] = field(default_factory=dict)

    def lookup_txt(self, name: str) -> list[str]:
        return self.texts.get(name, [])


def prove_domain(lab: Installation, caller: Caller, noted: Noted) -> bool:
    """A new issuer of the caller's, whose record stands in `noted` and nowhere else, proves its domain."""
    profile = {"name": "Northfield University", "domain": "northfield.example.edu"}
    issuer_id = lab.issuers.create(profile, caller=caller).issuer.id
    challenge = lab.domain_proofs.get_challenge(issuer_id, caller=caller)
    noted.texts[challenge.record_name] = [challenge.record_value]
    lab.domain_proofs.look_up(challenge)
    return lab.domain_proofs.accept(challenge, caller=caller).is_proven


def test_installation_uses_the_configured_resolver(empty_database: str, tmp_path: Path) -> None:
    settings, noted = Settings(data=tmp_path, database_url=empty_database, dns_server="127.0.0.1:1"), Noted()

    made, initialised = Installation.init(settings, resolver=noted)
    caller = made.orgs.service_caller(initialised.tenant.tenant_id)
    assert prove_domain(made, caller, noted)
    made.close()

    opened = Installation.open(settings, resolver=noted)
    assert prove_domain(opened, caller, noted)
    opened.close()
