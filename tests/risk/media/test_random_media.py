"""Random bytes and damaged real files: the scan returns a sum of factors, or raises an error of ours."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.errors import UnsupportedMediaType, ValidationFailed
from attestlab.risk.media import scan
from attestlab.risk.media.findings import ScanVerdict
from attestlab.risk.rules import MAX_DETAILS_BYTES
from support.content_credentials import sign_media
from support.pictures import (
    TAKEN_AT,
    draw_scene,
    make_exif,
    make_gif,
    make_jpeg,
    make_mp4,
    make_png,
    make_source_type_xmp,
    make_tiff,
    make_webp,
)
from support.property_tests import examples
from support.refusals import require_fault

SMALL = make_jpeg(draw_scene(size=(136, 136)), quality=70)
EXIF = make_exif(Software="x", Make="y", taken="2026:05:04 10:30:00", user_comment=b"ASCII\0\0\0z")
XMP = make_source_type_xmp("digitalCapture")
FILES = [
    SMALL,
    make_jpeg(draw_scene(size=(136, 136)), exif=EXIF, xmp=XMP, progressive=True),
    sign_media(SMALL),
    make_png({"parameters": "Steps: 1"}, compress=True, exif=EXIF),
    sign_media(make_png({"Software": "x"}), "image/png"),
    make_webp(exif=EXIF, xmp=XMP),
    make_gif(comment=b"c" * 300),
    make_tiff(software="x"),
    make_mp4(TAKEN_AT),
]
STARTS = [b"", *(file[:24] for file in FILES)]
changes = st.lists(st.tuples(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=6)), max_size=6)


def require_result_or_own_error(content: bytes) -> None:
    """A result is a score with its factors and bounded details, the same again; an error is about the content."""
    try:
        assessment = scan(content, "image/png", claimed_at=TAKEN_AT)
    except UnsupportedMediaType as refused:
        require_fault(refused, "/content_b64url", {"media_type"})
        assert not content.startswith(tuple(STARTS[1:]))
        return
    except ValidationFailed as refused:
        require_fault(refused, "/content_b64url", {"too_much", "xmp"})
        return
    assert sum(factor.contribution for factor in assessment.factors) == assessment.score
    assert 0 <= assessment.score <= 100
    assert assessment.verdict is ScanVerdict.of(assessment.score)
    details = {"details": assessment.details, "factors": [factor.content() for factor in assessment.factors]}
    assert len(canonical(details)) <= MAX_DETAILS_BYTES
    assert scan(content, "image/png", claimed_at=TAKEN_AT) == assessment


@pytest.mark.more_in_soak
@settings(max_examples=examples(60, many=4_000), deadline=None)
@given(st.sampled_from(STARTS), st.binary(max_size=400))
def test_random_bytes(start: bytes, rest: bytes) -> None:
    require_result_or_own_error(start + rest)


@pytest.mark.more_in_soak
@settings(max_examples=examples(80, many=4_000), deadline=None, suppress_health_check=[HealthCheck.data_too_large])
@given(st.sampled_from(FILES), changes, st.none() | st.integers(0, 1 << 20))
def test_damaged_files(file: bytes, written: list[tuple[int, bytes]], cut: int | None) -> None:
    damaged = bytearray(file)
    for position, replacement in written:
        start = position % len(file)
        damaged[start : start + len(replacement)] = replacement
    require_result_or_own_error(bytes(damaged[: None if cut is None else cut % len(file)]))
