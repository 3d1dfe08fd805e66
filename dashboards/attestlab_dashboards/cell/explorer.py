"""`Explorer`: a page of the dashboards in a notebook. What is clicked in it is data for the next cell."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import param
from param.parameterized import Event

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.client.file_replacement import replace_file
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import quote
from attestlab.core.errors import NotFound, PermissionDenied, ValidationFailed
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten
from attestlab.core.suggestions import find_nearest
from attestlab_dashboards.cell import views_loop
from attestlab_dashboards.cell.caller import ANYONE, open_lab, read_caller
from attestlab_dashboards.cell.display import CellDisplay
from attestlab_dashboards.cell.page import CellPage
from attestlab_dashboards.cell.script import ScriptPart, write_script
from attestlab_dashboards.cell.settings import apply_settings, show
from attestlab_dashboards.explore_call import write_explore_call
from attestlab_dashboards.lake_query import LakeQuery, write_python
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage, AnyPane, AnyRows, Facts
from attestlab_dashboards.state import PageState
from attestlab_dashboards.stills.drawing import Still, draw_loaded
from attestlab_dashboards.stills.file import write_still

_HTTP: Final = ("http://", "https://")
_log = logging.getLogger(__name__)


class Explorer(CellDisplay, param.Parameterized):
    """A page of the dashboards in a cell, for the caller of a lab.

    `state` is what the page shows. Clicks change it, and so does `set`; `param.watch(function, "state")` calls a
    function after each change, for a click in the thread of the views.
    """

    state = param.Parameter(doc="What the page shows; `set` changes it.")

    def __init__(self, lab: Lab, page: AnyPage, facts: Facts, state: PageState, *, place: str) -> None:
        super().__init__(name=page.path)
        self._move(state)
        self._lab = lab
        self._page = page
        self._facts = facts
        self._place = place
        folder = f"{place.rstrip('/')}/dash/" if place.startswith(_HTTP) else ""
        self._cell = CellPage(page, lab, facts, folder=folder)
        self._cell.conversation.param.update(state=state)
        self._cell.conversation.param.watch(self._follow_page, "state")
        self.param.watch(self._move_page, "state")

    def set(self, **settings: object) -> Explorer:
        """Move the page, as clicks do.

        Args:
            settings: the parameters of its state by name, such as `source="login"`, as values or as texts of an
                address; `days=7` is the window of the last days, and None resets a parameter.

        Returns:
            This view.

        Raises:
            ValidationFailed: there is no such parameter, or a value is not acceptable; the message names those that
                are.
        """
        self._move(apply_settings(self._page, self.state, settings))
        return self

    def rows(self, pane: str) -> AnyRows:
        """Return the rows behind a pane, with the filters of the page as they are now.

        Args:
            pane: its key; `dir(view)` and the message of an unknown one list them.

        Returns:
            A table with `df`, `arrow`, `pl`, `to_parquet` and the like.

        Raises:
            ValidationFailed: there is no such pane, or it has no rows.
            PermissionDenied: the caller of the lab may not see it, or has no API key for its query.
        """
        found = self._find_pane(pane)
        if found.export is None:
            raise ValidationFailed(f"The pane {quote(pane)} has no rows. These have: {self._list('export')}.")
        rows = found.export(self._lab, self.state)
        if isinstance(rows, Rows) and self._facts is ANYONE:
            raise PermissionDenied(
                f"The rows of {found.key} are counted for callers with an API key: attestlab.connect(url, api_key)."
            )
        return rows

    def sql(self, pane: str) -> str:
        """Return the query that gives the rows of a pane, for `lab.sql`.

        Raises:
            ValidationFailed: there is no such pane, or its rows are computed by other verbs, which `python` shows.
            PermissionDenied: the lab has no API key, without which no query runs.
        """
        query = self._compose_sql(self._find_pane(pane))
        if query is None and self._facts is ANYONE:
            raise PermissionDenied("The service runs queries for callers with an API key. Use view.rows instead.")
        if query is None:
            raise ValidationFailed(
                f"The pane {quote(pane)} is no query. See view.python({pane!r}). These are queries: "
                f"{self._list('copy_sql')}."
            )
        return query

    def python(self, pane: str | None = None) -> str:
        """Return Python that gives what a pane shows without the view.

        Args:
            pane: its key; without one, a script for the whole view, which asserts the numbers that are seen now.

        Raises:
            ValidationFailed: there is no such pane, or it has no code.
        """
        if pane is None:
            call = write_explore_call(self._page.path, self.state)
            parts = [
                ScriptPart(each, self._compose_python(each), self._compose_sql(each))
                for each in self._list_panes()
                if self._shows_rows(each)
            ]
            return write_script(self._lab, parts, place=self._place, call=call)
        code = self._compose_python(self._find_pane(pane))
        if code is None:
            raise ValidationFailed(f"The pane {quote(pane)} has no code. Use view.rows or view.python() instead.")
        return code

    @property
    def link(self) -> str:
        """The address of the same page at the service.

        Raises:
            ValidationFailed: the lab is in this process, which serves no pages.
        """
        if not self._place.startswith(_HTTP):
            raise ValidationFailed(
                f"The lab ({self._place}) is in this process, which serves no page to link to. Serve it (`attestlab "
                "serve`), and explore it through attestlab.connect(url, api_key)."
            )
        query = urlencode(self.state.to_query())
        return f"{self._place.rstrip('/')}/dash/{self._page.path}{'?' if query else ''}{query}"

    def save(self, path: str | PathLike[str]) -> Path:
        """Save what the page shows as one HTML file that needs no script, server or connection.

        Args:
            path: of the file, which is replaced whole.

        Returns:
            Its path.

        Raises:
            ValidationFailed: no file can be written there.
        """
        text = write_still(self._draw_still())
        with replace_file(path) as draft:
            draft.write_text(text, encoding="utf-8")
        return Path(path)

    def __getitem__(self, pane: str) -> PaneExplorer:
        """Return one pane, to be shown alone; it follows the state of this view."""
        return PaneExplorer(self, self._find_pane(pane))

    def _ipython_key_completions_(self) -> list[str]:
        return [pane.key for pane in self._list_panes()]

    def __dir__(self) -> list[str]:
        return ["link", "param", "python", "rows", "save", "set", "sql", "state"]

    def __repr__(self) -> str:
        return shorten(write_explore_call(self._page.path, self.state), MAX_REPR_CHARACTERS)

    def _draw_still(self, only: str = "") -> Still:
        return draw_loaded(
            self._cell.begin_load,
            self._page,
            self.state,
            at=self._lab.now(),
            facts=self._facts,
            url=self._place if self._place.startswith(_HTTP) else "",
            only=only,
        )

    def _shows_rows(self, pane: AnyPane) -> bool:
        """Whether a pane has rows now; the code of one that is no query may need some."""
        if pane.copy_python is None or pane.export is None:
            return True
        try:
            return len(pane.export(self._lab, self.state)) > 0
        except (NotFound, ValidationFailed):  # nothing to compare with, or no policy
            return False

    def _compose_sql(self, pane: AnyPane) -> str | None:
        """Compose the query of the rows of a pane; of one without rows, the query that it draws; of anyone's, none."""
        if self._facts is ANYONE:
            return None
        try:
            rows = None if pane.export is None or pane.copy_sql is None else pane.export(self._lab, self.state)
        except NotFound:  # nothing to compare with, for instance
            rows = None
        query = LakeQuery.of(rows) if isinstance(rows, Rows) else None
        return pane.compose_sql(self.state) if query is None else query.to_sql()

    def _compose_python(self, pane: AnyPane) -> str | None:
        if pane.copy_python is not None:
            return pane.compose_python(self._name_shown())
        sql = self._compose_sql(pane)
        return None if sql is None else write_python(sql)

    def _name_shown(self) -> PageState:
        """Name in the state what the page chooses for a caller who lists nothing: the newest entry of the log."""
        state: PageState = self.state
        is_chosen = self._facts is ANYONE and isinstance(state, LogState) and not state.find
        return state.replace(find=str(len(self._lab.log) - 1)) if is_chosen else state

    def __setattr__(self, name: str, value: object) -> None:
        if name == "state":
            raise _refuse_state()
        super().__setattr__(name, value)

    def _move(self, state: PageState) -> None:
        state.freeze()
        super().__setattr__("state", state)

    def _follow_page(self, event: Event) -> None:
        """Take the state over that a click chose; a watcher of a person that fails does not stop the page."""
        try:
            if event.new != self.state:
                self._move(event.new)
        except Exception:
            _log.exception("a function that watches the state of a view failed")

    def _move_page(self, event: Event) -> None:
        """Draw the state that Python chose."""
        if event.new != self._cell.conversation.state:
            views_loop.call(lambda: self._cell.show(event.new))

    def _list_panes(self) -> Iterator[AnyPane]:
        """Iterate over the panes that show data to the caller."""
        for pane in self._page.panes:
            if not pane.is_tool and (not pane.scope or pane.scope in self._facts.scopes):
                yield pane

    def _list(self, attribute: str) -> str:
        return ", ".join(pane.key for pane in self._list_panes() if getattr(pane, attribute) is not None)

    def _find_pane(self, key: object) -> AnyPane:
        pane = next((each for each in self._page.panes if each.key == key), None)
        if pane is None:
            keys = [each.key for each in self._list_panes()]
            nearest = find_nearest(key, keys) if isinstance(key, str) else None
            hint = f" Did you mean {nearest}?" if nearest else ""
            raise ValidationFailed(
                f"The page {self._page.name} has no pane {show(key)}.{hint} It has {', '.join(keys)}."
            )
        if pane.scope and pane.scope not in self._facts.scopes:
            raise PermissionDenied(
                f"The pane {pane.key} needs the scope {pane.scope}, which this lab does not have. Open the lab with a "
                "key that has it; an owner creates one."
            )
        return pane


