"""Documents stay small, survive JSON, and say when they may be dropped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.risk.logins.documents import KINDS, MemoryDocuments, document_from_json, expires_at
from attestlab.risk.logins.login import Login, count_ms
from attestlab.risk.logins.parameters import HOUR_MS, MAX_DOCUMENT_BYTES
from attestlab.risk.logins.user_documents import FailureHistory, FlaggedSuccess, StrangeFailure
from support.logins import CHROME, FAILURE, MONDAY, SUCCESS, Tenant, people


class JsonDocuments(MemoryDocuments):
    """Keeps documents as JSON text, as a table does, and notes the largest."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict = {}
        self.largest: dict[str, int] = {}

    def load(self, keys):
        return {key: document_from_json(key.kind, json.loads(self.texts[key])) for key in keys if key in self.texts}

    def save(self, documents):
        for key, document in documents.items():
            self.texts[key] = json.dumps(document.to_json(), separators=(",", ":"))
            self.largest[key.kind] = max(self.largest.get(key.kind, 0), len(self.texts[key]))


def busy_logins(number: int):
    """Logins that fill every list: one user, device, address and network meet all others, for weeks."""
    for n in range(number):
        at = MONDAY + timedelta(minutes=4 * n)
        subject = "hub" if n % 3 == 0 else f"user-{n % 997}"
        ip = "10.0.0.1" if n % 4 == 1 else f"{10 + n % 89}.{n % 7}.0.{n % 251}"
        device = "hub" if n % 5 == 2 else f"device-{n % 83}"
        yield subject, (FAILURE if n % 7 in (1, 4) else SUCCESS), at, ip, device, f"Agent{'abcdefghij'[n % 10]}/1"


@pytest.mark.parametrize("number", [6_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_documents_stay_bounded_however_many_logins_there_are(number: int):
    tenant = Tenant()
    for login in busy_logins(number):
        tenant.assess(*login)

    sizes = {}
    for key, document in tenant.store.documents.items():
        sizes[key.kind] = max(sizes.get(key.kind, 0), len(json.dumps(document.to_json(), separators=(",", ":"))))
    assert set(sizes) == set(KINDS)
    assert {kind: size for kind, size in sizes.items() if size > MAX_DOCUMENT_BYTES} == {}


@pytest.mark.parametrize("in_an_hour", [1, 2, 3, 50])
def test_failures_in_every_hour_stay_bounded(in_an_hour: int):
    history, largest = FailureHistory(), 2**32 - 1
    for number in range(300 * in_an_hour):
        hour, nth = divmod(number, in_an_hour)
        at_ms = count_ms(MONDAY) + (hour + 1) * HOUR_MS - 1 - nth
        history = history.with_failure(at_ms, StrangeFailure(at_ms, largest, largest - nth, largest, largest, largest))
        history = history.with_flagged(FlaggedSuccess(at_ms, largest, largest, 99))

    assert len(orjson.dumps(history.to_json())) <= MAX_DOCUMENT_BYTES


def test_documents_survive_json_between_any_two_logins():
    plain, stored = Tenant(), Tenant()
    stored.store = JsonDocuments()

    for login in busy_logins(400):
        assert stored.assess(*login) == plain.assess(*login)


def test_a_login_needs_at_most_eight_documents():
    login = Login("user-1", SUCCESS, MONDAY, "10.0.0.1", "pc", None, CHROME)

    keys = Tenant().detector.keys(login)

    assert {key.kind for key in keys} == set(KINDS)
    assert len(keys) == 8


def test_a_login_without_values_needs_only_user_and_tenant():
    keys = Tenant().detector.keys(Login("user-1", FAILURE, MONDAY))

    assert {key.kind for key in keys} == {"user", "failures", "tenant"}


def test_documents_expire_after_their_horizon():
    tenant = Tenant()
    now = tenant.settle(people(2))
    tenant.log_in_at_home("user-1", now, FAILURE)
    ends = {key.kind: expires_at(document) for key, document in tenant.store.documents.items()}

    assert ends["failures"] == now + timedelta(days=10)
    assert timedelta(days=40) < ends["address"] - now < timedelta(days=50)
    assert timedelta(days=170) < ends["user"] - now < timedelta(days=190)


def test_an_unknown_kind_of_document_is_refused():
    with pytest.raises(ValidationFailed, match="no kind of document"):
        document_from_json("other", {})


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("/occurred_at", {"occurred_at": datetime(2026, 1, 1)}),
        ("/outcome", {"outcome": "perhaps"}),
        ("/subject_id", {"subject_id": ""}),
        ("/subject_id", {"subject_id": "x" * 513}),
        ("/ip", {"ip": "10.0.0.256"}),
        ("/country", {"country": "deu"}),
        ("/user_agent", {"user_agent": "x" * 513}),
    ],
)
def test_a_malformed_login_is_refused_with_its_field(field: str, values: dict):
    valid = {"subject_id": "user-1", "outcome": SUCCESS, "occurred_at": datetime(2026, 1, 1, tzinfo=UTC)}

    with pytest.raises(ValidationFailed) as raised:
        Login(**{**valid, **values})

    assert raised.value.fields[0].field == field
