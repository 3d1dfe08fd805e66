"""Open Badges in Python: a picture that a notebook shows and a file holds, and its verification."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from IPython.core.formatters import DisplayFormatter

from attestlab.client.handles.attestations import MintHandle, VerificationHandle
from attestlab.client.handles.badges import BadgeVerificationHandle
from attestlab.client.handles.bundles import OfflineVerificationHandle
from attestlab.client.lab import Lab
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.exports.baking.pictures import bake
from support.badge_pictures import KEYWORD, make_png, read_png_texts, read_svg_credentials
from support.new_labs import open_new_lab

CLAIMS = {"earner_name": "Ada Lovelace", "skill_name": "Rust"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_new_lab(tmp_path_factory.mktemp("lab")) as opened:
        opened.issuers.create("Registrar", "registrar.example")
        yield opened


@pytest.fixture(scope="module")
def minted(lab: Lab) -> MintHandle:
    return lab.mint(issuer="Registrar", schema="skill-badge", claims=CLAIMS)


def test_a_badge_is_a_picture_that_holds_its_credential(lab: Lab, minted: MintHandle) -> None:
    png, svg = minted.badge(), lab.attestations.badge(minted, "svg")

    assert read_png_texts(png.content) == {KEYWORD: png.credential}
    assert read_svg_credentials(svg.content) == [svg.credential]
    assert (png.name, png.issuer_name, png.attestation_id) == ("Rust", "Registrar", minted.id)
    assert png.credential not in repr(png)
    assert "credential" in png.to_dict()


@pytest.mark.parametrize(("form", "media_type"), [("png", "image/png"), ("svg", "image/svg+xml")])
def test_a_notebook_shows_the_picture(minted: MintHandle, form: str, media_type: str) -> None:
    shown, _ = DisplayFormatter().format(minted.badge(form))  # type: ignore[arg-type]

    assert shown.keys() == {"text/plain", media_type}


def test_what_holds_a_badge_is_verified(lab: Lab, minted: MintHandle, tmp_path: Path) -> None:
    badge, token = minted.badge(), tmp_path / "badge.jwt"
    token.write_text(f"{badge.credential}\n")
    saved = badge.save(tmp_path / "badge.PNG")
    svg = minted.badge("svg").save(tmp_path / "badge.svg")

    for what in (badge, badge.content, saved, str(saved), svg, token):
        found = lab.verify(what)
        assert isinstance(found, BadgeVerificationHandle)
        assert (found.verdict.value, found.attestation_id) == ("VALID", minted.id)
        assert found.badge is not None
        assert found.badge.earner == "Ada Lovelace"
        assert "Ada Lovelace" in found._repr_html_()


def test_a_forged_badge_is_not_valid_and_says_why(lab: Lab, minted: MintHandle) -> None:
    badge = minted.badge()
    head, payload, _ = badge.credential.split(".")

    found = lab.verify(bake(badge.content, f"{head}.{payload}.AAAA"))

    assert isinstance(found, BadgeVerificationHandle)
    assert (found.valid, found.badge, found.attestation_id) == (False, None, None)
    assert str(found.problem) in found._repr_html_()


def test_what_cannot_be_exported_or_read_is_an_error_with_the_remedy(
    lab: Lab, minted: MintHandle, tmp_path: Path
) -> None:
    diploma = lab.mint(issuer="Registrar", schema="passport", claims={"full_name": "Ada"})
    with pytest.raises(Conflict, match="Badge schemas: degree"):
        diploma.badge()
    with pytest.raises(ValidationFailed, match="Pass one of: png, svg"):
        minted.badge("gif")  # type: ignore[arg-type]
    with pytest.raises(ValidationFailed, match=r"does not end with \.png"):
        minted.badge().save(tmp_path / "badge.svg")
    with pytest.raises(ValidationFailed, match="holds no Open Badge"):
        lab.verify(make_png())
    with pytest.raises(ValidationFailed, match="without `file` and `trust`"):
        lab.verify(minted.badge(), file=b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_badge_is_verified_as_before(lab: Lab, minted: MintHandle, tmp_path: Path) -> None:
    bundle = minted.bundle().save(tmp_path / "bundle.json")

    assert isinstance(lab.verify(bundle), OfflineVerificationHandle)
    assert isinstance(lab.verify(minted.id), VerificationHandle)
