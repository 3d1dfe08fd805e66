"""Who is active is defined once, for a row and for a column: no module compares the status of a person itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import ColumnElement, select

import attestlab
from attestlab.installation import Installation
from attestlab.orgs.role_rules import UserStatus, is_active
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from attestlab.orgs.store import IS_ACTIVE, IS_THERE, users
from attestlab.orgs.tables import UserRecord
from support.orgs import PASSWORD, read_mailed_token

PACKAGE = Path(attestlab.__file__).parent
HOMES = {"orgs/role_rules.py", "orgs/store.py"}
NAME = "UserStatus.ACTIVE"
COMPARISONS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)


def find_comparisons(source: str) -> Iterator[str]:
    """Find each comparison with the status of an active person."""
    if NAME not in source:  # most modules: to parse them all takes seconds
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], COMPARISONS):
            continue
        if NAME in (text := ast.unparse(node)):
            yield f"line {node.lineno}: {text}"


@pytest.fixture
def people(lab: Installation) -> list[UserRecord]:
    """People with each status: a founder without one, and others who are invited, joined or removed."""
    caller = lab.orgs.service_caller(lab.orgs.create_tenant("Registry", plan=Plan.STARTER).tenant_id)
    for name in ("invited", "joined", "removed"):
        lab.people.invite(UserIn(email=f"{name}@people.example", role=Role.MEMBER), caller=caller)
    for name in ("joined", "removed"):
        lab.people.join(lab.people.prepare_join(read_mailed_token(lab, f"{name}@people.example"), PASSWORD))
    (removed,) = [each for each in lab.people.list_page(caller=caller) if each.email == "removed@people.example"]
    lab.people.remove(removed.id, caller=caller)
    return list(lab.people.list_page(caller=caller))


@pytest.mark.both_engines
def test_the_condition_of_the_column_is_the_rule_of_the_row(lab: Installation, people: list[UserRecord]) -> None:
    def find(condition: ColumnElement[bool]) -> set[UUID]:
        with lab.storage.read() as connection:
            return set(connection.execute(select(users.c.id).where(condition)).scalars())

    ids = {each.id for each in people}
    assert {each.status for each in people} == {None, *UserStatus}
    assert find(IS_ACTIVE) & ids == {each.id for each in people if is_active(each.status)}
    assert find(IS_THERE) & ids == {each.id for each in people if each.status != UserStatus.REMOVED}


def test_no_module_compares_the_status_of_a_person_itself() -> None:
    found = {
        str(path.relative_to(PACKAGE)): list(find_comparisons(path.read_text(encoding="utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    }

    assert {name for name, places in found.items() if places} == HOMES


@pytest.mark.parametrize(
    "source",
    ["users.c.status == UserStatus.ACTIVE.value", "status not in (None, UserStatus.ACTIVE)"],
)
def test_the_search_finds_what_it_forbids(source: str) -> None:
    assert list(find_comparisons(source))
