"""Which models a repair with the group is applied to: those of folds, or one of all.

    SKFAIR_DATA=<folder of the tables> python benchmarks/repair_models.py
        [--tables adult,...] [--models lightgbm,logistic,tree] [--seeds 0,1,...]
        [--regressors]

Models of five folds score the rows that they were not fitted to, 3,000 of ten tables
(regressors: four), and one map is learnt from all of these scores. It is applied to at
most 30,000 new rows in three ways:

- common: the scores of each model are moved to the scale on which everyone's scores
  have the same distribution for each model, repaired, and moved back; the mean of these
- folds: the scores of each model are repaired as they are; the mean of these
- refit: one model, fitted again to all rows, whose scores are repaired

and beside them a model that is fitted to a half of the rows, repaired by the other half
(frozen), which has no folds. Repairs are in full to a band (``max_mcdp=0``), to half of
the gap (``max_mcdp``), and in full to everyone (``repair_level=1``); "plain" is none.

It prints MCDP(0), average precision and accuracy (regressors: MCDP(0) of ranks, and R2)
of new rows, and what the common scale has more than the other ways, with the standard
error of the mean difference between tables, each the mean of its seeds.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from mitigator_claims import MODELS, draw, simulate
from numpy.typing import NDArray
from regression import load, numbers_of
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, r2_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skfair.metrics import mcdp
from skfair.postprocessing import ScoreRepairer

N_ROWS, N_FOLDS = 3000, 5
OF_TREES: dict[str, Any] = {"n_estimators": 80, "verbose": -1, "n_jobs": 1}
TABLES = "adult,bank,census,nist,diabetes,oulad,law by race,law by sex,normal,leaning"
TABLES_OF_NUMBERS = "law school,crime,income,simulated"
CLASSIFIERS = {
    "lightgbm": MODELS["lightgbm"],
    "logistic": MODELS["logistic"],
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
}
REGRESSORS = {
    "lightgbm": lambda: LGBMRegressor(**OF_TREES),
    "logistic": lambda: make_pipeline(StandardScaler(), Ridge()),
    "tree": lambda: DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
}
Scores = NDArray[np.float64]
#: To a band in full, to half of the gap, and in full to everyone.
REPAIRS = ("full", "half", "everyone")


def draw_numbers(table: str, seed: int) -> tuple[Any, Any]:
    """Draw training rows and new rows with a target that is a number."""
    rng = np.random.default_rng(seed)
    if table == "simulated":
        X, y, groups = simulate("leaning", N_ROWS + 30_000, rng)
        y = X @ [1, 0.5, 0, 0.5, 0, 0, 0, 0] + X[:, 4] * X[:, 5]
        y = y + rng.normal(size=len(y))
    else:
        features, (y, groups) = load(table)
        drawn = rng.permutation(len(y))[: N_ROWS + 20_000]
        X = numbers_of(features).fillna(-1).to_numpy()[drawn]
        y, groups = np.asarray(y, float)[drawn], np.asarray(groups)[drawn]
    n_rows = min(N_ROWS, len(y) // 2)
    training, new = slice(None, n_rows), slice(n_rows, None)
    return (X[training], y[training], groups[training]), (X[new], y[new], groups[new])


def predicted(model: Any, X: Any) -> Scores:
    """Probability of the second class, or what a regressor predicts."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1])
    return np.asarray(model.predict(X), dtype=float)


def folds_of(y: Any, groups: Any, seed: int, n_folds: int) -> NDArray[np.intp]:
    """Deal rows to folds by class (or third of the target) and group."""
    if len(np.unique(y)) > 2:
        y = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    pairs = [f"{label} {group}" for label, group in zip(y, groups, strict=True)]
    kinds = np.unique(pairs, return_inverse=True)[1]
    fold = np.empty(len(y), dtype=np.intp)
    dealt = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for number, (_, test) in enumerate(dealt.split(kinds, kinds)):
        fold[test] = number
    return fold


class CommonScale:
    """Scale on which everyone's scores have the same distribution for each model."""

    def __init__(self, held_out: Scores, fold: Any, real: bool) -> None:
        self.ends = (held_out.min(), held_out.max()) if real else (0.0, 1.0)
        self.everyone = self._heights(held_out, 0.0)
        self.by_model = [
            self._heights(held_out[fold == part], (2 * part + 1) / N_FOLDS - 1)
            for part in range(N_FOLDS)
        ]

    def _heights(self, values: Scores, shift: float) -> tuple[Scores, Scores]:
        """Scores and their heights in the CDF, moved by at most half a row.

        So rows of two models share no height.
        """
        scores, counts = np.unique(values, return_counts=True)
        heights = (np.cumsum(counts) - counts / 2) / len(values)
        inside = (scores > self.ends[0]) & (scores < self.ends[1])
        scores = np.concatenate([self.ends[:1], scores[inside], self.ends[1:]])
        heights = np.concatenate([[0], heights[inside], [1]])
        return scores, heights + 2 * shift / len(values) * heights * (1 - heights)

    def place(self, scores: Scores, model: int) -> Scores:
        """Move scores of a model to the common scale."""
        return np.interp(np.interp(scores, *self.by_model[model]), *self.everyone[::-1])

    def place_back(self, scores: Scores, model: int) -> Scores:
        """Move scores on the common scale to that of a model."""
        return np.interp(np.interp(scores, *self.everyone), *self.by_model[model][::-1])


