"""`attestlab receipt verify`: verifies a receipt, offline by its bundle or by a service that has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attestlab.cli.colors import BAD, GOOD, paint
from attestlab.cli.doors import ApiKey, Folder, LabDoor, UrlOption
from attestlab.cli.output import COULD_NOT_CHECK, OK, PROBLEMS, UNUSABLE, DatabaseUrl, JsonOption, fail, report_errors
from attestlab.core.encoding import quote
from attestlab.core.errors import Unavailable
from attestlab.core.standard_output import emit
from attestlab.core.strict_json import parse_json

if TYPE_CHECKING:
    from attestlab.client.handles.receipts import ReceiptVerificationHandle

receipts = typer.Typer(no_args_is_help=True, help="Receipts: signed records of events.")


@receipts.command("verify")
def receipt_verify(
    receipt: Annotated[str, typer.Argument(metavar="FILE|ID", help="The receipt's proof bundle, or its id.")],
    payload: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A JSON object that must be the attested payload.")
    ] = None,
    trust: Annotated[
        Path | None,
        typer.Option(metavar="TRUST", envvar="ATTESTLAB_TRUST", help="For a FILE: pinned logs and witnesses."),
    ] = None,
    data: Folder = None,
    url: UrlOption = None,
    api_key: ApiKey = None,
    database_url: DatabaseUrl = None,
    as_json: JsonOption = False,
) -> None:
    """Verify a receipt: a FILE offline against a pinned trust policy, an ID by the lab of --data or --url.

    An API key is not needed. An ID is metered to the issuer's tenant; a FILE needs no service.

    Exit status: 0 VALID, 1 another verdict, 2 unusable input, 3 could not check. Only a FILE is a proof without trust
    in the service.

    Example: attestlab receipt verify receipt.json --trust log.policy
    """
    if Path(receipt).is_file():
        from attestlab.attestations.rules import RECEIPT
        from attestlab.cli import verify as verify_command

        raise typer.Exit(
            verify_command.verify(Path(receipt), file=None, trust=trust, payload=payload, kind=RECEIPT, as_json=as_json)
        )
    with report_errors():
        verified = _verify_by_id(receipt, payload, LabDoor(data, url, api_key, database_url, None))
    emit(json.dumps(verified.to_dict()) if as_json else _as_text(verified))
    raise typer.Exit(OK if verified.valid else PROBLEMS)


def _verify_by_id(receipt: str, payload: Path | None, door: LabDoor) -> ReceiptVerificationHandle:
    """Verify a receipt by the service that has it; a service that does not answer is no verdict."""
    from attestlab.client.arguments import is_uuid

    if not is_uuid(receipt):
        fail(f"{quote(receipt)} is neither a file nor the id of a receipt. Give its bundle, or its UUID.", UNUSABLE)
    expected = None if payload is None else _read_payload(payload)
    try:
        with door.open() as lab:
            return lab.receipts.verify(receipt, payload=expected)
    except Unavailable as error:
        fail(error.message, COULD_NOT_CHECK)


def _read_payload(path: Path) -> Mapping[str, object]:
    """Read a payload.

    Raises:
        ValidationFailed: it is no JSON object.
    """
    from attestlab.client.arguments import read_mapping

    return read_mapping(parse_json(path.read_bytes()), name=f"The payload in {path}")


def _as_text(verified: ReceiptVerificationHandle) -> str:
    verdict = paint(verified.verdict.value, GOOD if verified.valid else BAD)
    lines = [f"{verdict}  receipt {verified.receipt_id}", *(f"  {reason}" for reason in verified.reasons)]
    if verified.log is not None:
        lines.append(f"  log    {verified.log.log_id}, entry {verified.log.leaf_index}")
    return "\n".join(lines)
