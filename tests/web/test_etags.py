"""Entity tags: a read carries a strong ETag, and a client that has the response already gets 304 (RFC 9110)."""

import httpx
import pytest

from support.sample_application import KNOWN_ID

NOTE = f"/v1/notes/{KNOWN_ID}"


def test_equal_bodies_have_equal_etags(client: httpx.Client) -> None:
    tags = [client.get(path).headers["etag"] for path in (NOTE, NOTE, "/v1/notes", "/v1/notes?limit=1")]

    assert tags[0] == tags[1]
    assert len(set(tags)) == 3
    assert all(tag.startswith('"') and tag.endswith('"') for tag in tags)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("shape", ["{}", "W/{}", '"other", {}', '"a,b" , W/{},"c"', "*"])
def test_a_matching_etag_gets_304_without_a_body(client: httpx.Client, method: str, shape: str) -> None:
    tag = client.get(NOTE).headers["etag"]

    response = client.request(method, NOTE, headers={"If-None-Match": shape.format(tag)})

    assert (response.status_code, response.content) == (304, b"")
    assert response.headers["etag"] == tag
    assert "content-type" not in response.headers
    assert client.get("/healthz").status_code == 200  # the connection is still in step


@pytest.mark.parametrize("shape", ['"other"', "{bare}", '"{bare}x"', ""])
def test_another_etag_gets_the_full_response(client: httpx.Client, shape: str) -> None:
    bare = client.get(NOTE).headers["etag"].strip('"')

    assert client.get(NOTE, headers={"If-None-Match": shape.format(bare=bare)}).status_code == 200


def test_only_a_success_has_an_etag(client: httpx.Client) -> None:
    missing = client.get("/v1/notes/0193b5a0-7f3c-7abc-8def-000000000000", headers={"If-None-Match": "*"})

    assert missing.status_code == 404
    assert "etag" not in missing.headers