class PaneExplorer(CellDisplay):
    """One pane of a view, as small as a chart. What is clicked in it moves the view that it is of."""

    def __init__(self, explorer: Explorer, pane: AnyPane) -> None:
        self._explorer = explorer
        self._pane = pane
        self._cell = explorer._cell
        self._key = pane.key

    @property
    def state(self) -> PageState:
        """What the view of the pane shows."""
        state: PageState = self._explorer.state
        return state

    @state.setter
    def state(self, state: object) -> None:
        raise _refuse_state()

    def rows(self) -> AnyRows:
        """Return the rows of the pane (`Explorer.rows`)."""
        return self._explorer.rows(self._pane.key)

    def sql(self) -> str:
        """Return the query of the pane (`Explorer.sql`)."""
        return self._explorer.sql(self._pane.key)

    def python(self) -> str:
        """Return the code of the pane (`Explorer.python`)."""
        return self._explorer.python(self._pane.key)

    def __repr__(self) -> str:
        return shorten(f'{self._explorer!r}["{self._pane.key}"]', MAX_REPR_CHARACTERS)

    def _draw_still(self, only: str = "") -> Still:
        return self._explorer._draw_still(self._pane.key)


def _refuse_state() -> ValidationFailed:
    return ValidationFailed("The state of a view is what it shows, and is not assigned. Move it: view.set(days=7).")


def open_explorer(client: ServiceClient, path: object, settings: Mapping[str, object]) -> Explorer:
    """Open a page for the caller of a client of a service.

    Raises:
        ValidationFailed: there is no such page, or a setting is not acceptable.
        PermissionDenied: the page needs an API key.
    """
    page = next((each for each in PAGES if each.path == path), None)
    if page is None:
        nearest = find_nearest(path, [each.path for each in PAGES]) if isinstance(path, str) else None
        hint = f" Did you mean {nearest!r}?" if nearest else ""
        listed = ", ".join(each.path for each in PAGES)
        raise ValidationFailed(f"There is no page {show(path)}.{hint} Pass one of {listed}.")
    state = apply_settings(page, page.state(), settings)
    lab = open_lab(client)
    return Explorer(lab, page, read_caller(lab, page), state, place=client.place)
