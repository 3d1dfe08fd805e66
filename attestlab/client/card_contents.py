"""The contents of the cards of what the service sends: its state in a word, what matters in lines, what to do next.

The cards of objects that are made in this process are drawn in the modules of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from attestlab.attestations.rules import Verdict
from attestlab.attestations.schemas.catalogue import CATALOGUE
from attestlab.client.cards import (
    CardRow,
    CardTone,
    Markup,
    draw_card,
    join,
    write_bar,
    write_code,
    write_hash,
    write_steps,
    write_time,
)
from attestlab.core.counting import plural

if TYPE_CHECKING:
    from attestlab.attestations.shapes import AttestationOut, MintOut
    from attestlab.attestations.verification.shapes import LogOut, VerifyOut
    from attestlab.exports.shapes import OpenBadgeVerifyOut
    from attestlab.issuers.shapes import IssuerOut
    from attestlab.log.shapes import HeadOut
    from attestlab.policy.decision_shapes import DecisionOut, EvaluateOut
    from attestlab.policy.shapes import PolicyOut, PolicySummaryOut
    from attestlab.simulation.shapes import SimulationOut
    from attestlab.webhooks.delivery_shapes import WebhookDeliveryOut
    from attestlab.webhooks.shapes import WebhookEndpointOut

MAX_LINES = 6
_GOOD = frozenset({"VALID", "ACTIVE", "ALLOW"})
SENTENCES: Final[Mapping[str, str]] = {
    "VALID": "The attestation holds",
    "ALTERED": "The file is not the one that was signed",
    "REVOKED": "The issuer revoked the attestation",
    "SUPERSEDED": "A newer attestation replaces this one",
    "EXPIRED": "The attestation has expired",
    "INVALID": "The attestation does not hold",
    "NOT_FOUND": "No such attestation is known",
    "UNKNOWN_ISSUER": "The issuer is not known",
}
# The steps of a verification, each with the reasons by which it passes and those by which it fails.
_STEPS: Final = (
    ("Found", (), ("attestation_not_found",)),
    ("File", ("payload_hash_ok", "document_hash_ok"), ("payload_hash_mismatch", "document_hash_mismatch")),
    ("Status", ("status_current",), ("attestation_revoked", "attestation_superseded", "attestation_expired")),
    ("Issuer", ("governance_ok",), ("issuer_revoked", "issuer_unknown")),
    ("Signature", ("signature_ok",), ("signature_invalid", "key_not_found", "key_compromised")),
    ("Log", ("transparency_proof_ok",), ("transparency_proof_failed",)),
    ("Policies", ("policy_ok",), ("policy_denied",)),
)


def draw_attestation(attestation: AttestationOut | MintOut, issuer: str | None) -> str:
    """Draw the card of an attestation; without the issuer's name it shows the id."""
    status = attestation.status.value
    rows = [
        CardRow("Issuer", issuer or write_hash(str(attestation.issuer_id))),
        CardRow("Issued", write_time(attestation.created_at)),
        CardRow("Log entry", f"{attestation.log_index:,}"),
        CardRow("Document", attestation.document_hash and write_hash(attestation.document_hash)),
        CardRow("Id", write_code(attestation.id)),
    ]
    foot = join("Check it: ", write_code('attestation.verify(file="diploma.pdf")'))
    return draw_card(tone_of_verdict(status), status, _name_credential(attestation), rows, foot=foot)


def draw_verification(verification: VerifyOut, file_sha256: str | None) -> str:
    """Draw the card of a verification by the service."""
    reasons = set(verification.reasons)
    file = file_sha256 if verification.verdict is Verdict.ALTERED else None
    rows = [
        CardRow("Attestation", write_code(verification.attestation_id)),
        CardRow("Issuer", _describe_issuer(verification)),
        CardRow("Attested", write_hash(verification.document_hash) if file and verification.document_hash else None),
        CardRow("Your file", file and write_hash(file)),
        CardRow("Steps", _show_steps(reasons, is_found="attestation_not_found" not in reasons)),
        CardRow("Reasons", ", ".join(verification.reasons)),
    ]
    places = [] if verification.log is None else [_place_in_log(verification.log)]
    foot = " ".join([*places, *([] if verification.valid else ["Later steps were skipped."])])
    verdict = verification.verdict.value
    return draw_card(tone_of_verdict(verdict), verdict, SENTENCES[verdict], rows, foot=foot)


