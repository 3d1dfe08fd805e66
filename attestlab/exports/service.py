"""Service for exports: status lists, attestations as SD-JWT VC or Open Badge, and the keys that verify them.

An export is a copy for verifiers of another format; the proof bundle remains the evidence.
Exports of an attestation are signed with a managed key of its issuer, in the issuer's name.
Status lists also cover issuers whose keys the service does not hold, so a service key signs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from uuid import UUID

from attestlab.attestations.evidence_queries import CurrentIssuer
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.attestations.service import Attestations
from attestlab.attestations.tables import AttestationRecord
from attestlab.core.clock import Clock
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.crypto.service_key import ServiceKey
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.storage import Storage
from attestlab.core.encoding import parse_uuid, quote
from attestlab.core.errors import Conflict, NotFound, SignatureInvalid, ValidationFailed
from attestlab.exports import badge_picture, badges, payloads, rules, store
from attestlab.exports.badge_credential import BadgeCredential, VerifiedBadge
from attestlab.exports.badge_picture import BadgeFace
from attestlab.exports.badges import Achievement
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.exports.payloads import ExportableAttestation
from attestlab.exports.sd_jwt import DisclosureBuilder
from attestlab.issuers.rules import IssuerStatus, KeyStatus, is_uploaded_logo_url
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey, list_keys
from attestlab.issuers.store import exists as issuer_exists
from attestlab.issuers.store import find_logo as issuer_logo
from attestlab.issuers.tables import IssuerKeyRecord
from attestlab.orgs.rules import Caller

# Verifiers of these formats do not check the status of a key, so withdrawn keys are not published to them at all.
VERIFICATION_KEY_STATUSES: Final = frozenset({KeyStatus.ACTIVE.value, KeyStatus.ROTATED.value})
STATUS_LIST_KEY_PURPOSE: Final = b"key that signs status lists v1"


class Exports:
    """Creates exports from the records; writes nothing except the policy decisions of a verification.

    The same request returns the same export, except for randomised signatures.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        clock: Clock,
        keyring: Keyring,
        issuers: Issuers,
        attestations: Attestations,
        log_id: Callable[[], str],
        base_url: str,
    ) -> None:
        self.storage = storage
        self.clock = clock
        self.keyring = keyring
        self.issuers = issuers
        self.attestations = attestations
        self.log_id = log_id
        self.base_url = base_url
        self.service_key = ServiceKey(keyring, STATUS_LIST_KEY_PURPOSE)

    def issuer_url(self, issuer_id: UUID) -> str:
        """The URL that identifies an issuer in exports (`iss`)."""
        return f"{self.base_url}/v1/issuers/{issuer_id}"

    def status_list_url(self, issuer_id: UUID) -> str:
        """The URL of an issuer's status list."""
        return f"{self.base_url}/v1/status-lists/{issuer_id}"

    def status_list(self, issuer_id: UUID) -> str:
        """Build the Bitstring Status List credential of an issuer, as a JWT; public.

        A bit is set permanently when the attestation was revoked or superseded, or its key
        was withdrawn before it was logged. Expiry is stated in each export itself.

        Raises:
            NotFound: the issuer does not exist.
        """
        with self.storage.read() as connection:
            if not issuer_exists(connection, issuer_id):
                raise NotFound("issuer", issuer_id)
            indexes = [
                *store.revoked_or_superseded_indexes(connection, issuer_id),
                *store.indexes_invalidated_by_key(connection, issuer_id),
            ]
            newest = store.newest_index(connection, issuer_id)  # queried last, so that it exceeds all of them
        bits = rules.bitstring(indexes, bits=rules.list_length(newest))
        payload = payloads.status_list(
            self.status_list_url(issuer_id),
            issuer=self.base_url,
            encoded_list=rules.encode_bitstring(bits),
            hour=rules.start_of_hour(self.clock.now()),
        )
        return self.service_key.sign(payload, typ="vc+jwt")

    def sd_jwt(self, attestation_id: UUID, *, caller: Caller, client_address: str | None = None) -> str:
        """Export an attestation as SD-JWT VC with one disclosure for each claim, all of them appended.

        Raises:
            NotFound: the caller's tenant has no attestation of this id.
            Conflict: it does not verify as VALID, no key of the issuer can sign here, or a claim has a reserved name.
            PermissionDenied: the issuer is not ACTIVE.
        """
        exported = self._require_exportable(attestation_id, caller, client_address)
        row = exported.attestation
        key = self._select_key(row, preferred=Algorithm(row.alg))
        concealer = DisclosureBuilder(partial(self._salt_hash, row.id))
        payload = payloads.sd_jwt(
            exported,
            _conceal_claims(row, concealer),
            issuer=self.issuer_url(row.issuer_id),
            status_list=self.status_list_url(row.issuer_id),
            log_id=self.log_id(),
        )
        token = self._sign(key, {"kid": key.kid, "typ": "dc+sd-jwt"}, payload)
        return "~".join((token, *concealer.disclosures, ""))

    def open_badge(self, attestation_id: UUID, *, caller: Caller, client_address: str | None = None) -> str:
        """Export a badge-like attestation as OpenBadgeCredential, as a JWT.

        Prefers an RS256 key, because every badge verifier supports RS256.

        Raises:
            NotFound: the caller's tenant has no attestation of this id.
            Conflict: it does not verify as VALID, no key of the issuer can sign here, or its schema is no badge.
            PermissionDenied: the issuer is not ACTIVE.
        """
        exported = self._require_exportable(attestation_id, caller, client_address)
        return self._sign_badge(exported, _award(exported))

    def baked_badge(
        self, attestation_id: UUID, form: PictureFormat, *, caller: Caller | None, client_address: str | None = None
    ) -> bytes:
        """Export a badge-like attestation as picture that holds its Open Badge: the issuer's logo, or one drawn here.

        Without `caller` the attestation may be of any tenant; only the public page may omit it.

        Raises:
            NotFound, Conflict, PermissionDenied: as `open_badge`.
            Conflict: the badge is too long for a picture.
        """
        exported = self._require_exportable(attestation_id, caller, client_address)
        awarded, issuer = _award(exported), exported.issuer
        credential = rules.require_bakeable(self._sign_badge(exported, awarded))
        face = BadgeFace(
            title=str(awarded.achievement["name"]),
            issuer=issuer.shown_name,
            kind=CATALOGUE[exported.attestation.schema_id].title,
        )
        return badge_picture.make_badge(face, credential, form, logo=self._uploaded_logo(issuer))

    def verify_badge(self, credential: str) -> VerifiedBadge:
        """Verify that an issuer of this service signed an Open Badge about its own attestation; public.

        It signs with a key that it publishes now. A key that it holds itself signs anything, so whose attestation the
        badge names is compared with the records.

        Raises:
            ValidationFailed: it is no Open Badge.
            SignatureInvalid: another service exported it, no published key signed it, or the attestation is no one of
                this issuer.
        """
        badge = BadgeCredential.parse(credential)
        verified = badge.verify(issuer=badge.issuer, keys=self._list_keys_of(badge.issuer))
        with self.storage.read() as connection:
            issuer_id = store.find_issuer_id(connection, verified.attestation_id)
        if issuer_id is None or self.issuer_url(issuer_id) != verified.issuer:
            raise SignatureInvalid(
                f"The badge names the attestation {verified.attestation_id}, which its issuer did not make here."
            )
        return verified

    def verification_keys(self, issuer_id: UUID) -> list[dict[str, str]]:
        """The public keys (JWKs) that currently verify an issuer's exports: active and rotated ones; public.

        Raises:
            NotFound: the issuer does not exist.
        """
        with self.storage.read() as connection:
            if not issuer_exists(connection, issuer_id):
                raise NotFound("issuer", issuer_id)
            found = list_keys(connection.execute, [issuer_id])[issuer_id]
        return [_jwk(row) for row in found if row.status in VERIFICATION_KEY_STATUSES]

    def verification_key(self, issuer_id: UUID, kid: str) -> dict[str, str]:
        """One public key (JWK) that currently verifies an issuer's exports.

        Raises:
            NotFound: the issuer does not exist, or has no such key, or the key was withdrawn.
        """
        for jwk in self.verification_keys(issuer_id):
            if jwk["kid"] == kid:
                return jwk
        raise NotFound("signing key", kid)

    def _require_exportable(
        self, attestation_id: UUID, caller: Caller | None, client_address: str | None
    ) -> ExportableAttestation:
        """Verify the caller's attestation now; returns it if it is VALID and its issuer ACTIVE."""
        if caller is not None:
            self.attestations.get(attestation_id, caller=caller)
        verified = self.attestations.verify(attestation_id, client_address=client_address)
        self.attestations.record_decisions(verified.policy_decisions, what="this export")
        rules.require_valid(verified.verdict)
        evidence = verified.evidence
        if evidence is None or evidence.issuer is None or evidence.entry is None:
            raise NotFound("attestation", attestation_id)
        rules.require_active(IssuerStatus(evidence.issuer.status))
        return ExportableAttestation(evidence.attestation, evidence.issuer, evidence.entry)

    def _select_key(self, row: AttestationRecord, *, preferred: Algorithm) -> SigningKey:
        """Select the managed key that signs: preferred algorithm first, then the attestation's own key, then newest."""
        with self.storage.read() as connection:
            keys = list_keys(connection.execute, [row.issuer_id])[row.issuer_id]
        usable = [key for key in keys if key.sealed is not None and key.status == KeyStatus.ACTIVE]
        if not usable:
            raise Conflict(
                "The issuer has no active key managed by this service, so no export can be signed in its name. "
                "Create one with POST /v1/issuers/{id}/keys without public_key_b64url, or use the proof bundle.",
                details={"reason": "no_managed_key"},
            )
        kid = max(
            usable,
            key=lambda key: (key.alg == preferred.value, key.kid == row.kid, key.created_at, key.kid),
        ).kid
        with self.storage.read() as connection:
            return self.issuers.get_signing_key(connection, tenant_id=row.tenant_id, issuer_id=row.issuer_id, kid=kid)

    def _sign_badge(self, exported: ExportableAttestation, awarded: Achievement) -> str:
        row, issuer = exported.attestation, exported.issuer
        key = self._select_key(row, preferred=Algorithm.RS256)
        payload = payloads.open_badge(
            exported,
            awarded,
            issuer=self.issuer_url(row.issuer_id),
            page=f"{self.base_url}/a/{row.id}",
            image=self._logo_url(issuer),
            status_list=self.status_list_url(row.issuer_id),
            log_id=self.log_id(),
        )
        header = {"kid": f"{self.issuer_url(row.issuer_id)}/keys/{key.kid}/jwk.json", "typ": "JWT"}
        return self._sign(key, header, payload)

    def _list_keys_of(self, issuer_url: str) -> list[dict[str, str]]:
        """List the published keys of an issuer of this service by its URL.

        Raises:
            SignatureInvalid: it is none.
        """
        try:
            issuer_id = parse_uuid(issuer_url.rpartition("/")[2])
            if self.issuer_url(issuer_id) == issuer_url:
                return self.verification_keys(issuer_id)
        except (NotFound, ValidationFailed):
            pass
        raise SignatureInvalid(
            f"The badge is by {quote(issuer_url)}, which is no issuer of this service. Verify it where it was made."
        )

    def _uploaded_logo(self, issuer: CurrentIssuer) -> bytes | None:
        """The issuer's logo, if the profile names one that is stored here; no other host is asked for one."""
        if not is_uploaded_logo_url(issuer.logo_url, issuer.id):
            return None
        with self.storage.read() as connection:
            held = issuer_logo(connection.execute, issuer.id)
        return None if held is None else held.content

    def _logo_url(self, issuer: CurrentIssuer) -> str | None:
        """The URL of the issuer's logo, if badges allow its media type."""
        url = issuer.logo_url
        if url is None:
            return None
        with self.storage.read() as connection:
            held = issuer_logo(connection.execute, issuer.id)
        is_ours = is_uploaded_logo_url(url, issuer.id)
        return url if badges.is_badge_image(url, held.media_type if held and is_ours else None) else None

    def _sign(self, key: SigningKey, header: Mapping[str, str], payload: Mapping[str, object]) -> str:
        return jws.sign_jwt(header, payload, alg=key.alg, private=self.issuers.unseal_private_key(key))

    def _salt_hash(self, attestation_id: UUID, place: bytes) -> bytes:
        """The keyed hash that salts derive from; only a holder of the keyring can compute it."""
        return self.keyring.keyed_sha256(b"sd-jwt salt " + attestation_id.bytes + place)


def _award(exported: ExportableAttestation) -> Achievement:
    """Build the achievement that an attestation awards.

    Raises:
        Conflict: its schema is no badge, or its claims name no achievement.
    """
    row, issuer = exported.attestation, exported.issuer
    return badges.achievement_of(
        row.schema_id,
        json.loads(row.claims),
        issuer_id=row.issuer_id,
        issuer_name=issuer.shown_name,
    )


def _conceal_claims(row: AttestationRecord, concealer: DisclosureBuilder) -> dict[str, object]:
    """Replace each claim, and the document hash if there is one, by a digest."""
    document = {} if row.document_hash is None else {"document_hash": row.document_hash}
    return {
        **concealer.conceal_members(document),
        "claims": concealer.conceal_members(json.loads(row.claims), ("claims",)),
    }


def _jwk(row: IssuerKeyRecord) -> dict[str, str]:
    alg = Algorithm(row.alg)
    return signing.jwk(alg, signing.load_public(alg, row.spki), row.kid)
