"""The types of the async twin; `make reference` writes this file from the verbs of `attestlab.client`.

A twin of a handle has the handle's fields and is accepted wherever the handle is, so it is typed as a subclass whose
verbs are awaited instead. An index that is no slice finds one object, by its id, name or position.
"""

# mypy: disable-error-code="override, overload-overlap"

import builtins
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Generic, Self, SupportsIndex, TypeVar, Unpack, overload
from uuid import UUID

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

from attestlab.agents.runs.bundle import RunReport
from attestlab.client import policy_documents
from attestlab.client.analysis.records import Records
from attestlab.client.arguments import File, When
from attestlab.client.collections.api_keys import ApiKeyHandle, ApiKeyLike, CreatedApiKeyHandle
from attestlab.client.collections.attestations import MintOptions
from attestlab.client.collections.audit import AuditEventHandle
from attestlab.client.collections.filters import (
    AgentFilterArgs,
    AgentReviewFilterArgs,
    AgentSessionFilterArgs,
    AnnotationFilterArgs,
    AttestationFilterArgs,
    AuditFilterArgs,
    CaseFilterArgs,
    ChallengeFilterArgs,
    ChartFilterArgs,
    ComplianceFilterArgs,
    DecisionFilterArgs,
    InboxFilterArgs,
    ListFilterArgs,
    NoFilterArgs,
    ProtectionFilterArgs,
    ReceiptFilterArgs,
    ReceiptTypeFilterArgs,
    RunFilterArgs,
    SessionFilterArgs,
    SignalFilterArgs,
    ViewFilterArgs,
    VoteRequestFilterArgs,
)
from attestlab.client.collections.issuers import KeyLike, RequestLike
from attestlab.client.collections.people import PersonHandle
from attestlab.client.collections.receipts import ReceiptOptions
from attestlab.client.collections.sessions import SessionHandle, SessionLike
from attestlab.client.collections.signal_rows import BulkRows
from attestlab.client.collections.what_ifs import PolicyOrDocument
from attestlab.client.handles.agent_arguments import AgentChanges, AgentOptions
from attestlab.client.handles.agent_keys import AgentKeyHandle, AgentKeyRotationHandle, AgentStatementHandle
from attestlab.client.handles.agent_metrics import AgentMetricsHandle
from attestlab.client.handles.agent_oversight import AgentCard, AgentReviewHandle, AgentSettingsHandle, AgentTreeHandle
from attestlab.client.handles.agent_sessions import (
    AgentIntrospectionHandle,
    AgentSessionHandle,
    AgentSessionLike,
    AgentSessionOptions,
    AgentTokensHandle,
)
from attestlab.client.handles.agent_trust import AgentTrustChangeHandle, AgentTrustHandle
from attestlab.client.handles.agents import AgentHandle, AgentKillHandle, AgentLike
from attestlab.client.handles.attestations import (
    AttestationHandle,
    AttestationLike,
    MintHandle,
    MintResults,
    RevocationHandle,
    VerificationHandle,
)
from attestlab.client.handles.badges import BadgeFormat, BadgeHandle, BadgeVerificationHandle
from attestlab.client.handles.billing import (
    AddOnHandle,
    BillingPortalHandle,
    EntitlementsHandle,
    InvoiceHandle,
    OfferedAddOnHandle,
    PlanHandle,
    SubscriptionHandle,
    SubscriptionPreviewHandle,
    UsageHandle,
)
from attestlab.client.handles.bundles import (
    BundleHandle,
    OfflineVerificationHandle,
    ReceiptBundleHandle,
    StoredBundleHandle,
)
from attestlab.client.handles.compliance import CheckedLike, ComplianceCheckHandle
from attestlab.client.handles.decisions import DecisionHandle, ExplanationHandle, RecordedDecisionHandle
from attestlab.client.handles.delegations import (
    BiscuitHandle,
    ChainVerdictHandle,
    DelegationHandle,
    DelegationLike,
    DelegationProofHandle,
    DelegationRevocationHandle,
    RevokedDelegationHandle,
)
from attestlab.client.handles.draft_decisions import DraftDecisionHandle
from attestlab.client.handles.findings import FoundHandle
from attestlab.client.handles.inbox import InboxItemHandle, InboxItemLike
from attestlab.client.handles.inbox_deliveries import InboxDeliveryHandle
from attestlab.client.handles.issuers import (
    BlastRadiusHandle,
    IssuerHandle,
    IssuerLike,
    IssuerRequestHandle,
    KeyHandle,
    RotationHandle,
    WithdrawnKeyHandle,
)
from attestlab.client.handles.log import (
    AnyHeadHandle,
    CheckpointHandle,
    ConsistencyHandle,
    EntryHandle,
    InclusionHandle,
    TreeHeadHandle,
    VkeyHandle,
)
from attestlab.client.handles.login_judgement import LoginJudgementHandle
from attestlab.client.handles.policies import (
    AnalysisHandle,
    AttributeHandle,
    PolicyHandle,
    PolicyLike,
    PolicySummaryHandle,
    SimulationHandle,
    ThresholdLike,
    VersionHandle,
)
from attestlab.client.handles.portfolios import PortfolioHandle
from attestlab.client.handles.protections import (
    ProtectionChanges,
    ProtectionHandle,
    ProtectionLike,
    ProtectionOptions,
    VerificationDaysHandle,
)
from attestlab.client.handles.receipt_types import ReceiptTypeHandle, ReceiptTypeLike
from attestlab.client.handles.receipts import ReceiptHandle, ReceiptLike, ReceiptVerificationHandle
from attestlab.client.handles.replays import ContextReplay, Contexts
from attestlab.client.handles.risk import (
    BulkHandle,
    CaseGroupHandle,
    CaseHandle,
    CaseResultHandle,
    ChallengeHandle,
    CommentHandle,
    EntityHandle,
    GraphHandle,
    ListEntryHandle,
    LoginBackfillHandle,
    LoginHandle,
    MappingHandle,
    NormalizationHandle,
    NormalizedHandle,
    RiskSettingsHandle,
    ScanHandle,
    SignalHandle,
    SourceHandle,
    VelocityHandle,
)
from attestlab.client.handles.risk_reports import DriftHandle, RiskSimulationHandle
from attestlab.client.handles.runs import (
    RunDetailsHandle,
    RunHandle,
    RunLike,
    RunOptions,
    RunProofHandle,
    RunStepHandle,
    RunStepOptions,
    Steps,
)
from attestlab.client.handles.sd_jwts import SdJwtHandle
from attestlab.client.handles.views import AnnotationHandle, ReportReader, ViewChanges, ViewHandle
from attestlab.client.handles.votes import (
    Claim,
    ConsensusHandle,
    VoteHandle,
    VoteOptions,
    VoteRequestHandle,
    VoteRequestLike,
    VoteRequestOptions,
)
from attestlab.client.handles.webhooks import (
    EndpointLike,
    EventTypeHandle,
    NewWebhookEndpointHandle,
    WebhookDeliveryHandle,
    WebhookEndpointHandle,
    WebhookEventHandle,
    WebhookRecoveryHandle,
    WebhookRotationHandle,
    WebhookTestHandle,
)
from attestlab.client.lab import MeHandle
from attestlab.client.own_keys import OwnKey
from attestlab.core.json_types import SqlParameters
from attestlab.log.note.trust_policy import TrustPolicy
from attestlab.plots import Chart

Found = TypeVar("Found")

class AsyncAgent(AgentHandle):
    """A machine agent, as it was when it was read; `keys` are its newest five."""
    async def delegate(
        self,
        child: AgentLike | Mapping[str, object],
        scopes: Iterable[str],
        *,
        expires_at: When | None = None,
        key: OwnKey | None = None,
    ) -> AsyncDelegation:
        """Delegate some of what the agent may do to another agent, or to a new one."""
    def delegations(self, direction: str | None = None) -> AsyncListing[AsyncDelegation]:
        """List the delegations that the agent gave or received, newest first."""
    async def kill(self, reason: str | None = None, *, dry_run: bool = False, cascade: bool = True) -> AgentKillHandle:
        """Revoke the agent and all below it; `lab.agents.kill` explains the arguments and errors."""
    async def reload(self) -> AsyncAgent:
        """Read the agent again."""
    async def resume(self, reason: str) -> AsyncAgent:
        """Resume the suspended agent, whose sessions stay ended."""
    async def revoke(self, reason: str) -> AsyncAgent:
        """Revoke the agent for good; the agents below it stay."""
    async def rotate(self, key: OwnKey | None = None) -> AgentKeyRotationHandle:
        """Replace the agent's key; what the old one signed stays valid."""
    async def session(
        self,
        scopes: Iterable[str] | None = None,
        minutes: int = 60,
        *,
        key: OwnKey | None = None,
        **options: Unpack[AgentSessionOptions],
    ) -> AsyncAgentTokens:
        """Open a session of the agent."""
    async def sign(self, payload: Mapping[str, object], *, key: OwnKey | None = None) -> AgentStatementHandle:
        """Sign a statement of the agent, a JWT of the type `agent-statement+jwt`."""
    async def sign_card(self, key: OwnKey) -> AgentCard:
        """Sign the agent's present card with its own key; sign again when the card or the key changes."""
    async def signed_card(self) -> AgentCard:
        """Fetch the agent's card, which `lab.agents.card` explains."""
    async def suspend(self, reason: str) -> AsyncAgent:
        """Suspend the agent: its sessions end, and it opens no other until it is resumed."""
    async def tree(self) -> AgentTreeHandle:
        """Fetch the agents above and below this one, and what each may do now."""
    async def trust(self) -> AgentTrustHandle:
        """Read the trust score of the agent as it is now, with all that explains it."""
    def trust_history(
        self, *, since: When | None = None, until: When | None = None
    ) -> AsyncListing[AgentTrustChangeHandle]:
        """List the changes of the agent's trust score with their causes, newest first."""
    async def update(self, **changes: Unpack[AgentChanges]) -> AsyncAgent:
        """Change the agent; `lab.agents.update` explains the arguments and errors."""

