"""A served installation, and readers without any credential."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.orgs.service import ConsumerCreated
from support.consumer_pages import ADA, BrowserVisitor
from support.in_process_server import make_client, serve_in_thread
from support.orgs import PASSWORD

_PAGE = re.compile(r"/a/([0-9a-f-]{36})(?:/bundle\.json)?$")


@pytest.fixture
def anyone(lab: Installation) -> Iterator[httpx.Client]:
    """A reader whose links have the key of each page."""

    def show_the_key(request: httpx.Request) -> None:
        if found := _PAGE.match(request.url.path):
            request.url = request.url.copy_set_param("k", lab.links.share_key(UUID(found[1])))

    with serve_in_thread(lab) as url, make_client(url) as client:
        client.event_hooks = {"request": [show_the_key]}
        yield client


@pytest.fixture
def passer_by(anyone: httpx.Client) -> Iterator[httpx.Client]:
    """A reader who knows only the id, from the log."""
    with make_client(str(anyone.base_url)) as client:
        yield client


@pytest.fixture
def url(lab: Installation) -> Iterator[str]:
    with serve_in_thread(lab) as served:
        yield served


@pytest.fixture
def ada(lab: Installation) -> ConsumerCreated:
    return lab.orgs.add_consumer(ADA, PASSWORD, name="Ada Lovelace")


@pytest.fixture
def visitor(url: str) -> Iterator[BrowserVisitor]:
    """A visitor whom no page knows."""
    with make_client(url) as client:
        yield BrowserVisitor(client)


@pytest.fixture
def consumer(url: str, ada: ConsumerCreated) -> Iterator[BrowserVisitor]:
    """Ada, signed in."""
    with make_client(url) as client:
        signed_in = BrowserVisitor(client)
        assert signed_in.sign_in().status_code == 303
        yield signed_in
