"""What a notebook, a traceback or a log line shows of our values: one short line, and no secret."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel, SecretStr

import attestlab
from attestlab.attestations.rules import sha256
from attestlab.client.handles.base import Handle
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.shapes import Out, Shape
from attestlab.demos.world import DemoWorld, demo_world
from attestlab.identity.sessions import Tokens
from attestlab.orgs.rules import Scope
from attestlab.orgs.shapes import JoinIn
from attestlab.settings import Settings
from attestlab.web.request import Credential

MAX_CHARACTERS = 300
SECRET = re.compile(r"password|secret|sealed|^private$|_token$|^token$|share_key|^api_key$")
# Flags and times about secrets.
ALLOWED = {
    "attestlab.log.service._Batch.is_sealed",
    "attestlab.orgs.tables.User.password_changed_at",
    "attestlab.web.routing.routes.Route.secret",
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWorld]:
    made = demo_world(tmp_path_factory.mktemp("world"), history=False)
    yield made
    made.lab.close()


def classes() -> Iterator[type]:
    """Every class of ours that shows its members by itself."""
    for module in pkgutil.walk_packages(attestlab.__path__, "attestlab."):
        if module.name.startswith("attestlab.migrations.") or module.name.endswith("__main__"):
            continue
        for found in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(found) and found.__module__ == module.name:
                yield found


def shown_members(found: type) -> list[str]:
    """The members whose values a generated repr shows; none where the class wrote its own."""
    if dataclasses.is_dataclass(found):
        is_generated = hasattr(found.__repr__, "__wrapped__")
        return [field.name for field in dataclasses.fields(found) if field.repr and is_generated]
    if issubclass(found, tuple) and hasattr(found, "_fields"):
        is_generated = found.__repr__.__code__.co_filename == collections.namedtuple.__code__.co_filename
        return list(found._fields) if is_generated else []
    if issubclass(found, BaseModel) and not issubclass(found, Shape | Settings):
        return [name for name, field in found.model_fields.items() if field.repr]
    return []


def test_generated_reprs_hide_secret_members() -> None:
    found = {f"{cls.__module__}.{cls.__name__}.{name}" for cls in classes() for name in shown_members(cls)}

    assert len(found) > 500
    assert {name for name in found if SECRET.search(name.rpartition(".")[2])} == ALLOWED


def values_of(value: object, seen: set[int], depth: int = 0) -> Iterator[object]:
    """The value, and whatever of ours it holds."""
    if id(value) in seen or depth > 8:
        return
    seen.add(id(value))
    if type(value).__module__.startswith("attestlab"):
        yield value
    if isinstance(value, Mapping):
        held = list(value.values())[:20]
    elif isinstance(value, list | tuple | set | frozenset):
        held = list(value)[:5]
    else:
        held = list(vars(value).values()) if hasattr(value, "__dict__") else _slots(value)
    if dataclasses.is_dataclass(value) or not isinstance(value, type):
        for item in held:
            yield from values_of(item, seen, depth + 1)


def _slots(value: object) -> list[object]:
    return [getattr(value, name) for name in getattr(value, "__slots__", ()) if hasattr(value, name)]


def test_reprs_are_one_short_line_without_secrets(world: DemoWorld) -> None:
    attestation_id, kid = world.minted[0][1].id, world.issuers[0].keys[0].kid
    bundle = attestlab.Bundle.parse(world.bundle(attestation_id))
    trust = world.lab.trust
    keys = world.lab.api_keys.create("k", scopes={Scope.ATTESTATIONS_READ}, caller=world.caller)
    rotated = world.lab.signing_keys.rotate(kid, new_kid="next", alg=Algorithm.ED25519, caller=world.caller)
    report = attestlab.verify_bundle(bundle, trust=trust, now=datetime.now(UTC), file_sha256=sha256(b"another"))
    shown = {
        (type(value).__qualname__, repr(value))
        for value in values_of((world, keys, rotated, bundle, trust, report, world.verify(attestation_id)), set())
    }
    secrets = {world.made.tenant.owner_password, world.made.tenant.api_key, keys.secret}

    expected = {"DemoWorld", "InitResult", "CreatedApiKey", "Bundle", "Settings", "Minted", "Caller"}
    assert expected <= {name for name, _ in shown}
    assert {name: len(text) for name, text in shown if len(text) > MAX_CHARACTERS or "\n" in text} == {}
    assert [name for name, text in shown if any(secret in text for secret in secrets)] == []


def test_repr_of_a_demo_world_has_its_counts_and_folder(world: DemoWorld) -> None:
    assert repr(world) == f"World(8 issuers, 16 attestations, in {world.lab.settings.data})"


def test_repr_of_settings_hides_passwords() -> None:
    chosen = Settings(
        data=Path("d"),
        database_url="postgresql://ann:hunter2@db.example/records?password=hunter2",
        smtp_url=SecretStr("smtp://ann:hunter2@mail.example"),
    )

    shown = repr(chosen)
    assert shown.startswith("Settings(data=")
    assert "database_url='postgresql'" in shown
    assert "hunter2" not in shown + str(chosen)


def answers() -> list[type[Out]]:
    return sorted((found for found in set(classes()) if issubclass(found, Out)), key=lambda found: found.__qualname__)


def test_secrets_of_answers_have_the_type_of_secrets() -> None:
    fields = {(found, name): field for found in answers() for name, field in found.model_fields.items()}
    shown = {
        f"{found.__name__}.{name}" for (found, name), field in fields.items() if field.repr and SECRET.search(name)
    }

    assert len({found for found, _ in fields}) > 150
    assert {name for name in shown if not name.endswith("secret_until")} == set()


@pytest.mark.parametrize("found", answers(), ids=lambda found: found.__name__)
def test_the_repr_of_an_answer_shows_its_values_and_no_secret(found: type[Out]) -> None:
    """Every field has a text as its value: nothing is validated, so that each class is looked at."""
    values = {name: f"v{number}" for number, name in enumerate(found.model_fields)}
    answer = found.model_construct(_fields_set=set(values), **values)
    hidden = {values[name] for name, field in found.model_fields.items() if not field.repr}
    if not issubclass(found, Handle):
        text = repr(answer)
        assert len(text) <= MAX_CHARACTERS
        assert not values or "='v" in text
        assert [value for value in hidden if f"'{value}'" in text] == []


def test_every_answer_of_the_facade_shows_values_and_no_secret() -> None:
    kinds = [found for found in set(classes()) if issubclass(found, Handle) and found.__name__[0] != "_"]
    kinds.remove(Handle)
    assert [kind.__name__ for kind in kinds if kind.__repr__ is Out.__repr__] == []

    assert len(kinds) > 45
    assert [kind.__name__ for kind in kinds if not kind.shown_fields and kind.__repr__ is Handle.__repr__] == []
    shown = [(kind, kind.model_fields.get(name)) for kind in kinds for name in kind.shown_fields]
    assert [kind.__name__ for kind, field in shown if field is not None and not field.repr] == []


def test_the_parts_of_an_answer_are_a_table() -> None:
    plain = [
        f"{kind.__name__}.{name}"
        for kind in set(classes())
        if issubclass(kind, Handle)
        for name, field in kind.model_fields.items()
        if get_origin(field.annotation) is list and isinstance(of := get_args(field.annotation)[0], type)
        if issubclass(of, BaseModel)
    ]

    assert plain == []


def test_repr_of_a_request_has_the_names_of_its_members_only() -> None:
    body = JoinIn(token="t" * 20, password="correct horse")

    assert repr(body) == "JoinIn('token', 'password')"
    assert "hunter2" not in repr(Tokens("hunter2", "hunter2"))
    assert repr(Credential("bearer", "hunter2")) == "Credential('bearer')"
