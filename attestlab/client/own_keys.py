"""`OwnKey`: a key of an agent's own, whose private half stays with its holder (docs/agents.md).

It signs what the service asks for only after a look at it, so that no service can have another thing signed.
"""

from __future__ import annotations

from datetime import datetime
from os import PathLike
from typing import Final, Self
from uuid import UUID, uuid4

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from attestlab.agents.cards.rules import card_signing_input
from attestlab.agents.delegation.hops import TYP as HOP_TYPE
from attestlab.agents.delegation.hops import read_hop
from attestlab.agents.rules import PROOF_PREFIX, STATEMENT_TYPE, parse_agent_id
from attestlab.agents.runs.step_tokens import TYP as STEP_TYPE
from attestlab.agents.runs.step_tokens import VERSION as STEP_VERSION
from attestlab.agents.scopes import parse_scopes
from attestlab.agents.sessions.rules import ASSERTION_TYPE
from attestlab.agents.witnessing.vote_tokens import TYP as VOTE_TYPE
from attestlab.agents.witnessing.vote_tokens import VERSION as VOTE_VERSION
from attestlab.agents.witnessing.vote_tokens import compute_evidence_digest
from attestlab.client import arguments
from attestlab.client.file_replacement import replace_file
from attestlab.client.public_names import list_public_names
from attestlab.core.crypto import jws
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode, b64url_encode, quote
from attestlab.core.errors import AttestLabError, ServiceFailed, ValidationFailed
from attestlab.core.strict_json import parse_json

ASSERTION_TTL_S: Final = 240
_NOT_A_KEY: Final = "Pass an Ed25519 private key as PEM, such as the file of OwnKey.save."


