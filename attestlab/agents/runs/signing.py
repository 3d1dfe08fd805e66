"""Signing of steps: the service signs with a managed key, and the holder of an own key signs and returns the step."""

from __future__ import annotations

from datetime import datetime

from attestlab.agents import holder_signatures
from attestlab.agents.runs.rules import RecordedStep
from attestlab.agents.runs.step_tokens import ALGORITHM, TYP, UnsignedStep, verify_step
from attestlab.agents.tables import AgentKeyRecord
from attestlab.core.crypto import jws, signing
from attestlab.core.crypto.signing import PrivateKey
from attestlab.core.errors import IntegrityFailed


def sign_step(
    orchestration_id: str,
    step: RecordedStep,
    key: AgentKeyRecord,
    private: PrivateKey | None,
    signature: str | None,
    *,
    now: datetime,
) -> str:
    """Sign a step, or take it as the holder of the agent's own key signed it; `private` is None for such a key.

    Raises:
        ValidationFailed: the signature is missing, superfluous, not current, or not of this step and key.
    """
    unsigned = UnsignedStep(orchestration_id, step, int(now.timestamp()))
    if private is not None:
        if signature is not None:
            raise holder_signatures.refuse_superfluous("signature")
        return jws.sign_typed(ALGORITHM, private, key.kid, TYP, unsigned.payload())
    if signature is None:
        what = "the same body with the JWS as signature"
        raise holder_signatures.ask_for_signature(unsigned.signing_input(key.kid), what)
    try:
        public = signing.load_public(ALGORITHM, key.spki)
        issued_at = verify_step(signature, orchestration_id, step, kid=key.kid, public=public)
    except IntegrityFailed as error:
        raise holder_signatures.refuse_signature("step", error.message) from None
    holder_signatures.require_recent(issued_at, now=now)
    return signature
