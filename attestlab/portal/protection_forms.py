"""What forms of pages do with protections, by the steps of `POST /v1/consumer/protections`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Caller
from attestlab.portal.page_forms import read_form
from attestlab.protections.service import Protections
from attestlab.protections.shapes import ProtectionIn
from attestlab.web.executor import Executor
from attestlab.web.request import Request


async def create_protection(
    request: Request, sent: Mapping[str, str], *, caller: Caller, protections: Protections, executor: Executor
) -> None:
    """Protect content, or show a received credential, with the fields of a form; empty ones are left out.

    Raises:
        ValidationFailed: a field is missing or wrong.
        Conflict: the consumer protects this content already, or shows this credential.
        NotFound: their inbox has no such credential.
        RateLimited: the plan's daily number of attestations is reached.
        PermissionDenied: a policy of the operator denies it.
    """
    wanted = read_form(ProtectionIn, {name: _to_json(name, value) for name, value in sent.items() if value})

    prepare = partial(protections.prepare, wanted, caller=caller, client_address=request.peer)
    prepared = await executor.read(prepare)
    if prepared is None:  # the first protection of an installation makes the issuer
        await executor.write(lambda tx: protections.platform_issuer.ensure(tx=tx))
        prepared = await executor.read(prepare)
    assert prepared is not None
    ready = prepared
    created = await executor.write(lambda tx: protections.create(ready, tx=tx))
    if isinstance(created, PermissionDenied):
        raise created


def _to_json(name: str, value: str) -> object:
    """Return a form's text as the value that JSON would have."""
    return int(value) if name == "file_size" and value.isascii() and value.isdigit() and len(value) < 20 else value