class OwnKey:
    """A private Ed25519 key that an agent's holder keeps; the service gets its public half and signatures.

    Pass it as `key` to `lab.agents.register`, `agent.rotate`, `agent.session`, `agent.sign`,
    `agent.sign_card`, `agent.delegate` and `lab.witness.vote`.
    """

    def __init__(self, private: Ed25519PrivateKey) -> None:
        if not isinstance(private, Ed25519PrivateKey):
            raise ValidationFailed(f"A value of type {type(private).__name__} is no key. Use OwnKey.generate().")
        self._private = private

    @classmethod
    def generate(cls) -> Self:
        """Make a new key in this process.

        >>> import attestlab
        >>> len(attestlab.OwnKey.generate().public_key)
        43
        """
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def load(cls, path: str | PathLike[str], *, password: str | None = None) -> Self:
        """Read a key from a PEM file.

        Args:
            path: of the file.
            password: with which the file is encrypted.

        Raises:
            ValidationFailed: the file cannot be read, has another key, or the password is wrong.

        >>> import attestlab
        >>> key = attestlab.OwnKey.generate()
        >>> saved = key.save("agent.pem", password="only an example")
        >>> attestlab.OwnKey.load(saved, password="only an example").public_key == key.public_key
        True
        """
        content = arguments.read_file(path)
        try:
            found = load_pem_private_key(content, _encode(password))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ValidationFailed(f"{quote(str(path))} cannot be read as a key: {error} {_NOT_A_KEY}") from None
        if not isinstance(found, Ed25519PrivateKey):
            raise ValidationFailed(f"{quote(str(path))} has another kind of key. {_NOT_A_KEY}")
        return cls(found)

    def save(self, path: str | PathLike[str], *, password: str | None = None) -> str:
        """Write the private key as a PEM file that only its owner may read; returns the path.

        Args:
            path: of the file, which is replaced.
            password: encrypts the file.

        Raises:
            ValidationFailed: it cannot be written.

        >>> import attestlab
        >>> attestlab.OwnKey.generate().save("other-agent.pem")
        'other-agent.pem'
        """
        secret = _encode(password)
        encryption = NoEncryption() if secret is None else BestAvailableEncryption(secret)
        content = self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        target = arguments.read_path(path)
        with replace_file(target) as draft:
            draft.touch(mode=0o600)
            draft.write_bytes(content)
        return str(target)

    @property
    def public_key(self) -> str:
        """The public half: raw 32 bytes, base64url."""
        return b64url_encode(self._private.public_key().public_bytes_raw())

    def prove(self, challenge: str) -> str:
        """Sign a challenge of the service, which proves that the holder has the private key.

        Args:
            challenge: the text of `POST /v1/agents/challenges`.

        Returns:
            The proof: an Ed25519 signature, base64url.

        Raises:
            ValidationFailed: the challenge is no text.

        >>> import attestlab
        >>> len(attestlab.OwnKey.generate().prove("a challenge of the service"))
        86
        """
        return self._sign(PROOF_PREFIX + arguments.read_text(challenge, name="challenge").encode())

    def assertion(self, agent_id: UUID, *, audience: str, now: datetime) -> str:
        """Sign an assertion, which opens one session of the agent in place of a credential (RFC 7523).

        Args:
            agent_id: the agent whose current key this is.
            audience: the address of the route that opens sessions.
            now: the time of the service (`lab.now()`).

        Returns:
            The assertion as compact JWS; it is valid for four minutes.

        Raises:
            ValidationFailed: an argument has another type.

        >>> import attestlab
        >>> from uuid import uuid4
        >>> key, address = attestlab.OwnKey.generate(), "https://lab.example/v1/agent-sessions"
        >>> key.assertion(uuid4(), audience=address, now=lab.now()).count(".")
        2
        """
        if not isinstance(now, datetime):
            raise ValidationFailed(f"now is a {type(now).__name__}. Pass lab.now().")
        agent = str(arguments.read_id(agent_id, "an agent"))
        claims = {
            **{"iss": agent, "sub": agent, "aud": arguments.read_text(audience, name="audience")},
            **{"exp": int(now.timestamp()) + ASSERTION_TTL_S, "jti": str(uuid4())},
        }
        header = b64url_encode(canonical({"alg": Algorithm.ED25519.jose, "typ": ASSERTION_TYPE}))
        return self._complete(jws.signing_input(header, canonical(claims)).decode("ascii"))

    def sign_statement(self, signing_input: str, *, agent_id: UUID, payload: dict[str, object]) -> str:
        """Sign a statement that the service prepared, after comparing it with what the holder wants to state.

        Args:
            signing_input: `signing_input_b64url` of the service's answer.
            agent_id: the agent that states it.
            payload: the statement.

        Returns:
            The statement as compact JWS.

        Raises:
            ServiceFailed: the service prepared something else.
            ValidationFailed: an argument has another type.
        """
        header, claims = _read_parts(signing_input)
        stated = claims.get("statement")
        wanted = arguments.read_mapping(payload, name="payload")
        agent = str(arguments.read_id(agent_id, "an agent"))
        if header.get("typ") != STATEMENT_TYPE or claims.get("iss") != agent or not _is_same(stated, wanted):
            raise _other_thing("this statement")
        return self._complete(signing_input)

    def sign_card(self, card: dict[str, object], *, kid: str) -> str:
        """Sign the card of an agent as it is shown, without its present signatures.

        Args:
            card: the card, such as `lab.agents.card(agent)`.
            kid: the id of this key at the service (`agent.key_id`).

        Returns:
            The card as compact JWS.

        Raises:
            ValidationFailed: an argument has another type.

        >>> import attestlab
        >>> attestlab.OwnKey.generate().sign_card({"name": "Herald"}, kid="agk_1").count(".")
        2
        """
        shown = arguments.read_mapping(card, name="card")
        unsigned = {name: value for name, value in shown.items() if name != "signatures"}
        return self._complete(card_signing_input(unsigned, arguments.read_text(kid, name="kid")))

    def sign_hop(
        self,
        signing_input: str,
        *,
        parent_id: UUID,
        child_id: UUID | str,
        scopes: list[str],
        expires_at: datetime | None = None,
    ) -> str:
        """Sign a delegation that the service prepared, after comparing it with what the holder wants to delegate.

        Args:
            signing_input: `signing_input_b64url` of the service's answer.
            parent_id: the agent that delegates.
            child_id: the agent that receives it: its UUID, or its maip id.
            scopes: what the holder wants to delegate; the service may add denies only.
            expires_at: the latest end that the holder wants; None leaves it to the service.

        Returns:
            The hop as compact JWS.

        Raises:
            ServiceFailed: the service prepared something else.
            ValidationFailed: an argument has another type, or a scope is none.
            NotFound: `child_id` is no id of an agent.
        """
        wanted = parse_scopes(arguments.read_texts(scopes, name="scopes"))
        parent = str(arguments.read_id(parent_id, "an agent"))
        child = str(parse_agent_id(str(child_id)))
        latest = arguments.read_time(expires_at, name="expires_at")
        header, _ = _read_parts(signing_input)
        signed = self._complete(signing_input)
        try:
            hop = read_hop(signed).hop
        except AttestLabError:
            raise _other_thing("a delegation") from None
        widens = not hop.scopes.allows <= wanted.allows or not wanted.denies <= hop.scopes.denies
        lasts_longer = latest is not None and hop.expires_at > latest
        if header.get("typ") != HOP_TYPE or (hop.parent, hop.child) != (parent, child) or widens or lasts_longer:
            raise _other_thing("this delegation")
        return signed

    def sign_vote(
        self,
        signing_input: str,
        *,
        agent_id: UUID | str,
        request_id: UUID,
        claim_sha256: str,
        verdict: str,
        evidence: str | None = None,
        confidence: float | None = None,
    ) -> str:
        """Sign a vote that the service prepared, after comparing it with what the holder wants to say.

        Args:
            signing_input: `signing_input_b64url` of the service's answer.
            agent_id: the agent that votes: its UUID, or its maip id.
            request_id: the request for votes.
            claim_sha256: the digest of the claim as the holder knows it, base64url.
            verdict: `confirm`, `deny` or `abstain`.
            evidence: why.
            confidence: how sure the agent is, 0 to 1.

        Returns:
            The vote as compact JWS.

        Raises:
            ServiceFailed: the service prepared something else.
            ValidationFailed: an argument has another type.
            NotFound: `agent_id` is no id of an agent.
        """
        header, claims = _read_parts(signing_input)
        why = None if evidence is None else arguments.read_text(evidence, name="evidence")
        wanted: dict[str, object] = {
            **{"v": VOTE_VERSION, "iss": str(parse_agent_id(str(agent_id)))},
            "request_id": str(arguments.read_id(request_id, "a request for votes")),
            "claim_sha256": arguments.read_text(claim_sha256, name="claim_sha256"),
            "verdict": arguments.read_text(verdict, name="verdict"),
            "evidence_sha256": compute_evidence_digest(why),
            "confidence": None if confidence is None else _read_share(confidence),
        }
        if header.get("typ") != VOTE_TYPE or not _is_same(_without(claims, "jti", "iat"), wanted):
            raise _other_thing("this vote")
        return self._complete(signing_input)

    def sign_run_step(
        self,
        signing_input: str,
        *,
        orchestration_id: UUID,
        step_id: str,
        inputs_hash: str,
        outputs_hash: str,
        status: str,
    ) -> str:
        """Sign a step of a run that the service prepared, after comparing it with what the holder wants to say.

        Args:
            signing_input: `signing_input_b64url` of the service's answer.
            orchestration_id: the run.
            step_id: the step of its plan.
            inputs_hash: the SHA-256 of what the step took, 64 hex digits.
            outputs_hash: the SHA-256 of what it put out.
            status: `completed`, `failed` or `skipped`.

        Returns:
            The step as compact JWS.

        Raises:
            ServiceFailed: the service prepared something else.
            ValidationFailed: an argument has another type.
        """
        header, claims = _read_parts(signing_input)
        said = {"step_id": step_id, "inputs_hash": inputs_hash, "outputs_hash": outputs_hash, "status": status}
        run_id = str(arguments.read_id(orchestration_id, "a run"))
        wanted: dict[str, object] = {"v": STEP_VERSION, "orchestration_id": run_id}
        wanted |= {name: arguments.read_text(value, name=name) for name, value in said.items()}
        if header.get("typ") != STEP_TYPE or not _is_same(_without(claims, "iss", "iat"), wanted):
            raise _other_thing("this step")
        return self._complete(signing_input)

    def __repr__(self) -> str:
        return f"OwnKey(public_key={self.public_key!r})"

    def __dir__(self) -> list[str]:
        return sorted(list_public_names(type(self)))

    def __reduce__(self) -> str:
        raise ValidationFailed("An OwnKey is not copied or pickled. Use OwnKey.save, with a password.")

    def _complete(self, signing_input: str) -> str:
        return f"{signing_input}.{self._sign(signing_input.encode('ascii'))}"

    def _sign(self, message: bytes) -> str:
        return b64url_encode(self._private.sign(message))


