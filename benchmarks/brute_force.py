"""Metrics beside their definitions, evaluated by loops over random small tables.

    python benchmarks/brute_force.py [--cases 700] [--seed 0]

A case is a table of 1 to 60 rows with two to six groups and up to three strata, whose
scores are continuous, on a grid, or nearly all the same, with weights or none. Each
metric is asked for its value with every way of comparing groups, in the form of
several containers, and as a statistic that is the sum of those of two parts of the
rows. The definitions here share no code with the library. A difference above 1e-9, or
a nan on one side alone, is printed with its case, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.optimize import linprog
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import roc_curve

from skfair import metrics
from skfair.statistics import GroupedConfusion, GroupedOutcomes, GroupedScores

#: One row: score, true label, predicted label, group, stratum and weight.
Row = tuple[float, int, int, Any, Any, float]
Definition = Callable[[Sequence[Row]], float]
TOLERANCE = 1e-9
SCORE, TRUE, PRED, GROUP, STRATUM, WEIGHT = range(6)


def columns_of(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Columns of a table of rows."""
    return list(zip(*rows, strict=True))


# --- definitions ----------------------------------------------------------------------


def mean(rows: Sequence[Row], value: Callable[[Row], float]) -> float:
    """Weighted mean of a value, nan without rows."""
    total = math.fsum(row[WEIGHT] for row in rows)
    if total == 0:
        return math.nan
    return math.fsum(row[WEIGHT] * value(row) for row in rows) / total


