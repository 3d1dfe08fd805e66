"""Open Badges baked into pictures, and their verification by the service (docs/exports.md)."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import ClassVar, Literal, cast
from uuid import UUID

from pydantic import PrivateAttr

from attestlab.client import arguments, card_contents
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.exports.badge_credential import BadgeCredential
from attestlab.exports.baking import pictures
from attestlab.exports.baking.limits import MAX_PICTURE_BYTES
from attestlab.exports.baking.pictures import PictureFormat
from attestlab.exports.shapes import OpenBadgeVerifyOut

BadgeFormat = Literal["png", "svg"]


class BadgeHandle(Handle):
    """An Open Badge baked into a picture, which a notebook shows."""

    shown_fields: ClassVar = ("attestation_id", "name", "issuer_name", "format")

    attestation_id: UUID
    name: str
    issuer_name: str
    format: BadgeFormat
    credential: str
    _content: bytes = PrivateAttr(default=b"")

    @property
    def content(self) -> bytes:
        """The picture: the bytes of a PNG or SVG that holds `credential`, a compact JWT."""
        return self._content

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the picture to a file; returns its path.

        Raises:
            ValidationFailed: the name ends with another format's ending, or the file cannot be written.

        >>> badge = next(lab.attestations.list(schema="skill-badge", status="VALID")).badge()
        >>> lab.verify(badge.save("badge.png")).verdict.value
        'VALID'
        """
        target = arguments.read_path(path)
        if target.suffix.lower() != f".{self.format}":
            raise ValidationFailed(
                f"{quote(target.name)} does not end with .{self.format}, and the picture is one. Rename it, or pass "
                "format= to `badge`."
            )
        try:
            target.write_bytes(self._content)
        except OSError as error:
            raise ValidationFailed(f"{str(target)!r} cannot be written: {error.strerror}.") from None
        return target

    def _repr_png_(self) -> bytes | None:
        return self._content if self.format == "png" else None

    def _repr_svg_(self) -> str | None:
        return self._content.decode() if self.format == "svg" else None

    def _repr_html_(self) -> None:  # type: ignore[override]  # a notebook would prefer a table to the picture
        return None


class BadgeVerificationHandle(OpenBadgeVerifyOut, Handle):
    """A verification of an Open Badge: its verdict, what its issuer signed, and that of its attestation."""

    shown_fields: ClassVar = ("verdict", "attestation_id", "problem")

    @property
    def attestation_id(self) -> UUID | None:
        """The id of the attestation that the badge was exported from; None if its signature is not valid."""
        return None if self.verification is None else self.verification.attestation_id

    def _repr_html_(self) -> str:
        return card_contents.draw_badge_verification(self)


def fetch_badge(client: ServiceClient, attestation_id: UUID, form: BadgeFormat) -> BadgeHandle:
    """Fetch the Open Badge of an attestation as a picture.

    Raises:
        ValidationFailed: the format is none of a picture.
        Conflict: the attestation is not VALID, or no achievement.
    """
    if form not in list(PictureFormat):
        raise ValidationFailed(f"format is {arguments.show(form)}. Pass one of: {', '.join(PictureFormat)}.")
    picture = client.get_bytes(f"/v1/attestations/{attestation_id}/open-badge", {"format": form})
    credential = pictures.read_credential(picture)
    claims = BadgeCredential.parse(credential).claims
    issuer = cast("dict[str, object]", claims["issuer"])
    fields = {
        "attestation_id": attestation_id,
        "name": claims["name"],
        "issuer_name": issuer["name"],
        "format": form,
        "credential": credential,
    }
    badge = BadgeHandle.parse(client, fields)
    badge._content = picture
    return badge


def find_presented_badge(what: object) -> str | None:
    """Find the credential in a baked picture or a file of a JWT, or in its bytes; None if it is something else.

    Raises:
        ValidationFailed: it is a picture whose credential cannot be read.
    """
    if isinstance(what, BadgeHandle):
        return what.credential
    if isinstance(what, bytes):
        return pictures.find_credential(what)
    path = fspath(what) if isinstance(what, PathLike) else what
    if not isinstance(path, str) or not arguments.is_file(path):
        return None
    try:
        with Path(path).expanduser().open("rb") as file:
            return pictures.find_credential(file.read(MAX_PICTURE_BYTES + 1))
    except OSError:
        return None  # the reader of bundles names the cause


def verify_badge(client: ServiceClient, credential: str) -> BadgeVerificationHandle:
    """Verify an Open Badge by the service."""
    answer = client.post("/v1/open-badges/verify", {"credential": credential}, is_read=True)
    return BadgeVerificationHandle.parse(client, answer)
