"""Which requests about policies take over 20 ms, and the child process that such a request is worked on in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson

from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.policy.jobs import LARGE_BYTES, PROOF_TIMEOUT_S
from attestlab.web.request import Request


def is_large(request: Request) -> bool:
    """Whether a request brings a document that takes long; one that is sent in chunks may."""
    return int(request.header("Content-Length") or LARGE_BYTES + 1) > LARGE_BYTES


async def has_large_policies(request: Request) -> bool:
    """Whether what the tenant's questions are answered from takes long."""
    chars: int = await request.application.run_in_thread(lambda: request.lab.policies.longest_text(request.caller))
    return chars > LARGE_BYTES


async def run_in_process(
    request: Request, function: Callable[..., Any], *arguments: Any, timeout_s: float = PROOF_TIMEOUT_S
) -> Any:
    """What a function of `jobs` returns, called in a child process that ends with its client."""
    workers: WorkerProcesses = request.lab.workers
    tenant_id = request.caller.tenant_id
    return await workers.run(tenant_id, function, *arguments, timeout_s=timeout_s, on_disconnect=request.on_disconnect)


def records_url(request: Request) -> str:
    """Where a child process finds the records; with their password, where they have one."""
    url: str = request.lab.storage.url.render_as_string(hide_password=False)
    return url


def encode_policy(policy: dict[str, Any] | UUID | None) -> bytes | UUID | None:
    """A document as it goes to a child process."""
    return orjson.dumps(policy) if isinstance(policy, dict) else policy
