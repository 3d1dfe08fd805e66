"""Streamed responses: framing, errors on the way, and clients that do not read."""

import time

import pytest

from support.raw_http import get_request
from support.sample_application import SampleServer
from support.timeouts import WAIT_TIMEOUT_S

WHOLE = b"6\r\nfirst \r\n6\r\nsecond\r\n0\r\n\r\n"


def test_pieces_are_chunks_and_the_connection_goes_on(sample: SampleServer) -> None:
    with sample.connect() as wire:
        answer = wire.send(get_request("/v1/streams/whole")).response()

        assert (answer.status, answer.headers["transfer-encoding"]) == (200, "chunked")
        assert not {"content-length", "etag"} & set(answer.headers)
        assert wire.read(len(WHOLE)) == WHOLE
        assert wire.send(get_request("/healthz")).response().status == 200


def test_http_1_0_gets_the_pieces_up_to_the_end_of_the_connection(sample: SampleServer) -> None:
    with sample.connect() as wire:
        answer = wire.send(b"GET /v1/streams/whole HTTP/1.0\r\nHost: test\r\n\r\n").response()

        assert "transfer-encoding" not in answer.headers
        assert wire.read(len(b"first second")) == b"first second"
        assert wire.ended()


def test_error_in_a_later_piece_breaks_the_connection_off(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/v1/streams/broken")).response()

        assert wire.read(len(b"6\r\nfirst \r\n")) == b"6\r\nfirst \r\n"
        assert wire.ended()  # without the last chunk


def test_error_in_a_later_piece_resets_the_connection_of_http_1_0(sample: SampleServer) -> None:
    """The end of the connection is the end of the body there, and a part would look like the whole."""
    with sample.connect() as wire:
        wire.send(b"GET /v1/streams/broken HTTP/1.0\r\nHost: test\r\n\r\n").response()

        assert wire.read(len(b"first ")) == b"first "
        with pytest.raises(ConnectionResetError):
            wire.socket.recv(1)


def test_head_of_a_stream_has_no_body(sample: SampleServer) -> None:
    with sample.connect() as wire:
        request = get_request("/v1/streams/endless").replace(b"GET", b"HEAD", 1)
        assert wire.send(request).response(without_body=True).status == 200
        assert wire.send(get_request("/healthz")).response().status == 200


def test_pieces_wait_for_the_client_and_end_with_it(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/v1/streams/endless")).response()
        made = -1
        while made != sample.lab.pieces_made:
            made = sample.lab.pieces_made
            time.sleep(0.2)
        assert made < 32  # what fits into the sockets' buffers

    assert sample.lab.gone.wait(WAIT_TIMEOUT_S)
