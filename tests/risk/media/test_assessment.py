"""Scores: whole points that sum exactly, thresholds, and what a result states about itself."""

from __future__ import annotations

import string
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import PayloadTooLarge, UnsupportedMediaType, ValidationFailed
from attestlab.risk.media import SCAN_VERSION, ScanVerdict, scan
from attestlab.risk.media.containers.metadata import MAX_MEDIA_BYTES
from attestlab.risk.media.findings import MAX_INDICATORS, Finding, assess
from attestlab.risk.rules import MAX_DETAILS_BYTES
from attestlab.risk.signals.members import encode_details
from support.content_credentials import sign_media
from support.pictures import TAKEN_AT, make_camera_jpeg, make_exif, make_jpeg, make_mp4, make_png, resave
from support.property_tests import examples

findings = st.builds(
    Finding,
    name=st.sampled_from("abc"),
    value=st.just(1.0),
    weight=st.just(90),
    points=st.integers(0, 90),
    explanation=st.just("because"),
)


@pytest.mark.more_in_soak
@settings(max_examples=examples(30, many=1_000), deadline=None)
@given(st.lists(findings, max_size=8))
def test_factors_sum_exactly_to_the_score(found: list[Finding]) -> None:
    assessment = assess(found, {})

    assert sum(factor.contribution for factor in assessment.factors) == assessment.score
    assert assessment.score == min(100, sum(each.points for each in found))
    assert all(0 <= factor.contribution <= factor.weight for factor in assessment.factors)


@pytest.mark.parametrize(
    ("points", "verdict"),
    [(39, ScanVerdict.CLEAN), (40, ScanVerdict.SUSPECT), (74, ScanVerdict.SUSPECT), (75, ScanVerdict.LIKELY)],
)
def test_thresholds_of_the_verdict(points: int, verdict: ScanVerdict) -> None:
    assert assess([Finding("x", 1.0, 90, points, "because")], {}).verdict is verdict


def test_result_states_its_version_and_what_it_does_not_see() -> None:
    details = scan(make_camera_jpeg()).details

    assert details["scan_version"] == SCAN_VERSION
    assert "heuristic" in str(details["heuristic"])
    assert "faces" in str(details["heuristic"])
    assert details["not_examined"] == [{"part": "times", "reason": "no time was claimed"}]


def test_longest_details_fit_into_a_signal() -> None:
    texts = {"Software": "NovelAI " * 2_000, "parameters": "Steps: Sampler: " * 9_000}
    signed = sign_media(make_png(texts), "image/png", agent="Midjourney " * 1_000) + b"%PDF-"
    unknown = {"x" * 63 + letter: 0.1 for letter in string.ascii_lowercase[:MAX_INDICATORS]}

    assessment = scan(signed, "text/" + "x" * 9_000, unknown, claimed_at=TAKEN_AT)
    assert len(assessment.factors) > MAX_INDICATORS + 3
    assert len(encode_details(assessment.details, assessment.factors)) < MAX_DETAILS_BYTES - 500


def test_each_factor_explains_itself() -> None:
    resaved = resave(make_camera_jpeg(quality=70), quality=92) + b"%PDF-"
    indicators = {"face_swap": 0.1, "made_up": 1}

    factors = scan(resaved, "image/png", indicators, claimed_at=TAKEN_AT + timedelta(days=9)).factors
    assert len(factors) == 6
    assert [factor.name for factor in factors if not factor.explanation.endswith(".")] == []


def test_control_characters_of_strangers_are_replaced() -> None:
    (factor,) = scan(make_jpeg(), "a\0b\n\u202ec").factors

    assert factor.value == "a\ufffdb\ufffd\ufffdc"


@pytest.mark.parametrize("declared", [None, "", "application/octet-stream", "image/jpeg", "IMAGE/JPG; q=1"])
def test_declaration_that_agrees_or_states_nothing_weighs_nothing(declared: str | None) -> None:
    assert scan(make_jpeg(), declared).factors == ()


def test_declaration_of_another_type_is_a_factor() -> None:
    (factor,) = scan(make_jpeg(), "image/png").factors

    assert factor[:4] == ("content_type_mismatch", "image/png", 5, 5)


@pytest.mark.parametrize("content", [b"", b"GIF", b"%PDF-1.7", b"<svg/>", b"\x00" * 64])
def test_other_formats_are_rejected_with_the_formats_that_are_read(content: bytes) -> None:
    with pytest.raises(UnsupportedMediaType, match="JPEG, PNG, WebP"):
        scan(content, "image/png")


def test_content_beyond_the_limit_of_a_payload_is_rejected() -> None:
    with pytest.raises(PayloadTooLarge, match="39,321,600"):
        scan(bytes(MAX_MEDIA_BYTES + 1))


def test_nothing_to_scan_is_rejected() -> None:
    with pytest.raises(ValidationFailed, match="nothing to scan"):
        scan(None)


@pytest.mark.parametrize(("days", "conflict"), [(-1, False), (1, False), (-3, True), (3, True)])
def test_time_at_which_a_picture_was_taken_must_fit_the_claim(days: int, conflict: bool) -> None:
    assessment = scan(make_camera_jpeg(), claimed_at=TAKEN_AT + timedelta(days=days))

    assert [factor.name for factor in assessment.factors] == ["time_conflict"] * conflict


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(("days", "conflict"), [(-30, True), (30, False)])
def test_film_written_before_the_claimed_time_conflicts_and_later_does_not(
    days: int, conflict: bool, version: int
) -> None:
    film = make_mp4(TAKEN_AT + timedelta(days=days), version=version)

    assert bool(scan(film, claimed_at=TAKEN_AT).factors) is conflict


def test_film_without_a_creation_time_does_not_conflict() -> None:
    assert scan(make_mp4(), claimed_at=TAKEN_AT).factors == ()


def test_ordinary_traces_together_with_a_changed_time_stay_clean() -> None:
    resaved = resave(make_camera_jpeg(quality=70), quality=92)

    assessment = scan(resaved, "image/png", claimed_at=TAKEN_AT + timedelta(days=400))
    assert {factor.name: factor.contribution for factor in assessment.factors} == {
        "time_conflict": 15,
        "double_quantisation": 10,
        "content_type_mismatch": 5,
    }
    assert assessment.verdict is ScanVerdict.CLEAN


def test_time_of_exif_that_is_none_is_ignored() -> None:
    written = make_jpeg(exif=make_exif(DateTime="0000:00:00 00:00:00", taken="yesterday"))

    assert scan(written, claimed_at=TAKEN_AT).factors == ()
