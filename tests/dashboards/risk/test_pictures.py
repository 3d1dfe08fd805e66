"""The pictures: the layout of the graph, the density as PNG, and the shared loads behind them."""

from __future__ import annotations

import io
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image

from attestlab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab_dashboards.risk.context import SharedLoad
from attestlab_dashboards.risk.density import COLUMNS, ROWS, DensityCell, encode_density
from attestlab_dashboards.risk.layout import place_nodes

STAR = [(0, each) for each in range(1, 9)]


def open_image(cells: list[DensityCell]) -> Image.Image:
    return Image.open(io.BytesIO(b64decode(encode_density(cells, 80.0)))).convert("RGBA")


def test_a_layout_is_the_same_each_time_and_within_the_picture() -> None:
    one, other = (place_nodes([0] + [1] * 8, STAR) for _ in range(2))

    assert np.array_equal(one, other)
    assert ((one >= 0) & (one <= 1)).all()


def test_linked_nodes_are_nearer_than_others() -> None:
    cliques = [(a, b) for start in (0, 5) for a in range(start, start + 5) for b in range(a + 1, start + 5)]

    places = place_nodes([0, 1, 1, 1, 1, 2, 3, 3, 3, 3], [*cliques, (4, 5)])

    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert np.mean([distances[pair] for pair in cliques]) < 0.6 * distances[:5, 5:].mean()


@pytest.mark.parametrize("count", [1, 2, 3, 200])
def test_every_number_of_nodes_has_places(count: int) -> None:
    assert np.isfinite(place_nodes([0] + [1] * (count - 1), [(0, each) for each in range(1, count)])).all()


def test_the_picture_is_red_where_signals_reach_the_threshold_and_empty_where_there_are_none() -> None:
    image = open_image([DensityCell(0, 0, 7.5, 9), DensityCell(COLUMNS - 1, ROWS - 1, 80.0, 1)])

    assert image.size == (COLUMNS, ROWS)
    assert image.getpixel((0, ROWS - 1))[:3] == (0x4C, 0x78, 0xDB)
    assert image.getpixel((COLUMNS - 1, 0))[:3] == (0xD9, 0x53, 0x4F)
    assert image.getpixel((5, 5))[3] == 0


def test_more_signals_are_darker_and_one_is_still_visible() -> None:
    image = open_image([DensityCell(0, 0, 1.0, 1), *(DensityCell(each, 0, 1.0, 900) for each in range(1, 300))])

    assert 0 < image.getpixel((0, ROWS - 1))[3] < image.getpixel((1, ROWS - 1))[3] == 255


def test_the_picture_has_the_same_size_for_a_million_signals() -> None:
    few, many = (
        encode_density([DensityCell(x, y, 2.0 * y, n) for x in range(COLUMNS) for y in range(ROWS)], 80.0)
        for n in (1, 10**6)
    )

    assert len(few) == len(many) < 4_000


def test_panes_of_one_update_share_a_load(story_lab: Lab) -> None:
    loaded, now = [], 0.0
    shared = SharedLoad(lambda lab, key: loaded.append(key) or len(loaded), keep_s=2.0, now=lambda: now)

    assert [shared(story_lab, "a"), shared(story_lab, "a"), shared(story_lab, "b")] == [1, 1, 2]
    now = 3.0
    assert shared(story_lab, "a") == 3
    shared.forget(story_lab)
    assert shared(story_lab, "a") == 4


def test_a_load_that_takes_long_ages_from_its_end(story_lab: Lab) -> None:
    now = 0.0

    def load(lab: Lab, key: str) -> float:
        nonlocal now
        now += 9.0
        return now

    shared = SharedLoad(load, keep_s=2.0, now=lambda: now)

    assert [shared(story_lab, "a"), shared(story_lab, "a")] == [9.0, 9.0]
    now += 2.0
    assert shared(story_lab, "a") == 20.0


def test_an_error_is_not_kept(story_lab: Lab) -> None:
    def fail(lab: Lab, key: str) -> int:
        if not attempts:
            attempts.append(key)
            raise ValidationFailed("the first time")
        return 7

    attempts: list[str] = []
    shared = SharedLoad(fail, keep_s=60.0)

    with pytest.raises(ValidationFailed):
        shared(story_lab, "a")
    assert shared(story_lab, "a") == 7
