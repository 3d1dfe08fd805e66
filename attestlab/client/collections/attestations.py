"""`lab.attestations`, and the minting that the lab itself offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableSequence, Sequence
from typing import TypedDict, Unpack, cast
from uuid import UUID

from attestlab.attestations.shapes import AttestationsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File, When
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import AttestationFilterArgs
from attestlab.client.handles.attestations import (
    AttestationHandle,
    AttestationLike,
    MintHandle,
    MintResults,
    RevocationHandle,
    read_attestation_id,
    revoke_attestation,
)
from attestlab.client.handles.badges import BadgeFormat, BadgeHandle, fetch_badge
from attestlab.client.handles.bundles import BundleHandle, fetch_bundle
from attestlab.client.handles.inbox_deliveries import InboxDeliveryHandle, deliver_attestation
from attestlab.client.handles.issuers import IssuerHandle, IssuerLike, IssuerLookup
from attestlab.client.json_values import encode_body
from attestlab.client.own_examples import name_in_examples
from attestlab.client.progress import show_progress
from attestlab.client.service_client import Json, ServiceClient, path_of
from attestlab.client.service_errors import NotSent, build_error
from attestlab.core.counting import plural
from attestlab.core.errors import AttestLabError, Conflict, NotFound, Unavailable, ValidationFailed

MAX_BATCH = 100  # of one request


class MintOptions(TypedDict, total=False):
    """The optional parts of a mint (docs/http.md)."""

    kid: str
    alg: str
    recipient_email: str
    pack_id: UUID | str
    expiry_at: When
    expiry_from_claims: bool
    subject_reference: str
    metadata: Mapping[str, object]
    content_type: str
    document_hash: str
    id: UUID | str
    created_at: When
    signature: str


@name_in_examples("attestations")
class AttestationCollection(DatasetCollection[AttestationHandle]):
    """The tenant's attestations, newest first."""

    noun = "an attestation"
    path = "/v1/attestations"
    query = AttestationsQuery
    dataset = "attestations"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, AttestationHandle)

    def list(self, *, limit: int | None = None, **filters: Unpack[AttestationFilterArgs]) -> Listing[AttestationHandle]:
        """List the attestations that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: such as `status="VALID"`, `since="2026-11-01"`, which is the time of creation. None is no filter.

        Returns:
            The attestations with their present status, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value; the message names the limit.

        >>> [each.status.value for each in lab.attestations.list(schema="degree", limit=2)]
        ['VALID', 'VALID']
        """
        return self._list(limit, filters)

    def mint_many(self, items: Iterable[Mapping[str, object]]) -> MintResults:
        """Mint many attestations, a hundred in one append to the log.

        Args:
            items: for each attestation the arguments of `lab.mint`, as a dict.

        Returns:
            For each item, in order, the attestation, or the error for which it alone was refused; `rejected` has the
            errors as a table.

        Raises:
            ValidationFailed: `items` is no list of dicts.
            Unavailable: the service broke off. `details["results"]` has the items that were done before,
                `details["under_way"]` counts those that may be minted, and `details["not_sent"]` the rest.

        >>> claims = {"participant_name": "Emmy Noether", "program_name": "Knots", "institution": "Us"}
        >>> item = {"issuer": "Harbour Training", "schema": "completion-cert", "claims": claims}
        >>> results = lab.attestations.mint_many([item, item | {"claims": {}}])
        >>> results
        MintResults(1 minted, 1 rejected)
        >>> minted, refused = results
        >>> minted.status.value, refused.code
        ('VALID', 'VALIDATION_ERROR')
        """
        given = arguments.iterate(items, name="items", of="dicts")
        issuers = IssuerLookup(self._client)
        composed = [_try_compose(issuers, number, item) for number, item in enumerate(given)]
        bodies = [each for each in composed if not isinstance(each, AttestLabError)]
        done: list[MintHandle | AttestLabError] = []
        try:
            self._mint_bodies(bodies, done)
        except AttestLabError as error:
            is_unsure = isinstance(error, Unavailable) and not isinstance(error, NotSent)
            under_way = min(MAX_BATCH, len(bodies) - len(done)) if is_unsure else 0
            if done or under_way:
                _note_results(error, _merge(composed, done), under_way, of=len(composed))
            raise
        return _merge(composed, done)

    def revoke(self, what: AttestationLike, reason: str) -> RevocationHandle:
        """Revoke an attestation permanently.

        Args:
            what: the attestation, its id or the address of its page.
            reason: for people and the audit trail, 1 to 1,024 characters.

        Returns:
            When it was revoked and why, with the index of this entry in the log.

        Raises:
            NotFound: the tenant has no such attestation.
            Conflict: it is not VALID any more.

        >>> badge = next(lab.attestations.list(schema="skill-badge", status="VALID"))
        >>> lab.attestations.revoke(badge, "earned by another person").status.value
        'REVOKED'
        """
        return revoke_attestation(self._client, read_attestation_id(what), reason)

    def supersede(
        self,
        what: AttestationLike,
        document: File | None = None,
        *,
        schema: str,
        claims: Mapping[str, object],
        issuer: IssuerLike | None = None,
        **options: Unpack[MintOptions],
    ) -> MintHandle:
        """Mint an attestation that replaces another one, by default of the same issuer.

        Args:
            what: the attestation to replace, its id or the address of its page.
            document: the new file: a path, its bytes, or an open binary file. It is hashed here and sent nowhere.
            schema: the kind of credential.
            claims: what the issuer states, by name.
            issuer: its name, domain or id, or the object.
            options: those of `lab.mint`, such as `expiry_at`.

        Returns:
            The new attestation with its proof of inclusion; the older one's `superseded_by_attestation_id` names it.

        Raises:
            NotFound: the tenant has no such attestation or issuer.
            Conflict: it is not VALID any more, or the key is not active.
            ValidationFailed: an argument is not acceptable; the message names the remedy.
            PermissionDenied: the issuer is not active, or a policy denies the mint.

        >>> badge = next(lab.attestations.list(schema="skill-badge", status="VALID"))
        >>> parts = {"schema": badge.schema, "claims": badge.claims}
        >>> better = lab.attestations.supersede(badge, b"a better picture", **parts)
        >>> lab.attestations[badge.id].status.value, better.status.value
        ('SUPERSEDED', 'VALID')
        """
        old = read_attestation_id(what)
        named = issuer if issuer is not None else AttestationHandle.parse(self._client, self._get(old)).issuer_id
        body = compose_mint(IssuerLookup(self._client), document, named, schema, claims, options)
        answer = self._client.post(f"/v1/attestations/{old}/supersede", body)
        return MintHandle.parse(self._client, answer["new"])

    def bundle(self, what: AttestationLike) -> BundleHandle:
        """Fetch the proof bundle of an attestation, which verifies offline.

        Args:
            what: the attestation, its id or the address of its page.

        Returns:
            The bundle: `document` is its JSON, `save` writes it for `attestlab verify`.

        Raises:
            NotFound: the tenant has no such attestation.
            PermissionDenied: a policy denies the export.

        >>> bundle = lab.attestations.bundle(next(lab.attestations.list(schema="degree")))
        >>> bundle.verify().verdict.value
        'VALID'
        """
        return fetch_bundle(self._client, read_attestation_id(what))

    def badge(self, what: AttestationLike, format: BadgeFormat = "png") -> BadgeHandle:
        """Fetch the Open Badge of an attestation, baked into a picture (`attestation.badge`).

        Args:
            what: the attestation, its id or the address of its page.
            format: of the picture, `png` or `svg`.

        Returns:
            The picture: `content` is its bytes, `credential` the signed badge in it (a compact JWT).

        Raises:
            NotFound: the tenant has no such attestation.
            Conflict: it is not VALID, has no badge, or its credential is too long for a picture.
            ValidationFailed: there is no such format.
            PermissionDenied: a policy denies the export.

        >>> badge = lab.attestations.badge(next(lab.attestations.list(schema="degree", status="VALID")), "svg")
        >>> badge.save("diploma.svg").name
        'diploma.svg'
        """
        return fetch_badge(self._client, read_attestation_id(what), format)

    def deliver(
        self, what: AttestationLike, to: str | Iterable[str], *, safe_metadata: Mapping[str, object] | None = None
    ) -> Records[InboxDeliveryHandle]:
        """Deliver an attestation to people, in whose inboxes it appears; an address without an account is invited.

        Args:
            what: the attestation, its id or the address of its page.
            to: an e-mail address or a username, or several; an attestation has at most 20 recipients.
            safe_metadata: what their inbox shows of it, at most 4 KB of JSON; by default schema, issuer and title.

        Returns:
            The delivery to each, in their order, also as a table (`.df()`): PENDING until an account has the address,
            DELIVERED, or DECLINED. A recipient who has the attestation keeps it, and gets no second mail.

        Raises:
            NotFound: the tenant has no such attestation, or no account has the username.
            Conflict: it is not VALID any more, or would have more than 20 recipients.
            ValidationFailed: an argument is not acceptable. After an error, `error.details["results"]` has the
                deliveries that were made before it.

        >>> diploma = next(lab.attestations.list(schema="degree", status="VALID"))
        >>> [each.delivery_state for each in lab.attestations.deliver(diploma, "sofia")]
        ['DELIVERED']
        """
        return deliver_attestation(self._client, read_attestation_id(what), to, safe_metadata)

    def _find(self, which: object) -> AttestationHandle:
        return self._parse(self._get(read_attestation_id(which)))

    def _get(self, attestation_id: UUID) -> Json:
        return self._client.get(path_of("v1", "attestations", attestation_id))

    def _mint_bodies(
        self, bodies: Sequence[dict[str, object]], done: MutableSequence[MintHandle | AttestLabError]
    ) -> None:
        """Mint bodies, and append the result of each to `done`."""
        with show_progress("Minting", len(bodies)) as bar:
            for start in range(0, len(bodies), MAX_BATCH):
                answer = self._client.post("/v1/attestations/batch", {"items": bodies[start : start + MAX_BATCH]})
                done.extend(self._read_item(item) for item in cast("Sequence[Json]", answer["items"]))
                bar.advance(len(done) - bar.done)

    def _read_item(self, item: Json) -> MintHandle | AttestLabError:
        if "attestation" in item:
            return MintHandle.parse(self._client, item["attestation"])
        return build_error(cast("Json", item["error"]))


