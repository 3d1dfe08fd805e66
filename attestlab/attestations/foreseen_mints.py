"""What the transaction of a mint will read, known once the mint is prepared.

`Attestations.issue` reads it under the writer's lock; on PostgreSQL the mints of a group share one query of each kind.
"""

from __future__ import annotations

from datetime import datetime

from attestlab.attestations import policy_enforcement, store
from attestlab.attestations.minting import PreparedAttestation
from attestlab.core.db.transaction import Foreseen
from attestlab.delivery.service import foresee_delivery
from attestlab.issuers.rules import Custody
from attestlab.issuers.service import SIGNING_KEYS
from attestlab.issuers.store import KeyPlace
from attestlab.orgs import quotas


def foresee_mint(foreseen: Foreseen, prepared: PreparedAttestation, *, at: datetime) -> None:
    """Name the key, the policies, the usage, the chosen id and the recipient that the mint will read."""
    key = prepared.key
    SIGNING_KEYS.foresee(foreseen, KeyPlace(key.tenant_id, key.issuer_id, key.kid))
    policy_enforcement.foresee_policies(foreseen, prepared)
    quotas.foresee_attestation(foreseen, prepared.caller, at=at)
    if key.custody is Custody.EXTERNAL:
        store.TAKEN_IDS.foresee(foreseen, prepared.statement.id)
    if prepared.request.recipient_email is not None:
        foresee_delivery(foreseen, prepared.request.recipient_email, issuer_id=key.issuer_id)
