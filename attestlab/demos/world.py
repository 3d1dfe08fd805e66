"""The demo installation: two issuers of every trust tier, the people of a registry, and what they did in a year.

`attestlab demo`, `attestlab.demo()`, the notebooks and many tests use it.
"""

from __future__ import annotations

import gc
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from attestlab.attestations import rendering
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.results import Minted, VerificationOutcome
from attestlab.attestations.rules import Verdict
from attestlab.attestations.verification.steps import VerifierInput
from attestlab.core.clock import Clock, SystemClock
from attestlab.core.counting import plural
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.transaction import Transaction
from attestlab.demos import DEFAULT_SEED
from attestlab.demos.documents import badge_png, card_png, certificate_pdf, diploma_pdf
from attestlab.demos.history.past_decisions import EmploymentChecks
from attestlab.demos.history.rewound_clock import RewoundClock
from attestlab.demos.history.year import YEAR, ReportProgress, ignore_progress, live_through_year
from attestlab.demos.people import add_people, draw_password
from attestlab.demos.registry_year.draft_policy import write_draft
from attestlab.demos.registry_year.team import gather_team
from attestlab.demos.registry_year.year import RegistryYear
from attestlab.installation import Installation
from attestlab.issuers.rules import KeyStatus, TrustTier
from attestlab.issuers.service import IssuerWithKeys
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import InitResult
from attestlab.settings import Settings

PDF, PNG = "application/pdf", "image/png"

_ISSUERS = (
    ("Northfield University", "northfield.example.edu", "US", TrustTier.ENTERPRISE, Algorithm.ED25519),
    ("Canton Archive", "archive.example.ch", "CH", TrustTier.ENTERPRISE, Algorithm.ES384),
    ("Harbour Training", "harbour.example.com", "GB", TrustTier.VERIFIED, Algorithm.ED25519),
    ("Delta Clinics", "delta.example.org", "NL", TrustTier.VERIFIED, Algorithm.ES256),
    ("Rowing Club Aare", "aare.example.ch", "CH", TrustTier.BASIC, Algorithm.ED25519),
    ("Maker Guild", "guild.example.org", "DE", TrustTier.BASIC, Algorithm.PS256),
    ("Ana's Workshop", "ana.example.net", "PT", TrustTier.SELF_SIGNED, Algorithm.ED25519),
    ("Orchard Press", "orchard.example.net", "FR", TrustTier.SELF_SIGNED, Algorithm.RS256),
)
_PEOPLE = ("Ada Lovelace", "Emmy Noether", "Grace Hopper", "Lise Meitner")
_DAY = date(2026, 6, 30)
_REGISTERED_BEFORE = timedelta(days=35)  # the year: keys that were never rotated are over an age limit of a year
_NEW_OBJECTS = 100_000  # before a collection, where Python's default is 700


@dataclass(frozen=True)
class DemoDocument:
    """A file and the claims to attest about it."""

    name: str
    content: bytes = field(repr=False)
    content_type: str
    schema: str
    claims: dict[str, object] = field(repr=False)

    @property
    def sha256(self) -> bytes:
        """The SHA-256 of the file, 32 bytes."""
        return hashlib.sha256(self.content).digest()


@dataclass(frozen=True)
class DemoWorld:
    """An open installation with sample data.

    `password` is that of its people; `minted` pairs each document with its attestation.
    """

    lab: Installation
    caller: Caller
    made: InitResult
    password: str
    issuers: list[IssuerWithKeys]
    minted: list[tuple[DemoDocument, Minted]] = field(default_factory=list)

    def __repr__(self) -> str:
        issuers, minted = plural(len(self.issuers), "issuer"), plural(len(self.minted), "attestation")
        return f"World({issuers}, {minted}, in {self.lab.settings.data})"

    def mint(
        self, document: DemoDocument, *, issuer: IssuerWithKeys | None = None, tx: Transaction | None = None
    ) -> Minted:
        """Attest a document, by default as the first issuer; `tx` is the unit of work to join."""
        return _mint(self.lab, self.caller, issuer or self.issuers[0], document, tx)

    def verify(self, attestation_id: UUID, file: bytes | None = None) -> VerificationOutcome:
        """Verify an attestation against the records, with or without the file; not metered."""
        digest = None if file is None else hashlib.sha256(file).hexdigest()
        return self.lab.attestations.verify(attestation_id, VerifierInput(document_hash=digest))

    def bundle(self, attestation_id: UUID) -> dict[str, object]:
        """Return the attestation's proof bundle, as the HTTP API returns it."""
        evidence, proofs, head = self.lab.attestations.load_evidence(attestation_id, caller=self.caller)
        shown = rendering.render_bundle(evidence, proofs, head, now=self.lab.clock.now())
        return shown.model_dump(mode="json", by_alias=True)