def _merge(
    composed: Sequence[dict[str, object] | AttestLabError], done: Sequence[MintHandle | AttestLabError]
) -> MintResults:
    """Put the results of the sent items where the items were, up to the last of them; others have their error."""
    left, results = iter(done), []
    for each in composed:
        result = each if isinstance(each, AttestLabError) else next(left, None)
        if result is None:
            break
        results.append(result)
    return MintResults(results)


def _note_results(error: AttestLabError, results: MintResults, under_way: int, *, of: int) -> None:
    """Add to an error what was done of `mint_many`, and what may be: a repetition would mint it again."""
    not_sent = of - len(results) - under_way
    sentence = (
        f"Of {plural(of, 'item')} {len(results):,} are done (`error.details['results']`), {under_way:,} were under way "
        f"and may be minted, {not_sent:,} were not sent. Look for those under way in `lab.attestations` before you "
        "continue."
    )
    error.note_done(sentence, done=len(results), under_way=under_way, not_sent=not_sent)
    error.details["results"] = results


def mint(
    client: ServiceClient,
    document: File | None,
    *,
    issuer: IssuerLike,
    schema: str,
    claims: Mapping[str, object],
    options: MintOptions,
) -> MintHandle:
    """Mint an attestation; if the issuer's key was replaced since it was read, with the new key."""
    body = compose_mint(IssuerLookup(client), document, issuer, schema, claims, options)
    try:
        return MintHandle.parse(client, client.post("/v1/attestations/mint", body))
    except Conflict as error:
        if "key_status" not in error.details or "kid" in options or not isinstance(issuer, IssuerHandle):
            raise
    body = compose_mint(IssuerLookup(client), document, issuer.id, schema, claims, options)
    return MintHandle.parse(client, client.post("/v1/attestations/mint", body))


