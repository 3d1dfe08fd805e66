"""What verbs accept: files, ids, times and texts in the forms that a person has, read with errors of ours."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from operator import index
from os import PathLike, fspath
from pathlib import Path
from typing import NamedTuple, Protocol, SupportsIndex
from uuid import UUID

from attestlab.attestations.schemas.catalogue import CONTENT_TYPES, ContentType
from attestlab.core.encoding import parse_sent_time, parse_uuid, quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.ordered_bounds import find_reversed_bounds

_CHUNK_BYTES = 1024 * 1024
_MAX_PATH_CHARACTERS = 4096
_MAX_SHOWN_CHARACTERS = 60


class ReadableFile(Protocol):
    """An open binary file."""

    def read(self, size: int = -1, /) -> bytes:
        """Read at most `size` bytes; empty bytes at the end."""
        ...


File = str | PathLike[str] | bytes | bytearray | memoryview | ReadableFile
When = str | datetime | date


class FileDigest(NamedTuple):
    """The SHA-256 (hex) of a file that was read here, with its size and name; the file itself is sent nowhere."""

    sha256: str
    size_bytes: int
    name: str | None  # without its folder; None of bytes, or of a name that no JSON can have

    @property
    def media_type(self) -> str | None:
        """The media type that the ending of the name stands for; None if it is not known."""
        return mimetypes.guess_type(self.name or "")[0]

    @property
    def content_type(self) -> ContentType:
        """The media type as an attestation states it."""
        known = self.media_type
        return ContentType(known) if known in CONTENT_TYPES else ContentType.BINARY


def hash_file(file: File) -> FileDigest:
    """Hash a file: a path, its bytes, or an open binary file.

    Raises:
        ValidationFailed: it is none of them, or cannot be read.
    """
    if isinstance(file, bytes | bytearray | memoryview):
        return FileDigest(hashlib.sha256(file).hexdigest(), memoryview(file).nbytes, None)
    if isinstance(file, str | PathLike):
        return _hash_path(find_file(file))
    if callable(getattr(file, "read", None)):
        return _hash_stream(file, getattr(file, "name", None))
    raise _not_a_file(file)


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


def is_folder(path: Path) -> bool:
    """Whether a path is that of an existing folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def show(value: object) -> str:
    """Show a value that a person passed in at most some sixty characters of a message."""
    try:
        text = " ".join(map(str.strip, repr(value).split("\n")))  # a frame's has several lines
    except (RecursionError, ValueError):  # too deep, or a number of too many digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN_CHARACTERS else text[: _MAX_SHOWN_CHARACTERS - 1] + "…"


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


def read_path(path: object) -> Path:
    """Read the path of a file to write.

    Raises:
        ValidationFailed: it is no path.
    """
    if not isinstance(path, str | PathLike) or not isinstance(fspath(path), str) or "\0" in fspath(path):
        raise ValidationFailed(f"{show(path)} is no path. Pass the path of a file to write.")
    try:
        os.fsencode(path)
        found = Path(path).expanduser()
        is_writable = bool(found.name) and (found.is_file() or not found.exists())
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValidationFailed(f"{quote(fspath(path))} is no path: {reason}.") from None
    if not is_writable:
        raise ValidationFailed(f"{quote(fspath(path))} is not a file. Pass the path of a file to write.")
    return found


def read_pattern(path: str | PathLike[str]) -> str:
    """Read the path of files to read, which may be a pattern such as `past/*.parquet`.

    Raises:
        ValidationFailed: no file has such a name.
    """
    text: object = fspath(path)  # of the caller's path class, perhaps no text
    try:
        if not isinstance(text, str) or not text.strip() or "\0" in text or len(text) > _MAX_PATH_CHARACTERS:
            raise ValueError
        text.encode()
        return str(Path(text).expanduser())
    except (RuntimeError, ValueError):
        raise ValidationFailed(f"{show(path)} is no path. Pass the path of a file, or a pattern.") from None


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
    if not callable(getattr(file, "read", None)):
        raise _not_a_file(file)
    return _read_bytes(file, -1)


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
        if when != when:  # the NaT of pandas
            raise ValidationFailed(f"{name} is {when!r}, which is no time. Pass a time, or None.")
        if when.utcoffset() is None:
            raise ValidationFailed(f"{name}={when.isoformat()} has no UTC offset. Pass an aware datetime.")
        return _to_utc(when, name)
    if isinstance(when, date):
        return datetime.combine(when, time(0), tzinfo=UTC)
    if isinstance(when, str):
        return _parse_time(when, name)
    raise ValidationFailed(f"{name} is a {type(when).__name__}. Pass a datetime, a date, or text like 2026-11-02.")


