"""The names of the closed sets of codes of the HTTP API, and the meanings of its path parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, get_args

from attestlab.agents import rules as agent_rules
from attestlab.agents.compliance import rules as compliance_rules
from attestlab.agents.delegation import rules as delegation_rules
from attestlab.agents.observability import rules as observability_rules
from attestlab.agents.oversight import rules as oversight_rules
from attestlab.agents.runs import rules as run_rules
from attestlab.agents.runs.shapes import RUN_STEP_STATES
from attestlab.agents.sessions.rules import AgentSessionStatus
from attestlab.agents.shapes import AGENT_KEY_STATUSES
from attestlab.agents.trust import rules as trust_rules
from attestlab.agents.witnessing import rules as witnessing_rules
from attestlab.attestations import rules as attestation_rules
from attestlab.attestations.inbox.shapes import InboxFilter
from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.attestations.schemas.catalogue import CATALOGUE, ContentType
from attestlab.billing import rules as billing_rules
from attestlab.billing.portal_page.shapes import PROVIDERS
from attestlab.billing.providers.provider import PortalFlow
from attestlab.blog import rules as blog_rules
from attestlab.consumer.accounts import rules as account_rules
from attestlab.consumer.inbox.rules import DeliveryState, ReadState
from attestlab.core.crypto.signing import Algorithm
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.governance import rules as governance_rules
from attestlab.issuers import rules as issuer_rules
from attestlab.log.entries import EntryType
from attestlab.orgs import rules as org_rules
from attestlab.orgs.role_rules import UserStatus
from attestlab.policy import rules as policy_rules
from attestlab.policy.analysis.analyzer import FindingKind
from attestlab.policy.language.ast import Effect, Mode
from attestlab.policy.language.attributes import AttributeType, Op
from attestlab.policy.language.document import Category, TargetType
from attestlab.protections import rules as protection_rules
from attestlab.receipts.rules import RetentionPolicy
from attestlab.receipts.types import rules as receipt_type_rules
from attestlab.risk import rules as risk_rules
from attestlab.risk.drift import DriftLevel
from attestlab.risk.enforcement.shapes import CaseErrorCode, CaseLink
from attestlab.risk.logins.detector import RiskLevel
from attestlab.risk.logins.login import LoginOutcome
from attestlab.risk.media.findings import ScanVerdict
from attestlab.risk.signals import shapes as signal_shapes
from attestlab.search.rules import FoundType
from attestlab.simulation.risk import shapes as risk_simulation_shapes
from attestlab.views.shapes import PageName
from attestlab.web import health, problems
from attestlab.webhooks import rules as webhook_rules

ENUMS: Final[Mapping[str, Sequence[str] | type[StrEnum]]] = {
    "ErrorCode": problems.list_codes(),
    "CheckResult": get_args(health.CheckResult),
    "AttestationStatus": attestation_rules.Status,
    "Verdict": attestation_rules.Verdict,
    "ReasonCode": attestation_rules.Reason,
    "SchemaId": [*CATALOGUE],
    "ContentType": ContentType,
    "Algorithm": Algorithm,
    "KeyStatus": issuer_rules.KeyStatus,
    "NewKeyStatus": ["active", "pending"],
    "Custody": issuer_rules.Custody,
    "IssuerStatus": issuer_rules.IssuerStatus,
    "TrustTier": issuer_rules.TrustTier,
    "RiskRating": issuer_rules.RiskRating,
    "BlogPostCategory": blog_rules.PostCategory,
    "BlogPostStatus": blog_rules.PostStatus,
    "ProtectionVisibility": protection_rules.Visibility,
    "ProtectionSource": protection_rules.ProtectionSource,
    "AgentType": agent_rules.AgentType,
    "AgentStatus": agent_rules.AgentStatus,
    "AgentKeyStatus": AGENT_KEY_STATUSES,
    "AgentSessionStatus": AgentSessionStatus,
    "DelegationStatus": delegation_rules.DelegationStatus,
    "DelegationDirection": delegation_rules.Direction,
    "ChainVerdict": delegation_rules.ChainVerdict,
    "AgentEventStatus": observability_rules.AgentEventStatus,
    "MetricsGranularity": observability_rules.Granularity,
    "VoteRequestStatus": witnessing_rules.VoteRequestStatus,
    "VoteVerdict": witnessing_rules.VoteVerdict,
    "ComplianceEntityType": compliance_rules.EntityKind,
    "ComplianceRegulation": compliance_rules.Regulation,
    "ComplianceStatus": compliance_rules.CheckStatus,
    "ComplianceControl": compliance_rules.Control,
    "ComplianceSeverity": compliance_rules.Severity,
    "TrustComponentName": trust_rules.TrustComponent,
    "TrustCause": agent_rules.TrustCause,
    "RunStatus": run_rules.RunStatus,
    "RunEnd": run_rules.RunEnd,
    "RunStepStatus": run_rules.StepStatus,
    "RunStepState": RUN_STEP_STATES,
    "AgentTrustLevel": agent_rules.TrustLevel,
    "AgentReviewFinding": oversight_rules.ReviewFinding,
    "ReceiptStatus": ReceiptStatus,
    "ReceiptTypeStatus": receipt_type_rules.TypeStatus,
    "ReceiptTypeVersions": ["newest", "all"],
    "RetentionPolicy": RetentionPolicy,
    "SignupStatus": account_rules.SignupStatus,
    "PortfolioVisibility": account_rules.PortfolioVisibility,
    "IssuerRequestType": governance_rules.RequestType,
    "IssuerRequestStatus": governance_rules.RequestStatus,
    "LogEntryType": EntryType,
    "OpenBadgeFormat": ["jwt", "png", "svg"],
    "OpenBadgePictureFormat": PictureFormat,
    "DeliveryState": DeliveryState,
    "ReadState": ReadState,
    "InboxFilter": InboxFilter,
    "Scope": [*org_rules.Scope, *org_rules.ConsumerScope],
    "TenantScope": org_rules.Scope,
    "Role": org_rules.Role,
    "Realm": org_rules.Realm,
    "Plan": org_rules.Plan,
    "AddOn": org_rules.AddOn,
    "BillingPortalFlow": PortalFlow,
    "BillingProvider": billing_rules.Provider,
    "NamedBillingProvider": PROVIDERS,
    "InvoiceStatus": billing_rules.InvoiceStatus,
    "SubscriptionStatus": billing_rules.SubscriptionStatus,
    "ApiKeyEnvironment": org_rules.Environment,
    "ApiKeyStatus": org_rules.ApiKeyStatus,
    "OrgStatus": org_rules.OrgStatus,
    "UserStatus": UserStatus,
    "CredentialType": ["api_key", "jwt", "service", "agent_session"],
    "ActorType": ["USER", "API_KEY", "SERVICE", "AGENT"],
    "AuditOutcome": ["SUCCESS", "FAILURE"],
    "PolicyStatus": policy_rules.PolicyStatus,
    "PolicyCategory": Category,
    "PolicyTarget": TargetType,
    "PolicyEffect": Effect,
    "PolicyMode": Mode,
    "PolicyOperator": Op,
    "PolicyFormat": ["json", "toml"],
    "PolicyAttributeType": AttributeType,
    "PolicyFindingKind": FindingKind,
    "ThresholdOperator": ["lt", "lte", "gt", "gte"],
    "SimulatedEntity": ["issuer", "document", "ip"],
    "EntityType": risk_rules.EntityType,
    "ScoreScale": risk_rules.ScoreScale,
    "ListName": risk_rules.ListName,
    "CaseStatus": risk_rules.CaseStatus,
    "CaseLink": get_args(CaseLink),
    "CaseErrorCode": get_args(CaseErrorCode),
    "FoundType": FoundType,
    "ViewPage": get_args(PageName),
    "CaseOutcome": risk_rules.CaseOutcome,
    "WebhookEndpointStatus": webhook_rules.EndpointStatus,
    "WebhookDisabledReason": webhook_rules.DisabledReason,
    "WebhookDeliveryStatus": webhook_rules.WebhookDeliveryStatus,
    "WebhookRecoveryMode": webhook_rules.RecoveryMode,
    "ExportFormat": get_args(signal_shapes.ExportQuery.model_fields["format"].annotation),
    "ScanVerdict": ScanVerdict,
    "LoginOutcome": LoginOutcome,
    "LoginLevel": RiskLevel,
    "DriftLevel": DriftLevel,
    "RiskDecision": get_args(risk_simulation_shapes.RiskDecision),
    "RiskLabel": get_args(risk_simulation_shapes.Labels),
    "RiskExampleKind": get_args(risk_simulation_shapes.SignalExampleOut.model_fields["kind"].annotation),
    "RiskGateCheckName": get_args(risk_simulation_shapes.GateCheckOut.model_fields["name"].annotation),
}
PATH_PARAMETERS: Final[Mapping[str, str]] = {
    "attestations/{id}": "The attestation. Format: UUID, 36 characters. Source: CONTRACT 5.",
    "attestation-packs/{id}": "The pack. Format: UUID, 36 characters. Source: CONTRACT 5.",
    "inbox/{id}": "The item. Format: UUID, 36 characters. Source: CONTRACT 11.2.",
    "u/{username}": "The username of a consumer. Format: 3-30 of a-z 0-9 _ -. Source: CONTRACT 11.3.",
    "schemas/{id}": "The schema. Format: a schema id of the catalogue. Source: CONTRACT 5.",
    "a/{id}": "The attestation. Format: UUID, 36 characters. Source: CONTRACT 5.",
    "assets/{name}": "The file; its name contains a hash of its content. Format: a file name. Source: CONTRACT 5.",
    "status-lists/{issuer_id}": "The issuer. Format: UUID, 36 characters. Source: CONTRACT 7.",
    "issuers/{id}": "The issuer. Format: UUID, 36 characters. Source: CONTRACT 4.",
    "keys/{kid}": "The key. Format: 1-64 of A-Z a-z 0-9 . _ : -. Source: CONTRACT 4.",
    "issuer-requests/{id}": "The request. Format: UUID, 36 characters. Source: CONTRACT 4.",
    "policies/{id}": "The policy. Format: UUID, 36 characters. Source: CONTRACT 9.",
    "versions/{version}": "The version of the policy. Format: from 1. Source: CONTRACT 9.",
    "decisions/{id}": "The decision. Format: dec_ and a ULID. Source: CONTRACT 9.",
    "simulations/{digest}": "The report. Format: SHA-256, 64 lowercase hex digits. Source: CONTRACT 9.",
    "verification-profiles/{id}": "The profile. Format: UUID, 36 characters. Source: CONTRACT 9.",
    "signals/{id}": "The signal. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "sessions/{id}": "The session of a person. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "cases/{id}": "The case. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "lists/{id}": "The list entry. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "views/{id}": "The view. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "annotations/{id}": "The annotation. Format: UUID, 36 characters. Source: CONTRACT 8.",
    "entities/{type}": "The type of the entity. Format: user, device, ip, document, session, issuer or attestation. "
    "Source: CONTRACT 8.",
    "/{id}": "The id of the entity. Format: 1-256 characters. Source: CONTRACT 8.",
    "tile/{path}": "The tile or entry bundle (C2SP tlog-tiles). "
    "Format: <level>/<index>[.p/<width>] or entries/<index>[.p/<width>]. Source: CONTRACT 7.",
    "proofs/{index}": "The index of the entry. Format: from 0. Source: CONTRACT 7.",
    "api-keys/{id}": "The key. Format: UUID, 36 characters. Source: CONTRACT 3.",
    "orgs/{id}": "The organization. Format: UUID, 36 characters. Source: CONTRACT 11.",
    "users/{id}": "The person. Format: UUID, 36 characters. Source: CONTRACT 11.",
    "datasets/{name}": "The data set. Format: a data set. Source: CONTRACT 11.",
    "endpoints/{id}": "The webhook endpoint. Format: UUID, 36 characters. Source: CONTRACT 10.",
    "deliveries/{id}": "The delivery. Format: UUID, 36 characters. Source: CONTRACT 10.",
    "posts/{id}": "The post. Format: UUID, 36 characters. Source: CONTRACT 11.7.",
    "posts/{slug}": "A slug that the post has, or had while it was public. Format: 1-96 of a-z 0-9 -. "
    "Source: CONTRACT 11.7.",
    "emails/{email}": "The address. Format: e-mail address. Source: CONTRACT 11.1.",
    "blog/{slug}": "A slug that the post has, or had while it was public. Format: 1-96 of a-z 0-9 -. "
    "Source: CONTRACT 11.7.",
    "protections/{id}": "The protection. Format: UUID, 36 characters. Source: CONTRACT 11.3.",
    "portfolio/{username}": "The username of its owner. Format: 3-30 of a-z 0-9 _ -. Source: CONTRACT 11.3.",
    "invoices/{id}": "The invoice. Format: UUID, 36 characters. Source: CONTRACT 11.6.",
    "receipt-types/{name}": "The type, or as name@version one of its versions. Format: 1-64 of a-z 0-9 _ . -. "
    "Source: CONTRACT 11.5.",
    "agents/{id}": "The agent. Format: UUID, 36 characters, or maip:<8 digits>:<ULID>. Source: CONTRACT 11.8.",
    "delegations/{id}": "The delegation. Format: UUID, 36 characters. Source: CONTRACT 11.10.",
    "orchestrations/{id}": "The run. Format: UUID, 36 characters. Source: CONTRACT 11.12.",
    "requests/{id}": "The request for votes. Format: UUID, 36 characters. Source: CONTRACT 11.11.",
    "checks/{id}": "The compliance check. Format: UUID, 36 characters. Source: CONTRACT 11.11.",
    "agent-sessions/{id}": "The session. Format: UUID, 36 characters. Source: CONTRACT 11.9.",
    "receipts/{id}": "The receipt. Format: UUID, 36 characters. Source: CONTRACT 11.5.",
    "media/{sha256}": "The picture. Format: SHA-256, 64 lowercase hex digits. Source: CONTRACT 11.7.",
}
"""The meaning of each path parameter, which no class declares, by its name with the segment before it."""