class AsyncAgentSession(AgentSessionHandle):
    """A session of an agent, without its tokens."""
    async def terminate(self, reason: str | None = None) -> AsyncAgentSession:
        """End the session; `lab.agent_sessions.terminate` explains the arguments and errors."""

class AsyncAgentTokens(AgentTokensHandle):
    """A session with its tokens, which are shown once; neither `repr` nor the card has them."""
    async def refresh(self) -> AsyncAgentTokens:
        """Exchange the refresh token for the next tokens; `lab.agent_sessions.refresh` explains the errors."""
    async def terminate(self, reason: str | None = None) -> AsyncAgentSession:
        """End the session; `lab.agent_sessions.terminate` explains the arguments and errors."""

class AsyncAnnotation(AnnotationHandle):
    """What happened at a time, for all people of the tenant."""
    async def remove(self) -> None:
        """Remove the annotation from all charts."""

class AsyncAttestation(AttestationHandle):
    """An attestation with its current status."""
    async def badge(self, format: BadgeFormat = "png") -> AsyncBadge:
        """Fetch the Open Badge of the attestation, baked into a picture, which a notebook shows."""
    async def bundle(self) -> AsyncBundle:
        """Fetch the proof bundle, which verifies offline."""
    async def deliver(
        self, to: str | Iterable[str], *, safe_metadata: Mapping[str, object] | None = None
    ) -> Records[InboxDeliveryHandle]:
        """Deliver the attestation to people, by e-mail address or username."""
    async def revoke(self, reason: str) -> RevocationHandle:
        """Revoke the attestation permanently; `reason` is for people and the audit trail, 1 to 1,024 characters."""
    async def sd_jwt(self) -> AsyncSdJwt:
        """Fetch the attestation as SD-JWT VC, whose holder chooses which claims a verifier sees."""
    async def verify(self, *, file: File | None = None) -> VerificationHandle:
        """Verify the attestation, with its document or without."""

class AsyncBadge(BadgeHandle):
    """An Open Badge baked into a picture, which a notebook shows."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file; returns its path."""

class AsyncBundle(BundleHandle):
    """A proof bundle: everything that a verifier needs besides the log's key."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the bundle as a JSON file, for `attestlab verify`; returns its path."""
    async def verify(
        self, *, file: File | None = None, trust: TrustPolicy | str | None = None
    ) -> OfflineVerificationHandle:
        """Verify the bundle in this process."""

class AsyncCase(CaseHandle):
    """A case: the escalated signals of one entity, until a person resolves it."""
    async def assign(self, person: object) -> AsyncCase:
        """Assign the case to a person of the tenant, or with None to no one."""
    async def comment(self, text: str) -> CommentHandle:
        """Write a comment to the case; `lab.cases[case.id].comments` are all of them."""
    async def entity(self) -> EntityHandle:
        """Return what is known about the case's entity; `lab.signals.entity` explains the result and errors."""
    async def resolve(self, outcome: str, note: str | None = None) -> AsyncCase:
        """Resolve the case as `fraud`, `legitimate` or `inconclusive`."""

class AsyncConsistency(ConsistencyHandle):
    """The proof that the log only grew between two sizes; it was verified when it arrived."""
    async def verify(self) -> None:
        """Recompute both roots from the proof."""

class AsyncDecision(DecisionHandle):
    """A decision of the policies in force."""
    async def explain(self) -> ExplanationHandle:
        """Explain the decision; `lab.policies.explain` explains the result and errors."""

class AsyncDelegation(DelegationHandle):
    """A delegation with the chain that proves it."""
    async def biscuit(self) -> BiscuitHandle:
        """Export the delegation as a Biscuit; `lab.delegations.biscuit` explains the result and errors."""
    async def proof(self) -> AsyncDelegationProof:
        """Fetch what anyone needs to verify the chain without the service."""
    async def revoke(self, reason: str, *, dry_run: bool = False) -> DelegationRevocationHandle:
        """Revoke the delegation and all below it; `lab.delegations.revoke` explains the arguments and errors."""
    async def verify(self, required_scope: str | None = None) -> ChainVerdictHandle:
        """Verify the chain by the service; `lab.delegations.verify` explains the arguments and errors."""

class AsyncDelegationProof(DelegationProofHandle):
    """What anyone needs to verify a chain without the service."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof as a JSON file, for `attestlab verify`; returns its path."""
    async def verify(self, *, trust: TrustPolicy | str | None = None) -> ChainVerdictHandle:
        """Verify the chain in this process; what changed after the proof was made does not count."""

class AsyncDrift(DriftHandle):
    """The drift of scores between two windows, strongest first."""
    async def plot(self, *, title: str | None = None) -> Chart:
        """Draw the drift of each source and type, with the bounds from which it is moderate and major."""

class AsyncGraph(GraphHandle):
    """The entities around one, the links between them, and the rings that they form."""
    async def plot(self, *, title: str | None = None) -> Chart:
        """Draw the entities on rings by their kind, with the links between them."""

class AsyncInboxItem(InboxItemHandle):
    """An attestation that was delivered to the consumer; `verify`, `bundle`, `badge` and `sd_jwt` are about it."""
    async def badge(self, format: BadgeFormat = "png") -> AsyncBadge:
        """Fetch the Open Badge of the attestation, baked into a picture, which a notebook shows."""
    async def bundle(self) -> AsyncBundle:
        """Fetch the proof bundle, which verifies offline."""
    async def decline(self, reason: str | None = None) -> AsyncInboxItem:
        """Decline the attestation for good; its issuer sees that and the reason, at most 1,000 characters."""
    async def mark(self, read_state: str) -> AsyncInboxItem:
        """Mark the item; its issuer does not see that."""
    async def record(self) -> AsyncAttestation:
        """Fetch the attestation itself, with its claims."""
    async def sd_jwt(self) -> AsyncSdJwt:
        """Fetch the attestation as SD-JWT VC, whose holder chooses which claims a verifier sees."""
    async def show(self, title: str, **options: Unpack[ProtectionOptions]) -> AsyncProtection:
        """Show the credential among the consumer's protections."""
    async def verify(self, *, file: File | None = None) -> VerificationHandle:
        """Verify the attestation, with its document or without."""

class AsyncInclusion(InclusionHandle):
    """The proof that the log has an entry; it was verified when it arrived."""
    async def verify(self) -> None:
        """Recompute the root from the entry's hash and the path."""

class AsyncIssuer(IssuerHandle):
    """An issuer with its keys."""
    async def blast_radius(self, kid: str | None = None) -> BlastRadiusHandle:
        """Count the attestations that depend on the issuer, or on one of its keys."""
    async def rotate_key(self, kid: str | None = None, *, new_kid: str | None = None) -> RotationHandle:
        """Replace a key, by default the active one, with a new key that the service holds."""

class AsyncIssuerRequest(IssuerRequestHandle):
    """A request to change an issuer's status or ratings."""
    async def approve(self) -> AsyncIssuerRequest:
        """Approve the request; `lab.issuers.approve` explains the result and errors."""
    async def execute(self) -> AsyncIssuerRequest:
        """Make the requested change; `lab.issuers.execute` explains the result and errors."""
    async def reject(self, reason: str) -> AsyncIssuerRequest:
        """Reject the request."""

class AsyncListEntry(ListEntryHandle):
    """An entity on the allow or the deny list."""
    async def remove(self) -> None:
        """Take the entity off the list."""

class AsyncMint(MintHandle):
    """An attestation that was minted just now, with its proof of inclusion in the log."""
    async def badge(self, format: BadgeFormat = "png") -> AsyncBadge:
        """Fetch the Open Badge of the attestation, baked into a picture, which a notebook shows."""
    async def bundle(self) -> AsyncBundle:
        """Fetch the proof bundle, which verifies offline."""
    async def deliver(
        self, to: str | Iterable[str], *, safe_metadata: Mapping[str, object] | None = None
    ) -> Records[InboxDeliveryHandle]:
        """Deliver the attestation to people, by e-mail address or username."""
    async def revoke(self, reason: str) -> RevocationHandle:
        """Revoke the attestation permanently; `reason` is for people and the audit trail, 1 to 1,024 characters."""
    async def sd_jwt(self) -> AsyncSdJwt:
        """Fetch the attestation as SD-JWT VC, whose holder chooses which claims a verifier sees."""
    async def verify(self, *, file: File | None = None) -> VerificationHandle:
        """Verify the attestation, with its document or without."""

