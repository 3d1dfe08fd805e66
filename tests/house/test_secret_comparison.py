"""Secrets are found by their SHA-256 or compared in constant time: nothing stops at the first wrong character."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "attestlab"
SECRET = re.compile(r"(^|_)(secret|token|password|hash|digest|signature|mac|kek)s?(_sha256|_hash)?$")
COMPARES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
# Hash chains, and the check of a cursor, are recomputed from public values.
PUBLIC = {"web/idempotency/integrity.py", "web/paging.py"}
FILES = [
    *(
        path
        for folder in ("billing", "delivery", "identity", "mail", "orgs", "portal", "web", "webhooks")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
    ),
    *(
        PACKAGE / name
        for name in ("server/app.py", "server/write_queue.py", "core/crypto/passwords.py", "core/crypto/keyring.py")
    ),
]


def compared_in(source: str) -> Iterator[str]:
    """Each comparison of two values, neither of them a constant, one of which is named like a secret."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(operator, COMPARES) and not _is_query(left) and any(map(_is_secret, (left, right))):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def _is_secret(side: ast.expr) -> bool:
    return SECRET.search(_name(side)) is not None


def _name(side: ast.expr) -> str:
    """What a value is called: the last word of an attribute, the key of an item, the subject of a method."""
    match side:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(attr="share_key" | "keyed_sha256")):  # of a shared link; HMACs of the keyring
            return "mac"
        case ast.Call(func=ast.Attribute(value=value, attr="encode" | "lower" | "strip" | "digest" | "hexdigest")):
            return _name(value)
        case _:
            return ""


def _is_query(side: ast.expr) -> bool:
    """A column: the database looks it up in an index, by a SHA-256."""
    match side:
        case ast.Attribute(value=ast.Attribute(attr="c")):
            return True
        case _:
            return False


def test_no_secret_is_compared_with_an_operator() -> None:
    names = {str(path.relative_to(PACKAGE)): path for path in FILES}
    insecure = [
        f"{name}, {found}"
        for name, path in names.items()
        if name not in PUBLIC
        for found in compared_in(path.read_text())
    ]

    assert insecure == [], f"compare with hmac.compare_digest, or look the SHA-256 up: {insecure}"


@pytest.mark.parametrize(
    "source",
    [
        "row.password_hash == seen",
        "stored != token",
        'row["secret_sha256"] == digest',
        "secret.encode() == other",
        "api_key in tokens",
        "a == b == refresh_token",
        "shown == self.share_key(attestation_id)",
    ],
)
def test_insecure_comparison_is_reported(source: str) -> None:
    assert len(list(compared_in(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "users.c.secret_sha256 == secret_sha256",
        "hmac.compare_digest(row.password_hash, seen)",
        "row.password_hash is None",
        "token_type == kind",
        "len(secret) == 4",
    ],
)
def test_comparison_without_a_secret_is_not_reported(source: str) -> None:
    assert list(compared_in(source)) == []