def demo_world(
    folder: Path | None = None,
    *,
    clock: Clock | None = None,
    history: bool = True,
    seed: int = DEFAULT_SEED,
    password: str | None = None,
    mint_times: int = 1,
    report_progress: ReportProgress = ignore_progress,
) -> DemoWorld:
    """Create a demo installation in `folder`, by default a temporary one, in the time of `clock`; takes some 20 s.

    Its issuers are older than a year, in which they minted 1,300 attestations. Others verified them, and some failed.
    There are 5,200 policy decisions, 100,000 risk signals with their cases, raw events, challenges, webhook deliveries,
    changes that one person requested and another approved, receipts, and the usage that is billed. Three consumers have
    an inbox and protect content. Forty machine agents work in four trees, and one of them probes for scopes. Without
    `history` everything is new, and there are the people and their documents alone; that takes a second.

    Args:
        folder: of the installation, which does not exist yet.
        clock: whose time is the end of the year; by default the machine's.
        history: whether there is a year.
        seed: of what is drawn; another seed is another world.
        password: of the people and consumers who can sign in; drawn by default.
        mint_times: multiplies the attestations of the year.
        report_progress: gets the share of the year that has passed, up to 1.

    Returns:
        The installation with its issuers and documents, and what was minted of them.

    Raises:
        Conflict: `folder` contains an installation already.
    """
    rewound = RewoundClock(clock or SystemClock(), behind=YEAR + _REGISTERED_BEFORE if history else timedelta(0))
    world = _found_world(folder, rewound, password or draw_password())
    if history:
        rewound.move_to(YEAR)
        with collect_garbage_rarely():
            _live_through_year(world, rewound, seed=seed, mint_times=mint_times, report_progress=report_progress)
    else:
        world.minted.extend((document, world.mint(document, issuer=issuer)) for issuer, document in _list_work(world))
    for document, minted in world.minted:
        _verify(world.lab, minted.id, document)
    with world.lab.storage.write() as tx:
        world.lab.list_statuses(tx)  # so that a bundle proves what did not change
    return world


@contextmanager
def collect_garbage_rarely() -> Iterator[None]:
    """Let the garbage collector run rarely: the year makes millions of objects, nearly all without a cycle."""
    usual = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _found_world(folder: Path | None, clock: Clock, password: str) -> DemoWorld:
    """Create the installation with its issuers and people."""
    settings = Settings(data=folder or Path(tempfile.mkdtemp(prefix="attestlab-demo-")), database_url=None)
    lab, made = Installation.init(settings, clock=clock)
    caller = lab.orgs.service_caller(made.tenant.tenant_id)
    issuers = [_create_issuer(lab, caller, *row) for row in _ISSUERS]
    add_people(lab, made.tenant, password=password)
    return DemoWorld(lab, caller, made, password, issuers)


def _live_through_year(
    world: DemoWorld, clock: RewoundClock, *, seed: int, mint_times: int, report_progress: ReportProgress
) -> None:
    """Let the registry's year pass, and Ben draft a policy at its end."""
    lab, caller, issuers = world.lab, world.caller, world.issuers
    team = gather_team(lab)
    registry = RegistryYear(
        lab, clock, caller=caller, issuers=issuers, team=team, password=world.password, seed=seed, mint_times=mint_times
    )
    work = _list_work(world)
    work = [*work[::2], *work[1::2]]  # so that every issuer mints in the first half of the year
    minted = live_through_year(
        lab,
        clock,
        caller=caller,
        issuers=[issuer.issuer.id for issuer in issuers],
        mints=[partial(world.mint, document, issuer=issuer) for issuer, document in work],
        checks=EmploymentChecks(lab, caller, author=team["ben"], activator=team["ann"], seed=seed),
        live_until=registry.live_until,
        seed=seed,
        report_progress=report_progress,
    )
    world.minted.extend(zip([document for _, document in work], minted, strict=True))
    write_draft(lab, author=team["ben"])


