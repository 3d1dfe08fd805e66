"""`attestlab mint`: attest a file through a lab of this machine or of a service; the file itself is sent nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.doors import ApiKey, Folder, LabDoor, Tenant, UrlOption
from attestlab.cli.output import PROBLEMS, UNUSABLE, DatabaseUrl, JsonOption, fail, print_values, report_errors
from attestlab.core.encoding import quote
from attestlab.core.errors import AttestLabError

if TYPE_CHECKING:
    from attestlab.client.collections.attestations import MintOptions
    from attestlab.client.handles.attestations import MintHandle


def mint(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The document to attest; it is hashed here.")],
    issuer: Annotated[str, typer.Option(help="Name, domain or id of the issuer, whose active key signs.")],
    schema: Annotated[str, typer.Option(help="Kind of credential, such as degree.")],
    claim: Annotated[
        list[str] | None, typer.Option(metavar="NAME=TEXT", help="A claim of the issuer; may be repeated.")
    ] = None,
    claims: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A JSON object of claims, for numbers and lists.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it expires, such as 2030-12-31 (UTC); default: never.")
    ] = None,
    recipient: Annotated[
        str | None, typer.Option(metavar="EMAIL", help="Address that gets it by e-mail; default: none.")
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(metavar="OUT.json", help="Write the proof bundle to this file.")
    ] = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    tenant: Tenant = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Attest a file: sign its SHA-256 with an issuer's key, and log it.

    Exit status: 0 attested, 1 attested but the bundle was not written to --bundle, 2 nothing was attested.

    Example: attestlab mint diploma.pdf --issuer Registrar --schema degree --claim "student_name=Ada Lovelace"
    --claim "institution=University of London" --data lab
    """
    options: MintOptions = {}
    if expires is not None:
        options["expiry_at"] = expires
    if recipient is not None:
        options["recipient_email"] = recipient
    stated = _read_claims(claim or [], claims)
    with report_errors(), LabDoor(data, url, api_key, database_url, tenant).open() as lab:
        minted = lab.mint(file, issuer=issuer, schema=schema, claims=stated, **options)
        shown: dict[str, object] = {
            "id": str(minted.id),
            "status": str(minted.status),
            "log_index": minted.log_index,
            "document_hash": minted.document_hash,
        }
        if url is not None:
            shown["page"] = minted.url
        print_values(shown, as_json)
        if bundle is not None:
            _save_bundle(minted, bundle)


def _save_bundle(minted: MintHandle, file: Path) -> None:
    """Save the bundle of an attestation, or say that the file alone is missing: a second mint would be another one."""
    try:
        minted.bundle().save(file)
    except AttestLabError as error:
        fail(
            f"{minted.id} is attested and logged, but its bundle was not written: {error.message} Do not mint it "
            f"again; save the response of GET /v1/attestations/{minted.id}/proof-bundle.",
            PROBLEMS,
        )


def _read_claims(stated: list[str], file: Path | None) -> dict[str, object]:
    """Read the claims of a file and of options, of which the options win."""
    claims: dict[str, object] = {}
    if file is not None:
        claims |= _read_object(file)
    for text in stated:
        name, equals, value = text.partition("=")
        if not equals or not name:
            fail(f"{quote(text)} is no claim. Write NAME=TEXT, such as --claim institution=Northfield.", UNUSABLE)
        claims[name] = value
    return claims


def _read_object(file: Path) -> dict[str, object]:
    with report_errors():
        text = file.read_bytes()
    try:
        found = json.loads(text)
    except ValueError as error:
        fail(f"{file} is not JSON: {error}.", UNUSABLE)
    if not isinstance(found, dict):
        fail(f"{file} has no JSON object of claims.", UNUSABLE)
    return found
