"""What verbs accept: files, ids, times and documents in the forms that a person has, read with errors of ours."""

from __future__ import annotations

import hashlib
import json
import mimetypes
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from io import IOBase
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple, Protocol
from uuid import UUID

from attestlab.attestations.schemas.catalogue import CONTENT_TYPES, ContentType
from attestlab.core.encoding import parse_time, parse_uuid, quote
from attestlab.core.errors import ValidationFailed

_CHUNK_BYTES = 1024 * 1024
_MAX_PATH_CHARACTERS = 4096


class ReadableFile(Protocol):
    """An open binary file."""

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes; empty bytes at the end."""
        ...


File = str | PathLike[str] | bytes | bytearray | memoryview | ReadableFile
When = str | datetime | date
PolicyDocument = Mapping[str, object] | str | PathLike[str] | bytes


class FileDigest(NamedTuple):
    """The SHA-256 (hex) of a file that was read here, and its media type; the file itself is sent nowhere."""

    sha256: str
    content_type: ContentType


def hash_file(file: File) -> FileDigest:
    """Hash a file: a path, its bytes, or an open binary file.

    Raises:
        ValidationFailed: it is none of them, or cannot be read.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        return FileDigest(hashlib.sha256(file).hexdigest(), ContentType.BINARY)
    if isinstance(file, str | PathLike):
        return _hash_path(find_file(file))
    if isinstance(file, IOBase) or callable(getattr(file, "read", None)):
        return FileDigest(_hash_stream(file), _content_type_of(str(getattr(file, "name", ""))))
    raise ValidationFailed(
        f"A value of type {type(file).__name__} is no file. Pass a path, the bytes, or a file opened in binary mode."
    )


def find_file(path: str | PathLike[str]) -> Path:
    """Return the path of an existing file.

    Raises:
        ValidationFailed: there is no such file.
    """
    text = fspath(path)
    if not is_file(text):
        raise ValidationFailed(f"There is no file {quote(text)}. Pass the path of a file, or its bytes.")
    return Path(text).expanduser()


def is_file(text: str) -> bool:
    """Whether a text is the path of an existing file."""
    try:
        return len(text) <= _MAX_PATH_CHARACTERS and Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID."""
    try:
        parse_uuid(text.strip())
    except ValidationFailed:
        return False
    return True


def is_path(what: object) -> bool:
    """Whether something is a path object."""
    return isinstance(what, PathLike)


def read_file(path: str | PathLike[str]) -> bytes:
    """Read a file.

    Raises:
        ValidationFailed: it does not exist or cannot be read.
    """
    found = find_file(path)
    try:
        return found.read_bytes()
    except OSError as error:
        raise ValidationFailed(f"{quote(str(found))} cannot be read: {error.strerror}.") from None


def load_file(file: File) -> bytes:
    """Load a whole file into memory: a path, its bytes, or an open binary file.

    Raises:
        ValidationFailed: it is none of them, or cannot be read.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        return bytes(file)
    if isinstance(file, str | PathLike):
        return read_file(file)
    content = file.read()
    if not isinstance(content, bytes):
        raise ValidationFailed("The file is open for text. Open it for reading bytes: open(path, 'rb').")
    return content


def read_id(what: object, noun: str) -> UUID:
    """Read an id: a UUID, its text, or an object that has one.

    Raises:
        ValidationFailed: it is neither.
    """
    if isinstance(what, UUID):
        return what
    if isinstance(what, str):
        if not is_uuid(what):
            raise ValidationFailed(f"{quote(what)} is not the id of {noun}. Pass its UUID, or the object.")
        return parse_uuid(what.strip())
    own = getattr(what, "id", None)
    if isinstance(own, UUID):
        return own
    raise ValidationFailed(
        f"A value of type {type(what).__name__} is not the id of {noun}. Pass its UUID, or the object."
    )


def read_time(when: When | None, *, name: str) -> datetime | None:
    """Read a time: an aware datetime, a date (its beginning, UTC), or RFC 3339 text.

    Raises:
        ValidationFailed: it is neither, or has no UTC offset.
    """
    if when is None:
        return None
    if isinstance(when, datetime):
        if when.utcoffset() is None:
            raise ValidationFailed(f"{name}={when.isoformat()} has no UTC offset. Pass an aware datetime.")
        return when.astimezone(UTC)
    if isinstance(when, date):
        return datetime.combine(when, time(0), tzinfo=UTC)
    if isinstance(when, str):
        return _parse_time(when, name)
    raise ValidationFailed(f"{name} is a {type(when).__name__}. Pass a datetime, a date, or text like 2026-11-02.")


def read_mapping(value: object, *, name: str) -> dict[str, object]:
    """Read an object: a mapping with text keys.

    Raises:
        ValidationFailed: it is something else.
    """
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass a dict, such as {{'name': 'value'}}.")


def read_policy(policy: object) -> dict[str, object]:
    """Read a policy document: a dict, TOML or JSON text, or the path of a file with either.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(policy, Mapping):
        return read_mapping(policy, name="policy")
    if isinstance(policy, PathLike):
        return _parse_policy(_decode(read_file(policy), str(policy)))
    if isinstance(policy, bytes):
        return _parse_policy(_decode(policy, "the policy"))
    if isinstance(policy, str):
        return _parse_policy(policy if is_document(policy) else _decode(read_file(policy), policy))
    raise ValidationFailed(
        f"A value of type {type(policy).__name__} is not a policy. Pass a dict, TOML text, or the path of a file."
    )


def is_document(text: str) -> bool:
    """Whether a text is a policy document rather than its name or the path of its file."""
    return "\n" in text or text.lstrip().startswith("{") or "=" in text


def _parse_policy(text: str) -> dict[str, object]:
    """Return the body of a policy: parsed JSON, or TOML for the service to parse."""
    if not text.lstrip().startswith("{"):
        return {"toml": text}
    try:
        return read_mapping(json.loads(text), name="policy")
    except ValueError as error:
        raise ValidationFailed(f"The policy is not JSON: {error}.") from None


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValidationFailed(f"{quote(name)} is not text in UTF-8.") from None


def _parse_time(text: str, name: str) -> datetime:
    try:
        if len(text) == len("2026-11-02"):
            return datetime.combine(date.fromisoformat(text), time(0), tzinfo=UTC)
        return parse_time(text)
    except ValueError:
        pass
    except ValidationFailed:
        pass
    raise ValidationFailed(f"{name}={quote(text)} is not a time. Pass text like 2026-11-02 or 2026-11-02T09:00:00Z.")


def _hash_path(path: Path) -> FileDigest:
    try:
        with path.open("rb") as stream:
            return FileDigest(_hash_stream(stream), _content_type_of(path.name))
    except OSError as error:
        raise ValidationFailed(f"{quote(str(path))} cannot be read: {error.strerror}.") from None


def _hash_stream(stream: ReadableFile) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(_CHUNK_BYTES):
        if not isinstance(chunk, bytes):
            raise ValidationFailed("The file is open for text. Open it for reading bytes: open(path, 'rb').")
        digest.update(chunk)
    return digest.hexdigest()


def _content_type_of(name: str) -> ContentType:
    guessed, _ = mimetypes.guess_type(name)
    return ContentType(guessed) if guessed in CONTENT_TYPES else ContentType.BINARY