def _list_work(world: DemoWorld) -> list[tuple[IssuerWithKeys, DemoDocument]]:
    """List the documents that each issuer is going to mint."""
    return [(issuer, document) for issuer in world.issuers for document in _make_documents(issuer)]


def _create_issuer(
    lab: Installation, caller: Caller, name: str, domain: str, country: str, tier: TrustTier, alg: Algorithm
) -> IssuerWithKeys:
    kid = f"{domain.split('.')[0]}-1"
    made = lab.issuers.create(
        {"name": name, "domain": domain, "jurisdiction": country}, caller=caller, alg=alg, kid=kid
    )
    return lab.issuers.set_governance(made.issuer.id, trust_tier=tier, caller=caller)


def _make_documents(issuer: IssuerWithKeys) -> list[DemoDocument]:
    """Make a PDF and a PNG for an issuer."""
    name, kid = issuer.issuer.name, issuer.keys[0].kid
    person = _PEOPLE[len(name) % len(_PEOPLE)]
    if issuer.issuer.trust_tier == TrustTier.ENTERPRISE:
        return [_make_diploma(person, name), _make_card(person, name, kid)]
    return [_make_certificate(person, name), _make_badge(person, name)]


def _make_diploma(person: str, institution: str) -> DemoDocument:
    title = "Master of Science in Mathematics"
    claims = {"student_name": person, "institution": institution, "degree_type": "MSc", "field_of_study": "Mathematics"}
    content = diploma_pdf(person, title, _DAY, institution=institution)
    return DemoDocument("diploma.pdf", content, PDF, "degree", {**claims, "graduation_date": _DAY.isoformat()})


def _make_card(person: str, organization: str, kid: str) -> DemoDocument:
    until = date(2030, 12, 31)
    claims = {"member_name": person, "organization": organization, "membership_id": f"{kid}-0001"}
    content = card_png(person, organization, f"{kid}-0001", until)
    return DemoDocument("card.png", content, PNG, "membership-card", {**claims, "valid_to": until.isoformat()})


def _make_certificate(person: str, provider: str) -> DemoDocument:
    course = "Knots and Splices"
    claims = {"participant_name": person, "program_name": course, "institution": provider}
    content = certificate_pdf(person, course, _DAY, provider=provider)
    return DemoDocument(
        "certificate.pdf", content, PDF, "completion-cert", {**claims, "completion_date": _DAY.isoformat()}
    )


def _make_badge(person: str, assessor: str) -> DemoDocument:
    claims = {"earner_name": person, "skill_name": "Woodworking", "assessed_by": assessor}
    content = badge_png(person, "Woodworking", _DAY)
    return DemoDocument("badge.png", content, PNG, "skill-badge", {**claims, "earned_date": _DAY.isoformat()})


def _mint(
    lab: Installation,
    caller: Caller,
    issuer: IssuerWithKeys,
    document: DemoDocument,
    tx: Transaction | None = None,
) -> Minted:
    keys = lab.issuers.get(issuer.issuer.id, caller=caller, tx=tx).keys
    request = MintRequest(
        issuer_id=issuer.issuer.id,
        kid=next(key.kid for key in keys if key.status == KeyStatus.ACTIVE),
        schema=document.schema,
        claims=document.claims,
        content_type=document.content_type,
        file_sha256=document.sha256,
        file_size=len(document.content),
    )
    return lab.attestations.mint(request, caller=caller, tx=tx)


def _verify(lab: Installation, attestation_id: UUID, document: DemoDocument) -> None:
    """Verify an attestation with its file, metered like any verification."""
    verified = lab.attestations.verify(attestation_id, VerifierInput(document.sha256, document.sha256.hex()))
    assert verified.verdict is Verdict.VALID, verified.report
    with lab.storage.write() as tx:
        lab.attestations.meter(tx, verified)
