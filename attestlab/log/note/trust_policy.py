"""Trust policy of a verifier: the logs and witnesses that it trusts, in C2SP tlog-policy format.

The verifier pins a policy and never takes it from the data being verified. A policy
lists logs, witnesses, and the quorum of witnesses that must have cosigned; a policy
without a quorum must state `quorum none` explicitly.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Set
from dataclasses import dataclass, field, replace

from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.urls import is_web_address, quote_url
from attestlab.log.note.note import Note, SignatureType, TreeHead, VerifierKey

MAX_POLICY_BYTES = 1_000_000
NO_QUORUM = b"none"
_FORBIDDEN = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")
_THRESHOLD = re.compile(rb"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A tree head that a policy accepted, with the times of the log's signature and of the cosignatures.

    `timestamp_s` is the time in the log's own timestamped signature (seconds since
    1970), None without one; `witnesses` maps each witness's name to its time.
    """

    origin: str
    size: int
    root: bytes
    timestamp_s: int | None
    witnesses: dict[str, int]


@dataclass(frozen=True, slots=True)
class WitnessGroup:
    """A group of witnesses and groups; its quorum is reached when `threshold` of its members have cosigned."""

    threshold: int
    members: tuple[bytes, ...]


@dataclass(frozen=True)
class TrustPolicy:
    """The logs, witnesses and quorum of a policy text; `urls` are the submission prefixes of witnesses."""

    logs: tuple[VerifierKey, ...]
    witnesses: dict[bytes, VerifierKey] = field(default_factory=dict)
    groups: dict[bytes, WitnessGroup] = field(default_factory=dict)
    quorum: bytes = NO_QUORUM
    urls: dict[bytes, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, policy: str | bytes) -> TrustPolicy:
        """Parse a tlog-policy text.

        Raises:
            ValidationFailed: the text breaks a rule of tlog-policy, names no log, or has keys that are not Ed25519.
        """
        parsed = cls._parse_lines(policy)
        if not parsed.logs:
            raise ValidationFailed("The trust policy names no log, so nothing could be verified with it.")
        return parsed

    @classmethod
    def for_log(cls, policy: str | bytes, vkey: str) -> TrustPolicy:
        """Parse the witnesses and quorum of a policy for the log of `vkey`; logs that the policy names are ignored.

        Raises:
            ValidationFailed: the text breaks a rule of tlog-policy, or the URL of a witness is not one of HTTP.
        """
        parsed = cls._parse_lines(policy)
        for name, url in parsed.urls.items():
            if not is_web_address(url):
                raise ValidationFailed(
                    f"The witness {_display_name(name)} has the URL {quote_url(url)}, which is no address. "
                    "Write one like https://witness.example.org."
                )
        return replace(parsed, logs=cls.without_witnesses(vkey).logs)

    @classmethod
    def _parse_lines(cls, policy: str | bytes) -> TrustPolicy:
        raw = policy.encode() if isinstance(policy, str) else policy
        raw = raw.removeprefix(BOM_UTF8).replace(b"\r\n", b"\n")  # as editors of other systems save it
        if len(raw) > MAX_POLICY_BYTES or _FORBIDDEN.search(raw):
            raise ValidationFailed(
                "A trust policy is a text without control characters, of at most 1 MB. Save it as UTF-8."
            )
        reader = _PolicyReader()
        for number, line in enumerate(raw.split(b"\n"), 1):
            words = [word for word in re.split(rb"[ \t]+", line) if word]
            if words and not words[0].startswith(b"#"):
                reader.read(words, where=f"Line {number} of the trust policy")
        return reader.finish()

    @classmethod
    def without_witnesses(cls, vkey: str) -> TrustPolicy:
        """A policy that trusts one log without witnesses: no one checks that it shows the same tree to all clients."""
        return cls.parse(f"log {vkey}\nquorum none\n")

    def verify_checkpoint(self, note: str) -> Checkpoint:
        """Verify that one of the logs signed `note` and that the quorum cosigned it; returns the tree head.

        Raises:
            SignatureInvalid: the note is malformed, from an unknown log, wrongly signed, or lacks cosignatures.
        """
        parsed = Note.parse(note)
        head = TreeHead.parse(parsed.text)
        logs = [key for key in self.logs if key.name == head.origin]
        if not logs:
            raise SignatureInvalid(f"The trust policy names no log with the origin {head.origin!r}.")
        signed = parsed.verify([*logs, *(key.cosigner() for key in logs), *self.witnesses.values()])
        log = next((key for key in logs if key in signed), None)
        if log is None:
            raise SignatureInvalid(f"The checkpoint is not signed by a trusted key of {head.origin}.")
        present = {name for name, key in self.witnesses.items() if key in signed}
        if not self.is_quorum(present):
            raise SignatureInvalid(self._shortfall(present))
        times = {_display_name(name): signed[self.witnesses[name]] or 0 for name in sorted(present)}
        return Checkpoint(head.origin, head.size, head.root, signed.get(log.cosigner()), times)

    def is_quorum(self, present: Set[bytes]) -> bool:
        """Whether these witnesses reach the quorum."""
        return self._is_witnessed(self.quorum, present)

    def _is_witnessed(self, name: bytes, present: Set[bytes]) -> bool:
        if name == NO_QUORUM or name in present:
            return True
        group = self.groups.get(name)
        if group is None:
            return False
        return sum(self._is_witnessed(member, present) for member in group.members) >= group.threshold

    def _shortfall(self, present: Set[bytes]) -> str:
        seen = ", ".join(_display_name(name) for name in sorted(present)) or "none"
        return f"The quorum {_display_name(self.quorum)} did not cosign the checkpoint; witnesses that did: {seen}."


