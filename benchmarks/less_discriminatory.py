"""How often a confirmed alternative is none, and what a search finds on real tables.

    SKFAIR_DATA=<folder of tables> python benchmarks/less_discriminatory.py [section]

Sections: accuracy, precision, decisions, gaps (share of samples in which a statement
that is just false is confirmed, and power where it is true), changes (coverage and
width of intervals), adult, census; all of them by default, in half an hour.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from _tables import load_table
from lightgbm import LGBMClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, train_test_split

from skfair.exceptions import MitigationWarning
from skfair.inprocessing import MCDPBoostingClassifier
from skfair.metrics import mcdp
from skfair.model_selection import FairestWithin, compare_models
from skfair.model_selection._model_comparison import (
    GroupTerm,
    Model,
    Moments,
    changes_by_a_row,
    gap_interval,
    gap_test,
    largest_gap_place,
    performance_test,
    random_parts,
    rate_gap_interval,
    subsets,
    worst_loss,
)

LEVEL, MARGIN = 0.95, 0.02

#: Shares of samples in which a statement was confirmed at .05 and at .01.
Shares = tuple[float, float]


def shares_of(pvalues: Any) -> Shares:
    """Rejections at .05 and at .01."""
    return tuple(float(np.mean(np.asarray(pvalues) <= x)) for x in (0.05, 0.01))


def told(what: str, levels: dict[str, Shares], powers: Sequence[Shares] = ()) -> None:
    """Print the layouts with the largest levels, and mean powers."""
    worst = [max(levels.items(), key=lambda item: item[1][i]) for i in (0, 1)]
    print(f"{what}: {len(levels)} layouts", end="; ")
    for (layout, level), i in zip(worst, (0, 1), strict=True):
        print(f"largest at {(0.05, 0.01)[i]}: {level[i]:.4f} ({layout})", end="; ")
    median = np.median([level[0] for level in levels.values()])
    print(f"median {median:.4f}; power {np.mean(powers or [0]):.3f}", flush=True)


def accuracy(n_samples: int = 2000) -> None:
    """Test accuracies that are lower by the margin, and equal ones for the power."""
    rng, levels, powers = np.random.default_rng(0), {}, []
    for n_rows in (30, 100, 300, 1000, 5000, 20_000):
        for margin in (0.001, 0.0028, 0.01, 0.02, 0.1):
            for gained in (0.0, 0.002, 0.02, 0.2):
                name = f"{n_rows} rows, margin {margin}, {gained} gained"
                for lost, into in ((gained + margin, levels), (gained, None)):
                    sizes = np.bincount(np.arange(n_rows) % 30)
                    shares = [lost, gained, 1 - lost - gained]
                    counts = rng.multinomial(sizes, shares, (n_samples, len(sizes)))
                    sums = counts[..., 1] - counts[..., 0]
                    pvalues = [accuracy_pvalue(one, sizes, margin) for one in sums]
                    if into is None:
                        powers.append(shares_of(pvalues)[0])
                    else:
                        into[name] = shares_of(pvalues)
    told("accuracy", levels, powers)


def accuracy_pvalue(sums: Any, sizes: Any, margin: float) -> float:
    """P-value of a difference of accuracies, from its sums over the 30 parts."""
    n_rows, total = sizes.sum(), sums.sum()
    values = np.append(total / n_rows, (total - sums) / (n_rows - sizes))
    worst = (1 + values[0]) / (n_rows + 1)
    return performance_test(values, 0 * values, worst, margin, LEVEL)[1]


def average_precision(y: Any, scores: Any) -> float:
    """Average precision of scores without ties."""
    hits = y[np.argsort(-scores)]
    return float((hits * hits.cumsum() / np.arange(1, len(y) + 1)).sum() / hits.sum())


def pair_of_models(rng: Any, n_rows: int, rate: float, share: float, kind: str) -> Any:
    """Draw true labels, scores, and those of a model that fails in some rows."""
    y = (rng.random(n_rows) < rate).astype(int)
    old = 1.2 * y + rng.normal(size=n_rows)
    wrong = {
        "flipped": 0.6 - 1.5 * old,
        "extreme": np.where(y, -5, 6) + 0.01 * rng.normal(size=n_rows),
        "lost": np.where(y, -5 + 0.01 * rng.normal(size=n_rows), old),
        "random": rng.normal(size=n_rows) + 0.4,
    }
    if kind == "noise":
        return y, old, old + share * rng.normal(size=n_rows)
    return y, old, np.where(rng.random(n_rows) < share, wrong[kind], old)


def precision(n_samples: int = 500) -> None:
    """Test average precisions that are lower by the margin, where some rows fail."""
    rng, levels, powers = np.random.default_rng(0), {}, []
    for n_rows, shares in ((100, (0.01, 0.05)), (1000, (0.003, 0.0045, 0.01))):
        for rate in (0.3, 0.05):
            layouts = [
                (share, kind)
                for share in shares
                for kind in ("flipped", "extreme", "lost", "random")
            ]
            for share, kind in [*layouts, (0.3, "noise"), (1.0, "noise")]:
                drawn = pair_of_models(rng, 500_000, rate, share, kind)
                truth = [average_precision(drawn[0], scores) for scores in drawn[1:]]
                margin, pvalues = truth[0] - truth[1], {share: [], 0.0: []}
                for own, into in pvalues.items():
                    for _ in range(n_samples if own else n_samples // 10):
                        sample = pair_of_models(rng, n_rows, rate, own, kind)
                        into.append(precision_pvalue(*sample, margin))
                name = f"{n_rows} rows, rate {rate}, {share} {kind}, {margin:.4f}"
                levels[name] = shares_of(pvalues[share])
                powers.append(shares_of(pvalues[0.0])[0])
    told("average precision", levels, powers)


def precision_pvalue(y: Any, old: Any, new: Any, margin: float) -> float:
    """P-value of an average precision beside that of the baseline."""
    rows = subsets(random_parts(y))
    models = [
        Model(lambda i, j, own=own: average_precision(y[i], own[j]), own, own)
        for own in (new, old)
    ]
    values = [np.array([one.performance(i, i) for i in rows]) for one in models]
    changes = [changes_by_a_row(one, y, np.ones(len(y)), rows[0]) for one in models]
    worst = float(worst_loss(*changes)[0])
    return performance_test(*values, worst, margin, LEVEL)[1]


def decisions(n_samples: int = 10_000) -> None:
    """Test equal differences of two rates, of decisions that rarely differ."""
    rng, levels, powers = np.random.default_rng(0), {}, []
    sizes = [(100, 100), (30, 600), (600, 30), (15_000, 56), (56, 15_000), (12_000, 30)]
    for counts in [*sizes, (200, 20_000), (1000, 1000), (40, 40)]:
        for high, gap in ((0.5, 0.1), (0.95, 0.3), (0.3, 0.05), (0.9, 0.05)):
            low = high - gap
            for differ in (0.02, 0.2):
                share = min(differ, low, 1 - high) * 0.999
                layout = counts, (high, low), (share,) * 2, (share,) * 2
                name = f"{counts}, {high} and {low:.2f}, {share:.3f} differ"
                levels[name] = shares_of(decision_pvalues(rng, n_samples, *layout))
            for expected in (1, 2.4, 3.1, 3.4, 4.8, 5.3, 6.4, 8, 10):
                # The gap grows by so many rows of the smaller group.
                share = expected / min(counts)
                fewer = (0.0, 0.0) if counts[0] < counts[1] else (share, share)
                more = (share, share) if counts[0] < counts[1] else (0.0, 0.0)
                if share < (1 - high if more[0] else low):
                    layout = counts, (high, low), more, fewer
                    name = f"{counts}, {high} and {low:.2f}, {expected} rows"
                    levels[name] = shares_of(decision_pvalues(rng, n_samples, *layout))
        equal = counts, (0.6, 0.5), (0.02, 0.02), (0.12, 0.02)
        powers.append(shares_of(decision_pvalues(rng, n_samples, *equal))[0])
    told("decisions", levels, powers)


def decision_pvalues(
    rng: Any, n_samples: int, sizes: Any, shares: Any, more: Any, fewer: Any
) -> Any:
    """P-values of the candidate of the groups whose shares of negatives differ most."""
    both, only_new, old = [], [], []
    for n_rows, share, up, down in zip(sizes, shares, more, fewer, strict=True):
        cells = [share - down, up, down, 1 - share - up]
        found = rng.multinomial(n_rows, cells, n_samples).T / n_rows
        both.append(found[0])
        only_new.append(found[1])
        old.append(found[0] + found[2])
    pvalues = np.zeros(n_samples)
    for sign in (1.0, -1.0):
        for everyone in (False, True):
            parts = [
                GroupTerm(
                    cdf=np.ones(n_samples) if everyone else both[i] + only_new[i],
                    both_low=old[i] if everyone else both[i],
                    baseline_low=old[i],
                    n_rows=sizes[i],
                ).moments(sign * factor, factor)
                for i, factor in enumerate((1.0, -1.0))
            ]
            mean, variance, third, least = (
                sum(part) for part in zip(*parts, strict=True)
            )
            test = Moments(mean, variance, np.maximum(third, least))
            pvalues = np.maximum(pvalues, test.pvalue(0.0))
    return pvalues


def flat(gap: float, group: Any, ranks: Any, rng: Any) -> Any:
    """Scores with the same gap from .1 to .9."""
    ends = np.where(group == 0, 0.1, 1.0) - 0.1 * rng.random(len(group))
    return np.where(ranks < gap, ends, 0.1 + 0.8 * (ranks - gap) / (1 - gap))


def peaked(gap: float, group: Any, ranks: Any, rng: Any) -> Any:
    """Scores with the gap at .5 alone."""
    near = np.where(group == 0, 0.5, 0.51) - 0.01 * rng.random(len(group))
    return np.where(ranks < gap, near, rng.random(len(group)))


def gaps(n_samples: int = 1000) -> None:
    """Test equal MCDP(0) of scores of several shapes, and half of it for the power."""
    rng, levels, powers = np.random.default_rng(0), {}, []
    for sizes in ((500, 500), (40, 1000), (50, 5000)):
        for gap in (0.1, 0.4):
            for old, new in ((flat, peaked), (peaked, peaked), (peaked, flat)):
                name = f"{sizes}, {gap}, {old.__name__} to {new.__name__}"
                one = partial(gap_pvalue, rng, sizes, gap, old, new)
                levels[name] = shares_of([one(gap) for _ in range(n_samples)])
                half = [one(gap / 2) for _ in range(n_samples // 10)]
                powers.append(shares_of(half)[0])
    told("MCDP(0)", levels, powers)


def gap_pvalue(
    rng: Any, sizes: Any, gap: float, old: Any, new: Any, of_new: float
) -> float:
    """P-value of a candidate, half of whose rows have the rank of the baseline."""
    group = np.repeat([0, 1], sizes)
    ranks, others = rng.random((2, len(group)))
    others = np.where(rng.random(len(group)) < 0.5, ranks, others)
    first, second = old(gap, group, ranks, rng), new(of_new, group, others, rng)
    parts = random_parts(group, 4)
    finding, rest = parts[0], np.sort(np.concatenate(parts[1:]))
    ones = np.ones(len(group))
    place = largest_gap_place(first[finding], group[finding], ones[finding])
    args = place, group[rest], ones[rest], LEVEL
    return gap_test(second[rest], first[rest], *args)[1]


#: Sizes of groups, rates of two models, and the share of rows with the same draw.
CHANGES: dict[str, Any] = {
    "2 of 1,000, equal": ((1000, 1000), (0.4, 0.4), (0.4, 0.4), 0.8),
    "2 of 100, equal": ((100, 100), (0.4, 0.4), (0.4, 0.4), 0.8),
    "2 of 1,000": ((1000, 1000), (0.5, 0.3), (0.42, 0.37), 0.8),
    "2 of 100": ((100, 100), (0.5, 0.3), (0.42, 0.37), 0.8),
    "2 of 300, to equal": ((300, 300), (0.4, 0.3), (0.35, 0.35), 0.5),
    "2,000 and 7": ((2000, 7), (0.5, 0.3), (0.5, 0.4), 0.8),
    "2,000 and 60": ((2000, 60), (0.5, 0.3), (0.5, 0.4), 0.8),
    "1,000 and 300, rare": ((1000, 300), (0.02, 0.05), (0.02, 0.03), 0.8),
    "2 of 500, unpaired": ((500, 500), (0.32, 0.3), (0.34, 0.3), 0.0),
    "3 of 400, turned": ((400, 400, 400), (0.4, 0.3, 0.35), (0.3, 0.4, 0.35), 0.5),
    "3 of 800, tied": ((800, 800, 800), (0.5, 0.3, 0.3), (0.45, 0.35, 0.35), 0.8),
    "4 of 2,000 to 200": (
        (2000, 800, 400, 200),
        (0.5, 0.4, 0.3, 0.2),
        (0.45, 0.4, 0.38, 0.35),
        0.9,
    ),
    "4 of 5,000 to 50": (
        (5000, 200, 100, 50),
        (0.3, 0.3, 0.3, 0.3),
        (0.3, 0.35, 0.3, 0.3),
        0.9,
    ),
    "5 of 300, equal": ((300,) * 5, (0.4,) * 5, (0.4,) * 5, 0.8),
}


def changes(n_samples: int = 1000) -> None:
    """Find how often intervals of the change of a largest difference of rates hold."""
    rng = np.random.default_rng(0)
    for name, (sizes, old, new, alike) in CHANGES.items():
        codes = np.repeat(np.arange(len(sizes)), sizes)
        truth, found = np.ptp(new) - np.ptp(old), []
        for _ in range(n_samples):
            first, second = rng.random((2, len(codes)))
            second = np.where(rng.random(len(codes)) < alike, first, second)
            chosen = [
                (draws < np.array(rates)[codes]).astype(float)
                for draws, rates in ((second, new), (first, old))
            ]
            args = *chosen, codes, np.ones(len(codes)), LEVEL
            ends = [rate_gap_interval(*args), gap_interval(*args)]
            found.append([*ends, resampled_change(rng, *args)])
        low, high = np.moveaxis(np.array(found), -1, 0)
        holds = ((low <= truth + 1e-9) & (truth - 1e-9 <= high)).mean(axis=0)
        widths = (high - low).mean(axis=0)
        names = "all rows", "place of a quarter", "percentiles"
        texts = [
            f"{way} {share:.3f}, {width:.3f}"
            for way, share, width in zip(names, holds, widths, strict=True)
        ]
        print(f"{name}, change {truth:.2f}: {'; '.join(texts)}", flush=True)


def resampled_change(
    rng: Any, new: Any, old: Any, codes: Any, weights: Any, level: float
) -> tuple[float, float]:
    """Percentile interval of a change, of rows drawn with replacement by group."""
    rates = []
    for group in np.unique(codes):
        cells = np.bincount((2 * old + new)[codes == group].astype(int), minlength=4)
        drawn = rng.multinomial(cells.sum(), cells / cells.sum(), 300) / cells.sum()
        rates.append([drawn[:, 2] + drawn[:, 3], drawn[:, 1] + drawn[:, 3]])
    of_old, of_new = np.ptp(rates, axis=0)
    return tuple(np.quantile(of_new - of_old, [(1 - level) / 2, (1 + level) / 2]))


def real(name: str) -> None:
    """Search on half of a table, confirm on a fifth, and measure on the others."""
    task = load_table(name)
    X = task.X.assign(group=task.groups)
    X, X_test, y, y_test = train_test_split(
        X, task.y, test_size=0.3, stratify=task.y, random_state=0
    )
    X, X_aside, y, y_aside = train_test_split(
        X, y, test_size=0.3, stratify=y, random_state=0
    )
    trees = LGBMClassifier(n_estimators=80, n_jobs=1, verbose=-1)
    baseline = MCDPBoostingClassifier(
        trees,
        strength=0.0,
        validation_fraction=None,
        sensitive_features="group",
        drop_sensitive=True,
        random_state=0,
    )
    rule = FairestWithin(tolerance=MARGIN / 2, kind="absolute")
    grid = {"strength": [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5]}
    scoring = rule.scoring(sensitive_features="group")
    search = GridSearchCV(baseline, grid, scoring=scoring, refit=rule, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MitigationWarning)
        models = {"baseline": baseline.fit(X, y), "found": search.fit(X, y)}
    result = compare_models(
        y_aside,
        {label: one.predict_proba(X_aside)[:, 1] for label, one in models.items()},
        baseline="baseline",
        sensitive_features=X_aside["group"],
        margin=MARGIN,
    )
    print(f"{name}: {len(X)} rows to search, {search.best_params_}")
    print(result.table.round(4).T.to_string())
    for label, one in models.items():
        scores = one.predict_proba(X_test)[:, 1]
        precision = average_precision_score(y_test, scores)
        gap = mcdp(None, scores, sensitive_features=X_test["group"])
        print(f"  {label}: {precision:.4f} at {gap:.4f} on {len(X_test)} other rows")


SECTIONS = {
    "accuracy": accuracy,
    "precision": precision,
    "decisions": decisions,
    "gaps": gaps,
    "changes": changes,
    "adult": partial(real, "adult"),
    "census": partial(real, "census"),
}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