class AsyncNewWebhookEndpoint(NewWebhookEndpointHandle):
    """A new webhook endpoint; only this object has its secret, with which the receiver verifies deliveries."""
    async def delete(self) -> None:
        """Delete the endpoint; it receives nothing more."""
    async def deliveries(
        self, *, status: str | None = None, event_type: str | None = None, limit: int | None = 100
    ) -> Records[AsyncWebhookDelivery]:
        """List the deliveries to the endpoint, newest first; `truncated` if there are more than the limit."""
    async def recover(
        self,
        since: When,
        *,
        until: When | None = None,
        events: str | Iterable[str] | None = None,
        mode: str = "failed",
        dry_run: bool = False,
    ) -> WebhookRecoveryHandle:
        """Deliver past events of the last 30 days; `lab.webhooks.recover` explains the arguments and errors."""
    async def rotate(self, *, overlap_s: int = 0) -> WebhookRotationHandle:
        """Replace the secret; the old one stops working at once, or after `overlap_s` seconds, at most a day."""
    async def test(self, event_type: str | None = None, payload: object = None) -> WebhookTestHandle:
        """Send a test event at once, signed like any other, and return what the receiver responded."""
    async def update(
        self,
        *,
        name: str | None = None,
        url: str | None = None,
        events: str | Iterable[str] | None = None,
        status: str | None = None,
    ) -> AsyncWebhookEndpoint:
        """Change the endpoint; what is None is unchanged."""

class AsyncPolicy(PolicyHandle):
    """A policy with its newest document."""
    async def activate(
        self,
        simulation: SimulationHandle | str | None = None,
        *,
        acknowledge: Iterable[str] = (),
        note: str | None = None,
    ) -> AsyncPolicy:
        """Let the newest version decide; by a signed-in owner or admin (`lab.as_(email, password=...)`)."""
    async def analyze(self) -> AnalysisHandle:
        """Analyze the newest version; `lab.policies.analyze` explains the result and errors."""
    async def archive(self) -> AsyncPolicy:
        """Archive the policy permanently; `lab.policies.archive` explains the result and errors."""
    async def shadow(self) -> AsyncPolicy:
        """Evaluate the newest version without effect; `lab.policies.shadow` explains the result and errors."""
    async def simulate(
        self, *, since: When | None = None, until: When | None = None, by: Iterable[str] | str = ()
    ) -> AsyncSimulation:
        """Replay the newest version over the tenant's past decisions; its digest is what `activate` needs."""
    async def toml(self) -> str:
        """Return the newest document as TOML."""
    async def versions(self) -> Records[AsyncVersion]:
        """List the versions, newest first; returns each with its status, author and digest."""

class AsyncPolicySummary(PolicySummaryHandle):
    """A policy as lists show it, without its document."""
    async def activate(
        self,
        simulation: SimulationHandle | str | None = None,
        *,
        acknowledge: Iterable[str] = (),
        note: str | None = None,
    ) -> AsyncPolicy:
        """Let the newest version decide; by a signed-in owner or admin (`lab.as_(email, password=...)`)."""
    async def analyze(self) -> AnalysisHandle:
        """Analyze the newest version; `lab.policies.analyze` explains the result and errors."""
    async def archive(self) -> AsyncPolicy:
        """Archive the policy permanently; `lab.policies.archive` explains the result and errors."""
    async def shadow(self) -> AsyncPolicy:
        """Evaluate the newest version without effect; `lab.policies.shadow` explains the result and errors."""
    async def simulate(
        self, *, since: When | None = None, until: When | None = None, by: Iterable[str] | str = ()
    ) -> AsyncSimulation:
        """Replay the newest version over the tenant's past decisions; its digest is what `activate` needs."""
    async def toml(self) -> str:
        """Return the newest document as TOML."""
    async def versions(self) -> Records[AsyncVersion]:
        """List the versions, newest first; returns each with its status, author and digest."""

class AsyncPortfolio(PortfolioHandle):
    """The public protections of a consumer, newest first; `protections` is a list and a table."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Return the protections as a data frame, with types as those of `Rows.df`."""

class AsyncProtection(ProtectionHandle):
    """A protection as its owner sees it; `verify`, `bundle` and `sd_jwt` are about its attestation."""
    async def badge(self, format: BadgeFormat = "png") -> AsyncBadge:
        """Fetch the Open Badge of the attestation, baked into a picture, which a notebook shows."""
    async def bundle(self) -> AsyncBundle:
        """Fetch the proof bundle, which verifies offline."""
    async def publish(self) -> AsyncProtection:
        """Make the protection public, which everyone sees in the portfolio; returns it as it is then."""
    async def record(self) -> AsyncAttestation:
        """Fetch the attestation of the protection."""
    async def remove(self) -> None:
        """Delete the protection with its texts and counts; its attestation stays as it is."""
    async def revoke(self, reason: str) -> AsyncProtection:
        """Revoke the attestation of own content permanently; `reason` has 1 to 1,000 characters."""
    async def sd_jwt(self) -> AsyncSdJwt:
        """Fetch the attestation as SD-JWT VC, whose holder chooses which claims a verifier sees."""
    async def unlist(self) -> AsyncProtection:
        """Take the protection out of the portfolio, but not its page off its address; returns it as it is then."""
    async def update(self, **changes: Unpack[ProtectionChanges]) -> AsyncProtection:
        """Change texts or visibility; `lab.protections.update` explains the arguments and errors."""
    async def verification_days(self, days: int = 30) -> VerificationDaysHandle:
        """Count the verifications by UTC day; `lab.protections.verification_days` explains the arguments and errors."""
    async def verify(self, *, file: File | None = None) -> VerificationHandle:
        """Verify the attestation, with its document or without."""

class AsyncReceiptBundle(ReceiptBundleHandle):
    """The proof bundle of a receipt: everything that a verifier needs besides the log's key."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the bundle as a JSON file, for `attestlab verify`; returns its path."""
    async def verify(
        self, *, file: File | None = None, trust: TrustPolicy | str | None = None
    ) -> OfflineVerificationHandle:
        """Verify the bundle in this process."""

class AsyncReceipt(ReceiptHandle):
    """A receipt with its current status."""
    async def bundle(self) -> AsyncReceiptBundle:
        """Fetch the proof bundle, which verifies offline."""
    async def redact(self, reason: str | None = None) -> AsyncReceipt:
        """Delete payload, subject and metadata for good; every proof still verifies."""
    async def revoke(self, reason: str | None = None) -> AsyncReceipt:
        """Revoke the receipt permanently; `reason` is for people and the audit trail, at most 1,000 characters."""
    async def verify(self, *, payload: Mapping[str, object] | None = None) -> ReceiptVerificationHandle:
        """Verify the receipt by the service."""

class AsyncReceiptType(ReceiptTypeHandle):
    """A version of a receipt type."""
    async def deprecate(self, *, reason: str | None = None) -> AsyncReceiptType:
        """Deprecate this version; `lab.receipt_types.deprecate` explains the result and errors."""

class AsyncRecordedDecision(RecordedDecisionHandle):
    """A decision as it was recorded: the result and the rules that matched, the deciding one first."""
    async def explain(self) -> ExplanationHandle:
        """Explain the decision; `lab.policies.explain` explains the result and errors."""

class AsyncRiskSimulation(RiskSimulationHandle):
    """What a rule set would have escalated, compared with the outcomes of cases and with the live rule."""
    async def plot(self, what: str = "cost", *, title: str | None = None) -> Chart:
        """Draw what each value of the threshold costs, or what the rules escalate."""

class AsyncRun(RunHandle):
    """A run of an agent: a plan whose steps agents record, which ends as an entry of the public log."""
    async def complete(self, status: str = "completed") -> AsyncRun:
        """End the run; `lab.runs.complete` explains the arguments and errors."""
    async def details(self) -> RunDetailsHandle:
        """Read the run as it is now, with its plan and its steps."""
    async def proof(self) -> AsyncRunProof:
        """Fetch what anyone needs to verify the run that ended; `lab.runs.proof` explains the errors."""
    async def step(
        self,
        step_id: str,
        *,
        outputs: bytes | str,
        inputs: bytes | str | None = None,
        status: str = "completed",
        key: OwnKey | None = None,
        **options: Unpack[RunStepOptions],
    ) -> RunStepHandle:
        """Record a step, once; `lab.runs.step` explains the arguments and errors."""

class AsyncRunProof(RunProofHandle):
    """What anyone needs to verify a run without the service."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the proof as a JSON file, for `attestlab verify`; returns its path."""
    async def verify(self, *, trust: TrustPolicy | str | None = None) -> RunReport:
        """Verify the run in this process."""

class AsyncSdJwt(SdJwtHandle):
    """An attestation as SD-JWT VC: a signed token, then a disclosure for each claim, separated by tildes."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the credential as a text file; returns its path."""

class AsyncSignal(SignalHandle):
    """A risk signal, with a score from 0 to 100."""
    async def entity(self) -> EntityHandle:
        """Return what is known about the signal's entity; `lab.signals.entity` explains the result and errors."""
    async def graph(self, *, depth: int | None = None) -> AsyncGraph:
        """Return the entities around the signal's entity."""

