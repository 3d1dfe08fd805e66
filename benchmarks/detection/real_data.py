"""Labelled data of other people, from the package river: what our measures make of detectors whose results are known.

Neither set has logins, so neither can measure our detector. They measure the measuring: the accuracy of a progressive
logistic regression on Phishing and the area under ROC of an isolation forest on Shuttle are published, and
`measures.py` ranks the same scores. No figure of the detector follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from river import anomaly, datasets, linear_model, preprocessing

from attestlab.risk.judgement.measures import Sample, average_precision, recall_at_false_positives
from attestlab.risk.judgement.scored_logins import Flags, Floats
from benchmarks.figures import Figure

_TREES, _SUBSAMPLE = 100, 256  # of the isolation forest, as in Liu, Ting and Zhou (ICDM 2008)
_PHISHING = "river's documentation: 89.28 % accuracy"
_SHUTTLE = "Liu, Ting and Zhou: 0.997-1.00 area under ROC"


def figures(_folder: Path) -> Iterator[Figure]:
    """Yield accuracy, area under ROC and area under precision-recall on both sets."""
    labels, scores = _score_phishing()
    yield Figure("detection.phishing.accuracy", _round(np.mean((scores > 0.5) == labels)), "share", against=_PHISHING)
    yield from _rank("phishing.logistic_regression", labels, scores)
    rows, labels = _read_shuttle()
    yield from _rank("shuttle.isolation_forest", labels, _score_by_isolation(rows), against=_SHUTTLE)
    yield from _rank("shuttle.half_space_trees", labels, _score_by_half_spaces(rows))


def _score_phishing() -> tuple[Flags, Floats]:
    """Score each row before the regression learns from it."""
    scaler, model = preprocessing.StandardScaler(), linear_model.LogisticRegression()
    labels, scores = [], []
    for features, label in datasets.Phishing():
        scaler.learn_one(features)
        scaled = scaler.transform_one(features)
        scores.append(model.predict_proba_one(scaled)[True])
        labels.append(label)
        model.learn_one(scaled, label)
    return np.array(labels), np.array(scores)


def _read_shuttle() -> tuple[Floats, Flags]:
    rows = [(list(features.values()), bool(label)) for features, label in datasets.Shuttle()]
    return np.array([features for features, _label in rows], dtype=float), np.array([label for _f, label in rows])


def _score_by_half_spaces(rows: Floats) -> Floats:
    """Score each row before river's half-space trees learn from it; they want values between 0 and 1."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    scaled = (rows - low) / np.maximum(high - low, 1e-9)
    trees, scores = anomaly.HalfSpaceTrees(seed=7), []
    for row in scaled.tolist():
        features = dict(enumerate(row))
        scores.append(trees.score_one(features))
        trees.learn_one(features)
    return np.array(scores)


def _score_by_isolation(rows: Floats) -> Floats:
    """Return the isolation forest's score of each row: short paths in random trees are anomalies."""
    random = np.random.default_rng(7)
    depth = math.ceil(math.log2(_SUBSAMPLE))
    paths = np.zeros(len(rows))
    for _ in range(_TREES):
        sample = rows[random.choice(len(rows), _SUBSAMPLE, replace=False)]
        _add_path_lengths(paths, rows, np.arange(len(rows)), sample, depth, random)
    return np.asarray(2.0 ** (-paths / _TREES / _mean_path(_SUBSAMPLE)))


def _add_path_lengths(
    paths: Floats, rows: Floats, members: np.ndarray, sample: Floats, depth: int, random: np.random.Generator
) -> None:
    """Split the sample at a random value of a random feature until it is alone, and follow with all rows."""
    if depth == 0 or len(sample) <= 1 or not len(members):
        paths[members] += _mean_path(len(sample))
        return
    spread = np.flatnonzero(sample.max(axis=0) > sample.min(axis=0))
    if not spread.size:
        paths[members] += _mean_path(len(sample))
        return
    feature = random.choice(spread)
    value = random.uniform(sample[:, feature].min(), sample[:, feature].max())
    paths[members] += 1
    below, sample_below = rows[members, feature] < value, sample[:, feature] < value
    _add_path_lengths(paths, rows, members[below], sample[sample_below], depth - 1, random)
    _add_path_lengths(paths, rows, members[~below], sample[~sample_below], depth - 1, random)


def _mean_path(size: int) -> float:
    """Return the mean depth of an unsuccessful search in a binary tree of that size."""
    return 2 * (math.log(size - 1) + 0.5772156649) - 2 * (size - 1) / size if size > 2 else float(size == 2)


def _rank(name: str, labels: Flags, scores: Floats, *, against: str | None = None) -> Iterator[Figure]:
    order = np.argsort(-scores, kind="stable")
    sample = Sample(labels[order], scores[order], np.ones(len(order)))
    yield Figure(f"detection.{name}.area_under_roc", _round(area_under_roc(labels, scores)), "share", against=against)
    yield Figure(f"detection.{name}.average_precision", _round(average_precision(sample)), "share")
    yield Figure(f"detection.{name}.recall_at_1_percent_fpr", _round(recall_at_false_positives(sample)), "share")


def area_under_roc(labels: Flags, scores: Floats) -> float:
    """Return the probability that an attack has a higher score than an innocent row; ties count half."""
    values, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    attacks = int(labels.sum())
    above = float(ranks[labels].sum()) - attacks * (attacks + 1) / 2
    return above / (attacks * (len(labels) - attacks)) if values.size else float("nan")


def _round(value: float | np.floating) -> float:
    return round(float(value), 4)
