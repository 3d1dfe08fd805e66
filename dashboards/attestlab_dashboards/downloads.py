"""Downloads: a pane's rows as CSV, Parquet or JSON, with the filters of the page, and the page as one HTML file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar, Final, NamedTuple, Protocol
from urllib.parse import urlencode

from tornado.iostream import StreamClosedError

from attestlab.core.encoding import quote
from attestlab.core.errors import AttestLabError, NotFound, ValidationFailed
from attestlab.core.spreadsheet_cells import protect_cell
from attestlab_dashboards.page_list import find_page
from attestlab_dashboards.pages import AnyPage, AnyRows
from attestlab_dashboards.sessions import BrowserSession
from attestlab_dashboards.sign_in import SessionHandler
from attestlab_dashboards.state import PageState
from attestlab_dashboards.stills.drawing import draw_still
from attestlab_dashboards.stills.file import write_still

_PIECE_BYTES: Final = 256 * 1024
_NO_SESSION: Final = "Your session has ended. Sign in, then download the file again."


def _as_csv(rows: AnyRows) -> bytes:
    """Write CSV (RFC 4180); a text that a spreadsheet would run as a formula has an apostrophe before it.

    pandas quotes a text with a carriage return only if the lines end with one.
    """
    frame = rows.df()
    for name in frame.select_dtypes(["object", "string"]):
        frame[name] = frame[name].map(protect_cell, na_action="ignore")
    text: str = frame.to_csv(index=False, date_format="%Y-%m-%dT%H:%M:%S.%fZ", lineterminator="\r\n")
    return text.encode()


def _as_parquet(rows: AnyRows) -> bytes:
    import io

    import pyarrow.parquet as parquet

    buffer = io.BytesIO()
    parquet.write_table(rows.arrow(), buffer)
    return buffer.getvalue()


def _as_json(rows: AnyRows) -> bytes:
    text: str = rows.df().to_json(orient="records", date_format="iso", date_unit="us")
    return text.encode()


FORMATS: Final[Mapping[str, tuple[str, Callable[[AnyRows], bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", _as_csv),
    "parquet": ("application/vnd.apache.parquet", _as_parquet),
    "json": ("application/json", _as_json),
}


class Download(NamedTuple):
    """A file to be saved."""

    name: str
    media_type: str
    content: bytes


class MakeFile(Protocol):
    """Makes a file of a page for a session, with the filters of a query."""

    def __call__(self, session: BrowserSession, path: str, query: Mapping[str, str], /) -> Download: ...


class DownloadHandler(SessionHandler):
    """Sends a file that a session may read."""

    make_file: ClassVar[MakeFile]

    async def get(self, path: str) -> None:
        """Send the file for the page and with the filters that the query names."""
        session = self.find_session()
        if session is None:  # a redirect would be saved: the page of the sign-in under the name of the file
            self._refuse(403, _NO_SESSION)
            return
        query = {name: self.get_query_argument(name) for name in self.request.query_arguments}
        make_file = type(self).make_file
        try:
            file = await asyncio.get_running_loop().run_in_executor(None, lambda: make_file(session, path, query))
        except AttestLabError as error:
            self._refuse(404 if isinstance(error, NotFound) else 400, f"{error} ({error.code})")
            return
        self.set_header("Content-Type", file.media_type)
        self.set_header("Content-Length", len(file.content))  # so that a browser knows a part from the whole
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Disposition", f'attachment; filename="{file.name}"')
        await self._send(file.content)

    def _refuse(self, status: int, reason: str) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(reason)

    async def _send(self, content: bytes) -> None:
        try:
            for start in range(0, len(content), _PIECE_BYTES):
                self.write(content[start : start + _PIECE_BYTES])
                await self.flush()
        except StreamClosedError:
            return


def export_rows(session: BrowserSession, path: str, query: Mapping[str, str]) -> Download:
    """Read the rows of a pane in a format.

    Raises:
        NotFound: there is no such page, pane or format.
        ValidationFailed: the page knows no such filter or value, so the file would have rows that it excludes.
    """
    key, suffix = query.get("pane", ""), query.get("format", "")
    media_type, encode = FORMATS.get(suffix, (None, None))
    page = find_page(path)
    pane = next((pane for pane in page.panes if pane.key == key), None)
    if pane is None or pane.export is None or media_type is None or encode is None:
        raise NotFound("export", f"{path}/{key[:40]}.{suffix[:10]}")
    state = _read_state(page, {name: value for name, value in query.items() if name not in ("pane", "format")})
    return Download(f"{path}-{key}.{suffix}", media_type, encode(pane.export(session.door.lab(), state)))


def export_page(session: BrowserSession, path: str, query: Mapping[str, str]) -> Download:
    """Draw the page as one HTML file that needs no script and no connection.

    Raises:
        NotFound: there is no such page.
        ValidationFailed: the page knows no such filter or value.
    """
    page, lab = find_page(path), session.door.lab()
    filters = urlencode(_read_state(page, query).to_query())
    still = draw_still(lab, path, filters, facts=session.facts, url=session.door.public_url)
    return Download(f"{path}-{still.at:%Y-%m-%d}.html", "text/html; charset=utf-8", write_still(still).encode())


def _read_state(page: AnyPage, filters: Mapping[str, str]) -> PageState:
    state: PageState
    state, ignored = page.state.from_query(filters)
    if ignored:
        names = ", ".join(quote(name) for name in ignored)
        raise ValidationFailed(f"The page cannot filter by {names} any more. Open the page, and download again.")
    return state


class ExportHandler(DownloadHandler):
    """Sends the rows of a pane as a file."""

    make_file = staticmethod(export_rows)


class StillHandler(DownloadHandler):
    """Sends a page as one HTML file."""

    make_file = staticmethod(export_page)
