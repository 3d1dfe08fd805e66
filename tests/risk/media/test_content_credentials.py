"""Content credentials, signed by a test authority with the builder of the library."""

from __future__ import annotations

import io

import c2pa
import pytest

from attestlab.risk.media import ScanVerdict, scan
from attestlab.risk.media.content_credentials import CredentialState, judge_report, read_credentials
from support.content_credentials import SIGNER, sign_edit, sign_media
from support.hostile_server import make_answer, serve_hostile_answers
from support.pictures import make_avif, make_camera_jpeg, make_gif, make_mp4, make_png, make_tiff, make_webp

CAMERA = make_camera_jpeg()
GENERATED = sign_media(CAMERA, source_type="trainedAlgorithmicMedia")


def factors_of(content: bytes) -> dict[str, float]:
    return {factor.name: factor.contribution for factor in scan(content).factors}


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (CAMERA, "image/jpeg"),
        (make_png(), "image/png"),
        (make_webp(), "image/webp"),
        (make_gif(), "image/gif"),
        (make_tiff(), "image/tiff"),
        (make_avif(), "image/avif"),
        (make_mp4(), "video/mp4"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_valid_manifest_of_a_camera_is_named_and_weighs_nothing(content: bytes, media_type: str) -> None:
    signed = sign_media(content, media_type)

    assessment = scan(signed, media_type)
    assert assessment.factors == ()
    observed = assessment.details["observed"]
    assert isinstance(observed, dict)
    assert (observed["c2pa"], observed["c2pa_signer"]) == (CredentialState.VALID, SIGNER)


@pytest.mark.parametrize(
    ("source_type", "points", "verdict"),
    [
        ("trainedAlgorithmicMedia", 90, ScanVerdict.LIKELY),
        ("compositeWithTrainedAlgorithmicMedia", 60, ScanVerdict.SUSPECT),
        ("compositeSynthetic", 60, ScanVerdict.SUSPECT),
        ("algorithmicMedia", 60, ScanVerdict.SUSPECT),
        ("computationalCapture", 0, ScanVerdict.CLEAN),
        ("screenCapture", 0, ScanVerdict.CLEAN),
        ("algorithmicallyEnhanced", 0, ScanVerdict.CLEAN),
    ],
)
def test_signed_source_type_decides(source_type: str, points: int, verdict: ScanVerdict) -> None:
    assessment = scan(sign_media(CAMERA, source_type=source_type))

    assert (assessment.score, assessment.verdict) == (points, verdict)


def test_generated_parent_of_an_edited_picture_counts_as_the_picture() -> None:
    assert factors_of(sign_edit(GENERATED)) == {"c2pa_generation": 90}


def test_generated_component_counts_as_a_part() -> None:
    assert factors_of(sign_media(CAMERA, component=GENERATED)) == {"c2pa_generation": 60}


def test_generator_as_agent_of_an_action_is_named() -> None:
    assert factors_of(sign_media(CAMERA, agent="Adobe Firefly")) == {"generator_name": 80}


def test_picture_that_was_changed_after_signing_is_suspect() -> None:
    signed = bytearray(sign_media(CAMERA))
    signed[-300] ^= 0x11

    assert read_credentials(bytes(signed), "image/jpeg").state is CredentialState.CONTENT_CHANGED
    assert factors_of(bytes(signed)) == {"c2pa_broken": 55}


def test_statement_that_was_changed_after_signing_is_suspect() -> None:
    forged = sign_media(CAMERA).replace(b"digitalCapture", b"digitalcapture", 1)

    assert read_credentials(forged, "image/jpeg").state is CredentialState.MANIFEST_CHANGED
    assert factors_of(forged) == {"c2pa_broken": 65}


def test_statement_of_an_ingredient_that_was_changed_after_signing_is_suspect() -> None:
    forged = sign_edit(sign_media(CAMERA)).replace(b"digitalCapture", b"digitalcapture", 1)

    assert read_credentials(sign_edit(sign_media(CAMERA)), "image/jpeg").state is CredentialState.VALID
    assert read_credentials(forged, "image/jpeg").state is CredentialState.MANIFEST_CHANGED
    assert factors_of(forged) == {"c2pa_broken": 65}


def test_generator_of_a_parent_is_named_and_that_of_a_component_is_not() -> None:
    firefly = sign_media(CAMERA, agent="Adobe Firefly")

    assert factors_of(sign_edit(firefly)) == {"generator_name": 80}
    assert factors_of(sign_media(CAMERA, component=firefly)) == {}


EXCLUSION = "data hash exclusion does not match the manifest location in the asset"
MISMATCH = "asset hash error, name: jumbf manifest, error: hash verification( Hashes do not match )"


@pytest.mark.parametrize(
    ("explanations", "state"),
    [
        ([EXCLUSION], CredentialState.CONTENT_EXCLUDED),
        ([EXCLUSION, MISMATCH], CredentialState.CONTENT_CHANGED),
        ([MISMATCH], CredentialState.CONTENT_CHANGED),
    ],
)
def test_excluded_bytes_are_no_change_that_was_seen(explanations: list[str], state: CredentialState) -> None:
    """The library has one code for both findings, so these are its reports in its words (c2pa-rs 0.91)."""
    failures = [{"code": "assertion.dataHash.mismatch", "explanation": each} for each in explanations]
    report = {"validation_state": "Invalid", "validation_results": {"activeManifest": {"failure": failures}}}

    assert judge_report(report) is state


def test_library_still_tells_excluded_bytes_from_a_change() -> None:
    signed = sign_media(CAMERA)
    shifted = signed[:2] + b"\xff\xfe\0\6late" + signed[2:]
    with c2pa.Reader("image/jpeg", io.BytesIO(shifted)) as reader:
        report = reader.json()

    assert EXCLUSION in report
    assert MISMATCH in report
    assert read_credentials(shifted, "image/jpeg").state is CredentialState.CONTENT_CHANGED


def test_generation_in_a_broken_manifest_counts_as_unsigned() -> None:
    broken = GENERATED[:-300] + bytes([GENERATED[-300] ^ 0x11]) + GENERATED[-299:]

    assert factors_of(broken) == {"c2pa_generation": 85, "c2pa_broken": 15}  # of 55, what is left to 100


def test_film_without_a_manifest_has_none() -> None:
    assert read_credentials(make_mp4(), "video/mp4").state is CredentialState.ABSENT


def test_manifest_that_cannot_be_read_weighs_little() -> None:
    damaged = sign_media(CAMERA).replace(b"jumdc2cs", b"jumdc2cx")

    assert read_credentials(damaged, "image/jpeg").state is CredentialState.UNREADABLE
    assert factors_of(damaged) == {"c2pa_broken": 10}


def test_manifest_at_another_host_is_not_fetched() -> None:
    """The library's own settings do fetch it, which shows that the server would be asked."""
    with serve_hostile_answers(make_answer(b"")) as server:
        referring = sign_media(CAMERA, remote_url=f"{server.url}/manifest")

        assert read_credentials(referring, "image/jpeg").state is CredentialState.REMOTE
        assert {"part": "c2pa", "reason": "the manifest is at another host, which the scan does not ask"} in scan(
            referring
        ).details["not_examined"]
        assert server.requests == []

        with pytest.raises(c2pa.C2paError):
            c2pa.Reader("image/jpeg", io.BytesIO(referring))
        assert len(server.requests) > 0