class AsyncSimulation(SimulationHandle):
    """What a policy would have decided in the past, compared with what was decided."""
    async def count_flips(self, before: str, after: str) -> int:
        """Return the number of decisions with one result before and another after."""
    async def plot(self, what: str | None = None, *, title: str | None = None) -> Chart:
        """Draw the decisions that would change, what each rule does, or the values of a sweep."""

class AsyncStoredBundle(StoredBundleHandle):
    """A proof bundle of an attestation or a receipt, with its verification in this process."""
    async def save(self, path: str | PathLike[str]) -> Path:
        """Write the bundle as a JSON file, for `attestlab verify`; returns its path."""
    async def verify(
        self, *, file: File | None = None, trust: TrustPolicy | str | None = None
    ) -> OfflineVerificationHandle:
        """Verify the bundle in this process."""

class AsyncVersion(VersionHandle):
    """A version of a policy."""
    async def read_document(self) -> dict[str, object]:
        """Return the document of this version, which never changes, as a new dict."""

class AsyncView(ViewHandle):
    """The filters of a page of the dashboards by a name; `url` is below the address of the service."""
    async def remove(self) -> None:
        """Delete the view, also from the menus of those with whom it is shared."""
    async def send_by_mail(
        self, *, hour: int, recipients: ReportReader | Iterable[ReportReader], weekday: int | None = None
    ) -> AsyncView:
        """Send a report by mail every day or week; `lab.views.schedule` explains the arguments and errors."""
    async def unschedule(self) -> None:
        """Send no more reports by mail."""
    async def update(self, **changes: Unpack[ViewChanges]) -> AsyncView:
        """Change name, query or sharing; `lab.views.update` explains the arguments and errors."""

class AsyncVoteRequest(VoteRequestHandle):
    """A request for votes about a claim that an agent makes."""
    async def consensus(self) -> ConsensusHandle:
        """Read what the votes decided, and each vote as its agent signed it."""
    async def reload(self) -> AsyncVoteRequest:
        """Read the request as it is now."""
    async def vote(
        self, agent: AgentLike, verdict: str, *, key: OwnKey | None = None, **options: Unpack[VoteOptions]
    ) -> VoteHandle:
        """Vote as an agent about the claim; `lab.witness.vote` explains the arguments and errors."""

class AsyncWebhookDelivery(WebhookDeliveryHandle):
    """A delivery of one event to one endpoint, with its attempts."""
    async def resend(self) -> AsyncWebhookDelivery:
        """Deliver the event again; `lab.webhooks.resend` explains the result and errors."""

class AsyncWebhookEndpoint(WebhookEndpointHandle):
    """A webhook endpoint: the URL of a receiver, and what is delivered to it."""
    async def delete(self) -> None:
        """Delete the endpoint; it receives nothing more."""
    async def deliveries(
        self, *, status: str | None = None, event_type: str | None = None, limit: int | None = 100
    ) -> Records[AsyncWebhookDelivery]:
        """List the deliveries to the endpoint, newest first; `truncated` if there are more than the limit."""
    async def recover(
        self,
        since: When,
        *,
        until: When | None = None,
        events: str | Iterable[str] | None = None,
        mode: str = "failed",
        dry_run: bool = False,
    ) -> WebhookRecoveryHandle:
        """Deliver past events of the last 30 days; `lab.webhooks.recover` explains the arguments and errors."""
    async def rotate(self, *, overlap_s: int = 0) -> WebhookRotationHandle:
        """Replace the secret; the old one stops working at once, or after `overlap_s` seconds, at most a day."""
    async def test(self, event_type: str | None = None, payload: object = None) -> WebhookTestHandle:
        """Send a test event at once, signed like any other, and return what the receiver responded."""
    async def update(
        self,
        *,
        name: str | None = None,
        url: str | None = None,
        events: str | Iterable[str] | None = None,
        status: str | None = None,
    ) -> AsyncWebhookEndpoint:
        """Change the endpoint; what is None is unchanged."""

class AsyncRows:
    """Rows that are read when a verb is awaited, or by `async for`."""
    @property
    def columns(self) -> Awaitable[list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the rows."""
    def __aiter__(self) -> AsyncIterator[dict[str, object]]: ...
    def __getitem__(self, which: slice) -> AsyncRows: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read the rows as a pyarrow Table."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the rows as a data frame."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the first rows; of a data set the newest."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read the rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read the rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on these rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write the rows as a workbook of Excel with one sheet; returns their number."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write the rows as one Parquet file, in bounded memory; returns their number."""

class AsyncListing(Generic[Found]):
    """The objects of a list: `async for` reads it once, what is awaited reads it from its begin."""
    async def count(self) -> int:
        """Count the objects by reading all."""
    def __aiter__(self) -> AsyncIterator[Found]: ...
    def __anext__(self) -> Awaitable[Found]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[list[Found]]: ...
    @overload
    def __getitem__(self, which: SupportsIndex) -> Awaitable[Found]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all objects as a pyarrow Table."""
    async def close(self) -> None:
        """End the loop that reads it, and what that holds open; may be called again."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all objects as a data frame, with types as those of `Rows.df`."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all objects as a Polars frame."""

class AsyncAttestationNoun:
    """The tenant's attestations, newest first."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncAttestation]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncAttestation]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncAttestation]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def badge(self, what: AttestationLike, format: BadgeFormat = "png") -> AsyncBadge:
        """Fetch the Open Badge of an attestation, baked into a picture (`attestation.badge`)."""
    async def bundle(self, what: AttestationLike) -> AsyncBundle:
        """Fetch the proof bundle of an attestation, which verifies offline."""
    async def deliver(
        self, what: AttestationLike, to: str | Iterable[str], *, safe_metadata: Mapping[str, object] | None = None
    ) -> Records[InboxDeliveryHandle]:
        """Deliver an attestation to people, in whose inboxes it appears; an address without an account is invited."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[AttestationFilterArgs]
    ) -> AsyncListing[AsyncAttestation]:
        """List the attestations that match all filters, newest first."""
    async def mint_many(self, items: Iterable[Mapping[str, object]]) -> MintResults:
        """Mint many attestations, a hundred in one append to the log."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def revoke(self, what: AttestationLike, reason: str) -> RevocationHandle:
        """Revoke an attestation permanently."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def supersede(
        self,
        what: AttestationLike,
        document: File | None = None,
        *,
        schema: str,
        claims: Mapping[str, object],
        issuer: IssuerLike | None = None,
        **options: Unpack[MintOptions],
    ) -> AsyncMint:
        """Mint an attestation that replaces another one, by default of the same issuer."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncIssuerNoun:
    """The tenant's issuers, newest first; `lab.issuers["Registrar"]` finds one by name, domain or id."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncIssuer]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncIssuer]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncIssuer]: ...
    async def add_key(
        self,
        issuer: IssuerLike,
        kid: str,
        *,
        alg: str = "Ed25519",
        public_key_b64url: str | None = None,
        status: str = "active",
    ) -> KeyHandle:
        """Add a key: one that the service makes and holds, or your own by its public half."""
    async def approve(self, request: RequestLike) -> AsyncIssuerRequest:
        """Approve a request, as another person than the requester."""
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def blast_radius(self, issuer: IssuerLike, kid: str | None = None) -> BlastRadiusHandle:
        """Count the attestations that depend on an issuer, or on one of its keys."""
    async def compromise_key(
        self, key: KeyLike, reason: str, *, compromised_at: When | None = None
    ) -> WithdrawnKeyHandle:
        """Report a key as compromised: attestations logged since then become INVALID."""
    async def create(
        self, name: str, domain: str, *, alg: str | None = "Ed25519", kid: str | None = None, **profile: str
    ) -> AsyncIssuer:
        """Register an issuer, with a first key that the service holds; `alg=None` makes none."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def execute(self, request: RequestLike) -> AsyncIssuerRequest:
        """Make the change of an approved request."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    async def keys(self, issuer: IssuerLike) -> Records[KeyHandle]:
        """List an issuer's keys, newest first."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[AsyncIssuer]:
        """List all objects, newest first; these have no filters."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def reject(self, request: RequestLike, reason: str) -> AsyncIssuerRequest:
        """Reject a request."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def request(
        self,
        type: str,
        issuer: IssuerLike,
        reason: str,
        *,
        new_trust_tier: str | None = None,
        new_risk_rating: str | None = None,
    ) -> AsyncIssuerRequest:
        """Request a change of an issuer's standing, such as `SUSPEND_ISSUER`, for another person to approve."""
    async def requests(
        self, issuer: IssuerLike | None = None, *, status: str | None = None
    ) -> Records[AsyncIssuerRequest]:
        """List the requests about an issuer, or all, newest first; for a person who signed in."""
    async def revoke_key(self, key: KeyLike, reason: str) -> WithdrawnKeyHandle:
        """Revoke a key permanently; what is in the log already stays valid and is flagged."""
    async def rotate_key(self, key: KeyLike, *, new_kid: str | None = None, alg: str | None = None) -> RotationHandle:
        """Replace a key with a new key that the service holds."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def update(self, issuer: IssuerLike, **profile: str | None) -> AsyncIssuer:
        """Change an issuer's profile; None removes a value."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncLogNoun:
    """The entries of the transparency log, in their order; `len` is the size of the tree."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[EntryHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[EntryHandle]]: ...
    @overload
    def __getitem__(self, which: int) -> Awaitable[EntryHandle]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    def checkpoints(self) -> AsyncListing[CheckpointHandle]:
        """List all signed tree heads, newest first."""
    async def consistency(
        self, older: int | AnyHeadHandle, newer: int | AnyHeadHandle | None = None
    ) -> AsyncConsistency:
        """Prove that the log only grew between two sizes or heads; the newer one is the head's by default."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def entry(self, index: int) -> EntryHandle:
        """Return the entry at an index."""
    async def head(self) -> TreeHeadHandle:
        """Return the newest signed tree head."""
    async def lookup(self, what: str | UUID | object) -> EntryHandle:
        """Find the entry of an attestation, a receipt, a leaf hash (`sha256:<hex>`), or a document's SHA-256 (hex)."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def proof(self, what: int | str | UUID | object, *, tree_size: int | None = None) -> AsyncInclusion:
        """Prove that the log has an entry: its index, or an attestation or its id."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def vkey(self) -> VkeyHandle:
        """Return the log's public key. Pin it from a source that you trust more than the service."""