def learn(scores: Scores, groups: Any, repair: str, real: bool) -> ScoreRepairer:
    """Learn one of the repairs from held-out scores."""
    options: dict[str, Any] = {"scale": "real" if real else "probability"}
    options["unknown_groups"] = "pooled"
    if repair == "everyone":
        options["repair_level"] = 1.0
    else:
        gap = gap_of(scores, groups, real)
        options["max_mcdp"] = 0.0 if repair == "full" else gap / 2
    return ScoreRepairer(**options).fit(scores, sensitive_features=groups)


def gap_of(scores: Scores, groups: Any, real: bool) -> float:
    """MCDP(0), of ranks if scores are numbers."""
    scale = "rank" if real else "probability"
    return mcdp(None, scores, sensitive_features=groups, scale=scale)


def ways_of(make: Any, training: Any, new: Any, seed: int, real: bool) -> Any:
    """Yield the name of a repair and a way, and the scores of new rows."""
    (X, y, groups), (X_new, _, of_new) = training, new
    fold = folds_of(y, groups, seed, N_FOLDS)
    models = [make().fit(X[fold != part], y[fold != part]) for part in range(N_FOLDS)]
    held_out = np.empty(len(y))
    for part, model in enumerate(models):
        held_out[fold == part] = predicted(model, X[fold == part])
    scores = [predicted(model, X_new) for model in models]
    refit = predicted(make().fit(X, y), X_new)
    half = folds_of(y, groups, seed, 2)
    frozen = make().fit(X[half == 0], y[half == 0])
    of_half, of_frozen = predicted(frozen, X[half == 1]), predicted(frozen, X_new)
    yield "plain", "common", np.mean(scores, axis=0)
    yield "plain", "folds", np.mean(scores, axis=0)
    yield "plain", "refit", refit
    yield "plain", "frozen", of_frozen
    common = CommonScale(held_out, fold, real)
    shared = np.array(held_out)
    for part in range(N_FOLDS):
        own = fold == part
        shared[own] = common.place(held_out[own], part)

    def moved(learnt: ScoreRepairer, values: Scores) -> Scores:
        return learnt.transform(values, sensitive_features=of_new)

    for repair in REPAIRS:
        of_shared = learn(shared, groups, repair, real)
        each = []
        for part, values in enumerate(scores):
            before = common.place(values, part)
            after = moved(of_shared, before)
            stays = after == before
            each.append(np.where(stays, values, common.place_back(after, part)))
        yield repair, "common", np.mean(each, axis=0)
        of_folds = learn(held_out, groups, repair, real)
        yield repair, "folds", np.mean([moved(of_folds, one) for one in scores], axis=0)
        yield repair, "refit", moved(of_folds, refit)
        by_half = learn(of_half, groups[half == 1], repair, real)
        yield repair, "frozen", moved(by_half, of_frozen)


def measure(table: str, model: str, seed: int, real: bool) -> list[dict[str, Any]]:
    """Measure all repairs and ways on the new rows of one draw."""
    if real:
        make, (training, new) = REGRESSORS[model], draw_numbers(table, seed)
    else:
        make, (training, new) = CLASSIFIERS[model], draw(table, N_ROWS, seed)
    _, y, groups = new
    found = []
    for repair, way, scores in ways_of(make, training, new, seed, real):
        figures = {"gap": gap_of(scores, groups, real)}
        if real:
            figures["r2"] = r2_score(y, scores)
        else:
            figures["AP"] = average_precision_score(y, scores)
            figures["accuracy"] = float(np.mean((scores >= 0.5) == y))
        names = {"table": table, "model": model, "seed": seed}
        found.append(names | {"repair": repair, "way": way} | figures)
    return found


def summarise(table: pd.DataFrame, metrics: list[str]) -> None:
    """Print means of ways, and differences from the common scale."""
    for (model, repair), part in table.groupby(["model", "repair"], sort=False):
        means = part.groupby(["table", "way"], sort=False)[metrics].mean().unstack()
        print(f"{model}, {repair}:")
        for metric in metrics:
            of_ways = means[metric]
            texts = [f"{way} {of_ways[way].mean():.4f}" for way in of_ways]
            for way in ("folds", "refit"):
                less = of_ways["common"] - of_ways[way]
                error = less.std() / np.sqrt(len(less))
                texts.append(f"common less {way} {less.mean():+.4f} +- {error:.4f}")
            print(f"  {metric}: {', '.join(texts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables")
    parser.add_argument("--models", default=",".join(CLASSIFIERS))
    parser.add_argument("--seeds", default="0,1,2,3,4,5,6,7")
    parser.add_argument("--regressors", action="store_true")
    given = parser.parse_args()
    real = given.regressors
    tables = given.tables or (TABLES_OF_NUMBERS if real else TABLES)
    warnings.simplefilter("ignore")
    found = []
    for seed in map(int, given.seeds.split(",")):
        for model in given.models.split(","):
            for table in tables.split(","):
                found += measure(table, model, seed, real)
    summarise(pd.DataFrame(found), ["gap", "r2"] if real else ["gap", "AP", "accuracy"])


if __name__ == "__main__":
    main()
