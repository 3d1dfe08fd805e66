"""What stands in front of every handler of the dashboards, ours and those of Panel and Bokeh: a guard, and HEAD.

The guard also opens the session of a cookie again that this process does not know, because it has started since.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

from tornado.web import RequestHandler

from attestlab_dashboards.client_names import find_refusal
from attestlab_dashboards.sessions import BrowserSessions
from attestlab_dashboards.sign_in import COOKIE

_guarded: dict[type[RequestHandler], type[RequestHandler]] = {}


class Guarded(RequestHandler):
    """A request handler that answers 400 where the client names a session or an impossible path."""

    async def prepare(self) -> None:
        """Refuse the request, or continue with the handler's own preparation."""
        refusal = find_refusal(self.request)
        if refusal:
            self.set_status(400)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.set_header("Cache-Control", "no-store")
            self.finish(refusal)
            return
        sessions = cast(BrowserSessions, self.application.settings["sessions"])
        await sessions.reopen(self.get_cookie(COOKIE), address=self.request.remote_ip or "")
        if (prepared := super().prepare()) is not None:
            await prepared


class AnswersHead(RequestHandler):
    """A request handler that answers HEAD as GET; Tornado leaves out the body (RFC 9110, section 9.3.2)."""

    def head(self, *args: str, **kwargs: str) -> Awaitable[None] | None:
        """Answer as to GET."""
        return self.get(*args, **kwargs)


def guard(handler: type[RequestHandler]) -> type[RequestHandler]:
    """Return the handler class with this guard in front of it, and with HEAD, the same class each time."""
    if handler not in _guarded:
        own = () if "head" in {name for each in handler.mro()[:-2] for name in vars(each)} else (AnswersHead,)
        _guarded[handler] = type(handler.__name__, (Guarded, *own, handler), {})
    return _guarded[handler]
