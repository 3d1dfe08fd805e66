"""Rules of the blog: the states of a post, its address, and which pictures it may show."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.text_forms import describe_form

MAX_SLUG_LENGTH: Final = 96
MAX_CONTENT_BYTES: Final = 512 * 1024
MAX_COVER_LENGTH: Final = 2048
MEDIA_PATH: Final = "/blog/media/"
SLUG_FORM: Final = describe_form(
    f"^[a-z0-9-]{{1,{MAX_SLUG_LENGTH}}}$", f"Send 1 to {MAX_SLUG_LENGTH} characters a-z, 0-9 and hyphens."
)
_MEDIUM: Final = re.compile(rf"{MEDIA_PATH}([0-9a-f]{{64}})")


class PostCategory(StrEnum):
    """What a post is about (SPEC, Blog post)."""

    ENGINEERING = "engineering"
    PRODUCT = "product"
    SECURITY = "security"
    COMPANY = "company"
    INDUSTRY = "industry"


class PostStatus(StrEnum):
    """The state of a post: only a published one is public."""

    DRAFT = "draft"
    PUBLISHED = "published"
    ARCHIVED = "archived"


def derive_slug(title: str) -> str:
    """Derive the address of a post from its title.

    Raises:
        ValidationFailed: the title has no letter or digit of ASCII.

    >>> derive_slug("Why a log? Because Zürich asked.")
    'why-a-log-because-zurich-asked'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub("[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG_LENGTH].rstrip("-")
    if not slug:
        message = "No slug can be derived from this title, because it has no letter a-z and no digit. Send a slug."
        raise ValidationFailed.of("/slug", "slug", message)
    return slug


def require_publishable(status: PostStatus) -> None:
    """Require that a post can be published.

    Raises:
        Conflict: it is published already.
    """
    if status is PostStatus.PUBLISHED:
        raise Conflict("The post is published already. Nothing was changed.", details={"status": status.value})


def require_published(status: PostStatus) -> None:
    """Require that a post can be archived.

    Raises:
        Conflict: it is not published; a draft is deleted instead.
    """
    if status is not PostStatus.PUBLISHED:
        message = f"Only a published post can be archived; this one is {status.value}. A draft can be deleted."
        raise Conflict(message, details={"status": status.value})


def require_draft(status: PostStatus) -> None:
    """Require that a post can be deleted.

    Raises:
        Conflict: it was published once, so its address is known to others.
    """
    if status is not PostStatus.DRAFT:
        message = f"Only a draft can be deleted; this post is {status.value}. Archive it instead."
        raise Conflict(message, details={"status": status.value})


def validate_content(content: str) -> str:
    """Return a text that is not too long.

    Raises:
        ValidationFailed: it has more than 512 KiB as UTF-8.
    """
    if (size := len(content.encode())) > MAX_CONTENT_BYTES:
        message = f"The content has {size:,} bytes; at most {MAX_CONTENT_BYTES:,} are allowed."
        raise ValidationFailed.of("/content", "too_long", message)
    return content


def find_medium(address: str) -> str | None:
    """Return the SHA-256 of the medium of ours that an address names, or None.

    >>> find_medium("/blog/media/" + "a" * 64) == "a" * 64, find_medium("https://pictures.example/a.png")
    (True, None)
    """
    found = _MEDIUM.fullmatch(address)
    return None if found is None else found.group(1)


def require_cover_form(address: str) -> None:
    """Require that a cover is a medium of ours or an absolute https URL.

    Raises:
        ValidationFailed: it is neither.
    """
    if find_medium(address) is None and not _is_https_url(address):
        message = f"A cover is an absolute https URL or {MEDIA_PATH}<sha256>; {quote(address[:80])} is neither."
        raise ValidationFailed.of("/cover_image_url", "url", message)


def _is_https_url(address: str) -> bool:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    is_plain = address.isascii() and address.isprintable() and " " not in address
    return parts.scheme == "https" and bool(parts.hostname) and parts.username is None and is_plain