def compose_mint(
    issuers: IssuerLookup,
    document: File | None,
    issuer: IssuerLike,
    schema: str,
    claims: Mapping[str, object],
    options: MintOptions,
) -> dict[str, object]:
    """Compose the body of a mint; the document is hashed here.

    Raises:
        ValidationFailed: an argument has another type than a person would pass.
    """
    if not isinstance(schema, str):
        raise ValidationFailed(f"schema is a {type(schema).__name__}. Pass its id, such as 'degree'.")
    body: dict[str, object] = {
        **_name_signer(issuers, issuer, options),
        "schema": schema,
        "claims": arguments.read_mapping(claims, name="claims"),
        **{name: value for name, value in options.items() if value is not None and name not in ("kid", "alg")},
    }
    for name in ("expiry_at", "created_at"):
        if name in body:
            body[name] = arguments.read_time(cast("When", body[name]), name=name)
    if document is not None:
        if "document_hash" in options:
            raise ValidationFailed("Pass the document or its document_hash, not both.")
        digest = arguments.hash_file(document)
        body |= {"document_hash": digest.sha256, "content_type": options.get("content_type", digest.content_type)}
    return body


def _name_signer(issuers: IssuerLookup, issuer: IssuerLike, options: MintOptions) -> dict[str, object]:
    """Name issuer, key and algorithm; without a `kid` that is the issuer's active key."""
    kid, alg = options.get("kid"), options.get("alg")
    if kid and alg and isinstance(issuer, UUID):
        return {"issuer_id": issuer, "kid": kid, "alg": alg}
    found = issuers.find(issuer)
    if kid is None:
        key = found.active_key
        return {"issuer_id": found.id, "kid": key.kid, "alg": key.alg}
    arguments.read_text(kid, name="kid")
    known = {key.kid: key.alg for key in found.keys}
    if kid not in known:
        known = {key.kid: key.alg for key in issuers.find(found.id).keys}
    if kid not in known:
        raise ValidationFailed(
            f"{found.name} has no key {arguments.show(kid)}. Its keys: {', '.join(known) or 'none'}."
        )
    return {"issuer_id": found.id, "kid": kid, "alg": alg or known[kid]}


