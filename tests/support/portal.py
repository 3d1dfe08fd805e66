"""Attestations to look at, and what a parser sees of a page."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

from attestlab.attestations.minting import MintRequest
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller

DOCUMENT = b"%PDF-1.7 the diploma of Ada Lovelace"
CLAIMS = {"student_name": "Ada Lovelace", "institution": "Northfield University", "degree_type": "MSc"}


def mint_document(lab: Installation, caller: Caller, *, profile: dict[str, str] | None = None, **changes: Any) -> UUID:
    """A minted attestation of `DOCUMENT` by a new issuer."""
    named = {"name": "Northfield University", "domain": "northfield.example.edu", **(profile or {})}
    made = lab.issuers.create(named, caller=caller, alg=Algorithm.ED25519)
    request = MintRequest(
        issuer_id=made.issuer.id,
        kid=made.keys[0].kid,
        schema="degree",
        claims=CLAIMS,
        file_sha256=hashlib.sha256(DOCUMENT).digest(),
        file_size=len(DOCUMENT),
    )
    return lab.attestations.mint(dataclasses.replace(request, **changes), caller=caller).id


def tamper_with_records(lab: Installation, *statements: Any) -> None:
    """Change rows as no verb would; a story that does so is marked `tampered`."""
    with lab.storage.engine.connect() as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@dataclass
class ParsedPage(HTMLParser):
    """A page as a parser takes it apart: its elements with their attributes, and the text that is shown at first."""

    html: str
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    open_templates: int = 0

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open_templates += tag == "template"

    def handle_endtag(self, tag: str) -> None:
        self.open_templates -= tag == "template"

    def handle_data(self, data: str) -> None:
        if not self.open_templates:
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        """All of it but the templates that scripts copy, with single spaces."""
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]
