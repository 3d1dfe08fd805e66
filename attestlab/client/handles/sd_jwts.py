"""Attestations as SD-JWT VC (draft-ietf-oauth-sd-jwt-vc): credentials whose holder chooses the claims to show."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from attestlab.client import arguments
from attestlab.client.file_replacement import replace_file
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import ServiceClient, path_of


class SdJwtHandle(Handle):
    """An attestation as SD-JWT VC: a signed token, then a disclosure for each claim, separated by tildes."""

    shown_fields: ClassVar = ("attestation_id", "disclosure_count")

    attestation_id: UUID
    credential: str

    @property
    def disclosure_count(self) -> int:
        """The number of claims that the holder may leave out: each is one part of the text."""
        return self.credential.count("~") - 1

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the credential as a text file; returns its path.

        A file that was there before is replaced by the whole credential, and otherwise stays as it is.

        Args:
            path: of the file, which is replaced.

        Raises:
            ValidationFailed: it cannot be written.

        >>> exported = next(lab.attestations.list(schema="degree", status="VALID")).sd_jwt()
        >>> exported.save("diploma.sd-jwt").read_text() == exported.credential
        True
        """
        with replace_file(path) as draft:
            draft.write_text(self.credential)
        return arguments.read_path(path)


def fetch_sd_jwt(client: ServiceClient, attestation_id: UUID) -> SdJwtHandle:
    """Fetch an attestation as SD-JWT VC.

    Raises:
        Conflict: it is not VALID, or its issuer has no active managed key.
    """
    credential = client.get_text(path_of("v1", "attestations", attestation_id, "sd-jwt"))
    return SdJwtHandle.parse(client, {"attestation_id": attestation_id, "credential": credential})
