"""The meaning and an example of the members of `data` that several events have: one name means the same in each.

A member of one event alone is explained at its class (`core.events.EventField`).
"""

from __future__ import annotations

from attestlab.core.events import EventField

_ID = "019ad2c4-7f3c-7abc-8def-0123456789ab"
_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
_AT = "2026-11-24T09:30:00.000Z"


def _id(meaning: str) -> EventField:
    return EventField(meaning, _ID)


def _moment(meaning: str) -> EventField:
    return EventField(meaning, _AT)


def _text(meaning: str, example: str, max_length: int) -> EventField:
    return EventField(meaning, example, max_length)


def _count(meaning: str, example: int) -> EventField:
    return EventField(meaning, example)


FIELDS: dict[str, EventField] = {
    "activated_at": _moment("When the version became active."),
    "affected_attestations": _count("The number of attestations that the key has signed.", 12),
    "affected_receipts": _count("The number of receipts that the key has signed.", 7),
    "agent_id": _id("The agent."),
    "alg": _text("The signature algorithm of the key.", "Ed25519", 40),
    "amount_minor": _count("The amount, in the minor unit of the currency.", 4900),
    "api_key_id": _id("The API key."),
    "archived_at": _moment("When the policy was archived."),
    "at": _moment("When it happened."),
    "attestation_id": _id("The attestation."),
    "case_id": _id("The case that the signal opened or joined."),
    "changed": _text("The names of the changed fields, separated by commas.", "display_name,primary_color", 1000),
    "changed_at": _moment("When it was changed."),
    "child_agent_id": _id("The agent that received the delegation."),
    "compromised_at": _moment("Since when it is considered compromised."),
    "count": _count("The number of verifications that this event stands for.", 1),
    "created_at": _moment("When it was created."),
    "currency": _text("The currency, as in ISO 4217.", "EUR", 3),
    "custody": _text("Who holds the private key: managed (the service) or external.", "managed", 16),
    "delegation_id": _id("The delegation."),
    "deprecated_at": _moment("When the type was deprecated."),
    "depth": _count("The number of hops from the root.", 2),
    "detected_at": _moment("When it was detected."),
    "digest": _text("SHA-256 of the version's canonical JSON, in hexadecimal.", _SHA256, 80),
    "domain": _text("The domain of the issuer.", "northfield.example.edu", 253),
    "expired_at": _moment("When the expiry was recorded."),
    "expiry_at": _moment("When the attestation expired."),
    "invited_at": _moment("When the person was invited."),
    "invited_until": _moment("When the invitation ends."),
    "invoice_id": _id("The invoice."),
    "issuer_id": _id("The issuer."),
    "joined_at": _moment("When the person accepted the invitation."),
    "kid": _text("The id of the signing key.", "2026-signing", 200),
    "limit": _count("What the plan allows in the period.", 10_000),
    "log_index": _count("The index of the entry in the transparency log.", 4711),
    "minute": _moment("The minute whose verifications this event sums up."),
    "name": _text("The name.", "Northfield University", 200),
    "new_kid": _text("The id of the key that replaces it.", "2027-signing", 200),
    "new_role": _text("The roles after the change, separated by commas.", "admin", 200),
    "old_role": _text("The roles before the change, separated by commas.", "member", 200),
    "parent_agent_id": _id("The agent that gave the delegation."),
    "period_start": _moment("When the period began: a UTC day, or a month."),
    "plan": _text("The plan: FREE, STARTER, PROFESSIONAL or ENTERPRISE.", "STARTER", 16),
    "policy_id": _id("The policy."),
    "profile_id": _id("The verification profile."),
    "protected_at": _moment("When the content was protected."),
    "protection_id": _id("The protection."),
    "reached_at": _moment("When the threshold was reached."),
    "reason": _text("What was detected.", "refresh_token_reused", 64),
    "receipt_id": _id("The receipt."),
    "receipt_type": _text("The name of the type of receipts.", "purchase", 64),
    "receipt_version": _text("The version of the type of receipts.", "1.0.0", 64),
    "removed_at": _moment("When the person was removed."),
    "reported_at": _moment("When the key was reported."),
    "request_id": _id("The request for votes."),
    "resource": _text("What the plan counts.", "verifications", 64),
    "revoked_at": _moment("When it was revoked."),
    "risk_score": _count("The score of the signal from 0 to 100, rounded down.", 85),
    "role": _text("The roles of the person, separated by commas.", "analyst", 200),
    "rotated_at": _moment("When the other key replaced it."),
    "schema": _text("The schema of the claims.", "degree", 64),
    "session_id": _id("The session."),
    "sessions_ended": _count("The number of other sessions that ended.", 2),
    "shadowed_at": _moment("When the version was put into shadow."),
    "signal_id": _id("The risk signal."),
    "signal_source": _text("The source of the signal.", "login", 64),
    "signal_type": _text("The type of the signal.", "ato", 64),
    "simulation_digest": _text("The digest of the simulation report that showed the effect.", _SHA256, 80),
    "source": _text("What sent the test.", "test-delivery", 64),
    "subject_id": _text("The entity that the signal is about.", "user-4711", 256),
    "subject_type": _text("The type of that entity.", "user", 16),
    "subscription_id": _id("The subscription."),
    "superseded_at": _moment("When the newer attestation replaced it."),
    "superseded_by_attestation_id": _id("The newer attestation."),
    "suspended_at": _moment("When the issuer was suspended."),
    "threshold_percent": _count("The share of the limit that was reached: 80, 90 or 100.", 80),
    "updated_at": _moment("When it was changed."),
    "used": _count("What was used so far in the period.", 8_000),
    "user_id": _id("The person."),
    "verdict": _text("The verdict of the verification.", "VALID", 16),
    "version": _count("The version of the policy, from 1.", 3),
    "visibility": _text("Who can see the content: public, unlisted or private.", "public", 16),
}
