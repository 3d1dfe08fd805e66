"""`PageWidget`: the widget that carries the messages of a view between a kernel and a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import anywidget
import traitlets

from attestlab_dashboards import assets
from attestlab_dashboards.conversation import PageMessage

SCRIPT = assets.join_scripts("tips.js", "syntax.js", "marks.js", "bridge.js", "cell.js")


class PageWidget(anywidget.AnyWidget):
    """A widget whose model has its script and a name: no data, state or secret is in it, or in a notebook.

    It shows itself in the markup that has this name, so that a notebook stores that markup alone (`display.py`).
    """

    place = traitlets.Unicode(help="The name of the markup that shows the widget.").tag(sync=True)

    _esm: ClassVar = f"{SCRIPT}\nexport default {{ initialize: mount, render }};"

    def __init__(self, on_message: Callable[[PageMessage], None], on_closed: Callable[[], None], **params: Any) -> None:
        super().__init__(**params)
        self._on_message, self._on_closed = on_message, on_closed
        self.on_msg(self._receive)
        self.comm.on_close(self._end)  # type: ignore[attr-defined]  # ipywidgets does not declare what it is

    def post(self, message: Mapping[str, object]) -> None:
        """Send a message to the notebook, unless it has closed the model."""
        if getattr(self.comm, "_closed", False):  # marimo closes the models of a cell that runs again, and calls no one
            self._end()
        self.send(message)

    def _receive(self, _widget: object, content: object, _buffers: object) -> None:
        if isinstance(content, dict):
            self._on_message(content)

    def _end(self, _message: object = None) -> None:
        """End with the model of the notebook, which gets nothing more: without a comm, no message is sent."""
        self.on_msg(self._receive, remove=True)
        self.comm = None
        self._on_closed()
