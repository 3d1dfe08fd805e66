"""Deliveries of attestations to people, which are items of their inboxes (docs/inbox.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar
from uuid import UUID

from attestlab.attestations.inbox.shapes import InboxDeliveryOut
from attestlab.client import arguments
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient
from attestlab.consumer.inbox.rules import MAX_RECIPIENTS
from attestlab.core.errors import AttestLabError, ValidationFailed

_DELIVER = "/v1/consumer/inbox/deliver"


class InboxDeliveryHandle(InboxDeliveryOut, Handle):
    """The delivery of an attestation to a recipient, as the issuer named them."""

    shown_fields: ClassVar = ("recipient", "delivery_state", "attestation_id")

    recipient: str


def deliver_attestation(
    client: ServiceClient, attestation_id: UUID, to: object, safe_metadata: Mapping[str, object] | None
) -> Records[InboxDeliveryHandle]:
    """Deliver an attestation to people, one after another; an error names how many had it before."""
    recipients = _read_recipients(to)
    body: dict[str, object] = {"attestation_id": attestation_id}
    if safe_metadata is not None:
        body["safe_metadata"] = arguments.read_mapping(safe_metadata, name="safe_metadata")
    done: Records[InboxDeliveryHandle] = Records((), InboxDeliveryHandle)
    for recipient in recipients:
        try:
            answer = client.post(_DELIVER, {**body, _name_member(recipient): recipient})
        except AttestLabError as error:
            if done:
                _note_done(error, done, recipient, len(recipients))
            raise
        done.append(InboxDeliveryHandle.parse(client, {**answer, "recipient": recipient}))
    return done


def _read_recipients(to: object) -> list[str]:
    """Read one recipient or several, before anything is sent.

    Raises:
        ValidationFailed: they are no texts, none, or more than an attestation may have.
    """
    recipients = list(dict.fromkeys(each.strip() for each in arguments.read_texts(to, name="to")))
    if not 1 <= len(recipients) <= MAX_RECIPIENTS:
        raise ValidationFailed(
            f"to names {len(recipients):,} recipients; an attestation has 1 to {MAX_RECIPIENTS}. "
            "Pass their addresses or usernames."
        )
    return recipients


def _name_member(recipient: str) -> str:
    return "recipient_email" if "@" in recipient else "username"


def _note_done(error: AttestLabError, done: Records[InboxDeliveryHandle], failed: str, count: int) -> None:
    """Add to an error who has the attestation already; to deliver it to them again changes nothing."""
    sentence = (
        f"Of {count:,} recipients {len(done):,} have it (`error.details['results']`); {failed!r} was refused, and "
        "those after it were not reached. To deliver it again to all changes nothing for those who have it."
    )
    error.note_done(sentence, done=len(done), not_sent=count - len(done) - 1)
    error.details["results"] = done