def _try_compose(issuers: IssuerLookup, number: int, item: object) -> dict[str, object] | AttestLabError:
    """Compose the body of an item, or return the error for which it cannot be sent."""
    try:
        body = _compose_item(issuers, number, item)
        encode_body(body)
    except (ValidationFailed, NotFound) as error:
        return error
    return body


def _compose_item(issuers: IssuerLookup, number: int, item: object) -> dict[str, object]:
    given = arguments.read_mapping(item, name=f"items[{number}]")
    missing = [name for name in ("issuer", "schema", "claims") if name not in given]
    if missing:
        raise ValidationFailed(f"items[{number}] lacks {', '.join(missing)}. Pass the arguments of `lab.mint`.")
    unknown = sorted(given.keys() - {"document", "issuer", "schema", "claims"} - MintOptions.__annotations__.keys())
    if unknown:
        raise ValidationFailed(f"items[{number}] has no argument {unknown[0]!r}. Pass the arguments of `lab.mint`.")
    document, issuer, schema, claims = (given.pop(name, None) for name in ("document", "issuer", "schema", "claims"))
    return compose_mint(
        issuers,
        cast("File | None", document),
        cast("IssuerLike", issuer),
        cast("str", schema),
        cast("Mapping[str, object]", claims),
        cast("MintOptions", given),
    )
