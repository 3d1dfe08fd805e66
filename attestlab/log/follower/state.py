"""State of a log follower: one file of two lines, JSON and its SHA-256, that is replaced as a whole.

The SHA-256 finds damage, such as a flipped bit, so that damage never looks like a fault of the log. It is no
signature: a person who can change the file can compute it again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attestlab.core import atomic_files
from attestlab.core.errors import AttestLabError, ValidationFailed
from attestlab.log.entries import sha256_name
from attestlab.log.follower.auditor import Auditor
from attestlab.log.merkle.hashing import EMPTY_ROOT
from attestlab.log.note.trust_policy import Checkpoint, TrustPolicy

VERSION = 4
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

_SavedSubject = tuple[
    Annotated[int, Field(ge=1)],
    _Sha256,
    str | None,
    _Count | None,
    Annotated[int, Field(ge=0, le=3)],
    str | None,
]


class _SavedTree(BaseModel):
    """The members that every version has; versions 1 and 2 had no SHA-256, version 3 did not know receipts."""

    model_config = ConfigDict(strict=True)

    v: Literal[1, 2, 3, 4]
    vkey: str
    size: _Count
    root: _Sha256
    checkpoint: str
    at_s: _Count


class _SavedState(_SavedTree):
    model_config = ConfigDict(extra="forbid")

    v: Literal[3, 4]
    judged: _Count
    standings: dict[str, _SavedSubject]


@dataclass(frozen=True)
class FollowerState:
    """Progress of a follower: the tree whose entries were all delivered, and the audit state after them.

    `auditor` are those after the first `judged` entries; fewer than `size` where an earlier version saved it.
    `checkpoint` is the newest note that it accepted, `at_s` the newest time that one states (seconds since 1970).
    """

    vkey: str
    size: int = 0
    judged: int = 0
    root: bytes = EMPTY_ROOT
    checkpoint: str = ""
    at_s: int = 0
    auditor: Auditor = field(default_factory=Auditor, compare=False)  # follows from the tree

    @classmethod
    def load(cls, path: Path, vkey: str) -> FollowerState:
        """Read the saved state; without a file, returns the initial state.

        A file of version 1 or 2 has no SHA-256. It is accepted if its signed checkpoint proves its tree. Of a file of
        version 1 to 3 every entry is audited again, because those versions did not audit all types.

        Raises:
            ValidationFailed: the file is damaged or inconsistent, or belongs to a log with another key.
        """
        try:
            followed = cls._parse(path.read_bytes())
        except FileNotFoundError:
            return cls(vkey)
        except (ValueError, AttestLabError) as error:
            raise ValidationFailed(
                f"{path} cannot be used as the state of a follower: {_reason(error)} Restore it from a copy, or remove "
                "it to follow the log again from its first entry; every entry is then handed over again."
            ) from error
        if followed.vkey != vkey:
            raise ValidationFailed(f"{path} belongs to another log, {followed.vkey}; name another file.")
        return followed

    @classmethod
    def _parse(cls, data: bytes) -> FollowerState:
        line, newline, checksum = data.partition(b"\n")
        if not newline:
            return cls._without_checksum(line)
        if checksum != _checksum_line(line):
            raise ValueError("Its SHA-256 does not match: it is damaged.")
        saved = _SavedState.model_validate_json(line)
        _verify_saved_checkpoint(saved)
        if saved.judged > saved.size:
            raise ValueError(f"It states {saved.judged} judged entries of {saved.size}.")
        if any(place is not None and place >= saved.judged for _, _, _, place, _, _ in saved.standings.values()):
            raise ValueError(f"It states a status at an index beyond its {saved.judged} judged entries.")
        root = bytes.fromhex(saved.root)
        if saved.v < VERSION:
            return cls(saved.vkey, saved.size, 0, root, saved.checkpoint, saved.at_s)
        auditor = Auditor.from_json(saved.standings)
        return cls(saved.vkey, saved.size, saved.judged, root, saved.checkpoint, saved.at_s, auditor)

    @classmethod
    def _without_checksum(cls, line: bytes) -> FollowerState:
        saved = _SavedTree.model_validate_json(line)
        signed = _verify_saved_checkpoint(saved)
        if saved.v > 2:
            raise ValueError("Its SHA-256 is missing: it is damaged.")
        if signed.size != saved.size:
            raise ValueError(
                f"Version {saved.v} wrote it without a SHA-256, and its signed checkpoint is of {signed.size} entries "
                f"instead of {saved.size}."
            )
        return cls(saved.vkey, saved.size, 0, signed.root, saved.checkpoint, signed.timestamp_s or 0)

    def save(self, path: Path) -> None:
        """Replace the file atomically; the state is durable when this returns."""
        saved: dict[str, object] = {
            "v": VERSION,
            "vkey": self.vkey,
            "size": self.size,
            "judged": self.judged,
            "root": self.root.hex(),
            "checkpoint": self.checkpoint,
            "at_s": self.at_s,
            "standings": self.auditor.as_json(),
        }
        line = json.dumps(saved).encode()
        with atomic_files.write_atomically(path) as file:
            file.write(line + b"\n" + _checksum_line(line))
        atomic_files.fsync_dir(path.parent)


def _checksum_line(line: bytes) -> bytes:
    return f"{sha256_name(hashlib.sha256(line).digest())}\n".encode()


def _verify_saved_checkpoint(saved: _SavedTree) -> Checkpoint:
    """Require that the saved key signed the saved checkpoint, whose tree is the saved one or a larger one."""
    signed = TrustPolicy.without_witnesses(saved.vkey).verify_checkpoint(saved.checkpoint)
    if signed.size < saved.size:
        raise ValueError(f"It states {saved.size} entries, and its signed checkpoint {signed.size}.")
    if signed.size == saved.size and signed.root.hex() != saved.root:
        raise ValueError("Its root is not the one of its signed checkpoint.")
    return signed


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'It'}: {first['msg']}."
    return error.message if isinstance(error, AttestLabError) else str(error)
