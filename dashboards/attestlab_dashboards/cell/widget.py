"""`PageWidget`: the widget that carries the messages of a view between a kernel and a notebook."""

from __future__ import annotations

from collections.abc import Callable
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

    def __init__(self, on_message: Callable[[PageMessage], None], **params: Any) -> None:
        super().__init__(**params)
        self.on_msg(lambda _widget, content, _buffers: on_message(content) if isinstance(content, dict) else None)
