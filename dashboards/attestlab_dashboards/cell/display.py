"""`CellDisplay`: how a view shows itself in a cell: live where its kernel is, as a still everywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from contextvars import Context, copy_context
from functools import cached_property
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from attestlab_dashboards.cell import views_loop
from attestlab_dashboards.cell.page import CellPage, CellWindow
from attestlab_dashboards.conversation import PageMessage
from attestlab_dashboards.safe import html
from attestlab_dashboards.stills.drawing import Still
from attestlab_dashboards.stills.fragment import write_fragment, write_opening
from attestlab_dashboards.stills.inert import make_inert

if TYPE_CHECKING:
    from attestlab_dashboards.cell.panel_bridge import CellBridge
    from attestlab_dashboards.cell.widget import PageWidget

_WIDGET: Final = "application/vnd.jupyter.widget-view+json"


class CellDisplay:
    """What can be shown in a cell.

    A notebook stores markup that needs no script: the still, with the name of its live view. Where the model of that
    name lives, the view takes the place of the still. Notebooks that show markup in a frame, as Visual Studio Code and
    Colab do, get the widget beside it: they have no other way to its model.
    """

    _cell: CellPage
    _key: str = ""

    def _draw_still(self, only: str = "") -> Still:
        raise NotImplementedError

    @cached_property
    def _place_name(self) -> str:
        return f"al-{uuid4().hex[:12]}"

    @cached_property
    def _widget(self) -> PageWidget:
        return self._make_widget()

    def _make_widget(self) -> PageWidget:
        from attestlab_dashboards.cell.widget import PageWidget  # loads ipywidgets, which only shown views need

        # The window sends by the widget, and the widget receives for the window.
        window = self._cell.open_window(lambda message: widget.post(to_plain(message)), self._key)
        widget: PageWidget = _choose_context().run(
            PageWidget,
            on_message=lambda message: self._receive(window, message),
            on_closed=lambda: self._forget_widget(widget, window),
            place=self._place_name,
        )
        return widget

    def _forget_widget(self, widget: PageWidget, window: CellWindow) -> None:
        """Forget a widget that a notebook has closed; whenever the view is shown again, it gets another one."""
        if self.__dict__.get("_widget") is widget:
            del self._widget
        views_loop.get_loop().call_soon_threadsafe(self._cell.close_window, window)

    def _receive(self, window: CellWindow, message: PageMessage) -> None:
        views_loop.get_loop().call_soon_threadsafe(self._cell.receive, window, message)

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, object]:
        still = write_fragment(self._draw_still(), name=self._place_name, only=self._key)
        return self._make_bundle(still)

    def _draw_opening(self) -> str:
        """Draw what is seen at once: the page with empty panes."""
        return write_opening(self._cell.path, make_inert(self._cell.draw_frame(self._key)))

    def _make_bundle(self, content: str) -> dict[str, object]:
        bundle: dict[str, object] = {"text/plain": repr(self), "text/html": self._draw_place(content)}
        if _shows_markup_in_frames():
            bundle[_WIDGET] = {"version_major": 2, "version_minor": 0, "model_id": self._widget.model_id}
        return bundle

    def _draw_place(self, content: str) -> str:
        begin, end = html('<div data-al-view="{name}">', name=self._widget.place), html("</div>")
        return f"{begin}{content}{end}"

    def _ipython_display_(self) -> None:
        """Show the view at once, and store its still once it is loaded."""
        from IPython.display import display  # only IPython calls this

        shown = display(self._make_bundle(self._draw_opening()), raw=True, display_id=True)
        bundle = self._repr_mimebundle_()
        if shown is not None:
            shown.update(bundle, raw=True)

    def _display_(self) -> PageWidget:
        """Return what marimo shows, which knows widgets; a widget lives until the cell that shows it runs again."""
        return self._make_widget()

    def __panel__(self) -> CellBridge:
        from attestlab_dashboards.cell.panel_bridge import CellBridge  # loads Panel, which takes seconds

        # The window sends by the bridge, and the bridge receives for the window.
        bridge = CellBridge(lambda message: self._receive(window, message), sizing_mode="stretch_width")
        window = views_loop.call(lambda: self._cell.open_window(bridge.send, self._key))
        return bridge


def _choose_context() -> Context:
    """Return the context in which a widget opens its comm.

    From version 7 on, ipykernel answers a comm where the request runs that opened it. That is the cell, so the first
    message of the view would wait until the cell ends. Opened by no request, a comm is answered where the notebook
    sends its messages, past the cells. Notebooks with frames may need to know the cell.
    """
    return copy_context() if _shows_markup_in_frames() or "ipykernel" not in sys.modules else Context()


def _shows_markup_in_frames() -> bool:
    return "google.colab" in sys.modules or any(name.startswith("VSCODE_") for name in os.environ)


def to_plain(message: Mapping[str, object]) -> dict[str, object]:
    """Return a message whose texts are of the class `str` and of no class below it.

    Some notebooks encode markup, which is a text and more, as an object.

    >>> from markupsafe import Markup
    >>> plain = to_plain({"panes": [{"html": Markup("<p>")}]})
    >>> plain, type(plain["panes"][0]["html"])
    ({'panes': [{'html': '<p>'}]}, <class 'str'>)
    """
    return {name: _to_plain(value) for name, value in message.items()}


def _to_plain(value: object) -> object:
    match value:
        case str():
            return str(value)
        case Mapping():
            return to_plain(value)
        case list() | tuple():
            return [_to_plain(each) for each in value]
    return value
