"""Bundles of a release: of each algorithm, content type and status, with their verdicts, for later verifiers.

`PYTHONPATH=tests python -m support.release_bundles` writes them with the code as it is, into a folder named after the
version. Run it once for a release, before the next change of the format, and commit the folder. What is there stays
as it is: `tests/attestations/test_release_bundles.py` requires that each bundle keeps its verdict.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import rsa

from attestlab.attestations.bundle.bundle import Bundle
from attestlab.attestations.bundle.verifier import verify_bundle
from attestlab.attestations.minting import MintRequest
from attestlab.attestations.rendering import render_bundle
from attestlab.attestations.schemas.catalogue import ContentType
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import format_time
from attestlab.core.version import VERSION
from attestlab.installation import Installation
from attestlab.issuers.rules import IssuerStatus
from attestlab.settings import Settings

FOLDER = Path(__file__).parent.parent / "attestations" / "release_bundles"
VERDICTS = "verdicts.json"  # by bundle: the verdict and reasons at the time `now`
TRUST = "trust.txt"
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LARGE_EXPONENT = 2**34 + 25
PROFILE = {"name": "Northfield University", "domain": "northfield.example.edu", "jurisdiction": "CH"}


class Release:
    """An installation of this release that mints one bundle after the other, each by another issuer."""

    def __init__(self, lab: Installation, tenant_id: UUID, clock: FixedClock) -> None:
        self.lab, self.clock = lab, clock
        self.caller = lab.orgs.service_caller(tenant_id)

    def mint(self, name: str, *, alg: Algorithm = Algorithm.ED25519, private: Any = None, **changes: Any) -> UUID:
        """Mint as a new issuer, whose key is called `name`."""
        profile = {**PROFILE, "name": f"{PROFILE['name']} {name}"}
        self.issuer = self.lab.issuers.create(profile, caller=self.caller, alg=alg, kid=name, private=private).issuer.id
        return self.mint_again(name, **changes)

    def mint_again(self, kid: str, **changes: Any) -> UUID:
        """Mint as the same issuer."""
        return self.lab.attestations.mint(self.request(kid, **changes), caller=self.caller).id

    def request(self, kid: str, **changes: Any) -> MintRequest:
        """A request of the same issuer."""
        claims = {"student_name": "Ada Lovelace", "degree_type": "MSc"}
        wanted: dict[str, Any] = {"issuer_id": self.issuer, "kid": kid, "schema": "degree", "claims": claims, **changes}
        return MintRequest(**wanted)

    def list_statuses(self) -> None:
        """Publish a status list."""
        self.clock.advance(timedelta(minutes=2))
        with self.lab.storage.write() as tx:
            self.lab.list_statuses(tx)

    def bundle(self, attestation_id: UUID) -> dict[str, Any]:
        """A bundle as it goes over the wire."""
        stored, proofs, head = self.lab.attestations.load_evidence(attestation_id, caller=self.caller)
        shown = render_bundle(stored, proofs, head, now=self.clock.now()).model_dump_json(by_alias=True)
        document: dict[str, Any] = json.loads(shown)
        return document


def of_algorithm(release: Release, name: str) -> UUID:
    """A plain attestation; `name` is the algorithm's."""
    return release.mint(name, alg=Algorithm(name))


def of_content_type(release: Release, name: str) -> UUID:
    """An attestation of a file."""
    content_type = {kind.name.lower(): kind.value for kind in ContentType}[name]
    return release.mint(name, content_type=content_type, document_hash="5e" * 32)


def with_all_members(release: Release, name: str) -> UUID:
    """An attestation with every optional member."""
    expiry_at = release.clock.now() + timedelta(days=36_500)  # the command reads the clock of the machine
    claims = {"student_name": "Åsa \U0001f393", "honors": ["first"], "extra": {"deep": [{"of": 2}, None, True, 1.5]}}
    return release.mint(
        name, claims=claims, expiry_at=expiry_at, file_sha256=bytes(range(32)), file_size=7,
        metadata={"ref": "A-1"}, subject_reference="s-1",
    )  # fmt: skip


def with_large_exponent(release: Release, name: str) -> UUID:
    """An attestation by an RSA key whose exponent some libraries refuse."""
    return release.mint(name, alg=Algorithm.RS256, private=make_rsa_key(LARGE_EXPONENT))


def make_rsa_key(exponent: int) -> rsa.RSAPrivateKey:
    """A key pair of 2048 bits with this public exponent, which the library does not generate."""
    while True:
        made = rsa.generate_private_key(65537, 2048).private_numbers()
        try:
            d = pow(exponent, -1, (made.p - 1) * (made.q - 1))
        except ValueError:  # the exponent divides p - 1 or q - 1
            continue
        parts = rsa.rsa_crt_dmp1(d, made.p), rsa.rsa_crt_dmq1(d, made.q), made.iqmp
        public = rsa.RSAPublicNumbers(exponent, made.public_numbers.n)
        return rsa.RSAPrivateNumbers(made.p, made.q, d, *parts, public).private_key()