class AsyncPolicyNoun:
    """The tenant's policies, newest first; `lab.policies["Employment checks"]` finds one by name or id."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncPolicySummary]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncPolicySummary]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncPolicySummary]: ...
    async def activate(
        self,
        policy: PolicyLike,
        simulation: SimulationHandle | str | None = None,
        *,
        acknowledge: Iterable[str] = (),
        note: str | None = None,
    ) -> AsyncPolicy:
        """Let the newest version decide; by a signed-in owner or admin (`lab.as_(email, password=...)`)."""
    async def analyze(self, policy: PolicyOrDocument, *, against: PolicyOrDocument | None = None) -> AnalysisHandle:
        """Analyze a policy for every possible context; `against` compares it with another one."""
    async def archive(self, policy: PolicyLike) -> AsyncPolicy:
        """Archive a policy permanently; by a signed-in owner or admin."""
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def attributes(self) -> Records[AttributeHandle]:
        """List the attributes that policies may use: the platform's, then the tenant's own."""
    async def create(self, policy: policy_documents.PolicyDocument) -> AsyncPolicy:
        """Create a policy as a draft, from a dict, TOML text, or the path of a TOML or JSON file."""
    async def decide(self, policy: PolicyOrDocument, context: Mapping[str, object]) -> DraftDecisionHandle:
        """Decide one context with a policy or a draft alone, in this process, and explain it; nothing is recorded."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def evaluate(
        self,
        action: str,
        context: Mapping[str, object],
        *,
        target_type: str = "TENANT_DEFAULT",
        target_id: UUID | str | None = None,
    ) -> AsyncDecision:
        """Let the policies in force decide; the decision is recorded."""
    async def explain(self, decision: str | DecisionHandle) -> ExplanationHandle:
        """Explain a decision, and what would have to change for the opposite result."""
    async def get(self, policy: PolicyLike) -> AsyncPolicy:
        """Return a policy with its newest document."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    async def isolate(
        self,
        policy: PolicyOrDocument,
        rule: str,
        *,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
        by: Iterable[str] | str = (),
    ) -> AsyncSimulation:
        """Simulate a policy with one of its rules and without it; the difference is in `alone`."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[AsyncPolicySummary]:
        """List all objects, newest first; these have no filters."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def replay(self, policy: PolicyOrDocument, contexts: Contexts) -> ContextReplay:
        """Decide contexts of your own with a policy or a draft, in this process; nothing is sent or recorded."""
    async def shadow(self, policy: PolicyLike) -> AsyncPolicy:
        """Evaluate and record the newest version next to the active ones, without effect."""
    async def simulate(
        self,
        policy: PolicyOrDocument,
        *,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
        by: Iterable[str] | str = (),
        sweeps: Iterable[Sequence[ThresholdLike]] = (),
        points: int = 200,
    ) -> AsyncSimulation:
        """Replay a policy or a draft over the tenant's past decisions."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def sweep(
        self,
        policy: PolicyOrDocument,
        *thresholds: ThresholdLike,
        points: int = 200,
        replaces: PolicyLike | None = None,
        since: When | None = None,
        until: When | None = None,
    ) -> AsyncSimulation:
        """Simulate every value of one threshold, or of two; the results are in `sweep`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def update(self, policy: PolicyLike, document: policy_documents.PolicyDocument) -> AsyncPolicy:
        """Write a new version; the active one remains active."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncDecisionNoun:
    """The tenant's policy decisions, newest first; `lab.decisions["dec_..."]` explains one."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncRecordedDecision]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncRecordedDecision]]: ...
    @overload
    def __getitem__(self, which: int) -> Awaitable[AsyncRecordedDecision]: ...
    @overload
    def __getitem__(self, which: str | RecordedDecisionHandle | DecisionHandle) -> Awaitable[ExplanationHandle]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[DecisionFilterArgs]
    ) -> AsyncListing[AsyncRecordedDecision]:
        """List the decisions as they were recorded, newest first, by one query; `explain` says why."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncSignalNoun:
    """The tenant's risk signals, newest first."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncSignal]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncSignal]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncSignal]: ...
    async def add(
        self,
        source: str,
        signal_type: str,
        score: float,
        entity: object,
        entity_id: str | None = None,
        *,
        details: Mapping[str, object] | None = None,
        occurred_at: When | None = None,
    ) -> AsyncSignal:
        """Record a signal about an entity, with a score from 0 to 100."""
    async def add_many(
        self, signals: BulkRows, *, backfill: bool = False, strict: bool = False, tz: str | tzinfo | None = None
    ) -> BulkHandle:
        """Record many signals, ten thousand in a request; a row that is no signal does not hold back the others."""
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def backfill_logins(
        self, logins: BulkRows, *, strict: bool = False, tz: str | tzinfo | None = None
    ) -> LoginBackfillHandle:
        """Load logins of the past, in any order, and return when the service has learnt them."""
    async def change_mapping(self, items: Iterable[Mapping[str, object]] | MappingHandle) -> MappingHandle:
        """Replace the mapping by its next version; `normalize` applies it to earlier events."""
    async def change_settings(self, *, escalation_threshold: float) -> RiskSettingsHandle:
        """Change the tenant's settings of risk; signals that are recorded already stay as they are."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def drift(self, *, since: When | None = None, until: When | None = None) -> AsyncDrift:
        """Compare the scores of a window, by default the last seven days, with those before."""
    async def entity(self, entity: object, entity_id: str | None = None) -> EntityHandle:
        """Return what is known about an entity."""
    async def evaluate_login(
        self, subject_id: str, outcome: str, *, occurred_at: When | None = None, **circumstances: str
    ) -> LoginHandle:
        """Score a login; `outcome` is `success` or `failure`."""
    async def graph(self, entity: object, entity_id: str | None = None, *, depth: int | None = None) -> AsyncGraph:
        """Return the entities around one, up to `depth` links away, and the rings that they form."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    async def judge_logins(
        self,
        logins: BulkRows,
        labels: str | None = None,
        *,
        campaigns: str | None = None,
        innocent: Iterable[str] = (),
        missed_attack: float = 10.0,
        false_alarm: float = 1.0,
        tz: str | tzinfo | None = None,
    ) -> LoginJudgementHandle:
        """Measure the detection, and plain baselines, on labelled logins of your own; the service learns nothing."""
    def list(self, *, limit: int | None = None, **filters: Unpack[SignalFilterArgs]) -> AsyncListing[AsyncSignal]:
        """List the signals that match all filters, newest first."""
    async def mapping(self) -> MappingHandle:
        """Return the tenant's mapping: the signal that raw events of each type become."""
    async def normalize(self, *, since: When | None = None, until: When | None = None) -> NormalizationHandle:
        """Normalize raw events again by the mapping of now; an event whose result changed becomes another signal."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def plot(
        self,
        what: str = "volume",
        *,
        by: str | None = None,
        since: When | None = None,
        until: When | None = None,
        every: str | None = None,
        **filters: Unpack[ChartFilterArgs],
    ) -> Chart:
        """Draw the signals over time; the service counts them, so that a million costs little."""
    async def record_event(
        self,
        event_type: str,
        entity: object,
        entity_id: str | None = None,
        *,
        data: Mapping[str, object] | None = None,
        occurred_at: When | None = None,
    ) -> NormalizedHandle:
        """Record a raw event, which becomes a signal by the tenant's mapping."""
    async def record_velocity(
        self, action: str, entity: object, entity_id: str | None = None, *, occurred_at: When | None = None
    ) -> VelocityHandle:
        """Record that an entity did something, and score how often it did."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def scan(
        self,
        subject_ref: str,
        media: File | None = None,
        *,
        content_type: str | None = None,
        indicators: Mapping[str, float | bool] | None = None,
    ) -> ScanHandle:
        """Scan a picture or film for the marks of generators; this file is sent to the service."""
    async def settings(self) -> RiskSettingsHandle:
        """Return the tenant's settings of risk: the score from which a signal is escalated."""
    async def simulate(
        self,
        rules: Iterable[Mapping[str, object]],
        *,
        since: When | None = None,
        until: When | None = None,
        threshold: Mapping[str, object] | tuple[str, str] | None = None,
        points: int = 100,
        costs: Mapping[str, float] | None = None,
    ) -> AsyncRiskSimulation:
        """Replay escalation rules over past signals, and compare them with the outcomes of cases."""
    async def sources(self) -> Records[SourceHandle]:
        """List the sources of signals, and which of them fell silent."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncCaseNoun:
    """The tenant's cases, newest first."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncCase]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncCase]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncCase]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def assign(self, case: UUID | str | CaseHandle, person: object) -> AsyncCase:
        """Assign a case to a person of the tenant, or with None to no one."""
    async def comment(self, case: UUID | str | CaseHandle, text: str) -> CommentHandle:
        """Write a comment to a case, open or resolved; it never changes."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def groups(self, by: str, *, limit: int = 50) -> Records[CaseGroupHandle]:
        """Group the open cases by what links them, the largest groups first."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(self, *, limit: int | None = None, **filters: Unpack[CaseFilterArgs]) -> AsyncListing[AsyncCase]:
        """List the cases that match all filters, newest first."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def reopen(self, cases: Iterable[UUID | str | CaseHandle]) -> Records[CaseResultHandle]:
        """Open cases again that you resolved with `undo_seconds`, within that time."""
    async def resolve(self, case: UUID | str | CaseHandle, outcome: str, note: str | None = None) -> AsyncCase:
        """Resolve a case as `fraud`, `legitimate` or `inconclusive`."""
    async def resolve_many(
        self, items: Iterable[Mapping[str, object]], *, undo_seconds: int = 0
    ) -> Records[CaseResultHandle]:
        """Resolve many cases, each with its outcome; each succeeds or fails separately."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncChallengeNoun:
    """The decisions to challenge a subject, newest first."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[ChallengeHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[ChallengeHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[ChallengeHandle]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def create(
        self, subject_id: str, reason: str, *, subject_type: str = "user", risk_score: int | None = None
    ) -> ChallengeHandle:
        """Decide that a subject must prove who it is."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[ChallengeFilterArgs]
    ) -> AsyncListing[ChallengeHandle]:
        """List the challenges that match all filters, newest first."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncListNoun:
    """The entities on the allow and the deny list, newest first."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncListEntry]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncListEntry]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncListEntry]: ...
    async def add(
        self,
        list_name: str,
        entity: object,
        entity_id: str | None = None,
        *,
        reason: str,
        expires_at: When | None = None,
    ) -> AsyncListEntry:
        """Put an entity on the `allow` or the `deny` list."""
    def list(self, *, limit: int | None = None, **filters: Unpack[ListFilterArgs]) -> AsyncListing[AsyncListEntry]:
        """List the entries that match all filters, newest first."""
    async def remove(self, entry: UUID | str | ListEntryHandle) -> None:
        """Take an entity off its list."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncPeopleNoun:
    """The tenant's members, newest first; `lab.people["ann@demo.example"]` finds one by e-mail address or id."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[PersonHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[PersonHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[PersonHandle]: ...
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[PersonHandle]:
        """List all objects, newest first; these have no filters."""
    async def names(self) -> dict[str, str]:
        """Return the names of all members by their id as text, as `actor_id` and the like have it."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncApiKeyNoun:
    """The tenant's API keys, newest first, revoked ones included; for a signed-in owner or admin."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[ApiKeyHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[ApiKeyHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[ApiKeyHandle]: ...
    async def compromise(self, key: ApiKeyLike, reason: str) -> ApiKeyHandle:
        """Flag a key as compromised, which also revokes it."""
    async def create(self, name: str, *, scopes: Iterable[str]) -> CreatedApiKeyHandle:
        """Create a key with some of the caller's own scopes."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[ApiKeyHandle]:
        """List the keys of the tenant, newest first, revoked and expired ones included; there are no filters."""
    async def revoke(self, key: ApiKeyLike, reason: str | None = None) -> ApiKeyHandle:
        """Revoke a key permanently: the next request with it is refused."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncSessionNoun:
    """The open sessions of the signed-in person, newest first; an owner or admin lists those of others, too."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[SessionHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[SessionHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[SessionHandle]: ...
    async def end(self, session: SessionLike) -> None:
        """End a session: its tokens are invalid from the next request on; one that has ended stays so."""
    def list(self, *, limit: int | None = None, **filters: Unpack[SessionFilterArgs]) -> AsyncListing[SessionHandle]:
        """List the open sessions of the caller, of another person, or of everyone, newest first."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncWebhookNoun:
    """The tenant's webhook endpoints, newest first; `lab.webhooks["Ledger"]` finds one by name, URL or id."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncWebhookEndpoint]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncWebhookEndpoint]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncWebhookEndpoint]: ...
    async def create(
        self, url: str, events: str | Iterable[str], *, name: str | None = None
    ) -> AsyncNewWebhookEndpoint:
        """Create an endpoint, which receives the events that happen from now on."""
    async def delete(self, endpoint: EndpointLike) -> None:
        """Delete an endpoint; it receives nothing more."""
    async def deliveries(
        self,
        endpoint: EndpointLike,
        *,
        status: str | None = None,
        event_type: str | None = None,
        limit: int | None = 100,
    ) -> Records[AsyncWebhookDelivery]:
        """List the deliveries to an endpoint with their attempts, newest first."""
    async def event_types(self, category: str | None = None) -> Records[EventTypeHandle]:
        """List the types of events, of one category or all."""
    def events(self, after: int = 0) -> AsyncListing[WebhookEventHandle]:
        """List the tenant's events of the last 30 days, oldest first."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[AsyncWebhookEndpoint]:
        """List all objects, newest first; these have no filters."""
    async def recover(
        self,
        endpoint: EndpointLike,
        since: When,
        *,
        until: When | None = None,
        events: str | Iterable[str] | None = None,
        mode: str = "failed",
        dry_run: bool = False,
    ) -> WebhookRecoveryHandle:
        """Deliver past events of the last 30 days to an endpoint."""
    async def resend(self, delivery: UUID | str | WebhookDeliveryHandle) -> AsyncWebhookDelivery:
        """Deliver the event of a delivery again; the result is the new delivery."""
    async def rotate(self, endpoint: EndpointLike, *, overlap_s: int = 0) -> WebhookRotationHandle:
        """Replace the secret of an endpoint; only the result has the new one."""
    async def test(
        self, endpoint: EndpointLike, event_type: str | None = None, payload: object = None
    ) -> WebhookTestHandle:
        """Send a test event at once, signed like any other. A receiver that does not respond is a result too."""
    async def update(
        self,
        endpoint: EndpointLike,
        *,
        name: str | None = None,
        url: str | None = None,
        events: str | Iterable[str] | None = None,
        status: str | None = None,
    ) -> AsyncWebhookEndpoint:
        """Change an endpoint; what is None is unchanged. The status is `active` or `disabled`."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncReceiptTypeNoun:
    """The tenant's receipt types; `lab.receipt_types["delivery@1.0.0"]` finds a version, `["delivery"]` the newest."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncReceiptType]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncReceiptType]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncReceiptType]: ...
    async def create(
        self,
        name: str,
        version: str,
        schema: Mapping[str, object],
        *,
        display_name: str | None = None,
        description: str = "",
    ) -> AsyncReceiptType:
        """Create a receipt type, or a further version of one. A version never changes."""
    async def deprecate(self, receipt_type: ReceiptTypeLike, *, reason: str | None = None) -> AsyncReceiptType:
        """Deprecate a version, or all of a type: no new receipt has it, and those that exist stay valid."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[ReceiptTypeFilterArgs]
    ) -> AsyncListing[AsyncReceiptType]:
        """List the newest version of each type, newest first."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncReceiptNoun:
    """The tenant's receipts, newest first; the data set has no payloads and subjects."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncReceipt]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncReceipt]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncReceipt]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def bundle(self, what: ReceiptLike) -> AsyncReceiptBundle:
        """Fetch the proof bundle of a receipt, which verifies offline."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(self, *, limit: int | None = None, **filters: Unpack[ReceiptFilterArgs]) -> AsyncListing[AsyncReceipt]:
        """List the receipts that match all filters, newest first."""
    async def mint(
        self,
        receipt_type: str,
        payload: Mapping[str, object],
        *,
        issuer: IssuerLike,
        subject: str = "",
        **options: Unpack[ReceiptOptions],
    ) -> AsyncReceipt:
        """Mint a receipt."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def redact(self, what: ReceiptLike, reason: str | None = None) -> AsyncReceipt:
        """Delete payload, subject and metadata of a receipt for good; every proof still verifies."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def revoke(self, what: ReceiptLike, reason: str | None = None) -> AsyncReceipt:
        """Revoke a receipt permanently."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def verify(
        self, what: ReceiptLike, *, payload: Mapping[str, object] | None = None
    ) -> ReceiptVerificationHandle:
        """Verify a receipt by the service."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncInboxNoun:
    """What issuers delivered to the consumer, newest first; a loop and an index have what is UNREAD."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncInboxItem]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncInboxItem]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncInboxItem]: ...
    async def decline(self, item: InboxItemLike, reason: str | None = None) -> AsyncInboxItem:
        """Decline an attestation for good: it is archived, and its issuer sees that and the reason."""
    def list(self, *, limit: int | None = None, **filters: Unpack[InboxFilterArgs]) -> AsyncListing[AsyncInboxItem]:
        """List the items of a read state, newest first."""
    async def mark(self, item: InboxItemLike, read_state: str) -> AsyncInboxItem:
        """Mark an item as read, archived or unread; its issuer does not see that."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncProtectionNoun:
    """The consumer's protections, newest first; `lab.protect` adds one."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncProtection]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncProtection]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncProtection]: ...
    def list(
        self, *, limit: int | None = None, **filters: Unpack[ProtectionFilterArgs]
    ) -> AsyncListing[AsyncProtection]:
        """List the protections that match all filters, newest first."""
    async def remove(self, protection: ProtectionLike) -> None:
        """Delete a protection with its texts and counts; its attestation stays as it is, so revoke it first."""
    async def revoke(self, protection: ProtectionLike, reason: str) -> AsyncProtection:
        """Revoke the attestation of own content permanently."""
    async def show(
        self, credential: AttestationLike, title: str, **options: Unpack[ProtectionOptions]
    ) -> AsyncProtection:
        """Show a received credential among the protections; nothing is minted."""
    async def update(self, protection: ProtectionLike, **changes: Unpack[ProtectionChanges]) -> AsyncProtection:
        """Change the title, description, category or visibility of a protection; its attestation stays as it is."""
    async def verification_days(self, protection: ProtectionLike, days: int = 30) -> VerificationDaysHandle:
        """Count the verifications of a protection by UTC day, newest first."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncAgentNoun:
    """The tenant's machine agents, newest first; `lab.agents[id]` takes a UUID or a maip id."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncAgent]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncAgent]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncAgent]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def card(self, agent: AgentLike) -> AgentCard:
        """Fetch the card of an agent, as A2A 1.0 defines it: where it answers, what it can do, and its signature."""
    async def change_settings(self, *, ownerless_grace_days: int) -> AgentSettingsHandle:
        """Change the tenant's settings of agents; they count for owners who left already, too."""
    async def compromise_key(
        self, agent: AgentLike, kid: str, reason: str, *, compromised_at: When | None = None
    ) -> AgentKeyHandle:
        """Report that others may have a key of an agent; an active agent is suspended at once."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    async def keys(self, agent: AgentLike) -> Records[AgentKeyHandle]:
        """List all keys that an agent ever had, newest first."""
    async def kill(
        self, agent: AgentLike, reason: str | None = None, *, dry_run: bool = False, cascade: bool = True
    ) -> AgentKillHandle:
        """Revoke an agent and all below it at once, with their sessions and delegations; look at a dry run first."""
    def list(self, *, limit: int | None = None, **filters: Unpack[AgentFilterArgs]) -> AsyncListing[AsyncAgent]:
        """List the agents that match all filters, newest first."""
    async def metrics(
        self,
        *,
        agent: AgentLike | None = None,
        since: When | None = None,
        until: When | None = None,
        granularity: str = "day",
    ) -> AgentMetricsHandle:
        """Return figures of what agents did: counts by type, errors, percentiles of latencies, and buckets of time."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def register(
        self,
        display_name: str,
        *,
        scopes: Iterable[str] = (),
        key: OwnKey | None = None,
        **options: Unpack[AgentOptions],
    ) -> AsyncAgent:
        """Register an agent."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def report(
        self,
        agent: AgentLike,
        event_type: str,
        *,
        status: str = "ok",
        latency_ms: float | None = None,
        attributes: Mapping[str, object] | None = None,
        session_id: UUID | str | None = None,
        occurred_at: When | None = None,
    ) -> UUID:
        """Report what an agent did."""
    async def report_many(
        self, events: BulkRows, *, strict: bool = False, tz: str | tzinfo | None = None
    ) -> BulkHandle:
        """Report many events, ten thousand in a request; a row that is no event does not hold back the others."""
    def review(
        self, *, limit: int | None = None, **filters: Unpack[AgentReviewFilterArgs]
    ) -> AsyncListing[AgentReviewHandle]:
        """List the agents that want a look, newest first; revoked ones are left out."""
    async def settings(self) -> AgentSettingsHandle:
        """Return the tenant's settings of agents: how many days one may act after its owner left."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def update(self, agent: AgentLike, **changes: Unpack[AgentChanges]) -> AsyncAgent:
        """Change an agent; narrower scopes hold for the next request of its sessions and of all agents below it."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncAgentSessionNoun:
    """The sessions of the tenant's agents, newest first; `agent.session` opens one."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncAgentSession]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncAgentSession]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncAgentSession]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    async def introspect(self, token: str) -> AgentIntrospectionHandle:
        """Ask what an agent's token may do now; for servers that agents call (RFC 7662)."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[AgentSessionFilterArgs]
    ) -> AsyncListing[AsyncAgentSession]:
        """List the sessions that match all filters, newest first."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def refresh(self, session: AgentSessionLike, refresh_token: str) -> AsyncAgentTokens:
        """Exchange a refresh token for the next tokens, until a day after the session began."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def terminate(self, session: AgentSessionLike, reason: str | None = None) -> AsyncAgentSession:
        """End a session: its tokens are invalid from the next request on."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncDelegationNoun:
    """The delegations between the tenant's agents, newest first, each read with its chain; `df` reads rows alone."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncDelegation]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncDelegation]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncDelegation]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def biscuit(self, delegation: DelegationLike) -> BiscuitHandle:
        """Export a delegation as a Biscuit, with what its chain allows now; third parties can narrow it."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[AsyncDelegation]:
        """List all objects, newest first; these have no filters."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def proof(self, delegation: DelegationLike) -> AsyncDelegationProof:
        """Fetch what anyone needs to verify a chain without the service; `attestlab verify` reads its file."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    async def revocations(self, since: int = -1) -> Records[RevokedDelegationHandle]:
        """List the revoked delegations of all tenants in the order of the log, for those who verify chains offline."""
    async def revoke(
        self, delegation: DelegationLike, reason: str, *, dry_run: bool = False
    ) -> DelegationRevocationHandle:
        """Revoke a delegation with all below it, and end the sessions of their agents; the agents stay."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    async def verify(
        self, chain: DelegationHandle | DelegationProofHandle | Iterable[str], required_scope: str | None = None
    ) -> ChainVerdictHandle:
        """Verify a chain of delegations by the service, of whatever tenant; it needs no credential."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncComplianceNoun:
    """The tenant's compliance checks, newest first; each is a self-assessment, no audit and no certificate."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[ComplianceCheckHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[ComplianceCheckHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[ComplianceCheckHandle]: ...
    async def check(self, what: CheckedLike = None, *, regulation: str = "baseline") -> ComplianceCheckHandle:
        """Check an agent, an issuer or the tenant by up to ten controls over its own data."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[ComplianceFilterArgs]
    ) -> AsyncListing[ComplianceCheckHandle]:
        """List the checks that match all filters, newest first."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncVoteRequestNoun:
    """The tenant's requests for votes, newest first; the votes themselves are rows: `lab.witness.votes.df()`."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncVoteRequest]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncVoteRequest]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncVoteRequest]: ...
    async def ask(self, claim: Claim, *, of: AgentLike, **options: Unpack[VoteRequestOptions]) -> AsyncVoteRequest:
        """Ask other agents to vote about a claim that an agent makes."""
    async def consensus(self, request: VoteRequestLike) -> ConsensusHandle:
        """Read what the votes about a claim decided, and each vote as its agent signed it."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[VoteRequestFilterArgs]
    ) -> AsyncListing[AsyncVoteRequest]:
        """List the requests that match all filters, newest first."""
    async def vote(
        self,
        request: VoteRequestLike,
        agent: AgentLike,
        verdict: str,
        *,
        key: OwnKey | None = None,
        **options: Unpack[VoteOptions],
    ) -> VoteHandle:
        """Vote about a claim, once, as an agent that is independent of the one that makes it."""
    @property
    def votes(self) -> AsyncRows:
        """The data set `witness_votes`: each vote with its claim and what became of it."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncRunNoun:
    """The tenant's runs of agents, newest first; recorded steps of all runs are rows: `lab.runs.steps.df()`."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncRun]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncRun]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncRun]: ...
    async def complete(self, run: RunLike, status: str = "completed") -> AsyncRun:
        """End a run: its hash becomes an entry of the public log."""
    async def details(self, run: RunLike) -> RunDetailsHandle:
        """Read a run as it is now, with its plan and its steps."""
    def list(self, *, limit: int | None = None, **filters: Unpack[RunFilterArgs]) -> AsyncListing[AsyncRun]:
        """List the runs that match all filters, newest first."""
    async def proof(self, run: RunLike) -> AsyncRunProof:
        """Fetch what anyone needs to verify a run that ended, without the service."""
    async def start(self, agent: AgentLike, steps: Steps, **options: Unpack[RunOptions]) -> AsyncRun:
        """Start a run of an agent: a plan of 1 to 100 steps."""
    async def step(
        self,
        run: RunLike,
        step_id: str,
        *,
        outputs: bytes | str,
        inputs: bytes | str | None = None,
        status: str = "completed",
        key: OwnKey | None = None,
        **options: Unpack[RunStepOptions],
    ) -> RunStepHandle:
        """Record a step of a run, once, after the steps that it depends on."""
    @property
    def steps(self) -> AsyncRows:
        """The data set `run_steps`: each recorded step with its run and what the plan has of it."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncViewNoun:
    """The saved views that a person sees, newest first: their own, and those that others in the tenant share."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncView]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncView]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncView]: ...
    def list(self, *, limit: int | None = None, **filters: Unpack[ViewFilterArgs]) -> AsyncListing[AsyncView]:
        """List the views that match all filters, newest first."""
    async def remove(self, view: UUID | str | ViewHandle) -> None:
        """Delete a view of yours, also from the menus of those with whom it is shared."""
    async def save(self, name: str, page: str, query: str = "", *, shared: bool = False) -> AsyncView:
        """Save the filters of a page by a name."""
    async def schedule(
        self,
        view: UUID | str | ViewHandle,
        *,
        hour: int,
        recipients: ReportReader | Iterable[ReportReader],
        weekday: int | None = None,
    ) -> AsyncView:
        """Send a report of a view of yours by mail, every day or every week, instead of what was set before."""
    async def unschedule(self, view: UUID | str | ViewHandle) -> None:
        """Send no more reports of a view of yours by mail; a view without a schedule stays as it is."""
    async def update(self, view: UUID | str | ViewHandle, **changes: Unpack[ViewChanges]) -> AsyncView:
        """Change the name, the query or the sharing of a view of yours."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncAnnotationNoun:
    """What happened at a time or in a period, newest first; all people of the tenant read it."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AsyncAnnotation]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AsyncAnnotation]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AsyncAnnotation]: ...
    async def add(self, at: When, text: str, *, until: When | None = None) -> AsyncAnnotation:
        """Write what happened at a time, or from then until another time."""
    def list(
        self, *, limit: int | None = None, **filters: Unpack[AnnotationFilterArgs]
    ) -> AsyncListing[AsyncAnnotation]:
        """List the annotations that overlap a period, newest first."""
    async def remove(self, annotation: UUID | str | AnnotationHandle) -> None:
        """Remove an annotation from all charts; its author, owners and admins may."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncAuditNoun:
    """The lines of the tenant's audit trail, newest first."""
    @property
    def rows(self) -> AsyncRows:
        """All rows of the data set."""
    @property
    def columns(self) -> Awaitable[builtins.list[str]]:
        """The names of the columns."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[AuditEventHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[AuditEventHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[AuditEventHandle]: ...
    async def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all rows as a pyarrow Table."""
    async def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all rows as a data frame, with types that never depend on the rows (`Rows.df`)."""
    async def head(self, count: int = 5, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame."""
    def list(self, *, limit: int | None = None, **filters: Unpack[AuditFilterArgs]) -> AsyncListing[AuditEventHandle]:
        """List the audit lines that match all filters, newest first."""
    async def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all rows as a Polars frame."""
    async def rel(self, **filters: Unpack[NoFilterArgs]) -> duckdb.DuckDBPyRelation:
        """Read all rows as a DuckDB relation, to filter and join in this process."""
    def sql(self, query: str, parameters: SqlParameters = None) -> AsyncRows:
        """Run a SELECT on the rows, which it calls `this`: `select status, count(*) from this group by all`."""
    async def to_excel(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as a workbook of Excel with one sheet (`Rows.to_excel`)."""
    async def to_parquet(self, path: str | PathLike[str], **filters: Unpack[NoFilterArgs]) -> int:
        """Write all rows as one Parquet file, in bounded memory."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncBillingNoun:
    """The tenant's invoices, newest first, and the verbs of its subscription."""
    async def count(self) -> int:
        """Count the objects."""
    def __aiter__(self) -> AsyncIterator[InvoiceHandle]: ...
    @overload
    def __getitem__(self, which: slice) -> Awaitable[builtins.list[InvoiceHandle]]: ...
    @overload
    def __getitem__(self, which: object) -> Awaitable[InvoiceHandle]: ...
    async def addons(self) -> builtins.list[OfferedAddOnHandle]:
        """List all add-ons with the price of a unit, and how many units the tenant has."""
    async def attach(self, addon: str, quantity: int = 1) -> AddOnHandle:
        """Attach an add-on, or set how many units the tenant has; more units are charged for the rest of the month."""
    async def change(self, plan: str) -> SubscriptionHandle:
        """Change the plan: a larger one holds now, a smaller one from the end of the period on."""
    async def detach(self, addon: str) -> None:
        """Detach an add-on with all its units; nothing is refunded."""
    async def entitlements(self) -> EntitlementsHandle:
        """Return what the tenant may use now: the limits of its plan with add-ons, and its features."""
    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> AsyncListing[InvoiceHandle]:
        """List all objects, newest first; these have no filters."""
    async def plans(self) -> builtins.list[PlanHandle]:
        """List all plans with their limits and prices, the smallest first."""
    async def portal(
        self, return_url: str, *, provider: str | None = None, flow: str | None = None
    ) -> BillingPortalHandle:
        """Make a link to the billing portal, where one person changes plan and add-ons and reads invoices."""
    async def preview(
        self, plan: str | None = None, *, addons: Mapping[str, int] | None = None
    ) -> SubscriptionPreviewHandle:
        """Preview a change: what it costs, from when on it holds, and which limits it alters. Nothing changes."""
    async def preview_invoice(self) -> InvoiceHandle:
        """Return the draft of the next period's invoice, if nothing changes until then."""
    async def subscription(self) -> SubscriptionHandle:
        """Return the tenant's subscription: its plan, its add-ons and what they cost a month."""
    async def usage(self, period: str | None = None) -> UsageHandle:
        """Return what the tenant used in a month, by resource and by day."""
    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""

