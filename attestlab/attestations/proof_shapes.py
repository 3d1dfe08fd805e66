"""Wire models of proofs: of inclusion in the log, and of a status (CONTRACT section 7)."""

from attestlab.core.shapes import Moment, Out


class ProofOut(Out):
    """An inclusion proof; `hashes` are ordered from leaf to root, each `sha256:<hex>`."""

    log_index: int
    tree_size: int
    leaf_hash: str
    root_hash: str
    hashes: list[str]


class TreeHeadOut(Out):
    """A signed tree head; a verifier must trust only the `checkpoint` note."""

    tree_size: int
    root_hash: str
    signature: str
    checkpoint: str
    timestamp: Moment
    cosignatures: list[str]


class LogEntryOut(Out):
    """The log entry (standard base64) and the nonce (hex) that opens its commitment."""

    entry_b64: str
    nonce: str


class LoggedOut(Out):
    """A log entry (standard base64) and its path to the root of the bundle's checkpoint, leaf to root."""

    entry_b64: str
    log_index: int
    hashes: list[str]


class ChainOut(Out):
    """The first and the newest status entry of a key or an issuer, which are the same until the first change.

    For a revoked issuer, `newest` is the entry that revoked it.
    """

    first: LoggedOut
    newest: LoggedOut


class IssuerChainOut(ChainOut):
    """The status entries of an issuer; `profile` is an entry after the one that revoked it, and names the issuer."""

    profile: LoggedOut | None


class ChunkOut(Out):
    """A chunk of a status list (standard base64) and its path to the list's digest."""

    number: int
    data_b64: str
    hashes: list[str]


class StatusListOut(Out):
    """A status list that is in the log, with its chunks that cover the attestation, its key and its issuer."""

    entry: LoggedOut
    chunks: list[ChunkOut]


class StatusProofOut(Out):
    """Status entries of the attestation, its key and its issuer, and the newest status list."""

    attestation: LoggedOut | None
    key: ChainOut
    issuer: IssuerChainOut
    list: StatusListOut | None
