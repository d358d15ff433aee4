"""Section `bands` of `repair.py`: areas of paths of repair around the same models.

Repairs are learnt on as many validation rows as the model was trained on, 3,000 at
most, or on the held-out rows of five folds. Areas are those of `fair_models.py`, of
four amounts of repair, LightGBM and logistic regression, seeds 0 to 4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from _tables import MORE_TABLES, TABLES, Rows, split_table
from fair_models import Point, area, make_plain, point
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from skfair._training_rows import TrainingRows
from skfair.groups import encode_groups
from skfair.metrics import mcdp
from skfair.model_selection import GroupStratifiedKFold
from skfair.postprocessing import ScoreRepairer
from skfair.postprocessing._held_out import CommonScale

#: The constants of the band were chosen on these tables, with frozen models.
CHOSEN_ON = ("adult", "bank", "census", "nist")
SHARES_LEFT = (0.0, 0.25, 0.5, 0.75)
N_TRAIN = 3000
Scores = NDArray[np.float64]
#: Learns from scores and groups to leave a share of the gap of other scores.
Way = Callable[[Scores, Any, float], Callable[[Scores, Any], Scores]]


def band(scores: Scores, groups: Any, share_left: float) -> Any:
    gap = share_left * mcdp(None, scores, sensitive_features=groups)
    repairer = ScoreRepairer(max_mcdp=gap).fit(scores, sensitive_features=groups)
    return lambda new, of: repairer.transform(new, sensitive_features=of)


def level(scores: Scores, groups: Any, share_left: float) -> Any:
    repairer = ScoreRepairer(1 - share_left).fit(scores, sensitive_features=groups)
    return lambda new, of: repairer.transform(new, sensitive_features=of)


def barycentre(scores: Scores, groups: Any, share_left: float) -> Any:
    """Move scores towards the barycentre in proportion, as EquiPy does."""
    own = {group: np.sort(scores[groups == group]) for group in np.unique(groups)}

    def repaired(new: Scores, of: Any) -> Scores:
        fair = np.zeros(len(new))
        for group, sample in own.items():
            rows = of == group
            heights = np.searchsorted(sample, new[rows], "right") / len(sample)
            for other in own.values():
                share = len(other) / len(scores)
                fair[rows] += share * np.quantile(other, heights)
        return share_left * new + (1 - share_left) * fair

    return repaired


WAYS: dict[str, Way] = {"band": band, "level": level, "barycentre": barycentre}


def probabilities(model: Any, rows: Rows) -> Scores:
    return np.asarray(model.predict_proba(rows.X))[:, 1]


def compare(train: Rows, validation: Rows, test: Rows, make: Any) -> dict[str, float]:
    """Area of each way, around a frozen model and around five folds."""
    model = make().fit(train.X, train.y)
    scores = probabilities(model, test)
    plain = point(test, scores)
    cells = GroupStratifiedKFold(5, shuffle=True, random_state=0)
    splits = list(cells.split(train.X, train.y, groups=train.groups))
    models = [make().fit(train.X.iloc[a], train.y[a]) for a, _ in splits]
    held_out = np.empty(len(train.y))
    for own, (_, rows) in zip(models, splits, strict=True):
        held_out[rows] = probabilities(own, Rows(train.X.iloc[rows], None, None))

    groups = encode_groups(train.groups)
    parts = [
        TrainingRows(None, train.y[rows], groups[rows], scores=held_out[rows])
        for _, rows in splits
    ]
    scale = CommonScale.of(parts, "probability")
    parts = scale.rescaled(parts)
    learnt = np.empty(len(train.y))
    for part, (_, rows) in zip(parts, splits, strict=True):
        learnt[rows] = part.scores
    on_scale = [
        scale.from_model(i, probabilities(own, test)) for i, own in enumerate(models)
    ]
    frozen = probabilities(model, validation), validation.groups
    found = {}
    for name, way in WAYS.items():
        points: dict[str, list[Point]] = {"frozen": [], "folds": []}
        for share_left in SHARES_LEFT:
            repair = way(*frozen, share_left)
            points["frozen"].append(point(test, repair(scores, test.groups)))
            repair = way(learnt, train.groups, share_left)
            back = [
                scale.to_model(i, np.clip(repair(new, test.groups), 0, 1))
                for i, new in enumerate(on_scale)
            ]
            points["folds"].append(point(test, np.mean(back, axis=0)))
        for rows, measured in points.items():
            found[f"{rows}, {name}"] = area(plain, measured)
    return found


def bands() -> None:
    print("\nAreas of ScoreRepairer above the path to the barycentre")
    every: dict[str, list[Any]] = {"chosen on": [], "others": []}
    for table in (*TABLES, *MORE_TABLES):
        found = []
        for make in (make_plain, lambda: LogisticRegression(max_iter=300)):
            for seed in range(5):
                parts = split_table(table, seed)
                train, validation = (
                    Rows(*(part[:N_TRAIN] for part in rows))
                    for rows in (parts.train, parts.validation)
                )
                found.append(compare(train, validation, parts.test, make))
        every["chosen on" if table in CHOSEN_ON else "others"] += found
        print_above(table, found)
    for name, found in every.items():
        print_above(name, found)


def print_above(name: str, found: list[dict[str, float]]) -> None:
    parts = []
    for rows in ("frozen", "folds"):
        peer = np.array([row[f"{rows}, barycentre"] for row in found])
        for way in ("band", "level"):
            above = np.array([row[f"{rows}, {way}"] for row in found]) - peer
            error = above.std(ddof=1) / np.sqrt(len(above))
            parts.append(f"{rows}, {way} {above.mean():+.3f} +- {error:.3f}")
        parts.append(f"{rows}, barycentre {peer.mean():.3f}")
    print(f"{name}: {'; '.join(parts)}", flush=True)
