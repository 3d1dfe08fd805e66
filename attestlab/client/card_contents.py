"""The contents of the cards of each kind of object: its state in a word, what matters in lines, what to do next."""

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

if TYPE_CHECKING:
    from attestlab.attestations.shapes import LogOut
    from attestlab.client.handles.attestations import AttestationHandle, MintHandle, MintResults, VerificationHandle
    from attestlab.client.handles.badges import BadgeVerificationHandle
    from attestlab.client.handles.bundles import BundleHandle, OfflineVerificationHandle
    from attestlab.client.handles.issuers import IssuerHandle
    from attestlab.client.handles.log import TreeHeadHandle
    from attestlab.client.handles.policies import (
        DecisionHandle,
        ExplanationHandle,
        PolicyHandle,
        PolicySummaryHandle,
        SimulationHandle,
    )
    from attestlab.client.handles.webhooks import WebhookDeliveryHandle, WebhookEndpointHandle

MAX_LINES = 6
_RESULTS = {"ok": True, "FAILED": False}
_GOOD = frozenset({"VALID", "ACTIVE", "ALLOW"})
_SENTENCES: Final[Mapping[str, str]] = {
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


def draw_attestation(attestation: AttestationHandle | MintHandle, issuer: str | None) -> str:
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
    return draw_card(_tone_of(status), status, _name_credential(attestation), rows, foot=foot)


def draw_mint_results(results: MintResults) -> str:
    """Draw the card of many mints: how many there are, and the first reasons of those that were refused."""
    rejected = results.rejected
    rows = [
        CardRow("Minted", f"{len(results) - len(rejected):,}"),
        CardRow("Rejected", f"{len(rejected):,}"),
        *(CardRow(f"Item {each.item:,}", each.message) for each in rejected[:MAX_LINES]),
    ]
    title = f"{len(results) - len(rejected):,} of {len(results):,} items were minted"
    foot = join("All reasons: ", write_code("results.rejected.df()")) if rejected else None
    return draw_card(CardTone.WARN if rejected else CardTone.GOOD, "MINTED", title, rows, foot=foot)


def draw_verification(verification: VerificationHandle) -> str:
    """Draw the card of a verification by the service."""
    reasons = set(verification.reasons)
    file = verification.file_sha256 if verification.verdict is Verdict.ALTERED else None
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
    return draw_card(_tone_of(verdict), verdict, _SENTENCES[verdict], rows, foot=foot)


def draw_offline_verification(verification: OfflineVerificationHandle) -> str:
    """Draw the card of a verification in this process."""
    verdict = verification.verdict.value
    steps = [(name.capitalize(), _RESULTS.get(result)) for name, result in verification.steps.items()]
    first, *others = verification.not_checked
    rows = [
        CardRow("Attestation", write_code(verification.attestation_id)),
        CardRow("Issuer", verification.issuer_known_as),
        CardRow("Log", verification.origin and f"{verification.origin}, {verification.tree_size:,} entries"),
        CardRow("Steps", write_steps(steps)),
        CardRow("Not checked", f"{first}; and {len(others)} more"),
    ]
    return draw_card(_tone_of(verdict), verdict, _SENTENCES[verdict], rows, foot="Verified here, offline.")


def draw_bundle(bundle: BundleHandle) -> str:
    """Draw the card of a proof bundle."""
    rows = [
        CardRow("Issuer", bundle.issuer_name),
        CardRow("Log entry", f"{bundle.log_index:,} of {bundle.tree_size:,}"),
        CardRow("Attestation", write_code(bundle.attestation_id)),
    ]
    foot = join("Nothing is verified yet: ", write_code("bundle.verify(file=...)"))
    return draw_card(CardTone.CALM, "BUNDLE", name_schema(bundle.schema_name), rows, foot=foot)


def draw_badge_verification(verification: BadgeVerificationHandle) -> str:
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
    sentence = _SENTENCES[verdict] if badge else "The badge does not hold"
    return draw_card(_tone_of(verdict), verdict, sentence, rows)


def draw_issuer(issuer: IssuerHandle) -> str:
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


def draw_policy(policy: PolicyHandle | PolicySummaryHandle, rules: Sequence[Mapping[str, object]] = ()) -> str:
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


def draw_decision(decision: DecisionHandle) -> str:
    """Draw the card of a decision."""
    missing = [each.path for each in decision.diagnostics[:MAX_LINES]]
    rows = [
        CardRow("Policy", decision.matched_policy and write_code(decision.matched_policy)),
        CardRow("Reason", decision.reason),
        CardRow("Not read", ", ".join(missing) or None),
    ]
    foot = join("Decision ", write_code(decision.decision_id), ". Why? ", write_code("decision.explain()"))
    return draw_card(
        _tone_of(decision.decision), decision.decision, _name_decider(decision.matched_rule), rows, foot=foot
    )


def draw_explanation(decision: ExplanationHandle) -> str:
    """Draw the card of an explained decision, with the smallest change that reverses it."""
    deciding = next((policy for policy in decision.policies if policy.deciding), None)
    change = decision.counterfactual.changes
    reversed_by = change and ", ".join(f"{each.path} {each.before} → {each.after}" for each in change)
    opposite = "To deny" if decision.allowed else "To allow"
    rows = [
        CardRow("Policy", deciding and f"{deciding.name}, version {deciding.version}"),
        CardRow("Reason", decision.reason),
        CardRow("Missing", ", ".join(decision.missing) or None),
        CardRow(opposite, reversed_by or "no change of these attributes does"),
    ]
    foot = f"Decision {decision.decision_id}, {write_time(decision.created_at)}"
    title = f"{decision.action} {_name_decider(decision.matched_rule).lower()}"
    return draw_card(_tone_of(decision.decision), decision.decision, title, rows, foot=foot)


def draw_simulation(report: SimulationHandle) -> str:
    """Draw the card of a simulation: how many decisions change, and in which direction."""
    opened, closed = report.newly_allowed, report.newly_denied
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
    return draw_card(tone, f"{opened + closed:,} CHANGE", f"of {report.decided:,} decisions replayed", rows, foot=foot)


def draw_webhook_endpoint(endpoint: WebhookEndpointHandle) -> str:
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


def draw_webhook_delivery(delivery: WebhookDeliveryHandle) -> str:
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


def draw_tree_head(head: TreeHeadHandle) -> str:
    """Draw the card of a signed tree head."""
    rows = [
        CardRow("Root", write_hash(head.root_hash)),
        CardRow("Signed", write_time(head.timestamp)),
        CardRow("Log", head.origin),
    ]
    foot = join("Keep it. Has the log only grown since? ", write_code("lab.log.consistency(head)"))
    return draw_card(CardTone.CALM, "SIGNED", f"Log of {head.tree_size:,} entries", rows, foot=foot)


def draw_lab(place: str, rows: Sequence[CardRow]) -> str:
    """Draw the card of a lab."""
    foot = join("Try ", write_code("lab.attestations[0]"), " or ", write_code("lab.signals.df()"))
    word = "DEMO" if place.startswith("demo") else "LAB"
    return draw_card(CardTone.CALM, word, place, rows, foot=foot)


def name_schema(schema_id: str) -> str:
    """Return the title of a schema, or its id if this version does not know it."""
    known = CATALOGUE.get(schema_id)
    return schema_id if known is None else known.title


def _name_credential(attestation: AttestationHandle | MintHandle) -> str:
    """Name the kind of a credential and its holder, whom the first claim of each schema names."""
    title, known = name_schema(attestation.schema_id), CATALOGUE.get(attestation.schema_id)
    claims = getattr(attestation, "claims", {})
    holder = None if known is None else claims.get(known.required_claim)
    return f"{title} of {holder}" if isinstance(holder, str) else title


def _describe_issuer(verification: VerificationHandle) -> str | None:
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


def _tone_of(word: str) -> CardTone:
    if word in _GOOD:
        return CardTone.GOOD
    return CardTone.WARN if word in ("SUPERSEDED", "EXPIRED") else CardTone.BAD


def _say(code: str) -> str:
    return code.replace("_", " ").capitalize()
