"""Places the entities of a graph: linked ones near each other, the same picture for the same graph each time.

Forces as of Fruchterman and Reingold (1991): every two nodes repel, linked ones attract, and a falling temperature
bounds each move. It begins on circles around the first node, by distance, so no random number is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

ROUNDS: Final = 120
HUB_PUSH: Final = 1.0  # the more links a node has, the more room it needs around it
_START_HEAT: Final = 0.12  # of the picture's width
_MIN_DISTANCE: Final = 1e-3
_GOLDEN_ANGLE: Final = 2.399963  # spreads the nodes of one circle evenly

Places = NDArray[np.float64]


def place_nodes(distances: Sequence[int], edges: Sequence[tuple[int, int]]) -> Places:
    """Return a place for each node, x and y from 0 to 1.

    Args:
        distances: how many links each node is away from the first one, which is the first of the list.
        edges: the positions of linked nodes.
    """
    places = _start(distances)
    if len(places) < 3:
        return _fit(places)
    links = np.zeros((len(places), len(places)))
    for one, other in edges:
        links[one, other] = links[other, one] = 1.0
    weights = (1.0 + links.sum(axis=1)) ** HUB_PUSH
    ideal = 1.0 / np.sqrt(len(places))
    pushes = ideal**2 * np.outer(weights, weights) / weights.mean() ** 2
    for number in range(ROUNDS):
        heat = _START_HEAT * (1 - number / ROUNDS)
        places = _move(places, pushes, links / ideal, heat)
    return _fit(places)


def _start(distances: Sequence[int]) -> Places:
    radii = np.array(distances, dtype=np.float64) / (2.2 * max(1, *distances)) if distances else np.zeros(0)
    angles = _GOLDEN_ANGLE * np.arange(len(distances))
    return np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=1)


def _move(places: Places, pushes: Places, pulls: Places, heat: float) -> Places:
    """Return the places after one round; the first node stays in the middle."""
    offsets = places[:, None, :] - places[None, :, :]
    lengths = np.maximum(np.linalg.norm(offsets, axis=2), _MIN_DISTANCE)
    sizes_of_forces = pushes / lengths - pulls * lengths**2
    np.fill_diagonal(sizes_of_forces, 0.0)
    forces = (offsets / lengths[:, :, None] * sizes_of_forces[:, :, None]).sum(axis=1) - 0.4 * places
    sizes = np.maximum(np.linalg.norm(forces, axis=1, keepdims=True), _MIN_DISTANCE)
    moved: Places = places + forces / sizes * np.minimum(sizes, heat)
    moved[0] = 0.0
    return moved


def _fit(places: Places) -> Places:
    """Return the places stretched to the picture, with a margin for the words."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = np.where(high - low > _MIN_DISTANCE, high - low, 1.0)
    fitted: Places = np.where(high - low > _MIN_DISTANCE, 0.08 + 0.84 * (places - low) / span, 0.5)
    return fitted
