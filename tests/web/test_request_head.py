"""The head parser: a request's head has exactly one reading, or is rejected."""

import re
from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.web.http1.request_head import RequestHead, parse_head, reject_bare_line_feed
from support.processor_time import require_linear

HOST = b"Host: example.org\r\n"
tokens = st.text(st.sampled_from("!#$%&'*+-.^_`|~09azAZ"), min_size=1, max_size=12)
values = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=20)
REQUEST_LINES = [b"GET / HTTP/1.1", b"POST /a?b=c HTTP/1.1", b"OPTIONS * HTTP/1.1", b"PUT http://a.example?b HTTP/1.0"]
FIELD_LINES = [
    *(b"Host: a", b"HOST:\t[::1]:80 ", b"X-A: \xe4", b"x-a:", b"Connection: close", b"Expect: 100-continue"),
    *(b"Content-Length: 5", b"Transfer-Encoding: chunked", b" folded", b"X-B : c", b"\n"),
]
likely_heads = st.builds(
    lambda line, fields: b"\r\n".join([line, b"Host: a.example:80", *fields]),
    st.sampled_from(REQUEST_LINES),
    st.lists(st.sampled_from(FIELD_LINES), max_size=4),
)
REASONS = (
    "the request line is not `METHOD target HTTP/1.1`",
    "a header line is not `name: value`",
    "there is not exactly one Host field",
    "Host is not a host and an optional port",
    "its target is neither a path nor an http URI; this server is no proxy",
    "Transfer-Encoding can only be `chunked`, without Content-Length",
    "Content-Length is not one plain number",
)


def parsed(lines: bytes):
    return parse_head(b"POST /a?b=c HTTP/1.1\r\n" + HOST + lines)


def test_the_head_is_split_into_its_parts() -> None:
    head = parsed(b"Content-Length: 5\r\nX-Empty:\r\nExpect: 100-Continue")

    assert (head.method, head.path, head.query, head.length) == ("POST", "/a", "b=c", 5)
    assert (head.keep_alive, head.awaits_continue) == (True, True)
    assert head.headers == {"host": "example.org", "content-length": "5", "x-empty": "", "expect": "100-Continue"}


@given(st.lists(st.tuples(tokens, values), max_size=8))
def test_fields_are_found_by_name_in_any_case(fields: list[tuple[str, str]]) -> None:
    kept = [(f"x-{name}", value) for name, value in fields]
    lines = "\r\n".join(f"{name.swapcase()}:{value}" for name, value in kept).encode("latin-1")

    headers = parsed(lines).headers if kept else {}

    for name, _ in kept:
        together = [value.strip(" \t") for other, value in kept if other.lower() == name.lower()]
        assert headers[name.lower()] == ", ".join(together)


@given(st.binary(max_size=200) | likely_heads)
@example(b"GET / HTTP/1.1")
@example(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"1" * 5000)
@example(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: \xb2")
def test_any_input_is_either_parsed_or_rejected(raw: bytes) -> None:
    """What is parsed has the fields that were sent, and the same reading when it is written again."""
    try:
        head = parse_head(raw)
    except ValidationFailed as refused:
        require_reason(refused, raw)
        return

    assert head.headers == split_fields(raw)
    assert head.path.startswith("/")
    assert not set("? #") & set(head.path)
    assert "host" in head.headers or not head.takes_chunks
    assert head.takes_chunks or not (head.keep_alive or head.awaits_continue)
    if head.length is None:
        assert head.headers["transfer-encoding"].lower() == "chunked"
    else:
        assert head.length == int(head.headers.get("content-length", "0"))
    trimmed = {name: value.strip(" \t") for name, value in head.headers.items()}  # a repeated field may end in ", "
    assert parse_head(write_head(head)) == head._replace(headers=trimmed)


def require_reason(refused: ValidationFailed, raw: bytes) -> None:
    """The message names one reason, which is not the request line if this is plain, nor a field that was not sent."""
    assert type(refused) is ValidationFailed
    assert refused.message in [f"The request is not well-formed HTTP/1.1: {reason}." for reason in REASONS]
    line, _, fields = raw.partition(b"\r\n")
    is_plain = re.fullmatch(rb"(?!CONNECT )[A-Z]+ /[a-z]* HTTP/1\.[01]", line) is not None
    assert not (is_plain and ("request line" in refused.message or "target" in refused.message))
    for name in (b"Content-Length", b"Transfer-Encoding"):
        is_named = name.decode() in refused.message.partition(", without")[0]
        assert not is_named or name.lower() in fields.lower()


def split_fields(raw: bytes) -> dict[str, str]:
    """The fields of a head, without a pattern."""
    found = defaultdict(list)
    for line in raw.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        found[name.lower()].append(value.strip(" \t"))
    return {name: ", ".join(values) for name, values in found.items()}


def write_head(head: RequestHead) -> bytes:
    """One head that has this reading."""
    target = f"{head.path}?{head.query}" if head.query else head.path
    fields = [f"{name}: {value}" for name, value in head.headers.items()]
    return "\r\n".join([f"{head.method} {target} HTTP/1.{int(head.takes_chunks)}", *fields]).encode("latin-1")


@given(st.binary(max_size=60))
def test_noise_among_the_fields_never_hides_one(noise: bytes) -> None:
    """Either the head is rejected, or the field after the noise has the value that was sent."""
    try:
        head = parsed(noise + b"\r\nContent-Length: 5")
    except ValidationFailed as refused:
        require_reason(refused, b"POST /a HTTP/1.1\r\n" + HOST + noise + b"\r\nContent-Length: 5")
        return

    assert head.headers["content-length"].endswith("5")
    assert head.length is not None


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        ("/", "/", ""),
        ("/a?b?c", "/a", "b?c"),
        ("http://example.org", "/", ""),
        ("HTTPS://example.org:8/a?b", "/a", "b"),
        ("http://example.org?b", "/", "b"),
        ("http://[2001:db8::1]:80/a", "/a", ""),
        ("//a/b", "//a/b", ""),
    ],
)
def test_a_target_is_a_path_or_an_http_uri(target: str, path: str, query: str) -> None:
    head = parse_head(f"GET {target} HTTP/1.1\r\nHost: a".encode())

    assert (head.path, head.query) == (path, query)


