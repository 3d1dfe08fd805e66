"""`lab.issuers`: issuers, their keys, and the governance of their standing."""

from __future__ import annotations

from uuid import UUID

from attestlab.client import arguments
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import When
from attestlab.client.collections.base import MAX_COMPLETIONS, DatasetCollection
from attestlab.client.handles.issuers import (
    BlastRadiusHandle,
    IssuerHandle,
    IssuerLike,
    IssuerRequestHandle,
    KeyHandle,
    RotationHandle,
    WithdrawnKeyHandle,
    change_request,
    count_blast_radius,
    find_issuer,
    rotate_key,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.core.crypto.signing import Algorithm

KeyLike = str | KeyHandle
RequestLike = UUID | str | IssuerRequestHandle


@name_in_examples("issuers")
class IssuerCollection(DatasetCollection[IssuerHandle]):
    """The tenant's issuers, newest first; `lab.issuers["Registrar"]` finds one by name, domain or id."""

    noun = "an issuer"
    path = "/v1/issuers"
    dataset = "issuers"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, IssuerHandle)

    def create(
        self,
        name: str,
        domain: str,
        *,
        alg: str | None = Algorithm.ED25519.value,
        kid: str | None = None,
        **profile: str,
    ) -> IssuerHandle:
        """Register an issuer, with a first key that the service holds; `alg=None` makes none.

        Args:
            name: 1 to 200 characters.
            domain: a DNS name, such as `registrar.example`.
            alg: the algorithm of the first key, such as `Ed25519`, `ES256` or `PS256`.
            kid: the id of the first key; by default the service makes one.
            profile: `legal_name`, `display_name`, `jurisdiction`, `primary_color`, `accent_color`, `logo_url`.

        Returns:
            The issuer with its keys; its tier is SELF_SIGNED until a request raises it.

        Raises:
            ValidationFailed: a part of the profile is not acceptable.
            Conflict: another key of the tenant has this `kid`.
            QuotaExceeded: the tenant has as many issuers as its plan allows.

        >>> registrar = lab.issuers.create("London Registrar", "registrar.example", jurisdiction="GB")
        >>> registrar.trust_tier, registrar.active_key.alg
        ('SELF_SIGNED', 'Ed25519')
        """
        key = {"alg": alg, "kid": kid} if alg else {}
        body = {"name": name, "domain": domain, **key, **profile}
        return self._parse(self._client.post(self.path, {part: value for part, value in body.items() if value}))

    def update(self, issuer: IssuerLike, **profile: str | None) -> IssuerHandle:
        """Change an issuer's profile; None removes a value.

        Args:
            issuer: its name, domain or id, or the object.
            profile: `name`, `domain` and what `create` takes.

        Returns:
            The issuer as it is now, with its keys.

        Raises:
            NotFound: the tenant has no such issuer.
            ValidationFailed: a part of the profile is not acceptable.
            Conflict: the domain is proven, so it cannot change.

        >>> lab.issuers.update("Maker Guild", display_name="The Guild of Makers").display_name
        'The Guild of Makers'
        """
        return self._parse(self._client.patch(path_of("v1", "issuers", self._id_of(issuer)), profile))

    def keys(self, issuer: IssuerLike) -> Records[KeyHandle]:
        """List an issuer's keys, newest first.

        Args:
            issuer: its name, domain or id, or the object.

        Returns:
            The keys with their status; `.df()` has a row for each.

        Raises:
            NotFound: the tenant has no such issuer.

        >>> [(key.alg, key.status) for key in lab.issuers.keys("Maker Guild")]
        [('PS256', 'active'), ('PS256', 'rotated')]
        """
        answers = self._client.iterate(path_of("v1", "issuers", self._id_of(issuer), "keys"))
        return Records((KeyHandle.parse(self._client, answer) for answer in answers), KeyHandle)

    def add_key(
        self,
        issuer: IssuerLike,
        kid: str,
        *,
        alg: str = Algorithm.ED25519.value,
        public_key_b64url: str | None = None,
        status: str = "active",
    ) -> KeyHandle:
        """Add a key: one that the service makes and holds, or your own by its public half.

        Args:
            issuer: its name, domain or id, or the object.
            kid: the id of the key, 1 to 64 characters, unique in the tenant.
            alg: its algorithm.
            public_key_b64url: the public half of your own key, base64url of its DER SubjectPublicKeyInfo (an Ed25519
                key may also be its 32 bytes); then you sign, and the service cannot.
            status: `active`, or `pending` for a key that a rotation puts into use.

        Returns:
            The key with its `kid` and public half; a private half is never returned.

        Raises:
            NotFound: the tenant has no such issuer.
            ValidationFailed: the key is not acceptable, such as RSA under 2,048 bits.
            Conflict: another key of the tenant has this `kid`.
            QuotaExceeded: the issuer has as many keys as the plan allows.

        >>> key = lab.issuers.add_key("Delta Clinics", "delta-es384", alg="ES384")
        >>> key.status, key.custody
        ('active', 'managed')
        """
        body = {"kid": kid, "alg": alg, "status": status}
        if public_key_b64url is not None:
            body["public_key_b64url"] = public_key_b64url
        path = path_of("v1", "issuers", self._id_of(issuer), "keys")
        return KeyHandle.parse(self._client, self._client.post(path, body))

    def rotate_key(self, key: KeyLike, *, new_kid: str | None = None, alg: str | None = None) -> RotationHandle:
        """Replace a key with a new key that the service holds.

        Args:
            key: the key or its id.
            new_kid: the id of the new key; by default the old one with the next number.
            alg: the algorithm of the old key, by default looked up.

        Returns:
            Both keys: `old_key`, which signs no more, and `new_key`.

        Raises:
            NotFound: the tenant has no such key.
            Conflict: the key is not active, or another key has the new id.

        >>> rotation = lab.issuers.rotate_key("aare-1")
        >>> rotation.old_key.status, rotation.new_kid
        ('rotated', 'aare-2')
        """
        kid = _kid_of(key)
        if alg is None:
            alg = key.alg if isinstance(key, KeyHandle) else self._alg_of(kid)
        return rotate_key(self._client, kid, new_kid=new_kid, alg=alg)

    def revoke_key(self, key: KeyLike, reason: str) -> WithdrawnKeyHandle:
        """Revoke a key permanently; what is in the log already stays valid and is flagged.

        Args:
            key: the key or its id.
            reason: for people and the audit trail, 1 to 1,024 characters.

        Returns:
            The key as it is now, and how many attestations it signed (`affected_attestations`).

        Raises:
            NotFound: the tenant has no such key.
            Conflict: it is revoked or compromised already.

        >>> key = lab.issuers.add_key("Orchard Press", "orchard-2")
        >>> lab.issuers.revoke_key(key, "the token is lost").affected_attestations
        0
        """
        return self._withdraw_key(key, "revoke", {"reason": reason})

    def compromise_key(self, key: KeyLike, reason: str, *, compromised_at: When | None = None) -> WithdrawnKeyHandle:
        """Report a key as compromised: attestations logged since then become INVALID.

        Args:
            key: the key or its id.
            reason: for people and the audit trail, 1 to 1,024 characters.
            compromised_at: since when, in the past; by default now.

        Returns:
            The key as it is now, and how many attestations became INVALID (`affected_attestations`).

        Raises:
            NotFound: the tenant has no such key.
            Conflict: it is reported as compromised already.
            ValidationFailed: `compromised_at` is in the future.

        >>> key = lab.issuers.add_key("Ana's Workshop", "ana-2")
        >>> lab.issuers.compromise_key(key, "laptop stolen", compromised_at="2026-11-01").status
        'compromised'
        """
        since = arguments.read_time(compromised_at, name="compromised_at")
        return self._withdraw_key(key, "compromise", {"reason": reason} | ({"compromised_at": since} if since else {}))

    def request(
        self,
        type: str,
        issuer: IssuerLike,
        reason: str,
        *,
        new_trust_tier: str | None = None,
        new_risk_rating: str | None = None,
    ) -> IssuerRequestHandle:
        """Request a change of an issuer's standing, such as `SUSPEND_ISSUER`, for another person to approve.

        Args:
            type: `SUSPEND_ISSUER`, `REVOKE_ISSUER`, `REINSTATE_ISSUER`, `CHANGE_TRUST_TIER` or `CHANGE_RISK_RATING`.
            issuer: its name, domain or id, or the object.
            reason: for people and the audit trail, 1 to 1,024 characters.
            new_trust_tier: for CHANGE_TRUST_TIER: `SELF_SIGNED`, `BASIC`, `VERIFIED` or `ENTERPRISE`.
            new_risk_rating: for CHANGE_RISK_RATING: `LOW`, `MEDIUM`, `HIGH` or `CRITICAL`.

        Returns:
            The request, which is `PENDING`; `impact` is what it would change.

        Raises:
            PermissionDenied: the caller is no owner or admin who signed in (`lab.as_(email, password=...)`).
            NotFound: the tenant has no such issuer.
            Conflict: the issuer's status does not allow the change.
            ValidationFailed: the new value is missing, or belongs to another type.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", "Maker Guild", "no answer since May")
        >>> request.status, request.impact.attestations
        ('PENDING', 71)
        """
        body: dict[str, object] = {"type": type, "target_issuer_id": self._id_of(issuer), "reason": reason}
        body |= {"new_trust_tier": new_trust_tier} if new_trust_tier else {}
        body |= {"new_risk_rating": new_risk_rating} if new_risk_rating else {}
        return IssuerRequestHandle.parse(self._client, self._client.post("/v1/governance/issuer-requests", body))

    def requests(self, issuer: IssuerLike | None = None, *, status: str | None = None) -> Records[IssuerRequestHandle]:
        """List the requests about an issuer, or all, newest first; for a person who signed in.

        Args:
            issuer: its name, domain or id, or the object.
            status: `PENDING`, `APPROVED`, `REJECTED` or `EXECUTED`.

        Returns:
            The requests with their approvals; `.df()` has a row for each.

        Raises:
            PermissionDenied: the caller is no person who signed in.
            NotFound: the tenant has no such issuer.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> made = ann.issuers.request("SUSPEND_ISSUER", "Delta Clinics", "a key was stolen")
        >>> ann.issuers.requests("Delta Clinics", status="PENDING").df()["reason"].to_list()
        ['a key was stolen']
        """
        filters = {"issuer_id": None if issuer is None else self._id_of(issuer), "status": status}
        answers = self._client.iterate("/v1/governance/issuer-requests", filters)
        return Records((IssuerRequestHandle.parse(self._client, each) for each in answers), IssuerRequestHandle)

    def approve(self, request: RequestLike) -> IssuerRequestHandle:
        """Approve a request, as another person than the requester.

        Args:
            request: the request or its id.

        Returns:
            The request as it is now: `status` is `APPROVED` once it has `approvals_needed` approvals.

        Raises:
            PermissionDenied: it is the own request, or the caller may not approve it.
            NotFound: there is no such request that the caller may see.
            Conflict: the request is final, or the caller has approved it already.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ben = lab.as_("ben@demo.example", password="only for the demo")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", "Harbour Training", "no answer since May")
        >>> ben.issuers.approve(request).status
        'APPROVED'
        """
        return change_request(self._client, arguments.read_id(request, "a request"), "approve")

    def reject(self, request: RequestLike, reason: str) -> IssuerRequestHandle:
        """Reject a request.

        Args:
            request: the request or its id.
            reason: for people and the audit trail, 1 to 1,024 characters.

        Returns:
            The request as it is now, with who rejected it when and why.

        Raises:
            PermissionDenied: the caller has not made the request, and may not approve it.
            NotFound: there is no such request that the caller may see.
            Conflict: the request is final.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", "Rowing Club Aare", "no answer since May")
        >>> ann.issuers.reject(request, "they have answered").status
        'REJECTED'
        """
        return change_request(self._client, arguments.read_id(request, "a request"), "reject", {"reason": reason})

    def execute(self, request: RequestLike) -> IssuerRequestHandle:
        """Make the change of an approved request.

        Args:
            request: the request or its id.

        Returns:
            The request as it is now, with the index of the change in the log (`log_index`).

        Raises:
            PermissionDenied: the caller is no owner or admin who signed in.
            NotFound: there is no such request that the caller may see.
            Conflict: approvals are missing, the request is final, or the issuer's status does not allow the change any
                more.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ben = lab.as_("ben@demo.example", password="only for the demo")
        >>> issuer = lab.issuers.create("Closed School", "school.example")
        >>> request = ann.issuers.request("SUSPEND_ISSUER", issuer, "the school has closed")
        >>> ben.issuers.approve(request).execute().status
        'EXECUTED'
        >>> lab.issuers["Closed School"].status
        'SUSPENDED'
        """
        return change_request(self._client, arguments.read_id(request, "a request"), "execute")

    def blast_radius(self, issuer: IssuerLike, kid: str | None = None) -> BlastRadiusHandle:
        """Count the attestations that depend on an issuer, or on one of its keys.

        Args:
            issuer: its name, domain or id, or the object.
            kid: the id of one of its keys; by default all count.

        Returns:
            The number of attestations, of those that are VALID, and both by schema, month and recipient.

        Raises:
            NotFound: the tenant has no such issuer, or the issuer no such key.

        >>> lab.issuers.blast_radius("Northfield University").by_schema.df()["schema"].to_list()
        ['degree', 'transcript', 'membership-card']
        """
        return count_blast_radius(self._client, self._id_of(issuer), kid)

    def _find(self, which: object) -> IssuerHandle:
        return find_issuer(self._client, which)  # type: ignore[arg-type]  # it checks the type

    def _id_of(self, issuer: IssuerLike) -> UUID:
        return find_issuer(self._client, issuer).id

    def _alg_of(self, kid: str) -> str:
        found = (key.alg for issuer in self for key in issuer.keys if key.kid == kid)
        return next(found, Algorithm.ED25519)

    def _withdraw_key(self, key: KeyLike, change: str, body: dict[str, object]) -> WithdrawnKeyHandle:
        path = path_of("v1", "issuers", "keys", _kid_of(key), change)
        return WithdrawnKeyHandle.parse(self._client, self._client.post(path, body))

    def _ipython_key_completions_(self) -> list[str]:
        """Complete `lab.issuers["` with the issuers' names."""
        return [issuer.name for issuer in self.list(limit=MAX_COMPLETIONS)]


def _kid_of(key: KeyLike) -> str:
    return key.kid if isinstance(key, KeyHandle) else arguments.read_text(key, name="The key's id")
