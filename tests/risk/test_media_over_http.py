"""The media scan over real HTTP, on either database."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import httpx
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.risk.media.containers.metadata import MAX_MEDIA_BYTES
from support.risk import get, list_ids, post

pytestmark = pytest.mark.one_world


def picture(*, prompt: str | None = None) -> str:
    marks = PngInfo()
    if prompt is not None:
        marks.add_text("parameters", prompt)
    file = BytesIO()
    Image.new("RGB", (64, 64), "teal").save(file, "PNG", pnginfo=marks)
    return b64url_encode(file.getvalue())


def scan(key: httpx.Client, **body: Any) -> Any:
    return post(key, "deepfake/scan", {"subject_ref": "passport-7", **body})


@pytest.mark.both_engines
def test_generated_picture_becomes_a_signal_about_its_document(key: httpx.Client) -> None:
    prompt = (
        "a portrait, 85mm\nNegative prompt: blurry\nSteps: 28, Sampler: Euler a, CFG scale: 7, Seed: 1, Size: 64x64"
    )
    answer = scan(key, content_b64url=picture(prompt=prompt), content_type="image/png")

    assert answer["verdict"] == "likely"
    assert sum(factor["contribution"] for factor in answer["factors"]) == answer["score"]
    assert "heuristic" in answer["details"]["heuristic"]
    signal = get(key, f"signals/{answer['signal_id']}")
    assert (signal["source"], signal["signal_type"], signal["score"]) == ("media", "deepfake", answer["score"])
    assert (signal["entity_type"], signal["entity_id"]) == ("document", "passport-7")
    assert signal["details"]["factors"] == answer["factors"]


def test_plain_picture_is_clean_and_becomes_no_signal(key: httpx.Client) -> None:
    answer = scan(key, content_b64url=picture(), content_type="image/png")

    assert (answer["verdict"], answer["signal_id"], list_ids(key)) == ("clean", None, [])


def test_indicators_of_the_caller_are_enough(key: httpx.Client) -> None:
    answer = scan(key, indicators={"face_swap": 1.0})

    assert answer["score"] >= 60
    assert list_ids(key) == [answer["signal_id"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"content_b64url": ""},
        {"content_b64url": "=!"},
        {"content_b64url": b64url_encode(b"no picture at all")},
        {"indicators": {"face_swap": 2}},
        {"indicators": {"Face Swap": 1}},
    ],
)
def test_unacceptable_media_is_rejected_and_changes_nothing(key: httpx.Client, body: dict[str, Any]) -> None:
    answer = key.post("/v1/risk/deepfake/scan", json={"subject_ref": "passport-7", **body})

    assert answer.status_code in (400, 415), answer.text
    assert list_ids(key) == []


def test_media_up_to_the_limit_of_a_payload_is_scanned(key: httpx.Client) -> None:
    """39,321,600 bytes are 52,428,800 characters; the end of an archive behind a picture shows that all arrived."""
    small, end = b64url_decode(picture()), b"PK\x05\x06"
    large = b64url_encode(small + bytes(MAX_MEDIA_BYTES - len(small) - len(end)) + end)

    answer = scan(key, content_b64url=large, content_type="image/png")

    assert "ZIP" in {factor["value"] for factor in answer["factors"]}
    refused = key.post("/v1/risk/deepfake/scan", json={"subject_ref": "passport-7", "content_b64url": large + "AAAA"})
    assert (refused.status_code, refused.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")


def test_media_is_part_of_what_an_idempotency_key_stands_for(key: httpx.Client) -> None:
    headers = {"Idempotency-Key": "one"}
    bodies = [{"subject_ref": "passport-7", "content_b64url": picture(prompt=prompt)} for prompt in ("a", "b")]

    first, other = (key.post("/v1/risk/deepfake/scan", json=body, headers=headers) for body in bodies)

    assert (first.status_code, other.status_code) == (200, 422)
