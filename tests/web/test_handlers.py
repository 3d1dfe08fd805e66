"""Handlers: services are resolved when an application starts, and a write has up to three steps."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

import pytest
from pydantic import BaseModel

from attestlab.core.db.transaction import Transaction
from attestlab.web.response import CommittedError, RawResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Route, Routes


@dataclass
class Shelf:
    """A service."""

    books: list[str]


class BookIn(BaseModel):
    title: str


class BookOut(BaseModel):
    title: str


def only(routes: Routes) -> Route:
    (route,) = routes
    return route


def test_handler_gets_the_service_of_its_annotation() -> None:
    routes = Routes("books")

    @routes.get("/v1/books", scope=PUBLIC)
    def list_books(shelf: Shelf) -> list[str]:
        return shelf.books

    shelf = Shelf(["one"])
    assert only(routes).bind({Shelf: shelf}).handler.services == {"shelf": shelf}
    assert only(routes).handler.services == {}  # a declaration belongs to no application


def test_unknown_service_fails_at_start_up_and_is_named() -> None:
    routes = Routes("books")

    @routes.get("/v1/books", scope=PUBLIC)
    def list_books(shelf: Shelf) -> list[str]:
        return shelf.books

    with pytest.raises(TypeError, match=re.escape("{'shelf': 'Shelf'}, which are no services")):
        only(routes).bind({int: 1})


def test_parameter_that_is_neither_in_the_path_nor_a_class_is_rejected() -> None:
    with pytest.raises(TypeError, match="annotated with its class"):

        @Routes("books").get("/v1/books", scope=PUBLIC)
        def list_books(shelf: Shelf | None) -> list[str]:
            return []


def test_handler_that_misses_a_path_parameter_is_rejected() -> None:
    with pytest.raises(TypeError, match=r"the path /v1/books/\{id\} has \['id'\]"):

        @Routes("books").get("/v1/books/{id}", scope=PUBLIC)
        def get() -> str:
            return ""


def test_response_is_described_by_respond() -> None:
    routes = Routes("books")

    async def prepare(body: BookIn, id: UUID) -> str:
        return body.title

    def respond(result: str) -> BookOut:
        return BookOut(title=result)

    @routes.post("/v1/books/{id}", scope=PUBLIC, prepare=prepare, respond=respond)
    def add(id: UUID, prepared: str, tx: Transaction) -> str | CommittedError:
        return prepared

    route = only(routes)
    assert (route.body, route.body_optional, route.result) == (BookIn, False, BookOut)


def test_respond_that_takes_something_else_is_rejected() -> None:
    def respond(result: int) -> BookOut:
        return BookOut(title=str(result))

    with pytest.raises(TypeError, match="respond takes <class 'int'>"):

        @Routes("books").post("/v1/books", scope=PUBLIC, respond=respond)
        def add(tx: Transaction) -> str:
            return ""


def test_handler_of_a_write_takes_its_transaction() -> None:
    with pytest.raises(TypeError, match="add lacks tx"):

        @Routes("books").post("/v1/books", scope=PUBLIC)
        def add() -> str:
            return ""


def test_handler_outside_of_a_write_takes_no_transaction() -> None:
    with pytest.raises(TypeError, match="list_books has no tx"):

        @Routes("books").get("/v1/books", scope=PUBLIC)
        def list_books(tx: Transaction) -> str:
            return ""

    with pytest.raises(TypeError, match="add has no tx"):

        @Routes("books").post("/v1/books", scope=PUBLIC)
        async def add(tx: Transaction) -> str:
            return ""


def test_model_may_be_rendered_elsewhere() -> None:
    routes = Routes("books")

    @routes.get("/v1/books", scope=PUBLIC)
    def get() -> BookOut | RawResponse:
        return RawResponse(b"{}", "application/json")

    assert only(routes).result is BookOut
