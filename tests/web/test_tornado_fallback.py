"""A Tornado application can answer the paths that it takes, on the same port and connection."""

import asyncio
from collections.abc import Iterator

import pytest
import tornado.web
import tornado.websocket

from support import patient_http
from support.raw_http import get_request
from support.sample_application import SampleServer, serve_sample_application


class Page(tornado.web.RequestHandler):
    def get(self) -> None:
        self.write(f"page for {self.request.remote_ip}")

    def post(self) -> None:
        self.write(self.request.body)


class Echo(tornado.websocket.WebSocketHandler):
    def on_message(self, message: str | bytes) -> None:
        self.write_message(message)


class Pages(tornado.web.Application):
    def takes(self, path: str) -> bool:
        return path.startswith("/dash/")


def pages() -> Pages:
    return Pages([("/dash/page", Page), ("/dash/socket", Echo)])


@pytest.fixture(scope="module")
def with_pages() -> Iterator[SampleServer]:
    with serve_sample_application(fallback=pages) as server:
        yield server


def test_tornado_answers_unrouted_paths_on_the_same_connection(with_pages: SampleServer) -> None:
    with patient_http.open_client(base_url=with_pages.url) as client:
        kept = [
            client.get("/healthz").json(),
            client.get("/dash/page").text,
            client.get("/healthz").json(),
        ]
        large = [client.post("/dash/page", content=b"x" * 300_000).text for _ in range(20)]

    assert kept == [{"status": "ok"}, "page for 127.0.0.1", {"status": "ok"}]
    assert large == ["x" * 300_000] * 20


def test_pipelined_requests_keep_their_order_across_both_servers(with_pages: SampleServer) -> None:
    with with_pages.connect() as connection:
        connection.send((get_request("/healthz") + get_request("/dash/page")) * 5)
        bodies = [connection.response().body for _ in range(10)]

    assert bodies == [b'{"status":"ok"}', b"page for 127.0.0.1"] * 5


def test_a_websocket_can_be_opened_on_the_same_port(with_pages: SampleServer) -> None:
    async def talk() -> str | bytes | None:
        socket = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{with_pages.port}/dash/socket")
        await socket.write_message("hello")
        answered = await socket.read_message()
        socket.close()
        assert await socket.read_message() is None  # until it is closed
        return answered

    assert asyncio.run(talk()) == "hello"


def test_a_websocket_may_follow_requests_and_send_its_first_frame_with_its_handshake(with_pages: SampleServer) -> None:
    handshake = (
        b"GET /dash/socket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    masked_frame = b"\x81\x85" + bytes(4) + b"hello"  # the mask of zeros changes no byte
    with with_pages.connect() as connection:
        connection.send(get_request("/healthz") + get_request("/dash/page") + handshake + masked_frame)
        answered = connection.response().body, connection.response().body
        upgraded, frame = connection.response(), connection.read(7)

    assert answered == (b'{"status":"ok"}', b"page for 127.0.0.1")
    assert (upgraded.status, frame) == (101, b"\x81\x05hello")
