"""Policy documents in the forms that a person has: a dict, TOML or JSON text, or the path of a file with either."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike

from attestlab.client import arguments
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed

PolicyDocument = Mapping[str, object] | str | PathLike[str] | bytes


def read_policy(policy: object) -> dict[str, object]:
    """Read a policy document: a dict, TOML or JSON text, or the path of a file with either.

    Raises:
        ValidationFailed: it is none of them.
    """
    if isinstance(policy, Mapping):
        return arguments.read_mapping(policy, name="policy")
    if isinstance(policy, PathLike):
        return _parse_policy(_decode(arguments.read_file(policy), str(policy)))
    if isinstance(policy, bytes):
        return _parse_policy(_decode(policy, "the policy"))
    if isinstance(policy, str):
        return _parse_policy(policy if is_document(policy) else _decode(arguments.read_file(policy), policy))
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
        return arguments.read_mapping(json.loads(text), name="policy")
    except (ValueError, RecursionError) as error:
        raise ValidationFailed(f"The policy is not JSON: {error}.") from None


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValidationFailed(f"{quote(name)} is not text in UTF-8.") from None