class AsyncLab:
    """A lab whose verbs are awaited; `attestlab.connect_async` opens it."""

    attestations: AsyncAttestationNoun
    issuers: AsyncIssuerNoun
    log: AsyncLogNoun
    policies: AsyncPolicyNoun
    decisions: AsyncDecisionNoun
    signals: AsyncSignalNoun
    cases: AsyncCaseNoun
    challenges: AsyncChallengeNoun
    lists: AsyncListNoun
    people: AsyncPeopleNoun
    api_keys: AsyncApiKeyNoun
    sessions: AsyncSessionNoun
    webhooks: AsyncWebhookNoun
    receipt_types: AsyncReceiptTypeNoun
    receipts: AsyncReceiptNoun
    inbox: AsyncInboxNoun
    protections: AsyncProtectionNoun
    agents: AsyncAgentNoun
    agent_sessions: AsyncAgentSessionNoun
    delegations: AsyncDelegationNoun
    compliance: AsyncComplianceNoun
    witness: AsyncVoteRequestNoun
    runs: AsyncRunNoun
    views: AsyncViewNoun
    annotations: AsyncAnnotationNoun
    audit: AsyncAuditNoun
    billing: AsyncBillingNoun
    verifications: AsyncRows
    async def as_(self, who: UUID | str | AgentTokensHandle, *, password: str | None = None) -> AsyncLab:
        """Return this lab for another caller; the lab that it came from stays open and closes both."""
    async def me(self) -> MeHandle:
        """Return the caller of this lab, its tenant, plan and scopes."""
    async def mint(
        self,
        document: File | None = None,
        *,
        issuer: IssuerLike,
        schema: str,
        claims: Mapping[str, object],
        **options: Unpack[MintOptions],
    ) -> AsyncMint:
        """Attest a document, or claims alone."""
    async def now(self) -> datetime:
        """Return the time of the service in UTC, to the second; in a demo, that of its world."""
    async def portfolio(self, name: str) -> AsyncPortfolio:
        """Read the public portfolio of a consumer; it needs no credential."""
    async def protect(self, file: File, *, title: str, **options: Unpack[ProtectionOptions]) -> AsyncProtection:
        """Protect content of the consumer by its hash, which the platform's issuer attests; the file stays here."""
    async def search(
        self, text: str, *, types: str | Iterable[str] | None = None, limit: int = 20
    ) -> Records[FoundHandle]:
        """Find anything of the tenant by the beginning of an id or hash, or by a part of a name."""
    def sql(self, query: str, parameters: SqlParameters = None, **frames: object) -> AsyncRows:
        """Run one SELECT over the data sets of docs/lake.md, by their names: it may join them, as of one moment."""
    async def verify(
        self,
        what: AttestationLike | StoredBundleHandle | BadgeHandle | Mapping[str, object] | File,
        *,
        file: File | None = None,
        trust: TrustPolicy | str | None = None,
    ) -> VerificationHandle | OfflineVerificationHandle | BadgeVerificationHandle:
        """Verify an attestation or an Open Badge by the service, or a bundle in this process."""
    async def close(self) -> None:
        """Close the connections; may be called again."""
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
