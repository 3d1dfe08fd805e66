"""Wire models of agent cards (CONTRACT 11.8; the card itself has the form of A2A 1.0)."""

from typing import Annotated

from pydantic import StringConstraints

from attestlab.core.shapes import In

MAX_SIGNATURE_LENGTH = 65_536


class AgentCardSignatureIn(In, source="CONTRACT 11.8"):
    """The signature of a card by the holder of the agent's own key; without it, the answer says what to sign."""

    signature: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SIGNATURE_LENGTH)] | None = None
    """The card as the holder signed it. Format: compact JWS, RFC 7515."""
