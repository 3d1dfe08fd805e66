"""Wire models that proof bundles of agents share: keys with their log entries, and a signed head (CONTRACT 11.10)."""

from attestlab.core.shapes import Out, Uuid


class EntryProofOut(Out, wire_name="agent_entry_proof", source="CONTRACT 11.10"):
    """A proof that the log has an entry."""

    log_index: int
    """The index of the entry. Format: from 0."""
    tree_size: int
    """The size of the tree. Format: from 1."""
    hashes: list[str]
    """The path from leaf to root. Format: sha256: and 64 hex digits each."""


class AgentKeyProofOut(Out, wire_name="agent_key_proof", source="CONTRACT 11.10"):
    """A key with which an agent signed, with its entry of the log."""

    kid: str
    """The key. Format: agk_ and 24 hex digits."""
    agent_id: Uuid
    """Its agent. Format: UUID, 36 characters."""
    jwk: dict[str, str]
    """The public key. Format: JWK, RFC 7517 and 8037."""
    log_entry: str
    """The entry with which the agent got it. Format: canonical JSON, standard base64."""
    inclusion_proof: EntryProofOut
    """The proof that the log has this entry."""


class ProofTreeHeadOut(Out, wire_name="agent_proof_tree_head", source="CONTRACT 11.10"):
    """The signed head of the log."""

    checkpoint: str
    """The note, verbatim. Format: C2SP tlog-checkpoint."""
