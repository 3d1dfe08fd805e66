"""Policies as TOML (https://toml.io/en/v1.0.0): for people who write them by hand, with comments."""

from __future__ import annotations

import tomllib

from attestlab.core.errors import ValidationFailed
from attestlab.policy.documents import MOST_BYTES, Document


def document_of(text: str) -> Document:
    """The document that a TOML text spells.

    Raises:
        ValidationFailed: it is no TOML, or no policy.
    """
    if len(text) > MOST_BYTES:
        raise ValidationFailed.of("/toml", "too_large", f"A policy has at most {MOST_BYTES:,} characters of TOML.")
    try:
        return Document.read(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as fault:
        raise ValidationFailed.of("/toml", "toml", f"This is not TOML: {fault}.") from None


def toml_of(document: Document) -> str:
    """The document as TOML; reading it again gives the same one."""
    import tomlkit  # loaded late: a server's start does not wait for it

    return tomlkit.dumps(document.content())