def require_key(key: object) -> OwnKey:
    """Require that a value is a key of an agent's own.

    Raises:
        ValidationFailed: it is something else.
    """
    if isinstance(key, OwnKey):
        return key
    raise ValidationFailed(f"key is a {type(key).__name__}. Pass the OwnKey that the agent's holder keeps.")


def _encode(password: object) -> bytes | None:
    return None if password is None else arguments.read_text(password, name="password").encode()


def _read_parts(signing_input: object) -> tuple[dict[str, object], dict[str, object]]:
    """Read header and claims of what the service wants signed."""
    text = arguments.read_text(signing_input, name="signing_input")
    try:
        header, claims = (parse_json(b64url_decode(part)) for part in text.split("."))
    except (ValidationFailed, ValueError):
        raise _other_thing("a JWT") from None
    if not text.isascii() or not isinstance(header, dict) or not isinstance(claims, dict):
        raise _other_thing("a JWT")
    return header, claims


def _is_same(stated: object, wanted: dict[str, object]) -> bool:
    return isinstance(stated, dict) and canonical(stated) == canonical(wanted)


def _without(members: dict[str, object], *names: str) -> dict[str, object]:
    """Leave out members whose values the service alone chooses."""
    return {name: value for name, value in members.items() if name not in names}


def _read_share(value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise ValidationFailed(f"confidence is {arguments.show(value)}. Pass a number from 0 to 1.")


def _other_thing(what: str) -> ServiceFailed:
    message = f"The service asks to sign another thing than {what}, so the key signed nothing. Ask its operator."
    return ServiceFailed(message)
