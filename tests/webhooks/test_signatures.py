"""Signatures of deliveries: the packages that receivers use accept them, and nothing else."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
import standardwebhooks
import stripe

from attestlab.core.encoding import format_time
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.webhooks import verify
from attestlab.webhooks.signatures import new_secret, sign_headers

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of the package's own dependencies
    import svix.webhooks

BODY = '{"id":"evt-1","type":"key.rotated","created_at":"2026-01-02T03:04:05.678Z","data":{"kid":"ключ"}}'.encode()
# Fixed, because they name tests, and all processes of a run must collect the same names.
SECRET, OTHER_SECRET = (new_secret(byte.__mul__) for byte in (b"\x0f", b"\xf0"))
Judge = Callable[[Mapping[str, str], bytes, str], object]


def judge_ours(headers: Mapping[str, str], body: bytes, secret: str) -> object:
    event = verify(headers, body, secret)
    return {"id": event.id, "type": event.type, "created_at": format_time(event.created_at), "data": event.data}


def judge_stripe(headers: Mapping[str, str], body: bytes, secret: str) -> object:
    """This package only compares."""
    signature = headers["X-Service-Signature"]
    assert stripe.WebhookSignature.verify_header(body.decode(), signature, secret, tolerance=300)
    return json.loads(body)


def judge_standard(headers: Mapping[str, str], body: bytes, secret: str) -> object:
    return standardwebhooks.Webhook(secret).verify(body.decode(), dict(headers))


def judge_svix(headers: Mapping[str, str], body: bytes, secret: str) -> object:
    """This package only compares."""
    svix.webhooks.Webhook(secret).verify(body.decode(), dict(headers))
    return json.loads(body)


JUDGES = {"ours": judge_ours, "stripe": judge_stripe, "standardwebhooks": judge_standard, "svix": judge_svix}
REJECTIONS = (
    SignatureInvalid,
    stripe.SignatureVerificationError,
    standardwebhooks.WebhookVerificationError,
    svix.webhooks.WebhookVerificationError,
)


@pytest.fixture(params=JUDGES)
def judge(request: pytest.FixtureRequest) -> Judge:
    found: Judge = JUDGES[request.param]
    return found


def sign(*secrets: str, age: timedelta = timedelta(), body: bytes = BODY) -> dict[str, str]:
    at = datetime.now(UTC) - age
    return sign_headers(event_id="evt-1", event_type="key.rotated", body=body, secrets=secrets or [SECRET], at=at)


def test_a_delivery_is_accepted(judge: Judge) -> None:
    assert judge(sign(), BODY, SECRET) == json.loads(BODY)


@pytest.mark.parametrize("secret", [SECRET, OTHER_SECRET])
def test_both_secrets_are_accepted_while_a_rotation_overlaps(judge: Judge, secret: str) -> None:
    assert judge(sign(OTHER_SECRET, SECRET), BODY, secret) == json.loads(BODY)


def test_a_tampered_body_is_rejected(judge: Judge) -> None:
    for place in range(0, len(BODY), 7):
        tampered = BODY[:place] + b"0" + BODY[place + 1 :]
        if tampered != BODY and _is_text(tampered):
            with pytest.raises(REJECTIONS):
                judge(sign(), tampered, SECRET)


def _is_text(body: bytes) -> bool:
    try:
        return bool(body.decode())
    except UnicodeDecodeError:
        return False


def test_another_secret_is_rejected(judge: Judge) -> None:
    with pytest.raises(REJECTIONS):
        judge(sign(), BODY, OTHER_SECRET)


def test_an_old_delivery_is_rejected(judge: Judge) -> None:
    judge(sign(age=timedelta(seconds=240)), BODY, SECRET)
    with pytest.raises(REJECTIONS):
        judge(sign(age=timedelta(seconds=330)), BODY, SECRET)


@pytest.mark.parametrize("name", ["ours", "standardwebhooks", "svix"])  # stripe accepts any time in the future
def test_a_future_delivery_is_rejected(name: str) -> None:
    judge = JUDGES[name]
    judge(sign(age=-timedelta(seconds=240)), BODY, SECRET)
    with pytest.raises(REJECTIONS):
        judge(sign(age=-timedelta(seconds=330)), BODY, SECRET)


def test_headers_are_those_of_the_specification_and_of_standard_webhooks() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 999_000, tzinfo=UTC)
    headers = sign_headers(event_id="evt-1", event_type="key.rotated", body=BODY, secrets=[SECRET, SECRET], at=at)

    signed, standard = headers.pop("X-Service-Signature"), headers.pop("webhook-signature")
    assert headers == {
        "Content-Type": "application/json",
        "User-Agent": "Service-Webhook-Service/1.0",
        "X-Service-Event-Id": "evt-1",
        "X-Service-Event-Type": "key.rotated",
        "X-Service-Timestamp": "1767323045",
        "webhook-id": "evt-1",
        "webhook-timestamp": "1767323045",
    }
    time, *digests = signed.split(",")
    assert time == "t=1767323045"
    assert [(each[:3], len(each)) for each in digests] == [("v1=", 67)] * 2
    assert " " not in signed
    assert signed == signed.lower()
    assert [each.partition(",")[0] for each in standard.split(" ")] == ["v1", "v1"]


def test_new_secrets_differ_and_have_32_bytes() -> None:
    assert len({new_secret() for _ in range(100)}) == 100
    assert {len(new_secret()) for _ in range(100)} == {len("whsec_") + 44}


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_%%%", "whsec_AAAA", SECRET.removeprefix("whsec_"), "whsec_é"])
def test_a_malformed_secret_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(ValidationFailed, match="Copy the whole secret") as refused:
        sign(secret)
    assert len(secret) <= 6 or secret not in refused.value.message


def test_a_delivery_without_a_secret_is_refused() -> None:
    with pytest.raises(ValidationFailed, match="needs a secret"):
        sign_headers(event_id="e", event_type="t", body=b"", secrets=[], at=datetime.now(UTC))