def compared(
    rows: Sequence[Row], pooled: bool
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the rows of each two groups, or of each group and of everyone."""
    parts = {
        g: [row for row in rows if row[GROUP] == g] for g in {r[GROUP] for r in rows}
    }
    if len(parts) < 2:
        return
    if pooled:
        yield from ((part, list(rows)) for part in parts.values())
    else:
        yield from combinations(parts.values(), 2)


def largest(values: Iterator[float]) -> float:
    """Largest value; nan if there is none, or if one is nan."""
    found = list(values)
    return max(found) if found and not any(map(math.isnan, found)) else math.nan


def share_below(rows: Sequence[Row], threshold: float) -> float:
    """Value of the cumulative distribution function of the scores."""
    return mean(rows, lambda row: row[SCORE] <= threshold)


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Rows with mid-ranks for scores."""
    total = sum(row[WEIGHT] for row in rows)

    def rank(score: float) -> float:
        below = sum(row[WEIGHT] for row in rows if row[SCORE] < score)
        equal = sum(row[WEIGHT] for row in rows if row[SCORE] == score)
        return (below + equal / 2) / total

    return [(rank(row[SCORE]), *row[1:]) for row in rows]


def steps(one: Sequence[Row], other: Sequence[Row]) -> list[tuple[float, float]]:
    """Where the gap of two distribution functions changes, and to what."""
    points = sorted({0.0, 1.0, *(row[SCORE] for row in (*one, *other))})
    return [(t, abs(share_below(one, t) - share_below(other, t))) for t in points]


def gap(one: Sequence[Row], other: Sequence[Row], epsilon: float) -> float:
    """Largest gap over a closed window in [0, 1], from a step on or around 0."""
    changes = steps(one, other)
    best = 0.0
    windows = [(0.0, epsilon), *((t, t + 2 * epsilon) for t, _ in changes)]
    for start, end in windows:
        held = [
            height
            for (t, height), after in pairwise([*changes, (math.inf, 0.0)])
            if t <= end + 1e-12 and after[0] > start
        ]
        best = max(best, min(held))
    return best


def area(one: Sequence[Row], other: Sequence[Row]) -> float:
    """Area between two distribution functions on [0, 1]."""
    changes = steps(one, other)
    return sum(height * (after - t) for (t, height), (after, _) in pairwise(changes))


def histogram_distance(one: Sequence[Row], other: Sequence[Row], m: int) -> float:
    """Sum over m bins, closed on the left, of the differences of shares."""

    def share(rows: Sequence[Row], k: int) -> float:
        last = k == m - 1
        return mean(
            rows, lambda r: k / m <= r[SCORE] and (last or r[SCORE] < (k + 1) / m)
        )

    return sum(abs(share(one, k) - share(other, k)) for k in range(m))


def roc_area(one: Sequence[Row], other: Sequence[Row]) -> float:
    """Area between two ROC curves, by pieces on which both are straight."""
    curves = []
    for rows in (one, other):
        _, true, _, _, _, weight = columns_of(rows)
        if len(set(true)) < 2:
            return math.nan
        scores = [row[SCORE] for row in rows]
        options = {"sample_weight": weight, "drop_intermediate": False}
        curves.append(roc_curve(true, scores, **options)[:2])
    points = sorted({float(x) for rates, _ in curves for x in rates})
    total = 0.0
    for low, high in pairwise(points):
        # Each curve is straight inside: two inner points give both of its ends.
        inner = [low + (high - low) / 4, low + 3 * (high - low) / 4]
        a, b = (np.interp(inner, *curve) for curve in curves)
        first, last = a - b
        left, right = first - (last - first) / 2, last + (last - first) / 2
        if left * right < 0:
            total += (high - low) * (left**2 + right**2) / (abs(left - right) * 2)
        else:
            total += (high - low) * abs(left + right) / 2
    return total


def rate(quality: str, rows: Sequence[Row]) -> tuple[list[Row], Callable[[Row], float]]:
    """Return the rows that count for a rate, and the outcome of each."""
    match quality:
        case "selection_rate":
            return list(rows), lambda row: row[PRED]
        case "accuracy":
            return list(rows), lambda row: row[PRED] == row[TRUE]
        case "error_rate":
            return list(rows), lambda row: row[PRED] != row[TRUE]
        case "true_positive_rate":
            return [row for row in rows if row[TRUE] == 1], lambda row: row[PRED]
        case "false_positive_rate":
            return [row for row in rows if row[TRUE] == 0], lambda row: row[PRED]
        case "predictive_value":
            return [row for row in rows if row[PRED] == 1], lambda row: row[TRUE]
    raise AssertionError(quality)


def rate_gap(quality: str, one: Sequence[Row], other: Sequence[Row]) -> float:
    """Difference of two rates."""
    a, b = (mean(*rate(quality, rows)) for rows in (one, other))
    return abs(a - b)


def odds_gap(one: Sequence[Row], other: Sequence[Row], labels: set[Any]) -> float:
    """Largest difference of the shares of predictions, by true label."""
    found = []
    for true, pred in labels:
        a, b = (
            mean(
                [row for row in rows if row[TRUE] == true],
                lambda row, pred=pred: row[PRED] == pred,  # type: ignore[misc]
            )
            for rows in (one, other)
        )
        found.append(abs(a - b))
    return largest(iter(found))


def ratio_shortfall(rows: Sequence[Row], pooled: bool) -> float:
    """1 - the smallest ratio of two rates, where somebody is selected."""
    found = []
    for pair in compared(rows, pooled):
        low, high = sorted(mean(*rate("selection_rate", part)) for part in pair)
        if high > 0:
            found.append(1 - low / high)
    return largest(iter(found))


def gaps_from_average(
    rows: Sequence[Row], quality: str, proportional: bool
) -> list[tuple[float, float]]:
    """Distance of each group's rate from the average rate, and the group's weight."""
    counted, outcome = rate(quality, rows)
    found = []
    for label in {row[GROUP] for row in counted}:
        part = [row for row in counted if row[GROUP] == label]
        size = math.fsum(row[WEIGHT] for row in part)
        if size > 0:
            found.append((mean(part, outcome), size if proportional else 1.0))
    if len(found) < 2:
        return []
    total = math.fsum(weight for _, weight in found)
    average = math.fsum(value * weight for value, weight in found) / total
    return [(abs(value - average), weight / total) for value, weight in found]


def conditional_value_at_risk(gaps: list[tuple[float, float]], alpha: float) -> float:
    """Mean of the largest gaps of groups with a weight of 1 - alpha, by a program."""
    if not gaps:
        return math.nan
    values, weights = np.array(gaps).T
    found = linprog(
        -values,
        A_eq=np.ones((1, len(values))),
        b_eq=[1.0],
        bounds=[(0, weight / (1 - alpha)) for weight in weights],
    )
    return float(-found.fun)


# --- the metrics, each with its definition --------------------------------------------


def pairs(of_pair: Callable[..., float], pooled: bool, **options: Any) -> Definition:
    """Largest value over compared groups."""
    return lambda rows: largest(
        of_pair(one, other, **options) for one, other in compared(rows, pooled)
    )


def score_metrics() -> Iterator[tuple[Callable[..., float], Definition]]:
    """Metrics of scores with all their options."""
    for multigroup, scale in product(("pairwise", "pooled"), ("probability", "rank")):
        options: dict[str, Any] = {"multigroup": multigroup, "scale": scale}
        prepare = ranked if scale == "rank" else list
        pooled = multigroup == "pooled"
        for epsilon in (0.0, 0.03, 0.1, 0.25):
            of_pair = pairs(gap, pooled, epsilon=epsilon)
            yield (
                partial(metrics.mcdp, epsilon=epsilon, **options),
                after(prepare, of_pair),
            )
        yield partial(metrics.abcc, **options), after(prepare, pairs(area, pooled))
        for m in (1, 4, 10, 50):
            of_pair = pairs(histogram_distance, pooled, m=m)
            madd = partial(metrics.madd, bandwidth=1 / m, **options)
            yield madd, after(prepare, of_pair)


def after(prepare: Callable[..., Any], definition: Definition) -> Definition:
    """Evaluate a definition on prepared rows."""
    return lambda rows: definition(prepare(rows))


def decision_metrics() -> Iterator[tuple[Callable[..., float], Definition]]:
    """Metrics of decisions with all their options."""
    for multigroup in ("pairwise", "pooled"):
        pooled = multigroup == "pooled"
        for name, quality in {
            "demographic_parity_difference": "selection_rate",
            "true_positive_rate_difference": "true_positive_rate",
            "false_positive_rate_difference": "false_positive_rate",
            "predictive_value_difference": "predictive_value",
        }.items():
            metric = partial(getattr(metrics, name), multigroup=multigroup)
            yield metric, pairs(partial(rate_gap, quality), pooled)
        yield (
            partial(metrics.impact_ratio_shortfall, multigroup=multigroup),
            partial(ratio_shortfall, pooled=pooled),
        )
        yield (
            partial(metrics.equalized_odds_difference, multigroup=multigroup),
            partial(equalized_odds, pooled=pooled),
        )
    for quality, weights in product(
        (
            "selection_rate",
            "true_positive_rate",
            "false_positive_rate",
            "accuracy",
            "error_rate",
        ),
        ("uniform", "proportional"),
    ):
        options: dict[str, Any] = {"quality": quality, "group_weights": weights}
        gaps = partial(
            gaps_from_average, quality=quality, proportional=weights == "proportional"
        )
        yield (
            partial(metrics.max_gap, **options),
            lambda rows, gaps=gaps: largest(value for value, _ in gaps(rows)),
        )
        for alpha in (0.0, 0.5, 0.9):
            yield (
                partial(metrics.cvar_fairness, alpha=alpha, **options),
                lambda rows, gaps=gaps, alpha=alpha: conditional_value_at_risk(
                    gaps(rows), alpha
                ),
            )


def equalized_odds(rows: Sequence[Row], pooled: bool) -> float:
    """Largest difference of P(prediction | true label)."""
    labels = set(product({r[TRUE] for r in rows}, {r[PRED] for r in rows}))
    return pairs(odds_gap, pooled, labels=labels)(rows)


def within_strata(definition: Definition, rows: Sequence[Row], weighted: bool) -> float:
    """Largest value over strata, or their mean by weight."""
    found = []
    for stratum in {row[STRATUM] for row in rows}:
        part = [row for row in rows if row[STRATUM] == stratum]
        value = definition(part)
        if not math.isnan(value):
            found.append((value, math.fsum(row[WEIGHT] for row in part)))
    if not found:
        return math.nan
    if not weighted:
        return max(value for value, _ in found)
    total = math.fsum(weight for _, weight in found)
    return math.fsum(value * weight for value, weight in found) / total


# --- cases ----------------------------------------------------------------------------


def draw_case(rng: np.random.Generator) -> list[Row]:
    """Random rows, of which each group has a positive weight."""
    n_groups, n_strata = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    n_rows = int(rng.integers(1, 61))
    labels: Sequence[Any] = [
        ["b", "a", "weight", "", "é <b>", "c"],
        [3, -1, 10, 2, 0, 7],
        [True, False],
    ][int(rng.integers(3))]
    groups = rng.integers(0, min(n_groups, len(labels)), n_rows)
    if rng.random() < 0.3:  # one large group beside tiny ones
        groups = np.where(rng.random(n_rows) < 0.8, 0, groups)
    kind = int(rng.integers(4))
    scores = [
        rng.random(n_rows),
        rng.integers(0, 21, n_rows) / 20,
        rng.choice([0.0, 1.0, 0.5], n_rows),
        np.full(n_rows, float(rng.choice([0.0, 1.0, 0.3]))),
    ][kind]
    weights = [
        np.ones(n_rows),
        rng.integers(1, 5, n_rows).astype(float),
        rng.lognormal(0, 1, n_rows),
        np.where(rng.random(n_rows) < 0.3, 0.0, rng.random(n_rows)),
    ][int(rng.integers(4))]
    for group in np.unique(groups):
        if weights[groups == group].sum() == 0:
            weights[groups == group] = 1.0
    strata = rng.integers(0, n_strata, n_rows)
    # Errors of a class may be absent, and so may a class.
    true = (rng.random(n_rows) < rng.choice([0.1, 0.5, 1.0])).astype(int)
    pred = np.where(rng.random(n_rows) < 0.7, true, rng.integers(0, 2, n_rows))
    columns = (scores.tolist(), true.tolist(), pred.tolist())
    named = ([labels[group] for group in groups], strata.tolist(), weights.tolist())
    return list(zip(*columns, *named, strict=True))


def containers(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    """Put values in one of the containers that users have."""
    # NumPy makes text of a list of booleans and of text, but none is mixed here.
    return [
        lambda: list(values),
        lambda: np.array(values),
        lambda: pd.Series(values),
        lambda: pd.Series(values).astype("category"),
        lambda: pl.Series(list(values)),
    ][int(rng.integers(5))]()


def numbers(rng: np.random.Generator, values: Sequence[Any]) -> Any:
    """Put numbers in one of the containers that users have."""
    made = [list, np.array, pd.Series, pl.Series][int(rng.integers(4))]
    return made(list(values))


def call(metric: Callable[..., float], *args: Any, **kwargs: Any) -> float:
    """Value of a metric, whose warnings are of what is undefined."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return float(metric(*args, **kwargs))


def statistic_of(kind: str, rows: Sequence[Row], scale: str) -> Any:
    """Sum of the statistics of two parts of the rows, in another order."""
    parts = []
    for part in (rows[1::2], rows[::2]):
        if not part:
            continue
        columns = columns_of(part)
        given: dict[str, Any] = {"sensitive_features": columns[GROUP]}
        given["sample_weight"] = columns[WEIGHT]
        if kind == "scores":
            made: Any = GroupedScores.from_scores(columns[SCORE], **given, scale=scale)
        elif kind == "confusion":
            made = GroupedConfusion.from_predictions(
                columns[TRUE], columns[PRED], **given
            )
        else:
            made = GroupedOutcomes.from_outcomes(columns[PRED], **given)
        parts.append(made)
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


def comparisons(
    rows: list[Row], rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    """Name, value and definition of every metric of a case."""
    columns = columns_of(rows)
    groups = containers(rng, columns[GROUP])
    weight = None if set(columns[WEIGHT]) == {1.0} else numbers(rng, columns[WEIGHT])
    given = {"sensitive_features": groups, "sample_weight": weight}
    scores, pred = numbers(rng, columns[SCORE]), numbers(rng, columns[PRED])
    true = numbers(rng, columns[TRUE])
    counted = [row for row in rows if row[WEIGHT] > 0]
    asked = [(m, d, scores) for m, d in score_metrics()]
    asked += [(m, d, pred) for m, d in decision_metrics()]
    for metric, definition, values in asked:
        name = f"{metric.func.__name__} {metric.keywords}"
        yield name, call(metric, true, values, **given), definition(counted)
        strata = containers(rng, columns[STRATUM])
        for multistratum in ("max", "weighted"):
            options = {"control_features": strata, "multistratum": multistratum}
            yield (
                f"{name} {multistratum}",
                call(metric, true, values, **given, **options),
                within_strata(definition, counted, multistratum == "weighted"),
            )
    yield from of_statistics(rows, counted)
    yield (
        "abroca",
        call(metrics.abroca, true, scores, **given),
        pairs(roc_area, False)(counted),
    )


def of_statistics(
    rows: list[Row], counted: list[Row]
) -> Iterator[tuple[str, float, float]]:
    """Metrics of a sum of statistics in place of rows."""
    present = {row[GROUP] for row in counted}
    halves = [
        {row[GROUP] for row in part if row[WEIGHT] > 0}
        for part in (rows[1::2], rows[::2])
    ]
    everyone = [{row[GROUP] for row in part} for part in (rows[1::2], rows[::2])]
    if halves != everyone or not present:
        return  # a part in which a group has no weight is refused
    for metric, definition in score_metrics():
        statistic = statistic_of("scores", rows, metric.keywords["scale"])
        name = f"{metric.func.__name__} {metric.keywords} of a sum"
        yield name, call(metric, None, statistic), definition(counted)
    confusion = statistic_of("confusion", rows, "")
    yield (
        "equalized odds of a sum",
        call(metrics.equalized_odds_difference, None, confusion),
        equalized_odds(counted, pooled=False),
    )
    outcomes = statistic_of("outcomes", rows, "")
    yield (
        "parity of a sum",
        call(metrics.demographic_parity_difference, None, outcomes),
        pairs(partial(rate_gap, "selection_rate"), False)(counted),
    )


def main() -> None:
    """Compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=700)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    n_compared, wrong, undefined, worst = 0, Counter(), 0, 0.0
    for case in range(options.cases):
        rng = np.random.default_rng([options.seed, case])
        rows = draw_case(rng)
        for name, value, defined in comparisons(rows, rng):
            n_compared += 1
            undefined += math.isnan(defined)
            if math.isnan(value) and math.isnan(defined):
                continue
            difference = abs(value - defined)
            worst = max(worst, difference if difference <= TOLERANCE else 0.0)
            if not difference <= TOLERANCE:
                wrong[name] += 1
                if wrong[name] <= 2:
                    print(f"case {case}, {name}: {value!r}, by definition {defined!r}")
    print(
        f"{n_compared} comparisons, {undefined} undefined on both sides, largest "
        f"difference {worst:.1e}; {sum(wrong.values())} differ"
    )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