def _display_name(name: bytes) -> str:
    """Decode a name for messages; policies compare names as bytes."""
    return name.decode(errors="replace")


class _PolicyReader:
    """Parser of a policy; it works line by line, because a name may be used only after the line that defines it."""

    def __init__(self) -> None:
        self.logs: list[VerifierKey] = []
        self.witnesses: dict[bytes, VerifierKey] = {}
        self.groups: dict[bytes, WitnessGroup] = {}
        self.urls: dict[bytes, str] = {}
        self.members: set[bytes] = set()
        self.quorum: bytes | None = None

    def read(self, words: list[bytes], *, where: str) -> None:
        """Process the words of one line; errors name the line, `where`."""
        keyword, rest = words[0], words[1:]
        match keyword, rest:
            case b"log", [vkey] | [vkey, _]:
                self._add_log(vkey, where)
            case b"witness", [name, vkey, *url] if len(url) < 2:
                self._define_witness(name, vkey, where)
                if url:
                    self.urls[name] = _display_name(url[0])
            case b"group", [name, threshold, *members] if members:
                self._define_group(name, threshold, members, where)
            case b"quorum", [name]:
                self._set_quorum(name, where)
            case _:
                raise ValidationFailed(f"{where} is not a log, witness, group or quorum line.")

    def finish(self) -> TrustPolicy:
        """Return the policy; it must have a quorum line."""
        if self.quorum is None:
            raise ValidationFailed("The trust policy has no quorum line. Add one; 'quorum none' requires no witness.")
        return TrustPolicy(tuple(self.logs), self.witnesses, self.groups, self.quorum, self.urls)

    def _add_log(self, vkey: bytes, where: str) -> None:
        key = _parse_key(vkey, SignatureType.ED25519, where)
        if any(key.public == log.public for log in self.logs):
            raise ValidationFailed(f"{where} names a log key a second time.")
        self.logs.append(key)

    def _define_witness(self, name: bytes, vkey: bytes, where: str) -> None:
        self._require_new(name, where)
        key = _parse_key(vkey, SignatureType.COSIGNATURE_V1, where)
        if any(key.public == witness.public for witness in self.witnesses.values()):
            raise ValidationFailed(f"{where} names a witness key a second time; one witness must not count twice.")
        self.witnesses[name] = key

    def _define_group(self, name: bytes, threshold: bytes, members: list[bytes], where: str) -> None:
        self._require_new(name, where)
        for member in members:
            self._require_defined(member, where)
            if member in self.members:
                raise ValidationFailed(
                    f"{where}: {_display_name(member)} is already a member; it must not count twice."
                )
            self.members.add(member)
        self.groups[name] = WitnessGroup(_parse_threshold(threshold, len(members), where), tuple(members))

    def _set_quorum(self, name: bytes, where: str) -> None:
        if self.quorum is not None:
            raise ValidationFailed(f"{where} is a second quorum line; there is exactly one.")
        if name != NO_QUORUM:
            self._require_defined(name, where)
        self.quorum = name

    def _require_new(self, name: bytes, where: str) -> None:
        if name == NO_QUORUM or name in self.witnesses or name in self.groups:
            raise ValidationFailed(f"{where} defines {_display_name(name)}, which already has a meaning.")

    def _require_defined(self, name: bytes, where: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise ValidationFailed(f"{where} uses {_display_name(name)}, which no line before it defines.")


def _parse_key(vkey: bytes, wanted: SignatureType, where: str) -> VerifierKey:
    try:
        key = VerifierKey.parse(vkey.decode())
    except (UnicodeDecodeError, ValidationFailed) as error:
        raise ValidationFailed(f"{where}: {error}") from error
    if key.type is not wanted:
        raise ValidationFailed(f"{where}: a key of type 0x{wanted:02x} is needed here, not 0x{key.type:02x}.")
    return key


def _parse_threshold(text: bytes, members: int, where: str) -> int:
    words = {b"any": 1, b"all": members}
    threshold = words.get(text) or (int(text) if _THRESHOLD.fullmatch(text) else 0)
    if not 1 <= threshold <= members:
        raise ValidationFailed(f"{where}: the threshold is any, all, or a number from 1 to {members}.")
    return threshold
