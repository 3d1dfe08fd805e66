"""The websocket of a page: for the browser session that opened the page, from our own pages alone."""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from bokeh.core.types import ID
from bokeh.protocol.exceptions import ProtocolError
from bokeh.server.contexts import BokehSessionContext
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import check_token_signature, get_session_id, get_token_payload
from panel.io.server import WSHandler
from tornado.ioloop import IOLoop

from attestlab.web.page_origin import is_own_origin
from attestlab_dashboards.sessions import MAX_SOCKETS, BrowserSession, BrowserSessions

_CLOSE_AFTER_S: Final = 0.5  # a page whose session ended first gets the address to continue at
_SWITCHING_PROTOCOLS: Final = 101
_SESSION_ENDED: Final = 4001  # a close code for applications (RFC 6455, section 7.4.2)


class PageSocket(WSHandler):
    """Joins the document of a page, whose token, document and cookie belong to one browser session."""

    _session: BrowserSession | None = None

    def check_origin(self, origin: str) -> bool:
        """Whether the script that connects is of a page of ours."""
        return is_own_origin(origin, self.request.host, self.application.settings["public_url"])

    async def prepare(self) -> None:
        """Reject a websocket without a session, with the page of another one, or beyond what a session may have."""
        await super().prepare()  # type: ignore[no-untyped-call]
        if self.current_user is None:  # it is rejected already
            return
        session = cast(BrowserSessions, self.application.settings["sessions"]).get(self.current_user)
        if session is None or self._find_owners() != {session.handle} or len(session.sockets) >= MAX_SOCKETS:
            self.set_status(403)
            self.finish()
            return
        self._session = session
        session.sockets.add(self)

    def end(self) -> None:
        """Close the websocket, after the message that the session has ended."""
        IOLoop.current().call_later(_CLOSE_AFTER_S, partial(self.close, _SESSION_ENDED, "The session has ended."))

    def on_close(self) -> None:
        """Forget the websocket."""
        self._forget()
        super().on_close()

    def on_finish(self) -> None:
        """Forget a websocket whose handshake was refused."""
        if self.get_status() != _SWITCHING_PROTOCOLS:
            self._forget()

    def on_connection_close(self) -> None:
        """Forget a websocket whose client is gone, perhaps during the handshake."""
        self._forget()
        super().on_connection_close()

    def _forget(self) -> None:
        if self._session is not None:
            self._session.sockets.discard(self)

    def _find_owners(self) -> set[object]:
        """Return the handles of the sessions for which the token, and the document that it names, were made."""
        protocols = self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        token = protocols[1].strip() if len(protocols) == 2 else ""
        try:
            if not check_token_signature(
                token, secret_key=cast(BokehTornado, self.application).secret_key, signed=True
            ):
                return {None}
            payload, name = get_token_payload(token), get_session_id(token)
        except Exception:  # the text is the client's, and Bokeh reads it before it checks the signature
            return {None}
        return {payload.get("handle"), *self._find_owner_of_document(name)}

    def _find_owner_of_document(self, name: ID) -> set[object]:
        """Return the handle for which the document was built; none if it was discarded, and is built again."""
        try:
            document = self.application_context.get_session(name).document
        except ProtocolError:
            return set()
        return {cast(BokehSessionContext, document.session_context).token_payload.get("handle")}