def revoked(release: Release, name: str) -> UUID:
    """A revoked attestation."""
    made = release.mint(name)
    release.lab.attestations.revoke(made, reason="typo", caller=release.caller)
    return made


def superseded(release: Release, name: str) -> UUID:
    """A superseded attestation."""
    made = release.mint(name)
    release.lab.attestations.supersede(made, release.request(name), caller=release.caller)
    return made


def expired(release: Release, name: str) -> UUID:
    """An attestation whose expiry is logged."""
    made = release.mint(name, expiry_at=release.clock.now() + timedelta(seconds=1))
    release.clock.advance(timedelta(seconds=2))
    with release.lab.storage.write() as tx:
        release.lab.expire(tx)
    return made


def rotated_key(release: Release, name: str) -> UUID:
    """An attestation by a key that was rotated since."""
    made = release.mint(name)
    release.lab.signing_keys.rotate(name, new_kid=f"{name}-2", alg=Algorithm.ED25519, caller=release.caller)
    return made


def revoked_key(release: Release, name: str) -> UUID:
    """An attestation by a key that was revoked since."""
    made = release.mint(name)
    release.lab.signing_keys.revoke(name, reason="retired", caller=release.caller)
    return made


def compromised_key(release: Release, name: str) -> UUID:
    """An attestation that was logged before its key was reported as compromised."""
    made = release.mint(name)
    release.lab.signing_keys.compromise(name, reason="lost", caller=release.caller)
    return made


def stolen_key(release: Release, name: str) -> UUID:
    """An attestation that was logged after its key was stolen."""
    stolen_at = release.clock.now()
    made = release.mint(name)
    release.lab.signing_keys.compromise(name, reason="lost", compromised_at=stolen_at, caller=release.caller)
    return made


def suspended_issuer(release: Release, name: str) -> UUID:
    """An attestation of an issuer that was suspended since."""
    return with_issuer_status(release, name, IssuerStatus.SUSPENDED)


def revoked_issuer(release: Release, name: str) -> UUID:
    """An attestation of an issuer that was revoked since."""
    return with_issuer_status(release, name, IssuerStatus.REVOKED)


def reinstated_issuer(release: Release, name: str) -> UUID:
    """An attestation of an issuer that was suspended and reinstated since."""
    made = suspended_issuer(release, name)
    release.lab.issuers.set_governance(release.issuer, status=IssuerStatus.ACTIVE, caller=release.caller)
    return made


def with_issuer_status(release: Release, name: str, status: IssuerStatus) -> UUID:
    """An attestation whose issuer has this status now."""
    made = release.mint(name)
    release.lab.issuers.set_governance(release.issuer, status=status, caller=release.caller)
    return made


KINDS: dict[str, Callable[[Release, str], UUID]] = {
    **{alg.value: of_algorithm for alg in Algorithm},
    **{kind.name.lower(): of_content_type for kind in ContentType},
    **{
        make.__name__: make
        for make in (
            with_all_members, with_large_exponent, revoked, superseded, expired, rotated_key, revoked_key,
            compromised_key, stolen_key, suspended_issuer, reinstated_issuer, revoked_issuer,
        )
    },
}  # fmt: skip
UNLISTED = ("plain", "revoked_unlisted", "suspended_issuer_unlisted")  # the log published no status list since


def make_bundles(release: Release) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each bundle with its name: those that a status list covers, a changed one, and those without a list."""
    made = {name: make(release, name) for name, make in KINDS.items()}
    release.list_statuses()
    yield from ((name, release.bundle(attestation_id)) for name, attestation_id in made.items())
    altered = release.bundle(made["with_all_members"])
    altered["attestation"]["payload"]["claims"]["student_name"] = "Eve"
    yield "altered_claims", altered
    for name in UNLISTED:
        make = KINDS.get(name.removesuffix("_unlisted"), Release.mint)
        yield name, release.bundle(make(release, name))


def write_bundles(folder: Path) -> None:
    """Write the bundles of this release, its trust policy, and what it says about each."""
    clock = FixedClock(NOON)
    with tempfile.TemporaryDirectory() as data:
        settings = Settings(data=Path(data) / "data", database_url=None, log_origin="bundles.example/log")
        lab, made = Installation.init(settings, clock=clock)
        folder.mkdir(parents=True)
        verdicts = {}
        for name, document in make_bundles(Release(lab, made.tenant.tenant_id, clock)):
            (folder / f"{name}.json").write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")
            report = verify_bundle(Bundle.parse(document), trust=lab.trust, now=clock.now())
            verdicts[name] = {
                "now": format_time(clock.now()),
                "verdict": report.verdict.value,
                "reasons": [reason.value for reason in report.report.reasons],
            }
        with lab.storage.read() as connection:
            (folder / TRUST).write_text(f"log {lab.log.vkey(connection)}\nquorum none\n")
        (folder / VERDICTS).write_text(json.dumps(verdicts, indent=1) + "\n")
        lab.close()


if __name__ == "__main__":
    write_bundles(FOLDER / VERSION)