def draw_badge_verification(verification: OpenBadgeVerifyOut) -> str:
    """Draw the card of a verification of an Open Badge."""
    verdict, badge, attestation = verification.verdict.value, verification.badge, verification.verification
    rows = [
        CardRow("Problem", verification.problem),
        CardRow("Badge", badge and badge.name),
        CardRow("Earner", badge and badge.earner),
        CardRow("Issuer", badge and badge.issuer_name),
        CardRow("Attestation", attestation and write_code(attestation.attestation_id)),
        CardRow("Reasons", attestation and ", ".join(attestation.reasons)),
    ]
    sentence = SENTENCES[verdict] if badge else "The badge does not hold"
    return draw_card(tone_of_verdict(verdict), verdict, sentence, rows)


def draw_issuer(issuer: IssuerOut) -> str:
    """Draw the card of an issuer."""
    keys = ", ".join(f"{key.kid} ({key.alg}, {key.status})" for key in issuer.keys[:MAX_LINES]) or "none"
    rows = [
        CardRow("Domain", issuer.domain),
        CardRow("Standing", _describe_standing(issuer.trust_tier, issuer.risk_rating)),
        CardRow("Jurisdiction", issuer.jurisdiction),
        CardRow("Keys", keys),
        CardRow("Id", write_code(issuer.id)),
    ]
    tone = (
        CardTone.GOOD if issuer.status == "ACTIVE" else CardTone.WARN if issuer.status == "SUSPENDED" else CardTone.BAD
    )
    return draw_card(tone, issuer.status, issuer.name, rows)


def draw_policy(policy: PolicyOut | PolicySummaryOut, rules: Sequence[Mapping[str, object]] = ()) -> str:
    """Draw the card of a policy, with its first rules."""
    shown = [f"{rule.get('effect')} {rule.get('id')}" for rule in rules[:MAX_LINES]]
    more = [] if len(rules) <= MAX_LINES else [f"and {len(rules) - MAX_LINES} more"]
    active = "none" if policy.active_version is None else policy.active_version
    rows = [
        CardRow("Decides", f"{policy.category}, {policy.target_type}"),
        CardRow("Versions", f"newest {policy.version}, active {active}"),
        CardRow("Rules", "; ".join(shown + more) or None),
        CardRow("Id", write_code(policy.id)),
    ]
    tone = CardTone.GOOD if policy.status == "ACTIVE" else CardTone.CALM
    foot = join("What would it have done? ", write_code("policy.simulate()"))
    return draw_card(tone, policy.status, policy.name, rows, foot=foot)


def draw_decision(decision: EvaluateOut) -> str:
    """Draw the card of a decision."""
    missing = [each.path for each in decision.diagnostics[:MAX_LINES]]
    rows = [
        CardRow("Policy", decision.matched_policy and write_code(decision.matched_policy)),
        CardRow("Reason", decision.reason),
        CardRow("Not read", ", ".join(missing) or None),
    ]
    foot = join("Decision ", write_code(decision.decision_id), ". Why? ", write_code("decision.explain()"))
    return draw_card(
        tone_of_verdict(decision.decision), decision.decision, _name_decider(decision.matched_rule), rows, foot=foot
    )


def draw_explanation(decision: DecisionOut, missing: Sequence[str]) -> str:
    """Draw the card of an explained decision, with the smallest change that reverses it."""
    deciding = next((policy for policy in decision.policies if policy.deciding), None)
    change = decision.counterfactual.changes
    reversed_by = change and ", ".join(f"{each.path} {each.before} → {each.after}" for each in change)
    opposite = "To deny" if decision.allowed else "To allow"
    rows = [
        CardRow("Policy", deciding and f"{deciding.name}, version {deciding.version}"),
        CardRow("Reason", decision.reason),
        CardRow("Missing", ", ".join(missing) or None),
        CardRow(opposite, reversed_by or "no change of these attributes does"),
    ]
    foot = f"Decision {decision.decision_id}, {write_time(decision.created_at)}"
    title = f"{decision.action} {_name_decider(decision.matched_rule).lower()}"
    return draw_card(tone_of_verdict(decision.decision), decision.decision, title, rows, foot=foot)


def draw_simulation(report: SimulationOut, opened: int, closed: int) -> str:
    """Draw the card of a simulation: how many decisions change, and in which direction."""
    most = max(opened, closed, 1)
    rows = [
        CardRow("Deny → allow", write_bar(opened / most, CardTone.BAD, f"{opened:,}") if opened else "0"),
        CardRow("Allow → deny", write_bar(closed / most, CardTone.WARN, f"{closed:,}") if closed else "0"),
        CardRow("Unchanged", f"{report.decided - opened - closed:,}"),
        CardRow("Largest rows only", ", ".join(report.truncated) or None),
    ]
    check = report.self_check
    reproduced = f"Self-check: {check.decisions - check.unexpected_flips:,} of {check.decisions:,} reproduced."
    foot = f"Draft “{report.policy.name}”. {reproduced}"
    tone = CardTone.WARN if opened + closed else CardTone.GOOD
    return draw_card(
        tone, f"{opened + closed:,} CHANGE", f"of {plural(report.decided, 'decision')} replayed", rows, foot=foot
    )


