"""Texts that are as long as their fields accept, and a tenant that has them in every field that takes text.

Each is long in another way: a word that breaks nowhere, words of one letter, a script that is read from the right, and
pictures made of several signs that joiners hold together.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from attestlab import Lab
from attestlab.orgs.rules import Role, Scope
from support.blog import publish_post
from support.dashboards.demo_server import ADMIN, DemoServer, add_person
from support.patient_http import open_client

TEXTS: Final = {
    "letters": "W" * 2_000,
    "words": "lorem " * 200,
    "rtl": "مرحبا بالعالم שלום עולם " * 50,
    "emoji": "👩\u200d👩\u200d👧\u200d👦🏳\u200d🌈" * 60,
}
LONG_PERSON: Final = "wanda@demo.example"
CONSUMER: Final = "ada@people.example"


class LongObjects(NamedTuple):
    """What has one text in all of its fields, as the addresses of the pages name it."""

    issuer: str
    kid: str
    policy: str
    attestation: str
    entry: int
    user: str
    agent: str
    person: str  # who has a name of 200 letters
    key: str  # an API key
    page: str  # the path of the attestation's page, with its share key
    post: str  # the path of the post's page


def add_long_person(folder: Path) -> None:
    """Add an owner with a name of 200 letters to the demo in a folder that no server serves."""
    add_person(folder, LONG_PERSON, name=fit("letters", 200), role=Role.OWNER)


def fit(name: str, limit: int) -> str:
    """Cut a text to a field of at most `limit` characters, and to a whole sign at its end."""
    return TEXTS[name][:limit].rstrip(" \u200d")


def write_long_texts(server: DemoServer) -> dict[str, LongObjects]:
    """Write each text into every field in which the API accepts it."""
    password = server.made["people_password"]
    with server.connect() as lab:
        people = (lab.as_(LONG_PERSON, password=password), lab.as_(ADMIN, password=password))
        _write_portfolio(lab.as_(CONSUMER, password=password), server)
        return {name: _write(lab, people, server, number, name) for number, name in enumerate(TEXTS)}


def _write(lab: Lab, people: tuple[Lab, Lab], server: DemoServer, number: int, name: str) -> LongObjects:
    issuer, kid, attestation, entry, page = _write_issuer(lab, people, number, name)
    _write_receipt(lab, issuer, number, name)
    _write_webhook(lab, name)
    policy, user, agent = _write_policy(lab, name), _write_risk(lab, people[0], name), _write_agent(people[0], name)
    person, key = str(people[0].me().id), _write_key(people[0], name)
    post = _write_post(server, name)
    return LongObjects(issuer, kid, policy, attestation, entry, user, agent, person, key, page, post)


def _write_issuer(lab: Lab, people: tuple[Lab, Lab], number: int, name: str) -> tuple[str, str, str, int, str]:
    """Register an issuer, mint, revoke, and ask for changes of which one is rejected."""
    wanda, ben = people
    names = {"display_name": fit(name, 200), "legal_name": fit(name, 200)}
    domain = f"{'w' * 63}.{'w' * 63}.{number}.example"
    kid = f"{'K' * 60}{number}"
    issuer = wanda.issuers.create(fit(name, 200), domain, jurisdiction="GB", kid=kid, **names)
    claims = {"student_name": fit(name, 1_000), fit(name, 64): fit(name, 1_000)}
    more: dict[str, Any] = {"subject_reference": fit(name, 200), "metadata": {fit(name, 64): fit(name, 500)}}
    minted = lab.mint(b"a file", issuer=issuer, schema="degree", claims=claims, **more)
    lab.mint(issuer=issuer, schema="degree", claims=claims, **more).revoke(fit(name, 1_000))
    ben.issuers.reject(wanda.issuers.request("SUSPEND_ISSUER", issuer, fit(name, 1_000)), fit(name, 1_000))
    wanda.issuers.request("SUSPEND_ISSUER", issuer, fit(name, 1_000))
    path = "/" + minted.url.split("/", 3)[3]
    return str(issuer.id), kid, str(minted.id), minted.log_index, path


def _write_key(wanda: Lab, name: str) -> str:
    """Create an API key and revoke it; each has a text."""
    key = wanda.api_keys.create(fit(name, 200), scopes=[str(scope) for scope in Scope])
    wanda.api_keys.revoke(key, fit(name, 1_000))
    return str(key.id)


def _write_receipt(lab: Lab, issuer: str, number: int, name: str) -> None:
    kind = f"{'long_' * 6}{number}"
    lab.receipt_types.create(kind, "1.0.0", {}, display_name=fit(name, 200), description=fit(name, 2_000))
    lab.receipts.mint(kind, {fit(name, 64): fit(name, 500)}, issuer=issuer, subject=fit(name, 256))


def _write_risk(lab: Lab, wanda: Lab, name: str) -> str:
    """Record signals about entities with ids of 256 characters, with lists, cases, notes and challenges."""
    text = fit(name, 256)
    source, kind = f"{'source_' * 8}x", f"{'kind_' * 12}x"
    factors = [
        {"name": fit(name, 64), "value": fit(name, 200), "weight": 1, "contribution": 90, "explanation": fit(name, 200)}
    ]
    details = {"ip": fit(name, 200), "device_id": text, "session_id": text, fit(name, 64): text, "factors": factors}
    for user in (text, fit(name, 250), fit(name, 240)):
        lab.signals.add(source, kind, 100, "user", user, details=details)
        lab.challenges.create(user, fit(name, 1_000), subject_type="user", risk_score=99)
    for entity in ("ip", "device", "document", "session", "issuer", "attestation"):
        lab.signals.add("gateway", "behavior", 99, entity, text, details=details)
    lab.lists.add("deny", "user", text, reason=fit(name, 1_000))
    for user, outcome in ((fit(name, 250), "fraud"), (fit(name, 240), "legitimate")):
        (case,) = lab.cases.list(entity_type="user", entity_id=user)
        wanda.cases.assign(case, wanda.me().id)
        lab.cases.resolve(case, outcome, fit(name, 1_000))
    return text


def _write_policy(lab: Lab, name: str) -> str:
    """Create a policy whose texts are long."""
    when = {"attr": "key.age_days", "op": "lt", "value": 7}
    rule = {"id": "r" * 64, "effect": "DENY", "priority": 1, "reason": fit(name, 500), "when": when}
    target = {"category": "VERIFY", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
    return str(lab.policies.create({"name": fit(name, 128), **target, "rules": [rule]}).id)


def _write_webhook(lab: Lab, name: str) -> None:
    url = f"https://receiver.invalid/{'w' * 1_000}"
    lab.webhooks.create(url, ["attestation.*"], name=fit(name, 100)).test("attestation.minted")


def _write_agent(wanda: Lab, name: str) -> str:
    """Register an agent that delegates, runs and works, and one that is killed for a long reason."""
    wide = f"{'s' * 50}:{'a' * 50}"
    texts = {"description": fit(name, 2_000)}
    agent = wanda.agents.register(fit(name, 256), scopes=["docs:read", wide], **texts)
    agent.delegate({"display_name": fit(name, 256)}, [wide])
    steps = [f"{'s' * 60}{number}" for number in range(3)]
    run = wanda.runs.start(agent, steps, name=fit(name, 200))
    wanda.runs.step(run, steps[0], outputs=b"out", inputs=b"in")
    dead = wanda.agents.register(fit(name, 250), scopes=[wide])
    wanda.agents.kill(dead, fit(name, 1_000))
    return str(agent.id)


def _write_portfolio(consumer: Lab, server: DemoServer) -> None:
    """Publish protections with titles and descriptions of all texts in a portfolio."""
    for name in TEXTS:
        consumer.protect(
            name.encode(), title=fit(name, 200), description=fit(name, 2_000), visibility="public", category="c" * 64
        )


def _write_post(server: DemoServer, name: str) -> str:
    """Publish a post; returns the path of its page."""
    login = {"email": server.made["owner_email"], "password": server.made["owner_password"]}
    with open_client(base_url=server.url) as client:
        token = client.post("/v1/auth/login", json=login).json()["access_token"]
        client.headers["Authorization"] = f"Bearer {token}"
        words = f"# {fit(name, 500)}\n\n{fit(name, 2_000)}\n\n> {fit(name, 500)}\n\n`{'w' * 500}`"
        texts = {"excerpt": fit(name, 500), "tags": [fit(name, 32)]}
        post = publish_post(client, fit(name, 200), content=words, slug=f"long-{name}", **texts)
    return f"/blog/{post['slug']}"
