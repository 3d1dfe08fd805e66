"""The document of a page, as Panel writes it, with scripts and styles that are found once and not for every request.

Panel looks at the files of all of its components for each document, which takes twice as long as the page itself.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, cast

from bokeh.embed.util import RenderItem
from bokeh.server.session import ServerSession
from panel.config import config
from panel.io.resources import LOCAL_DIST, Resources, bundle_resources, patch_model_css
from panel.io.server import DocHandler, html_page_for_render_items
from panel.io.state import set_curdoc, state
from tornado.web import authenticated

_PLACE: Final = "bokeh-absolute-url"
_Tags = tuple[str, str]
"""The tags of the scripts, and of the styles."""


class PageHandler(DocHandler):
    """Answers with the document of a page; the pages of a process are all built of the same components."""

    @authenticated
    async def get(self, *_arguments: object, **_named: object) -> None:
        """Send the document; no cache may keep it, because it has the token of its websocket."""
        self.set_header("Cache-Control", "no-store")
        session = await cast(Awaitable[ServerSession], self.get_session())
        with set_curdoc(session.document):
            page = self._write_page(session)
        self.set_header("Content-Type", "text/html")
        self.write(page)

    def _write_page(self, session: ServerSession) -> str:
        document = session.document
        dist_url = f"{state.rel_path}/{LOCAL_DIST}" if state.rel_path else LOCAL_DIST
        for root in document.roots:
            patch_model_css(root, dist_url=dist_url)
        item = RenderItem(token=session.token, roots=document.roots, use_for_title=False)
        return html_page_for_render_items(
            self._find_bundle(session),
            {},
            [item],
            document.title,
            template=document.template,
            template_variables=document.template_variables | {"dist_url": dist_url, "theme_name": config.theme},
        )

    def _find_bundle(self, session: ServerSession) -> _Tags:
        """Find the tags, whose addresses are relative to that of the page.

        A client may name another place for them, which Panel follows; such tags are for its request alone.
        """
        if _PLACE in self.request.arguments:
            return self._bundle(session)
        known: dict[str | None, _Tags] = self.application.settings["bundles"]
        if state.rel_path not in known:
            known[state.rel_path] = self._bundle(session)
        return known[state.rel_path]

    def _bundle(self, session: ServerSession) -> _Tags:
        resources = Resources.from_bokeh(self.application.resources())  # type: ignore[no-untyped-call]  # Panel's
        scripts, styles = bundle_resources(session.document.roots, resources)
        return scripts, styles
