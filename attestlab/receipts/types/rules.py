"""Rules of receipt types: their names, their versions (Semantic Versioning 2.0.0), and their payloads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.text_forms import describe_form, explain_form

MAX_VERSION_LENGTH: Final = 64
MAX_DESCRIPTION_LENGTH: Final = 2_000
MAX_REASON_LENGTH: Final = 1_000
TYPE_NAME_FORM: Final = describe_form(
    "^[a-z0-9][a-z0-9_.-]{0,63}$",
    "Send 1 to 64 characters a-z, 0-9, underscore, dot and hyphen, of which the first is a letter or digit.",
)
_NUMBER: Final = "(?:0|[1-9][0-9]*)"
_PRERELEASE_PART: Final = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD_PART: Final = "[0-9A-Za-z-]+"
VERSION_FORM: Final = describe_form(
    rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(?:-{_PRERELEASE_PART}(?:\.{_PRERELEASE_PART})*)?(?:\+{_BUILD_PART}(?:\.{_BUILD_PART})*)?$",
    "Send a semantic version (semver.org), such as 1.0.0 or 2.0.0-beta.1.",
)
_REFERENCE_SEPARATOR: Final = "@"

Precedence = tuple[int, int, int, bool, tuple["PrereleasePart", ...]]


class TypeStatus(StrEnum):
    """Whether receipts of a type can be minted; those that exist stay valid in either state."""

    ACTIVE = "active"
    DEPRECATED = "deprecated"


class PrereleasePart(NamedTuple):
    """An identifier of a prerelease: numbers compare as numbers, and are lower than texts (semver, clause 11.4)."""

    is_text: bool
    number: int
    text: str


class TypeReference(NamedTuple):
    """A type as an address names it; without a version its newest is meant."""

    name: str
    version: str | None

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}{_REFERENCE_SEPARATOR}{self.version}"


def parse_precedence(version: str) -> Precedence:
    """Parse a version as a key that sorts by precedence (semver, clause 11); build metadata does not count.

    Raises:
        ValidationFailed: it is no semantic version.

    >>> sorted(["1.10.0", "1.9.0", "1.10.0-rc.10", "1.10.0-rc.9", "1.10.0-rc"], key=parse_precedence)
    ['1.9.0', '1.10.0-rc', '1.10.0-rc.9', '1.10.0-rc.10', '1.10.0']
    """
    require_version(version, field="/version")
    core, _, prerelease = version.partition("+")[0].partition("-")
    major, minor, patch = map(int, core.split("."))
    parts = tuple(map(_parse_part, prerelease.split("."))) if prerelease else ()
    return major, minor, patch, not parts, parts


def require_version(version: str, *, field: str) -> None:
    """Require that a text is a semantic version.

    Raises:
        ValidationFailed: it is none, or longer than 64 characters.
    """
    if len(version) > MAX_VERSION_LENGTH or re.fullmatch(VERSION_FORM, version) is None:
        message = f"{quote(version[:80])} is no version of at most {MAX_VERSION_LENGTH} characters. "
        raise ValidationFailed.of(field, "version", message + explain_form(VERSION_FORM))


def _parse_part(part: str) -> PrereleasePart:
    return PrereleasePart(False, int(part), "") if part.isdigit() else PrereleasePart(True, 0, part)


def require_higher(version: str, *, name: str, newest: str) -> None:
    """Require that a new version of a type follows the newest one.

    Raises:
        Conflict: it is the newest one, or not higher.
    """
    if version == newest:
        raise Conflict(
            f"The type {name} has the version {version} already, and versions never change. Send a higher version.",
            details={"name": name, "version": version},
        )
    if parse_precedence(version) <= parse_precedence(newest):
        raise Conflict(
            f"The version {version} is not higher than {newest}, the newest of {name}. Send a higher version.",
            details={"reason": "version_not_higher", "name": name, "newest_version": newest},
        )


def require_mintable(status: TypeStatus, *, name: str, version: str) -> None:
    """Require that receipts of a version can be minted.

    Raises:
        Conflict: it is deprecated.
    """
    if status is TypeStatus.DEPRECATED:
        message = f"The version {version} of the type {name} is deprecated. Mint with an active version."
        raise Conflict(message, details={"reason": "type_deprecated", "name": name, "version": version})


def parse_reference(text: str) -> TypeReference:
    """Parse the name of a type, or `name@version`.

    >>> parse_reference("delivery@1.0.0"), parse_reference("delivery")
    (TypeReference(name='delivery', version='1.0.0'), TypeReference(name='delivery', version=None))
    """
    name, separator, version = text.partition(_REFERENCE_SEPARATOR)
    return TypeReference(name, version if separator else None)


def validate_payload(schema_text: str, payload: Mapping[str, object]) -> list[tuple[str, str]]:
    """Validate a payload against the stored schema of a type; returns a JSON Pointer and a message for each fault.

    The pointers begin with `/payload`. The list is empty for a valid payload, and has at most 20 faults.

    Raises:
        ValidationFailed: the payload is too large for its schema, so that validating it would take too long.
    """
    # Clients load these rules, and the library is of the extra `server`.
    from attestlab.receipts.types.json_schema import find_faults

    return find_faults(schema_text, payload)
