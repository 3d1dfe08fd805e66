"""`Lab`: the facade of a service, the same in process (`attestlab.open`, `.demo`) and over HTTP (`.connect`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import ClassVar, Self, Unpack
from uuid import UUID

from attestlab.client import arguments, lab_cards
from attestlab.client.analysis.arrow_reading import RowQuery
from attestlab.client.analysis.caller_frames import read_frames
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows, require_text
from attestlab.client.arguments import File
from attestlab.client.collections.agent_sessions import AgentSessionCollection
from attestlab.client.collections.agents import AgentCollection
from attestlab.client.collections.api_keys import ApiKeyCollection
from attestlab.client.collections.attestations import AttestationCollection, MintOptions, mint
from attestlab.client.collections.audit import AuditCollection
from attestlab.client.collections.billing import BillingCollection
from attestlab.client.collections.compliance import ComplianceCollection
from attestlab.client.collections.decisions import DecisionCollection
from attestlab.client.collections.delegations import DelegationCollection
from attestlab.client.collections.enforcement import CaseCollection, ChallengeCollection, ListCollection
from attestlab.client.collections.inbox import InboxCollection
from attestlab.client.collections.issuers import IssuerCollection
from attestlab.client.collections.log import LogCollection
from attestlab.client.collections.people import PeopleCollection
from attestlab.client.collections.policies import PolicyCollection
from attestlab.client.collections.protections import ProtectionCollection
from attestlab.client.collections.receipt_types import ReceiptTypeCollection
from attestlab.client.collections.receipts import ReceiptCollection
from attestlab.client.collections.risk import SignalCollection
from attestlab.client.collections.runs import RunCollection
from attestlab.client.collections.sessions import SessionCollection
from attestlab.client.collections.views import AnnotationCollection, ViewCollection
from attestlab.client.collections.votes import VoteRequestCollection
from attestlab.client.collections.webhooks import WebhookCollection
from attestlab.client.door import Door
from attestlab.client.exploring import ExploringLab
from attestlab.client.handles.agent_sessions import AgentTokensHandle
from attestlab.client.handles.attestations import (
    AttestationLike,
    MintHandle,
    VerificationHandle,
    read_attestation_id,
    verify_attestation,
)
from attestlab.client.handles.badges import BadgeHandle, BadgeVerificationHandle, find_presented_badge, verify_badge
from attestlab.client.handles.base import Handle
from attestlab.client.handles.bundles import OfflineVerificationHandle, StoredBundleHandle, read_bundle
from attestlab.client.handles.findings import FoundHandle, search
from attestlab.client.handles.issuers import IssuerLike
from attestlab.client.handles.portfolios import PortfolioHandle, fetch_portfolio
from attestlab.client.handles.protections import ProtectionHandle, ProtectionOptions, protect_file
from attestlab.client.service_client import ServiceClient
from attestlab.client.session import PersonSession
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.json_types import SqlParameters
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten
from attestlab.identity.shapes import MeOut
from attestlab.log.note.trust_policy import TrustPolicy


class MeHandle(MeOut, Handle):
    """The caller of this lab: a person, an API key, or this process itself."""

    shown_fields: ClassVar = ("name", "tenant_name", "tenant_id", "realm", "plan")


class Lab(ExploringLab):
    """A lab: nouns such as `attestations` and `issuers`, and the verbs that need no noun.

    Use it in a `with` block, or call `close`. In the examples of its verbs, `lab` is `attestlab.demo()`.
    """

    def __init__(self, door: Door, client: ServiceClient, *, closes_door: bool = True) -> None:
        self._door = door
        self._client = client
        self._closes_door = closes_door
        self.attestations = AttestationCollection(self._client)
        self.issuers = IssuerCollection(self._client)
        self.log = LogCollection(self._client)
        self.policies = PolicyCollection(self._client)
        self.decisions = DecisionCollection(self._client)
        self.signals = SignalCollection(self._client)
        self.cases = CaseCollection(self._client)
        self.challenges = ChallengeCollection(self._client)
        self.lists = ListCollection(self._client)
        self.people = PeopleCollection(self._client)
        self.api_keys = ApiKeyCollection(self._client)
        self.sessions = SessionCollection(self._client)
        self.webhooks = WebhookCollection(self._client)
        self.receipt_types = ReceiptTypeCollection(self._client)
        self.receipts = ReceiptCollection(self._client)
        self.audit = AuditCollection(self._client)
        self.billing = BillingCollection(self._client)
        self.inbox = InboxCollection(self._client)
        self.protections = ProtectionCollection(self._client)
        self.agents = AgentCollection(self._client)
        self.agent_sessions = AgentSessionCollection(self._client)
        self.delegations = DelegationCollection(self._client)
        self.compliance = ComplianceCollection(self._client)
        self.witness = VoteRequestCollection(self._client)
        self.runs = RunCollection(self._client)
        self.views = ViewCollection(self._client)
        self.annotations = AnnotationCollection(self._client)
        self.verifications = Rows.of_dataset(self._client, "verifications")

    def mint(
        self,
        document: File | None = None,
        *,
        issuer: IssuerLike,
        schema: str,
        claims: Mapping[str, object],
        **options: Unpack[MintOptions],
    ) -> MintHandle:
        """Attest a document, or claims alone.

        Args:
            document: a path, its bytes, or an open binary file. It is hashed here and sent nowhere.
            issuer: its name, domain or id, or the object. Its active key signs, unless `kid` names another one.
            schema: the kind of credential, such as `degree`.
            claims: what the issuer states, by name.
            options: `kid` and `alg` of another key, `expiry_at`, `metadata`, `recipient_email`, `pack_id` and others;
                `signature`, `id` and `created_at` with a key of your own.

        Returns:
            The attestation with its proof of inclusion in the log; `url` is its public page.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the remedy.
            PermissionDenied: the issuer is not active, or a policy denies the mint.

        >>> claims = {"student_name": "Ada Lovelace", "institution": "University of London"}
        >>> diploma = lab.mint(b"a file", issuer="Canton Archive", schema="degree", claims=claims)
        >>> diploma.status.value, diploma.verify(file=b"another file").verdict.value
        ('VALID', 'ALTERED')
        """
        return mint(self._client, document, issuer=issuer, schema=schema, claims=claims, options=options)

    def verify(
        self,
        what: AttestationLike | StoredBundleHandle | BadgeHandle | Mapping[str, object] | File,
        *,
        file: File | None = None,
        trust: TrustPolicy | str | None = None,
    ) -> VerificationHandle | OfflineVerificationHandle | BadgeVerificationHandle:
        """Verify an attestation or an Open Badge by the service, or a bundle in this process.

        Args:
            what: an attestation, its id or the address of its page; a bundle: a dict, or the path of a JSON file; or
                an Open Badge: the path of its PNG, SVG or JWT, or its bytes.
            file: the document to compare with the attested one: a path, its bytes, or an open binary file.
            trust: for a bundle, the pinned log and witnesses as C2SP tlog-policy text (`BundleHandle.verify`).

        Returns:
            One verdict, and what was checked: a reason code for every check of an attestation, the result of each step
            of a bundle, what its issuer signed of a badge.

        Raises:
            ValidationFailed: `what` is none of them, or `file` cannot be read.

        >>> diploma = next(lab.attestations.list(schema="degree"))
        >>> lab.verify(diploma).verdict.value
        'VALID'
        >>> lab.verify(diploma, file=b"another file").verdict.value
        'ALTERED'
        >>> lab.verify(diploma.bundle()).steps["signature"]
        'ok'
        """
        credential = find_presented_badge(what)
        if credential is not None:
            if file is not None or trust is not None:
                raise ValidationFailed("An Open Badge is verified without `file` and `trust`. Leave them out.")
            return verify_badge(self._client, credential)
        if _may_be_bundle(what):
            return read_bundle(self._client, what).verify(file=file, trust=trust)
        if trust is not None:
            raise ValidationFailed("`trust` belongs to a bundle, which is verified here. Pass `attestation.bundle()`.")
        try:
            attestation_id = read_attestation_id(what)
        except ValidationFailed:
            raise ValidationFailed(
                f"{_describe(what)} is nothing to verify. Pass an attestation, its id, the address of its page, "
                "a bundle (a dict, or the path of its JSON file), or an Open Badge (PNG, SVG)."
            ) from None
        return verify_attestation(self._client, attestation_id, file=file)

    def protect(self, file: File, *, title: str, **options: Unpack[ProtectionOptions]) -> ProtectionHandle:
        """Protect content of the consumer by its hash, which the platform's issuer attests; the file stays here.

        Args:
            file: a path, its bytes, or an open binary file. Its SHA-256, name and size are sent, and nothing else.
            title: what the owner calls it, 1 to 200 characters in one line.
            options: `visibility` is `private` by default, `unlisted` or `public`; `description`, `category`, and
                `content_type`, by default the kind that the file's name stands for.

        Returns:
            The protection; `verify(file=...)` compares another file with it.

        Raises:
            PermissionDenied: the caller is no consumer.
            Conflict: this content is protected already; `error.details["protection_id"]` names the protection.
            ValidationFailed: an argument is not acceptable, or the file cannot be read.

        >>> photo = sofia.protect(b"a photo", title="Sunset")
        >>> photo.visibility, photo.verify(file=b"a photo").verdict.value
        ('private', 'VALID')
        """
        return protect_file(self._client, file, title, options)

    def portfolio(self, name: str) -> PortfolioHandle:
        """Read the public portfolio of a consumer; it needs no credential.

        Args:
            name: their username.

        Returns:
            The owner, and their public protections with the numbers of VALID verifications; `df()` is the table.

        Raises:
            NotFound: there is no such username, or the portfolio is private.

        >>> photo = sofia.protect(b"a public photo", title="Sunrise", visibility="public")
        >>> lab.portfolio("sofia").protections[0].title
        'Sunrise'
        """
        return fetch_portfolio(self._client, name)

    def search(self, text: str, *, types: str | Iterable[str] | None = None, limit: int = 20) -> Records[FoundHandle]:
        """Find anything of the tenant by the beginning of an id or hash, or by a part of a name.

        Args:
            text: ids and hashes are found from 4 characters on, names by any part, without regard to case.
            types: such as `["case", "entity"]`, found in this order; all that the caller may read by default.
            limit: how many at most, 1 to 50, shared between the types.

        Returns:
            What was found, as a list that is a table; `truncated` says whether there is more.

        Raises:
            ValidationFailed: an argument is not acceptable; the message names the limit.

        >>> [(found.type, found.title) for found in lab.search("canton", types="issuer")]
        [('issuer', 'Canton Archive')]
        >>> lab.search("device-73d1", types="entity").df()["subtitle"].to_list()
        ['Device, linked to others']
        """
        return search(self._client, text, types=types, limit=limit)

    def sql(self, query: str, parameters: SqlParameters = None, **frames: object) -> Rows:
        """Run one SELECT over the data sets of docs/lake.md, by their names: it may join them, as of one moment.

        `show tables` lists them, `describe signals` the columns of one, and `summarize signals` its values.

        The service runs it each time that the rows are read: over HTTP bounded in time and memory, in process not.

        Args:
            query: such as `select verdict, count(*) from verifications group by all`.
            parameters: values for `?` (a list) or `$name` (a dict).
            frames: data frames of pandas or Polars, or Arrow tables, as they are now, by the names that the query
                uses. A lab over HTTP refuses them.

        Returns:
            The rows of the result; nothing is read before a verb such as `df` wants them.

        Raises:
            ValidationFailed: a value is no frame, its name is a data set's, or the service runs in another process.

        >>> query = "select count(*) as n from signals where source = ? and score >= 80"
        >>> list(lab.sql(query, ["login"]))
        [{'n': 771}]
        >>> import pandas
        >>> mine = pandas.DataFrame({"source": ["login", "media"], "team": ["access", "content"]})
        >>> query = "select team, count(*) as n from signals join mine using (source) group by all order by n"
        >>> list(lab.sql(query, mine=mine))[0]["team"]
        'content'
        """
        return Rows(self._client, RowQuery(require_text(query), parameters, frames=read_frames(frames)))

    def me(self) -> MeHandle:
        """Return the caller of this lab, its tenant, plan and scopes.

        >>> lab.me().tenant_name, lab.me().plan
        ('Operator', 'ENTERPRISE')
        """
        return MeHandle.parse(self._client, self._client.get("/v1/me"))

    def now(self) -> datetime:
        """Return the time of the service in UTC, to the second; in a demo, that of its world.

        `now()` is the same time in SQL.

        Raises:
            Unavailable: the service does not answer.

        >>> lab.now().date()
        datetime.date(2026, 11, 2)
        """
        return self._client.now()

    def as_(self, who: UUID | str | AgentTokensHandle, *, password: str | None = None) -> Lab:
        """Return this lab for another caller; the lab that it came from stays open and closes both.

        A person stays signed in as long as the lab is used at least once in thirty days.

        Args:
            who: a tenant, by id or name; with `password`, a person by e-mail address, who signs in; or what
                `agent.session` returned, as which the agent acts until the session ends.

        Raises:
            NotFound: there is no such tenant.
            PermissionDenied: over HTTP, the API key is another tenant's.
            AuthInvalid: the password is wrong, or there is no such person.

        >>> ann = lab.as_("ann@demo.example", password="only for the demo")
        >>> ann.me().name, ann.me().roles
        ('Ann Keller', ['owner'])
        >>> worker = lab.agents.register("Reporter", scopes=["agents:read"])
        >>> lab.as_(worker.session()).agents[worker.id].display_name
        'Reporter'
        """
        if isinstance(who, AgentTokensHandle):
            return self._with_client(self._client.with_headers({"Authorization": f"Bearer {who.token}"}))
        if not isinstance(who, UUID | str):
            raise ValidationFailed(f"A value of type {type(who).__name__} is no caller. Pass a tenant's id or name.")
        if isinstance(who, str):
            arguments.read_text(who, name="The caller")
        if password is None:
            return self._with_client(self._client.with_headers(self._door.headers_of(who)))
        session = PersonSession.sign_in(self._client.with_headers({}), str(who), password)
        return self._with_client(self._client.with_headers({}, session))

    def close(self) -> None:
        """Close the lab, and this process's part of the service with it; may be called again.

        >>> import attestlab
        >>> other = attestlab.demo()
        >>> other.close()
        >>> other.close()
        """
        if self._closes_door:
            self._door.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return shorten(f"Lab({self._client.place})", MAX_REPR_CHARACTERS)

    def _repr_html_(self) -> str:
        reads = lab_cards.LabReads(self.sql, self.log.head, self.now, self.me)
        return lab_cards.draw_lab(reads, self._client.place)

    def __dir__(self) -> list[str]:
        return sorted(name for name in {*vars(self), *vars(Lab), "explore"} if not name.startswith("_"))

    def _with_client(self, client: ServiceClient) -> Self:
        return type(self)(self._door, client, closes_door=False)


def _may_be_bundle(what: object) -> bool:
    """Whether something is a bundle or a file of one, rather than an attestation or its id."""
    if hasattr(what, "attestation_id") and not isinstance(what, StoredBundleHandle):
        return False
    if isinstance(what, str):
        return what.strip().endswith(".json") or arguments.is_file(what)
    is_bundle = isinstance(what, StoredBundleHandle | Mapping | bytes)
    return (not isinstance(what, UUID) and is_bundle) or arguments.is_path(what)


def _describe(what: object) -> str:
    return quote(what) if isinstance(what, str) else f"A value of type {type(what).__name__}"
