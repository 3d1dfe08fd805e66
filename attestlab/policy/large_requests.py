"""Decides which policy requests take over 20 ms, and runs them in a child process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

import orjson

from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.policy.jobs import LARGE_BYTES, PROOF_TIMEOUT_S
from attestlab.web.request import Request

Result = TypeVar("Result")


def is_large(request: Request) -> bool:
    """Whether the request has a large document; a chunked request counts as large, because its size is unknown."""
    return int(request.header("Content-Length") or LARGE_BYTES + 1) > LARGE_BYTES


async def has_large_policies(request: Request) -> bool:
    """Whether one of the policies that the tenant's queries use is large."""
    chars: int = await request.application.run_in_thread(lambda: request.lab.policies.longest_text(request.caller))
    return chars > LARGE_BYTES


async def run_in_process(
    request: Request, function: Callable[..., Result], *arguments: object, timeout_s: float = PROOF_TIMEOUT_S
) -> Result:
    """Return the result of a function of `jobs`, run in a child process that is stopped when the client disconnects."""
    workers: WorkerProcesses = request.lab.workers
    tenant_id = request.caller.tenant_id
    return await workers.run(tenant_id, function, *arguments, timeout_s=timeout_s, on_disconnect=request.on_disconnect)


def records_url(request: Request) -> str:
    """Return the database URL for a child process, including the password if there is one."""
    url: str = request.lab.storage.url.render_as_string(hide_password=False)
    return url


def encode_policy(policy: dict[str, object] | UUID | None) -> bytes | UUID | None:
    """Encode a document for a child process; pass on an id."""
    return orjson.dumps(policy) if isinstance(policy, dict) else policy
