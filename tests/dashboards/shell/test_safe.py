"""The one module that makes markup: no text of a person becomes a part of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from attestlab_dashboards import safe


@given(value=st.text())
def test_no_text_leaves_its_element_or_its_attribute(value: str) -> None:
    assert not set("<>\"'") & set(safe.text(value))
    assert safe.html('<b title="{it}">{it}</b>', it=value).count("<") == 2


def test_markup_of_templates_is_not_escaped_again() -> None:
    assert safe.html("<p>{inner}</p>", inner=safe.html("<b>{it}</b>", it="<i>")) == "<p><b>&lt;i&gt;</b></p>"
    assert safe.join([Markup("<b>"), Markup("</b>")]) == "<b></b>"


@pytest.mark.parametrize("code", [0x202E, 0x2066, 0x200F, 0x00AD, 0xFEFF, 0x7F, 0x0])
def test_what_hides_or_reorders_text_is_shown(code: int) -> None:
    assert safe.text(f"gnp.exe{chr(code)}") == f"gnp.exe[U+{code:04X}]"


def test_a_template_takes_no_value_as_a_template() -> None:
    assert safe.html("{a}", a="{b}", b="secret") == "{b}"


@given(value=st.text())
def test_a_segment_of_a_path_stays_one(value: str) -> None:
    assert not set("/?#&<>\"' ") & set(safe.path(value))
