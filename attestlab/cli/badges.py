"""`attestlab badge`: export an attestation's Open Badge as picture, of a lab of this machine or of a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.output import UNUSABLE, DatabaseUrl, JsonOption, fail, print_values, report_errors
from attestlab.core.encoding import quote
from attestlab.core.standard_output import print_stderr

if TYPE_CHECKING:
    from attestlab.client.handles.badges import BadgeFormat

PORTAL_URL_MISSING = "Before you give badges out, set ATTESTLAB_PORTAL_URL to the https address of the service."


def badge(
    attestation: Annotated[str, typer.Argument(metavar="ID", help="Id of the attestation, or address of its page.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The picture to write: OUT.png or OUT.svg.")],
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Export the Open Badge of an attestation, baked into a picture.

    Exit status: 0 written, 2 refused, and nothing is written.

    Example: attestlab badge 0193b5a0-7f3c-7abc-8def-0123456789ab badge.png --data lab
    """
    form = out.suffix.lower().removeprefix(".")
    if form not in ("png", "svg"):
        fail(f"{quote(out.name)} ends with neither .png nor .svg. Name the picture by its format.", UNUSABLE)
    from attestlab.exports.badge_credential import BadgeCredential

    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        made = lab.attestations.badge(attestation, cast("BadgeFormat", form))
        saved = made.save(out)
        issuer_url = BadgeCredential.parse(made.credential).issuer
        shown = {"badge": made.name, "issuer": made.issuer_name, "issuer_url": issuer_url, "picture": str(saved)}
        print_values(shown, as_json)
        if not issuer_url.startswith("https:"):
            print_stderr(f"Warning: verifiers look for keys at {issuer_url}. {PORTAL_URL_MISSING}")
