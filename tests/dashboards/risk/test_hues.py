"""A colour belongs to a name, whatever else the charts show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab import Lab
from attestlab.risk import rules
from attestlab_dashboards import hues
from attestlab_dashboards.assets import FOLDER
from attestlab_dashboards.risk.overview import FacetRow
from attestlab_dashboards.risk.panes import when
from attestlab_dashboards.risk.panes.what import draw_what
from attestlab_dashboards.risk.panes.when import RiskTimeline, load_timeline
from attestlab_dashboards.risk.state import RiskState
from support.property_tests import examples

NAMES = st.lists(st.from_regex(rules.NAME_PATTERN, fullmatch=True), min_size=1, max_size=4, unique=True)


@pytest.fixture(scope="module")
def timeline(story_lab: Lab) -> RiskTimeline:
    return load_timeline(story_lab, RiskState())


def read_hues(timeline: RiskTimeline, names: Sequence[str]) -> list[str]:
    """The colours of these sources, in the order of the legend and of the facet, where both agree."""
    steps = len(timeline.overview.period.steps)
    facets = {**timeline.overview.facets, "source": [FacetRow(name, 1) for name in names]}
    overview = replace(timeline.overview, series={name: [1] * steps for name in names}, facets=facets)
    drawn = when.draw_when(replace(timeline, overview=overview), RiskState())
    legend = re.findall(r'class="rk-dot f-(c\d+)"', drawn)
    rows = re.findall(r'data-ev="source".*?<i class="f-(c\d+)"', draw_what(overview, RiskState()))
    columns = re.findall(r'<rect class="f-(c\d+)"', drawn)
    assert legend == rows == columns[: len(names)]
    return legend


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=1_000), deadline=None)
@given(names=NAMES, others=NAMES, data=st.data())
def test_other_names_never_change_the_colour_of_one(
    timeline: RiskTimeline, names: list[str], others: list[str], data: st.DataObject
) -> None:
    alone = dict(zip(names, read_hues(timeline, names), strict=True))
    mixed = data.draw(st.permutations([*dict.fromkeys([*names, *others])]))

    assert dict(zip(mixed, read_hues(timeline, mixed), strict=True)).items() >= alone.items()
    assert hues.OTHER_HUE not in alone.values()


def test_the_names_of_the_service_have_different_colours() -> None:
    sources = ("login", "session", "device", "media", "velocity", "limits", "payments", rules.AGENT_SOURCE)
    types = ("ato", "geo_anomaly", "behavior", "deepfake", "velocity")

    assert len({hues.hue_of(name) for name in sources}) == len(sources)
    assert len({hues.hue_of(name) for name in types}) == len(types)


def test_every_colour_has_its_style() -> None:
    style, tokens = ((FOLDER / name).read_text() for name in ("look.css", "tokens.css"))

    for hue in (*hues.HUES, hues.OTHER_HUE, hues.PLAIN_HUE):
        assert f".f-{hue}{{background:var(--al-{hue});fill:var(--al-{hue})}}" in style
        assert f"--al-{hue}:#" in tokens
