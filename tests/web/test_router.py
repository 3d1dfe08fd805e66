"""Router: routes are validated at their declaration and found by their path."""

from typing import Any
from uuid import UUID

import pytest

from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import MethodNotAllowed, NotFound, ValidationFailed
from attestlab.core.shapes import In, Out
from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.router import Router
from attestlab.web.routing.routes import Routes
from support.raw_http import get_request
from support.sample_application import KNOWN_ID, SampleServer, notes


class Body(In):
    name: str


class Result(Out):
    name: str


def table_of(*paths: str) -> Router:
    """Returns a router of GET routes whose parameters are all text."""
    routes = Routes("test")
    for path in paths:
        names = [part.strip("{.}") for part in path.split("/") if part.startswith("{")]

        def answer(request: Request, **values: str) -> RawResponse:
            return RawResponse(b"", "text/plain")

        answer.__annotations__ = {"request": Request, "return": RawResponse, **dict.fromkeys(names, str)}
        routes.get(path, scope=PUBLIC, produces={"text/plain": str})(answer)
    return Router(routes)


def found(table: Router, path: str) -> tuple[str, dict[str, Any]]:
    route, values = table.find("GET", path)
    return route.path, dict(values)


def test_a_fixed_segment_precedes_a_parameter_and_that_the_rest() -> None:
    table = table_of("/a/{x}", "/a/b", "/a/{rest...}", "/a/{x}/c")

    assert found(table, "/a/b") == ("/a/b", {})
    assert found(table, "/a/z") == ("/a/{x}", {"x": "z"})
    assert found(table, "/a/z/c") == ("/a/{x}/c", {"x": "z"})
    assert found(table, "/a/z/d/e") == ("/a/{rest...}", {"rest": "z/d/e"})


def test_the_router_backtracks_from_a_dead_end() -> None:
    table = table_of("/a/b/c", "/a/{x}/d")

    assert found(table, "/a/b/d") == ("/a/{x}/d", {"x": "b"})


@pytest.mark.parametrize("path", ["/", "/a", "/a/", "/a//c", "/a/z/c/", "/A/b", "/a/b/../b", "/a/b?x"])
def test_a_path_matches_as_a_whole_or_not_at_all(path: str) -> None:
    table = table_of("/a/b", "/a/{x}/c")

    assert not table.has_path(path)
    with pytest.raises(NotFound):
        table.find("GET", path)


def test_a_percent_encoded_path_is_decoded() -> None:
    table = table_of("/a/b", "/a/{x}/c")

    assert found(table, "/%61/b") == ("/a/b", {})
    assert found(table, "/a/x%2Fy%20%C3%BC/c") == ("/a/{x}/c", {"x": "x/y ü"})


@pytest.mark.parametrize("path", ["/a/%/c", "/a/%4/c", "/a/%gg/c", "/a/%ff/c", "/a/%00/c", "/a/%0a/c", "/a/%7f/c"])
def test_an_invalid_percent_escape_is_rejected(path: str) -> None:
    with pytest.raises(ValidationFailed):
        table_of("/a/{x}/c").find("GET", path)


def test_405_lists_all_methods_of_the_path() -> None:
    table = Router(notes)

    with pytest.raises(MethodNotAllowed) as fault:
        table.find("PATCH", f"/v1/notes/{KNOWN_ID}")

    assert fault.value.allowed == ("DELETE", "GET", "HEAD")


def test_a_fixed_path_is_not_taken_for_a_parameter_by_another_method() -> None:
    """GET /v1/things/mint is not a thing named mint: the path is a different route, and the method is wrong."""
    routes = Routes("things")

    @routes.get("/v1/things/{id}", scope=PUBLIC)
    def thing(request: Request, id: UUID) -> Result:
        raise NotImplementedError

    @routes.post("/v1/things/mint", scope=PUBLIC)
    def mint(request: Request, tx: Transaction) -> Result:
        raise NotImplementedError

    with pytest.raises(MethodNotAllowed) as refused:
        Router(routes).find("GET", "/v1/things/mint")

    assert refused.value.allowed == ("POST",)


def test_an_error_about_an_endless_path_is_short() -> None:
    with pytest.raises(NotFound) as fault:
        table_of("/a").find("GET", "/" + "x" * 15_000)

    assert len(fault.value.message) < 300


def test_a_route_is_validated_where_it_is_declared() -> None:
    routes = Routes("things")

    @routes.post("/v1/things/{id}/parts/{number}", scope="things:write", status=201, payload=True)
    def add(request: Request, tx: Transaction, number: int, id: UUID, body: Body | None = None) -> Result:
        """Add a part."""
        return Result(name=f"{id} {number} {body}")

    (route,) = routes
    assert (route.method, route.tag, route.needs, route.status) == (
        "POST",
        "things",
        Requirement(scope="things:write"),
        201,
    )
    assert list(route.path_types.items()) == [("id", UUID), ("number", int)]
    assert (route.body, route.body_optional, route.query, route.is_async) == (Body, True, None, False)
    assert (route.idempotency, route.payload) == ("honoured", True)


def test_a_parameter_missing_from_the_path_fails_at_import() -> None:
    routes = Routes("things")

    def read(request: Request, thing: UUID) -> Result:
        return Result(name="")

    with pytest.raises(TypeError, match="names must agree"):
        routes.get("/v1/things/{id}", scope=PUBLIC)(read)


def test_an_unsupported_parameter_type_fails_at_import() -> None:
    routes = Routes("things")

    def read(request: Request, id: float) -> Result:
        return Result(name="")

    with pytest.raises(TypeError, match="Use UUID, int or str"):
        routes.get("/v1/things/{id}", scope=PUBLIC)(read)


def test_a_route_cannot_be_declared_twice() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        table_of("/a/{x}", "/a/{y}")


def test_a_route_may_return_bytes_with_cache_control(sample: SampleServer) -> None:
    with sample.connect() as connection:
        response = connection.send(get_request("/tile/3/x001/234.p/5")).response()

    assert response.body == b"3:x001/234.p/5"
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