def test_options_accepts_the_asterisk_form() -> None:
    assert parse_head(b"OPTIONS * HTTP/1.1\r\nHost: a").path == "/*"


@pytest.mark.parametrize(
    "line",
    [
        "GET healthz",
        "GET *",
        "GET a:443",
        "CONNECT a:443",
        "CONNECT /",
        "CONNECT http://a/",
        "OPTIONS **",
        "GET ftp://a/",
        "GET http:///a",
        "GET http://user@a/",
        "GET http://a:b/",
    ],
)
def test_any_other_target_is_rejected(line: str) -> None:
    with pytest.raises(ValidationFailed, match="target"):
        parse_head(f"{line} HTTP/1.1\r\nHost: a".encode())


@pytest.mark.parametrize(
    "host",
    [
        "",
        "a",
        "a.example:8080",
        "a:",
        "127.0.0.1",
        "[::1]",
        "[2001:db8::1]:443",
        "a_b~c",
        "%C3%A4.example",
        "A-1!$&'()*+;=",
    ],
)
def test_a_host_with_an_optional_port_is_valid(host: str) -> None:
    assert parse_head(f"GET / HTTP/1.1\r\nHost: {host}".encode()).headers["host"] == host


@pytest.mark.parametrize(
    "host",
    [
        "a b",
        "a,b",
        "a/b",
        "http://a",
        "a?b",
        "user@a",
        "a:b",
        "a:1:2",
        "a:123456",
        "a:65536",
        "::1",
        "[::1",
        "[a]",
        "[::1]a",
        "%4",
        "\xe4",
        ":80",
        'a"',
    ],
)
def test_an_invalid_host_is_rejected(host: str) -> None:
    """Also for HTTP/1.0, and if the target names another host."""
    for line in ("GET / HTTP/1.1", "GET / HTTP/1.0", "GET http://b/ HTTP/1.1"):
        with pytest.raises(ValidationFailed, match="Host"):
            parse_head(f"{line}\r\nHost: {host}".encode("latin-1"))


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/1.1",
        "GET / HTTP/1.1\r\nHost: a\r\nhost: a",
        "GET / HTTP/1.0\r\nHost: a\r\nHost: a",
        "GET http://a/ HTTP/1.1",
    ],
)
def test_exactly_one_host_is_required(head: str) -> None:
    with pytest.raises(ValidationFailed, match="exactly one Host"):
        parse_head(head.encode())


@pytest.mark.parametrize(
    ("value", "kept"), [("close", False), ("Close, TE", False), ("keep-alive", True), ("TE", True)]
)
def test_the_connection_header_determines_keep_alive(value: str, kept: bool) -> None:
    assert parsed(f"Connection: {value}".encode()).keep_alive is kept


def test_http_1_0_connections_close_after_one_response() -> None:
    head = parse_head(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue")

    assert (head.keep_alive, head.awaits_continue) == (False, False)


def test_a_chunked_body_has_no_length_yet() -> None:
    assert parsed(b"Transfer-Encoding: Chunked").length is None


@pytest.mark.parametrize("length", [b"0", b"5"])
def test_a_chunked_body_with_a_content_length_is_refused(length: bytes) -> None:
    """RFC 9112 section 6.1: two readers could frame such a request differently."""
    with pytest.raises(ValidationFailed, match="without Content-Length"):
        parsed(b"Transfer-Encoding: chunked\r\nContent-Length: " + length)


def test_a_partial_line_is_awaited_and_a_bare_line_feed_is_rejected() -> None:
    reject_bare_line_feed(b"GET / HTTP/1.1\r")
    reject_bare_line_feed(b"GET / HTTP/1.1\r\nHost")

    with pytest.raises(ValidationFailed):
        reject_bare_line_feed(b"GET / HTTP/1.1\n")


def test_a_long_value_is_parsed_in_linear_time() -> None:
    """A pattern that backtracks at every space would take seconds."""

    def parse_spaces(count: int) -> Callable[[], object]:
        head = b"POST /a?b=c HTTP/1.1\r\n" + HOST + b"X-Long: a" + b" " * count + b"b"
        assert parse_head(head).headers["x-long"].endswith(" b")
        return lambda: parse_head(head)

    require_linear(parse_spaces, 2_000)
