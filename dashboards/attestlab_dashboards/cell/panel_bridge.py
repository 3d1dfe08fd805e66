"""`CellBridge`: a view as a component of Panel, to be composed with others and served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Any, ClassVar

import panel as pn

from attestlab_dashboards.cell.widget import SCRIPT
from attestlab_dashboards.conversation import PageMessage


class CellBridge(pn.custom.JSComponent):
    """Carries the messages of a view in a document of Panel, whose event loop is another than that of the views."""

    _esm: ClassVar = f"{SCRIPT}\nexport {{ render }};"

    def __init__(self, on_message: Callable[[PageMessage], None], **params: Any) -> None:
        super().__init__(**params)
        self._on_message = on_message
        self._loop: asyncio.AbstractEventLoop | None = None

    def send(self, message: PageMessage) -> None:
        """Send a message to the browser, from the thread of the views."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._send_msg, dict(message), context=Context())

    def _handle_msg(self, data: object) -> None:
        self._loop = asyncio.get_running_loop()
        if isinstance(data, dict):
            self._on_message(data)
