"""Editors of the blog, and the posts that they write."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
from PIL import Image
from sqlalchemy import select

from attestlab.installation import Installation
from attestlab.lake.store import get_operator_id
from attestlab.orgs import store
from attestlab.orgs.service import TenantCreated
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients

POSTS = "/v1/platform/blog/posts"
PUBLIC = "/v1/blog/posts"
MEDIA = "/v1/platform/blog/media"


@contextmanager
def serve_blog(lab: Installation) -> Iterator[TenantClients]:
    """Serve a lab; its clients are those of the operator's people."""
    with lab.storage.read() as connection:
        operator = get_operator_id(connection)
        org = connection.execute(select(store.orgs.c.id).where(store.orgs.c.tenant_id == operator)).scalar_one()
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, TenantCreated(operator, org, "", "", ""))


def write_post(editor: httpx.Client, title: str = "Why a log?", **fields: Any) -> dict[str, Any]:
    """Write a draft."""
    body = {"title": title, "category": "engineering", "content": "Because *anyone* can check it.", **fields}
    answer = editor.post(POSTS, json=body)
    assert answer.status_code == 201, answer.text
    post: dict[str, Any] = answer.json()
    return post


def publish_post(editor: httpx.Client, title: str = "Why a log?", **fields: Any) -> dict[str, Any]:
    """Write a post and publish it."""
    post = write_post(editor, title, **fields)
    answer = editor.post(f"{POSTS}/{post['id']}/publish")
    assert answer.status_code == 200, answer.text
    published: dict[str, Any] = answer.json()
    return published


def draw_png(side: int = 2, colour: str = "teal") -> bytes:
    """Draw a square, as the bytes of a PNG."""
    drawn = io.BytesIO()
    Image.new("RGB", (side, side), colour).save(drawn, "PNG")
    return drawn.getvalue()
