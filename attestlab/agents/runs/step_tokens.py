"""Steps of runs as compact JWS (RFC 7515): what an agent says that it took and put out, signed with its key.

The header is the canonical `{"alg": "EdDSA", "kid", "typ": "agent-step+jwt"}` (RFC 8725 section 3.11), and the payload
the canonical JSON (RFC 8785) of `{v, iss, iat, orchestration_id, step_id, inputs_hash, outputs_hash, status}`
(CONTRACT 11.12). A step has one spelling: another one, with the same meaning, is refused. This module needs no
database, because offline verifiers use it.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypedDict

from attestlab.agents.runs.rules import RecordedStep
from attestlab.core.crypto import jws
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.jws import TypedToken
from attestlab.core.crypto.signing import Algorithm, PublicKey
from attestlab.core.errors import IntegrityFailed, ValidationFailed
from attestlab.core.strict_json import parse_json

TYP: Final = "agent-step+jwt"
ALGORITHM: Final = Algorithm.ED25519
VERSION: Final = 1
MAX_STEP_TOKEN_LENGTH: Final = 2048  # characters; the longest has 800
_END_OF_TIME: Final = 253_402_300_799  # of the year 9999, in seconds


class StepMembers(TypedDict):
    """The payload of a step."""

    v: int
    iss: str
    iat: int
    orchestration_id: str
    step_id: str
    inputs_hash: str
    outputs_hash: str
    status: str


class UnsignedStep(NamedTuple):
    """A step of a run as its agent signs it; `issued_at` is in whole seconds since 1970."""

    orchestration_id: str
    step: RecordedStep
    issued_at: int

    def payload(self) -> bytes:
        """Return the canonical JSON that the agent signs."""
        members = StepMembers(
            v=VERSION,
            iss=self.step.agent_id,
            iat=self.issued_at,
            orchestration_id=self.orchestration_id,
            step_id=self.step.step_id,
            inputs_hash=self.step.inputs_hash,
            outputs_hash=self.step.outputs_hash,
            status=self.step.status.value,
        )
        return canonical(members)

    def signing_input(self, kid: str) -> str:
        """Return the text that the owner of key `kid` signs: `header.payload`, both base64url."""
        return jws.typed_signing_text(ALGORITHM, kid, TYP, self.payload())


def read_kid(token: str) -> str:
    """Read the key that a step names; its signature is verified elsewhere.

    Raises:
        IntegrityFailed: it is no step.
    """
    return _read(token).kid


def verify_step(token: str, orchestration_id: str, step: RecordedStep, *, kid: str, public: PublicKey) -> int:
    """Verify that a JWS is exactly this step of this run, signed with this key; returns when, in seconds since 1970.

    Raises:
        IntegrityFailed: its type, key, payload or signature differs.
    """
    read = _read(token)
    issued_at = _read_issued_at(read)
    if read.kid != kid or read.payload != UnsignedStep(orchestration_id, step, issued_at).payload():
        raise IntegrityFailed("It states another step, or names another key.")
    read.verify(ALGORITHM, public)
    return issued_at


def _read(token: str) -> TypedToken:
    if not token.isascii():
        raise IntegrityFailed("A step is a compact JWS, a text of ASCII characters.")
    return jws.read_typed(token, alg=ALGORITHM, typ=TYP)


def _read_issued_at(token: TypedToken) -> int:
    try:
        members = parse_json(token.payload)
    except ValidationFailed as error:
        raise IntegrityFailed(f"The payload cannot be read: {error.message}") from None
    issued_at = members.get("iat") if isinstance(members, dict) else None
    if type(issued_at) is not int or not 0 <= issued_at <= _END_OF_TIME:
        raise IntegrityFailed("The payload lacks iat, a time in seconds since 1970.")
    return issued_at
