"""A person at a dashboard, without a browser: sign-in and pages over HTTP, and the browser's part of Bokeh's protocol.

A browser waits longer than this client: it also loads scripts and draws. The client sends what the page's script would
send (`assets/bridge.js`), and ends a wait with the message that all panes are drawn.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from time import perf_counter
from typing import Any, Self

import httpx
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

TIMEOUT_S = 600.0  # a machine that is too busy for 20 people gives a figure too
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
_SKELETON = b'id="al-skeleton"'
_TOKEN = re.compile(r'"token":\s*"([^"]+)"')
_FAULTS = ("This could not be", "You may not see this")
_BRIDGE = "ReactiveESM"


class Person:
    """A signed-in person, with the cookie of their browser."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S)

    async def sign_in(self, email: str, password: str) -> Self:
        """Sign in.

        Raises:
            RuntimeError: the sign-in was refused.
        """
        fields = {"email": email, "password": password}
        answer = await self._http.post("/dash/sign-in", data=fields, headers={"Origin": self._url})
        if answer.status_code != 303:
            raise RuntimeError(f"The sign-in was answered with {answer.status_code}.")
        return self

    async def open_page(self, path: str) -> OpenPage:
        """Open a page and wait until all of its panes are drawn."""
        begin, document, first_markup_s = perf_counter(), b"", 0.0
        async with self._http.stream("GET", f"/dash/{path}") as response:
            async for chunk in response.aiter_bytes():
                document += chunk
                if not first_markup_s and _SKELETON in document:
                    first_markup_s = perf_counter() - begin
        found = _TOKEN.search(document.decode())
        if found is None or not first_markup_s:
            raise RuntimeError(f"/dash/{path} is not the document of a page: {document[:300]!r}")
        cookies = "; ".join(f"{name}={value}" for name, value in self._http.cookies.items())
        address = f"ws{self._url.removeprefix('http')}/dash/{path}/ws"
        request = HTTPRequest(address, headers={"Origin": self._url, "Cookie": cookies}, request_timeout=TIMEOUT_S)
        socket = await websocket_connect(request, subprotocols=["bokeh", found[1]], max_message_size=MAX_MESSAGE_BYTES)
        page = OpenPage(socket, first_markup_s)
        await page.begin()
        page.ready_s = perf_counter() - begin
        return page

    async def close(self) -> None:
        """Close the connections; the session stays until it expires."""
        await self._http.aclose()


class OpenPage:
    """A page of a person: `first_markup_s` and `ready_s` are the waits from its request, in seconds."""

    def __init__(self, socket: WebSocketClientConnection, first_markup_s: float) -> None:
        self._socket = socket
        self._bridge_id = ""
        self._sent = 0
        self._number = 0
        self.first_markup_s = first_markup_s
        self.ready_s = 0.0

    async def begin(self) -> None:
        """Pull the document once the server is ready for it, and greet the page as its script does."""
        await self._read_answer("ACK")
        await self._send("PULL-DOC-REQ", {})
        self._bridge_id = next(_find_ids(await self._read_answer("PULL-DOC-REPLY")))
        await self._send_event({"hello": ""})
        await self._wait_until_ready()

    async def filter(self, query: str) -> float:
        """Show another state of the page, as Back does; returns the seconds until all panes are drawn."""
        begin = perf_counter()
        await self._send_event({"address": query})
        await self._wait_until_ready()
        return perf_counter() - begin

    def close(self) -> None:
        """Close the websocket, as a browser does with its window."""
        self._socket.close()

    async def _wait_until_ready(self) -> None:
        """Wait for the message that the newest filter is drawn.

        Raises:
            RuntimeError: a pane failed, because the speed of an error is not a figure.
        """
        self._number += 1
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                kind, content = await self._read()
                if kind != "PATCH-DOC":
                    continue
                for message in _read_messages(content):
                    if message["do"] == "ready" and message["number"] == self._number:
                        return
                    if fault := next((each for each in _FAULTS if each in str(message.get("panes", ""))), None):
                        raise RuntimeError(f"A pane says: {fault}. {str(message['panes'])[:600]}")

    async def _send_event(self, data: dict[str, object]) -> None:
        values = {"model": {"id": self._bridge_id}, "data": {**data, "n": self._sent}}
        event = {"type": "event", "name": "data_event", "values": values}
        await self._send(
            "PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": event}]}
        )

    async def _send(self, kind: str, content: dict[str, object]) -> None:
        self._sent += 1
        for part in ({"msgid": str(self._sent), "msgtype": kind}, {}, content):
            await self._socket.write_message(json.dumps(part))

    async def _read_answer(self, wanted: str) -> Any:
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                kind, content = await self._read()
                if kind == wanted:
                    return content

    async def _read(self) -> tuple[str, Any]:
        header = json.loads(await self._read_fragment())
        await self._read_fragment()  # metadata
        content = json.loads(await self._read_fragment())
        for _ in range(2 * header.get("num_buffers", 0)):
            await self._read_fragment()
        return header["msgtype"], content

    async def _read_fragment(self) -> str | bytes:
        fragment = await self._socket.read_message()
        if fragment is None:
            raise RuntimeError(f"The websocket was closed: {self._socket.close_code} {self._socket.close_reason}")
        return fragment


def _find_ids(value: Any) -> Iterator[str]:
    """Find the models of a document that speak with a script of ours."""
    if isinstance(value, dict):
        if str(value.get("name", "")).endswith(_BRIDGE) and "id" in value:
            yield str(value["id"])
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _find_ids(each)


def _read_messages(content: Any) -> Iterator[dict[str, Any]]:
    """Read what the server sends to the page's script."""
    for event in content["events"]:
        data = event.get("msg_data")
        if isinstance(data, dict) and data.get("name") == "esm_event":
            values = _read_plain(data["values"])
            yield values["data"]


def _read_plain(value: Any) -> Any:
    """Read Bokeh's serialized maps as dicts."""
    if isinstance(value, dict) and value.get("type") == "map":
        return {key: _read_plain(each) for key, each in value.get("entries", [])}
    return [_read_plain(each) for each in value] if isinstance(value, list) else value