def draw_webhook_endpoint(endpoint: WebhookEndpointOut) -> str:
    """Draw the card of a webhook endpoint, without its secret."""
    rows = [
        CardRow("URL", endpoint.url),
        CardRow("Events", ", ".join(endpoint.event_filters)),
        CardRow("Disabled", endpoint.disabled_reason),
        CardRow("Created", write_time(endpoint.created_at)),
        CardRow("Id", write_code(endpoint.id)),
    ]
    has_secret = hasattr(endpoint, "secret")
    foot = join("Keep its secret: ", write_code("endpoint.secret")) if has_secret else write_code("endpoint.test()")
    tone = CardTone.GOOD if endpoint.status == "active" else CardTone.WARN
    return draw_card(tone, endpoint.status.upper(), endpoint.name, rows, foot=foot)


def draw_webhook_delivery(delivery: WebhookDeliveryOut) -> str:
    """Draw the card of a delivery, with its last attempts."""
    attempts = [
        f"{each.number}: {each.http_status or each.error}, {each.response_time_ms} ms"
        for each in delivery.attempts[-MAX_LINES:]
    ]
    rows = [
        CardRow("Event", write_code(delivery.event_id)),
        CardRow("Created", write_time(delivery.created_at)),
        CardRow("Attempts", "; ".join(attempts) or "none yet"),
        CardRow("Next attempt", delivery.next_attempt_at and write_time(delivery.next_attempt_at)),
    ]
    tones = {"delivered": CardTone.GOOD, "failed": CardTone.BAD, "retrying": CardTone.WARN}
    tone = tones.get(delivery.status, CardTone.CALM)
    foot = write_code("delivery.resend()")
    return draw_card(tone, delivery.status.upper(), delivery.event_type, rows, foot=foot)


def draw_tree_head(head: HeadOut) -> str:
    """Draw the card of a signed tree head."""
    rows = [
        CardRow("Root", write_hash(head.root_hash)),
        CardRow("Signed", write_time(head.timestamp)),
        CardRow("Log", head.origin),
    ]
    foot = join("Keep it. Has the log only grown since? ", write_code("lab.log.consistency(head)"))
    return draw_card(CardTone.CALM, "SIGNED", f"Log of {plural(head.tree_size, 'entry', 'entries')}", rows, foot=foot)


def name_schema(schema_id: str) -> str:
    """Return the title of a schema, or its id if this version does not know it."""
    known = CATALOGUE.get(schema_id)
    return schema_id if known is None else known.title


def _name_credential(attestation: AttestationOut | MintOut) -> str:
    """Name the kind of a credential and its holder, whom the first claim of each schema names."""
    title, known = name_schema(attestation.schema_id), CATALOGUE.get(attestation.schema_id)
    claims = getattr(attestation, "claims", {})
    holder = None if known is None else claims.get(known.required_claim)
    return f"{title} of {holder}" if isinstance(holder, str) else title


def _describe_issuer(verification: VerifyOut) -> str | None:
    now = verification.governance
    if now is None:
        return verification.details.issuer_name or None
    name = now.issuer_display_name or verification.details.issuer_name
    return f"{name}: {_describe_standing(now.issuer_trust_tier, now.issuer_risk_rating)}"


def _describe_standing(trust_tier: str, risk_rating: str) -> str:
    return f"{_say(trust_tier)}, {risk_rating.lower()} risk"


def _place_in_log(place: LogOut) -> str:
    return f"Entry {place.leaf_index:,} of {place.log_id}."


def _show_steps(reasons: set[str], *, is_found: bool) -> Markup:
    steps: list[tuple[str, bool | None]] = [("Found", is_found)]
    for name, passes, failures in _STEPS[1:]:
        failed, passed = reasons.intersection(failures), reasons.intersection(passes)
        steps.append((name, False if failed else True if passed else None))
    return write_steps(steps)


def _name_decider(rule: str | None) -> str:
    return "Decided by default" if rule is None else f"Decided by rule {rule}"


def tone_of_verdict(word: str) -> CardTone:
    if word in _GOOD:
        return CardTone.GOOD
    return CardTone.WARN if word in ("SUPERSEDED", "EXPIRED") else CardTone.BAD


def _say(code: str) -> str:
    return code.replace("_", " ").capitalize()
