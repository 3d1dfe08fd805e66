"""What an issuer writes is text on the page and nothing else, whatever it is and wherever it stands."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest
from sqlalchemy import update

from attestlab.attestations.store import attestations
from attestlab.installation import Installation
from attestlab.issuers.store import issuers
from attestlab.orgs.rules import Caller
from attestlab.portal import rules
from support.portal import ParsedPage, mint_document, tamper_with_records

PAYLOADS = (
    "<script>window.hit=1</script>",
    "\"><img src=x onerror='window.hit=1'>",
    "'><svg onload=window.hit=1>",
    "</title></style></script><script>window.hit=1</script>",
    "--><!--<b>",
    '<noscript><p title="</noscript><img src=x onerror=window.hit=1>">',
    "<a href=javascript:window.hit=1>x</a>",
    "<base href=//evil.example/><meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><input autofocus onfocus=window.hit=1>",
    "<math><mtext><table><mglyph><style><img src onerror=window.hit=1>",
    "{{ 7 * 7 }}{% for x in range(9) %}x{% endfor %}{{ self }}${7*7}",
    "&lt;b&gt;&#60;i&#62;&quot;",
    "\\u003cscript\\u003e </textarea><![CDATA[<x>]]>",
    "javascript:window.hit=1",
    "gnp\u202eexe\u202c\u2066x\u2069\u200f\u061c",
    "line\u2028break\u2029and\u0007bell\ufeff",
    "Z\u0301" * 20,
)
HARMLESS = "a few plain words"
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KEYS = re.compile(r"k=[A-Za-z0-9_-]{22}")


def mint_with(lab: Installation, caller: Caller, text: str, **profile: str) -> UUID:
    """An attestation with a text wherever a mint takes one."""
    claims: dict[str, Any] = {
        "student_name": text,
        f"a {text[:60]}": text,
        "list": [text, {text[:60]: None}],
        "document": {"title": text},
    }
    noted = {"subject_reference": f"note {text}"[:200], "metadata": {text[:60]: text}}
    return mint_document(lab, caller, claims=claims, profile=profile, **noted)


def write_everywhere(lab: Installation, attestation_id: UUID, text: str, *, color: str) -> None:
    """Into the rows themselves, also where the API would refuse it: a page trusts neither to have been asked."""
    profile = {"name": text[:200], "display_name": f"{text} "[:200], "domain": text, "logo_url": text}
    minted = {"status": "REVOKED", "revocation_reason": text, "schema_id": text[:40], "content_type": text[:40]}
    then = {"snapshot_trust_tier": text[:12], "snapshot_jurisdiction": text[:2]}
    tamper_with_records(
        lab,
        update(issuers).values(**profile, primary_color=color, accent_color=color),
        update(attestations).where(attestations.c.id == attestation_id).values(**minted, **then),
    )


def inventory(page: ParsedPage) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every element with its attributes and their values, but for ids and the lines of the code to scan."""
    return [
        (
            tag,
            [
                (name, KEYS.sub("k=KEY", UUIDS.sub("ID", value or "")))
                for name, value in attributes.items()
                if name != "d"
            ],
        )
        for tag, attributes in page.elements
    ]


def unseen(html: str) -> list[str]:
    """The invisible characters of a page, and those that reorder others."""
    return [sign for sign in html if rules.escape_invisible(sign) != sign]


def count_occurrences(page: ParsedPage, text: str) -> int:
    return page.text.count(" ".join(rules.escape_invisible(text).split()))


@pytest.mark.both_engines
def test_what_the_api_takes_appears_as_text(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    plain = ParsedPage(anyone.get(f"/a/{mint_with(lab, caller, HARMLESS, display_name=HARMLESS)}").text)
    for payload in PAYLOADS:
        name = rules.escape_invisible(payload)[:200]  # a name with anything invisible in it is refused
        page = ParsedPage(anyone.get(f"/a/{mint_with(lab, caller, payload, display_name=name)}").text)

        assert inventory(page) == inventory(plain), payload
        assert count_occurrences(page, payload) >= 3, payload
        assert unseen(page.html) == [], payload
        assert count_occurrences(page, f"note {payload}") == 0, payload  # the issuer's own notes are not for the public


@pytest.mark.tampered
def test_stored_values_appear_as_text(anyone: httpx.Client, lab: Installation, caller: Caller) -> None:
    """
    Colours too: what is none never reaches the style of the page.
    """
    seen = {}
    for payload in (HARMLESS, *PAYLOADS):
        attestation_id = mint_with(lab, caller, payload)
        write_everywhere(lab, attestation_id, payload, color="red;}*{")
        seen[payload] = ParsedPage(anyone.get(f"/a/{attestation_id}").text)

    for payload in PAYLOADS:
        assert inventory(seen[payload]) == inventory(seen[HARMLESS]), payload
        assert count_occurrences(seen[payload], payload) >= 5, payload
        assert unseen(seen[payload].html) == [], payload
        assert "red;" not in seen[payload].html


def test_a_path_that_is_no_id_appears_as_text(anyone: httpx.Client) -> None:
    plain = ParsedPage(anyone.get("/a/plain").text)
    for payload in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202egnp", "{{7*7}}"):
        page = ParsedPage(anyone.get(f"/a/{quote(payload, safe='')}").text)

        assert inventory(page) == inventory(plain)
        assert count_occurrences(page, payload) == 1
        assert unseen(page.html) == []
