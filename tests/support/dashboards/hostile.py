"""Texts that become code where one is not escaped, and a tenant that has them in every field that takes text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Role
from support.dashboards.demo_server import ADMIN, DemoServer, add_person

PAYLOADS: Final = (
    "<script>window.hit=1</script>",
    "\"><img src=x onerror='window.hit=1'>",
    "'><svg onload=window.hit=1>",
    "</title></style></script></textarea><script>window.hit=1</script>",
    '<noscript><p title="</noscript><img src=x onerror=window.hit=1>">',
    "<a href=javascript:window.hit=1 autofocus onfocus=window.hit=1>x</a>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><input autofocus onfocus=alert(1)>",
    "<math><mtext><table><mglyph><style><img src onerror=window.hit=1>",
    "{window.hit=1}${window.hit=1}{{constructor.constructor('window.hit=1')()}}",
    '&lt;img src=x onerror=window.hit=1&gt;" onmouseover=window.hit=1 x="',
    "\\u003cimg src=x onerror=window.hit=1\\u003e' onfocus='window.hit=1' autofocus='",
    "javascript:window.hit=1;alert(1)//`${alert(1)}`",
)
# What no page has unless a hostile text brings it. Playwright's selectors look into shadow roots, too.
TRACES: Final = (
    "[onerror], [onload], [onfocus], [onmouseover], [src='x'], [href^='javascript:'], [autofocus], mglyph, "
    "noscript p, base[href*='evil'], meta[http-equiv='refresh'], form[action*='evil'], [href^='//evil']"
)
HOSTILE_PERSON: Final = "pat@demo.example"


class HostileObjects(NamedTuple):
    """What has one payload in all of its fields, as the addresses of the pages name it."""

    payload: str
    issuer: str
    policy: str
    entry: int
    attestation: str
    bundle: str
    users: tuple[str, ...]  # their latest case is open, resolved as fraud, and resolved by a challenge


def add_hostile_person(folder: Path) -> None:
    """Add an owner whose name is code to the demo in a folder that no server serves."""
    add_person(folder, HOSTILE_PERSON, name=f"Pat {PAYLOADS[1]}", role=Role.OWNER)


def write_payloads(server: DemoServer) -> list[HostileObjects]:
    """Write each payload into every field in which the API accepts it."""
    password = server.made["people_password"]
    with server.connect() as lab:
        people = (lab.as_(HOSTILE_PERSON, password=password), lab.as_(ADMIN, password=password))
        return [_write(lab, people, number, payload) for number, payload in enumerate(PAYLOADS)]


def _write(lab: Lab, people: tuple[Lab, Lab], number: int, payload: str) -> HostileObjects:
    issuer, attestation, entry = _write_issuer(lab, people, number, payload)
    _write_webhook(lab, payload)
    return HostileObjects(
        payload,
        issuer,
        _write_policy(lab, payload),
        entry,
        attestation,
        json.dumps(lab.attestations.bundle(attestation).document),
        _write_risk(lab, payload),
    )


def _write_issuer(lab: Lab, people: tuple[Lab, Lab], number: int, payload: str) -> tuple[str, str, int]:
    """Register an issuer, mint, revoke, and ask for changes of which one is rejected."""
    pat, ben = people
    names = {"display_name": f"D{payload}", "legal_name": f"L{payload}"}
    issuer = pat.issuers.create(f"N{payload}", f"hostile-{number}.example", jurisdiction="GB", **names)
    claims = {"student_name": payload, f"c{payload}": payload}
    more = {"subject_reference": payload, "metadata": {payload: payload}}
    minted = lab.mint(issuer=issuer, schema="degree", claims=claims, **more)
    lab.mint(issuer=issuer, schema="degree", claims=claims, **more).revoke(payload)
    ben.issuers.reject(pat.issuers.request("SUSPEND_ISSUER", issuer, payload), payload)
    pat.issuers.request("SUSPEND_ISSUER", issuer, payload)
    return str(issuer.id), str(minted.id), minted.log_index


def _write_risk(lab: Lab, payload: str) -> tuple[str, ...]:
    """Record signals with hostile details about users of a hostile id, with lists, cases and challenges."""
    factors = [{"name": f"n{payload}", "value": payload, "weight": 1, "contribution": 100, "explanation": payload}]
    names = {"ip": f"ip{payload}", "device_id": f"device{payload}", "session_id": f"session{payload}"}
    details = {**names, payload: payload, "factors": factors}
    users = [f"user{n}{payload}" for n in range(3)]
    for user in users:
        lab.signals.add("gateway", "behavior", 100, "user", user, details=details)
        lab.challenges.create(user, payload, subject_type="user", risk_score=99)
    for kind in ("ip", "device", "document", "session", "issuer", "attestation"):
        lab.signals.add("gateway", "behavior", 99, kind, f"{kind}{payload}", details=details)
    lab.lists.add("deny", "user", users[0], reason=payload)
    for user in users[1:]:
        (case,) = lab.cases.list(entity_type="user", entity_id=user)
        lab.cases.resolve(case, "fraud", payload)
    return tuple(users)


def _write_policy(lab: Lab, payload: str) -> str:
    """Create a policy whose name and reason are hostile."""
    when = {"attr": "key.age_days", "op": "lt", "value": 7}
    rule = {"id": "young", "effect": "DENY", "priority": 1, "reason": payload, "when": when}
    target = {"category": "VERIFY", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
    return str(lab.policies.create({"name": f"P{payload}", **target, "rules": [rule]}).id)


def _write_webhook(lab: Lab, payload: str) -> None:
    """Create an endpoint of a hostile name, and of a hostile URL as far as one is accepted, with a delivery."""
    for url in (f"https://receiver.invalid/{payload}", "https://receiver.invalid/'onfocus='hit=1"):
        try:
            lab.webhooks.create(url, ["attestation.*"], name=f"W{payload}").test("attestation.minted")
        except ValidationFailed:
            continue
        return
