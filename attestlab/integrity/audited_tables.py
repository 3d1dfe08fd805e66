"""The tables whose rows the audit trail vouches for: each change of a row left its digest there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from sqlalchemy import Table

from attestlab.agents.audited_tables import AUDITED_TABLES
from attestlab.annotations import store as annotation_store
from attestlab.attestations import store as attestation_store
from attestlab.billing import store as billing_store
from attestlab.billing.providers import store as provider_store
from attestlab.blog import store as blog_store
from attestlab.consumer.accounts import store as account_store
from attestlab.consumer.inbox import store as inbox_store
from attestlab.core.records.audited_write import format_resource_id
from attestlab.governance import store as governance_store
from attestlab.identity import store as identity_store
from attestlab.issuers import store as issuer_store
from attestlab.issuers.keys import format_key_name
from attestlab.log.timekeeping import confirmed_time
from attestlab.mail import store as mail_store
from attestlab.orgs import store as org_store
from attestlab.policy import store as policy_store
from attestlab.protections import store as protection_store
from attestlab.receipts import store as receipt_store
from attestlab.receipts.types import store as receipt_type_store
from attestlab.risk.enforcement import comments as comment_store
from attestlab.risk.enforcement import store as risk_store
from attestlab.risk.normalization import service as mapping_store
from attestlab.simulation import store as simulation_store
from attestlab.views import store as view_store
from attestlab.views.schedules import store as schedule_store
from attestlab.webhooks import endpoint_store

# The tables whose row digests are in the audit trail, with the resource type and the function that names a row there.
AUDITED: tuple[tuple[Table, str, Callable[[Mapping[str, object]], str]], ...] = (
    (org_store.tenants, "tenant", lambda row: str(row["id"])),
    (org_store.orgs, "org", lambda row: str(row["id"])),
    (org_store.users, "user", lambda row: str(row["id"])),
    (org_store.api_keys, "api_key", lambda row: str(row["id"])),
    (identity_store.token_keys, "token_key", lambda row: str(row["kid"])),
    (identity_store.sessions, "session", lambda row: str(row["id"])),
    (identity_store.refresh_tokens, "refresh_token", lambda row: str(row["id"])),
    (identity_store.mailed_tokens, "mailed_token", lambda row: str(row["id"])),
    (account_store.accounts, "consumer_account", lambda row: str(row["user_id"])),
    (account_store.addresses, "consumer_address", lambda row: str(row["id"])),
    (account_store.signups, "consumer_signup", lambda row: str(row["id"])),
    (mail_store.mails, "mail", lambda row: str(row["id"])),
    (issuer_store.issuers, "issuer", lambda row: str(row["id"])),
    (issuer_store.logos, "issuer_logo", lambda row: str(row["issuer_id"])),
    (issuer_store.keys, "key", lambda row: format_key_name(row["issuer_id"], row["kid"])),
    (attestation_store.attestations, "attestation", lambda row: str(row["id"])),
    (inbox_store.items, "delivery", lambda row: str(row["id"])),
    (protection_store.protections, "protection", lambda row: str(row["id"])),
    (protection_store.platform_issuers, "platform_issuer", lambda row: str(row["purpose"])),
    (blog_store.posts, "blog_post", lambda row: str(row["id"])),
    (blog_store.slugs, "blog_slug", lambda row: str(row["slug"])),
    (blog_store.media, "blog_medium", lambda row: str(row["sha256"])),
    (billing_store.subscriptions, "subscription", lambda row: str(row["tenant_id"])),
    (billing_store.subscribed_addons, "addon", lambda row: str(row["id"])),
    (billing_store.invoices, "invoice", lambda row: str(row["id"])),
    (provider_store.customers, "billing_customer", partial(format_resource_id, provider_store.customers)),
    (receipt_store.receipts, "receipt", lambda row: str(row["id"])),
    (receipt_type_store.types, "receipt_type", lambda row: str(row["id"])),
    *((table, kind, partial(format_resource_id, table)) for kind, table in AUDITED_TABLES.items()),
    (governance_store.requests, "issuer_request", lambda row: str(row["id"])),
    (attestation_store.packs, "attestation_pack", lambda row: str(row["id"])),
    (policy_store.policies, "policy", lambda row: str(row["id"])),
    (policy_store.versions, "policy_version", lambda row: str(row["id"])),
    (policy_store.attributes, "policy_attributes", lambda row: str(row["tenant_id"])),
    (policy_store.profiles, "verification_profile", lambda row: str(row["id"])),
    (policy_store.decisions, "policy_decision", lambda row: str(row["id"])),
    (simulation_store.reports, "simulation_report", lambda row: str(row["digest"])),
    (confirmed_time, "confirmed_time", lambda row: str(row["id"])),
    (risk_store.settings, "risk_settings", lambda row: str(row["tenant_id"])),
    (risk_store.cases, "risk_case", lambda row: str(row["id"])),
    (comment_store.comments, "risk_case_comment", lambda row: str(row["id"])),
    (view_store.views, "saved_view", lambda row: str(row["id"])),
    (schedule_store.schedules, "view_schedule", lambda row: str(row["view_id"])),
    (annotation_store.annotation_table, "annotation", lambda row: str(row["id"])),
    (risk_store.list_entries, "risk_list_entry", lambda row: str(row["id"])),
    (risk_store.challenges, "risk_challenge", lambda row: str(row["id"])),
    (mapping_store.mappings, "risk_mapping", lambda row: str(row["id"])),
    (endpoint_store.endpoints, "webhook_endpoint", lambda row: str(row["id"])),
)