def read_period(since: When | None, until: When | None) -> dict[str, datetime | None]:
    """Read the bounds of a period; returns them as `from` and `to`, their names in the HTTP interface.

    Raises:
        ValidationFailed: one is no time or has no UTC offset, or `since` is after `until`.
    """
    first, last = read_time(since, name="since"), read_time(until, name="until")
    fault = find_reversed_bounds("since", first, "until", last)
    if fault is not None:
        raise ValidationFailed(fault.message, [fault])
    return {"from": first, "to": last}


def read_mapping(value: object, *, name: str) -> dict[str, object]:
    """Read an object: a mapping with text keys.

    Raises:
        ValidationFailed: it is something else.
    """
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass a dict, such as {{'name': 'value'}}.")


def read_text(value: object, *, name: str) -> str:
    """Read a text, such as the id of a key.

    Raises:
        ValidationFailed: it is something else.
    """
    if not isinstance(value, str) or not value.strip():
        found = "empty" if isinstance(value, str) else f"a {type(value).__name__}"
        raise ValidationFailed(f"{name} is {found}. Pass its text.")
    if not is_encodable(value):
        raise ValidationFailed(f"{name} has a half of a character (a lone surrogate). Remove it.")
    return value


def is_encodable(text: str) -> bool:
    """Whether a text can be sent as UTF-8: it has no half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_count(value: object, *, name: str) -> int:
    """Read a number of things, from 0.

    Raises:
        ValidationFailed: it is something else.
    """
    count = find_whole_number(value)
    if count is None:
        raise ValidationFailed(f"{name} is a {type(value).__name__}. Pass a number from 0.")
    if not 0 <= count <= sys.maxsize:
        shown = count if abs(count) <= sys.maxsize else "out of range"
        raise ValidationFailed(f"{name} is {shown}. Pass a number from 0.")
    return count


def require_slice(which: slice) -> None:
    """Require the bounds of a slice to count from its begin.

    Raises:
        ValidationFailed: one is negative or no number, or the step is 0.
    """
    for part in (each for each in (which.start, which.stop, which.step) if each is not None):
        if (find_whole_number(part) or 0) < 0:
            raise ValidationFailed(
                f"The slice has {show(part)}; a list read by pages has no end to count from. Read all: [*found][-3:]."
            )
        read_count(part, name="A bound of the slice, which counts from the first on,")
    if which.step == 0:
        raise ValidationFailed("The step of the slice is 0. Pass a number from 1.")


def find_whole_number(value: object) -> int | None:
    """Return a whole number, also one of NumPy, as an int; None for something else, such as a truth value."""
    return index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else None


def iterate(values: object, *, name: str, of: str) -> Iterator[object]:
    """Iterate over several values that a person passes; one text or one dict is not several.

    Raises:
        ValidationFailed: they are something else.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationFailed(f"{name} is a {type(values).__name__}. Pass a list of {of}.")
    return iter(values)


def read_texts(values: object, *, name: str) -> list[str]:
    """Read several texts, or one.

    Raises:
        ValidationFailed: they are something else.
    """
    given = [values] if isinstance(values, str) else list(iterate(values, name=name, of="texts"))
    return [read_text(each, name=name) for each in given]


def _to_utc(when: datetime, name: str) -> datetime:
    try:
        return when.astimezone(UTC)
    except OverflowError:
        raise ValidationFailed(f"{name}={when.isoformat()} is out of range. Pass a time of these centuries.") from None


def _parse_time(text: str, name: str) -> datetime:
    try:
        if len(text) == len("2026-11-02"):
            return datetime.combine(date.fromisoformat(text), time(0), tzinfo=UTC)
        return parse_sent_time(text)
    except (ValueError, ValidationFailed):
        pass
    raise ValidationFailed(f"{name}={quote(text)} is not a time. Pass text like 2026-11-02 or 2026-11-02T09:00:00Z.")


def _hash_path(path: Path) -> FileDigest:
    try:
        with path.open("rb") as stream:
            return _hash_stream(stream, path.name)
    except OSError as error:
        raise ValidationFailed(f"{quote(str(path))} cannot be read: {error.strerror}.") from None


def _hash_stream(stream: ReadableFile, path: object) -> FileDigest:
    digest, size = hashlib.sha256(), 0
    while chunk := _read_bytes(stream, _CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    name = Path(path).name if isinstance(path, str) else ""  # of an open descriptor, a number
    return FileDigest(digest.hexdigest(), size, name if name and is_encodable(name) else None)


def _read_bytes(stream: ReadableFile, size: int) -> bytes:
    try:
        chunk = stream.read(size)
    except (OSError, ValueError, TypeError) as error:  # closed, or not open for reading
        raise ValidationFailed(f"The file cannot be read: {error}. Pass it open for reading, or its path.") from None
    if not isinstance(chunk, bytes):
        raise ValidationFailed("The file is open for text. Open it for reading bytes: open(path, 'rb').")
    return chunk


def _not_a_file(file: object) -> ValidationFailed:
    return ValidationFailed(
        f"A value of type {type(file).__name__} is no file. Pass a path, the bytes, or a file opened in binary mode."
    )
