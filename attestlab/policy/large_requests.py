"""Decides which policy requests take over 20 ms, and runs them in a child process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar
from uuid import UUID

import orjson

from attestlab.core.db.storage import Storage
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.orgs.rules import Caller
from attestlab.policy.jobs import LARGE_BYTES, PROOF_TIMEOUT_S
from attestlab.policy.service import Policies
from attestlab.web.executor import Executor
from attestlab.web.request import Request

Result = TypeVar("Result")


class PolicyProcesses:
    """The child processes that run the large policy requests of all tenants."""

    def __init__(self, *, storage: Storage, policies: Policies, workers: WorkerProcesses) -> None:
        self._storage = storage
        self._policies = policies
        self._workers = workers

    @property
    def records_url(self) -> str:
        """The database URL for a child process, including the password if there is one."""
        return self._storage.full_url

    async def has_large_policies(self, executor: Executor, caller: Caller) -> bool:
        """Whether one of the policies that the tenant's queries use is large."""
        return await executor.run_in_thread(self._policies.longest_text, caller) > LARGE_BYTES

    async def is_needed(self, request: Request, executor: Executor, caller: Caller) -> bool:
        """Whether the request's document or one of the tenant's policies is large."""
        return is_large(request) or await self.has_large_policies(executor, caller)

    async def run(
        self,
        request: Request,
        caller: Caller,
        function: Callable[..., Result],
        *arguments: object,
        timeout_s: float = PROOF_TIMEOUT_S,
    ) -> Result:
        """Return the result of a function of `jobs`, in a child process that is stopped when the client disconnects."""
        on_disconnect = request.on_disconnect
        return await self._workers.run(
            caller.tenant_id, function, *arguments, timeout_s=timeout_s, on_disconnect=on_disconnect
        )


def is_large(request: Request) -> bool:
    """Whether the request has a large document; a chunked request counts as large, because its size is unknown."""
    return int(request.header("Content-Length") or LARGE_BYTES + 1) > LARGE_BYTES


def encode_policy(policy: Mapping[str, object] | UUID | None) -> bytes | UUID | None:
    """Encode a document for a child process; pass on an id."""
    return orjson.dumps(policy) if isinstance(policy, Mapping) else policy
