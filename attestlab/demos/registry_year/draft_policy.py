"""A draft of the policy of employment checks: it denies more, and allows what the active version denies."""

from __future__ import annotations

from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.policy.formats.toml import parse_toml
from attestlab.policy.tables import TenantPolicyRecord

_DRAFT = """
name = "Employment checks"
category = "VERIFY"
target_type = "VERIFICATION_PROFILE"
target_id = "{profile_id}"
default_effect = "DENY"

[[rules]]
id = "young-workshop"
effect = "ALLOW"
priority = 5
when = {{ all = [
  {{ attr = "trust_tier", op = "eq", value = "SELF_SIGNED" }},
  {{ attr = "risk_rating", op = "eq", value = "LOW" }},
  {{ attr = "key.age_days", op = "lt", value = 200 }},
] }}

[[rules]]
id = "old-key"
effect = "DENY"
priority = 10
reason = "A key of an issuer whose identity is not proven was made over 120 days ago."
when = {{ all = [
  {{ attr = "key.age_days", op = "gt", value = 120 }},
  {{ attr = "trust_tier", op = "in", value = ["BASIC", "SELF_SIGNED"] }},
] }}

[[rules]]
id = "raised-risk"
effect = "DENY"
priority = 15
reason = "The issuer's risk was raised, and its key is not new."
when = {{ all = [
  {{ attr = "risk_rating", op = "in", value = ["MEDIUM", "HIGH", "CRITICAL"] }},
  {{ attr = "key.age_days", op = "gt", value = 30 }},
] }}

[[rules]]
id = "proven-issuer"
effect = "ALLOW"
priority = 20
when = {{ attr = "trust_tier", op = "in", value = ["VERIFIED", "ENTERPRISE"] }}

[[rules]]
id = "known-domain"
effect = "ALLOW"
priority = 30
when = {{ all = [
  {{ attr = "trust_tier", op = "eq", value = "BASIC" }},
  {{ attr = "jurisdiction", op = "in", value = ["CH", "DE", "FR", "GB", "NL", "PT"] }},
] }}
"""


def write_draft(lab: Installation, *, author: Caller) -> TenantPolicyRecord:
    """Write the draft as the newest version of the tenant's only policy."""
    ((policy, _),) = lab.policies.page(caller=author)
    return lab.policies.update(policy.id, parse_toml(_DRAFT.format(profile_id=policy.target_id)), caller=author)
