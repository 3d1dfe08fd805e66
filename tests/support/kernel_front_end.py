"""A front end of a real kernel without a browser: it speaks the protocols of Jupyter's messages and widgets.

Visual Studio Code and Colab are such front ends: they show a widget by its display bundle, make its model from the
state in `comm_open`, and carry its messages as `comm_msg` (Jupyter widget messaging protocol 2.1).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from support.timeouts import WAIT_TIMEOUT_S

Message = dict[str, Any]


class FrontEnd:
    """Runs cells, and keeps the models of widgets by the id of their comm."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self._client = client
        self.models: dict[str, Message] = {}
        self.received: dict[str, list[Message]] = {}

    def run(self, code: str) -> list[Message]:
        """Run a cell; returns what it displays, as bundles of MIME types, each in its last form."""
        request = self._client.execute(code)
        shown: dict[str, Message] = {}
        while True:
            message = self._take()
            if message["parent_header"].get("msg_id") != request:
                continue
            content = message["content"]
            assert message["msg_type"] != "error", content["traceback"]
            if message["msg_type"] in ("display_data", "update_display_data", "execute_result"):
                name = content.get("transient", {}).get("display_id", message["header"]["msg_id"])
                shown[name] = content["data"]
            if content.get("execution_state") == "idle":
                return list(shown.values())

    def send(self, model: str, **content: object) -> None:
        """Send a custom message to the widget of a model."""
        self._send("comm_msg", {"comm_id": model, "data": {"method": "custom", "content": content}})

    def close(self, model: str) -> None:
        """Close a model."""
        self._send("comm_close", {"comm_id": model, "data": {}})

    def wait_for(self, model: str, do: str) -> list[Message]:
        """Wait for a custom message that does something; returns all up to it, which are not returned again."""
        while True:
            came = self.received.setdefault(model, [])
            if any(each["do"] == do for each in came):
                self.received[model] = []
                return came
            self._take()

    def _send(self, kind: str, content: Mapping[str, object]) -> None:
        session = self._client.session
        self._client.shell_channel.send(session.msg(kind, content))

    def _take(self) -> Message:
        message: Message = self._client.get_iopub_msg(timeout=WAIT_TIMEOUT_S)
        content = message["content"]
        if message["msg_type"] == "comm_open":
            self.models[content["comm_id"]] = content["data"]["state"]
        if message["msg_type"] == "comm_msg" and content["data"].get("method") == "custom":
            self.received.setdefault(content["comm_id"], []).append(content["data"]["content"])
        return message


@contextmanager
def open_front_end(**environment: str) -> Iterator[FrontEnd]:
    """Start a kernel with further variables in its environment, as the notebook sets them."""
    manager, client = start_new_kernel(env={**os.environ, **environment})
    try:
        yield FrontEnd(client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
