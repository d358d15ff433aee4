"""Metrics of scikit-learn by group: values, intervals, disparities, messages."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import (
    accuracy_score,
    auc,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    jaccard_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    median_absolute_error,
    precision_score,
    recall_score,
    roc_auc_score,
    zero_one_loss,
)

from skfair.groups import encode_groups
from skfair.metrics import (
    confidence_interval,
    demographic_parity_difference,
    group_metrics,
    impact_ratios,
)

METRICS = {
    "accuracy": accuracy_score,
    "error": zero_one_loss,
    "recall": recall_score,
    "precision": precision_score,
    "f1": f1_score,
    "balanced": balanced_accuracy_score,
}


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    n = 300
    group = generator.choice(["a", "b", "c"], n)
    region = generator.choice(["N", "S"], n)
    y_score = generator.random(n)
    y_true = (generator.random(n) < (y_score + (group == "a")) / 2).astype(int)
    return pd.DataFrame(
        {
            "y_true": y_true,
            "y_pred": (y_score > 0.5).astype(int),
            "y_score": y_score,
            "group": group,
            "region": region,
            "weight": generator.integers(1, 4, n) / 2,
        }
    )


def of(rows, metrics, **options):
    """Metrics by group of these rows, without intervals unless asked for."""
    options = {"sensitive_features": rows["group"], "confidence_level": None} | options
    return group_metrics(metrics, rows["y_true"], rows["y_pred"], **options)


@pytest.mark.parametrize(
    "weighted", [pytest.param(False, marks=pytest.mark.slow), True]
)
@pytest.mark.promise("Metrics by group are scikit-learn's on the group's rows")
def test_values_are_those_of_scikit_learn_on_the_rows_of_each_group(rows, weighted):
    options = {"sample_weight": rows["weight"]} if weighted else {}
    result = of(rows, METRICS, **options)
    for name, metric in METRICS.items():
        for part, found in [
            *((rows[rows.group == g], result.by_group.loc[g, name]) for g in "abc"),
            (rows, result.overall[name]),
        ]:
            weights = part["weight"] if weighted else None
            expected = metric(part["y_true"], part["y_pred"], sample_weight=weights)
            assert found == pytest.approx(expected, abs=1e-14), name


def test_rates_by_name(rows):
    result = of(
        rows,
        ["selection_rate", "predictive_value"]
        + [f"{kind}_rate" for kind in ("false_positive", "false_negative")]
        + [f"{kind}_rate" for kind in ("true_negative", "true_positive")],
    )
    part = rows[rows.group == "b"]
    negative = part[part.y_true == 0]
    found = result.by_group.loc["b"]
    assert found["selection_rate"] == pytest.approx(part.y_pred.mean())
    assert found["false_positive_rate"] == pytest.approx(negative.y_pred.mean())
    assert found["true_negative_rate"] == pytest.approx(1 - negative.y_pred.mean())
    recall = recall_score(part.y_true, part.y_pred)
    assert found["true_positive_rate"] == pytest.approx(recall)
    assert found["false_negative_rate"] == pytest.approx(1 - recall)
    precision = precision_score(part.y_true, part.y_pred)
    assert found["predictive_value"] == pytest.approx(precision)


@pytest.mark.slow
@pytest.mark.promise("Metrics by group are those of fairlearn's `MetricFrame`")
def test_values_are_those_of_a_metric_frame(rows):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    metrics = {"accuracy": accuracy_score, "recall": recall_score}
    groups = {"sensitive_features": rows[["group", "region"]]}
    labels = {"y_true": rows["y_true"], "y_pred": rows["y_pred"]}
    frame = fairlearn.MetricFrame(metrics=metrics, **labels, **groups)
    result = of(rows, metrics, **groups)
    for name in metrics:
        found = result.by_group[name].sort_index()
        np.testing.assert_allclose(found, frame.by_group[name].sort_index())
        assert result.overall[name] == pytest.approx(frame.overall[name])
        for ours, theirs in {
            "pairwise": "between_groups",
            "pooled": "to_overall",
        }.items():
            value = result.difference(multigroup=ours).loc[name, "value"]
            assert value == pytest.approx(frame.difference(method=theirs)[name])


def test_sizes_are_rows_and_rows_of_each_label(rows):
    result = of(rows, "recall")
    counts = pd.crosstab(rows["group"], rows["y_true"])
    assert result.sizes["n"].tolist() == counts.sum(axis=1).tolist()
    assert result.sizes[["y_true=0", "y_true=1"]].to_numpy().tolist() == (
        counts.to_numpy().tolist()
    )
    assert result.groups["n_counted"].tolist() == counts[1].tolist()


def test_differences_and_ratios_are_those_of_the_values(rows):
    result = of(rows, ["accuracy", "f1"])
    values, everyone = result.by_group, result.overall
    difference, pooled = result.difference(), result.difference(multigroup="pooled")
    ratio, to_everyone = result.ratio(), result.ratio(multigroup="pooled")
    for name in ["accuracy", "f1"]:
        of_groups, all_rows = values[name], everyone[name]
        assert difference.loc[name, "value"] == pytest.approx(np.ptp(of_groups))
        assert pooled.loc[name, "value"] == (
            pytest.approx(abs(of_groups - all_rows).max())
        )
        assert ratio.loc[name, "value"] == (
            pytest.approx(of_groups.min() / of_groups.max())
        )
        both = [of_groups / all_rows, all_rows / of_groups]
        assert to_everyone.loc[name, "value"] == pytest.approx(np.min(both))


@pytest.mark.promise("Intervals of rates by group are exact")
def test_intervals_of_rates_are_exact(rows):
    table = of(rows, ["recall", "accuracy"], confidence_level=0.9).groups
    for (metric, group), row in table.iterrows():
        part = rows[rows.group == group]
        part = part if metric == "accuracy" else part[part.y_true == 1]
        hits = int((part.y_true == part.y_pred).sum())
        expected = binomtest(hits, len(part)).proportion_ci(0.9, method="exact")
        assert (row["lower"], row["upper"]) == pytest.approx(tuple(expected), abs=1e-9)


def test_disparities_of_rates_have_the_intervals_of_the_other_functions(rows):
    two = rows[rows.group != "c"]
    result = of(two, "selection_rate", confidence_level=0.95)
    expected = confidence_interval(
        demographic_parity_difference,
        None,
        two["y_pred"],
        sensitive_features=two["group"],
    )
    found = result.difference().loc["selection_rate"]
    assert found["lower"] == pytest.approx(expected.lower, abs=1e-6)
    assert found["upper"] == pytest.approx(expected.upper, abs=1e-6)
    table = impact_ratios(None, two["y_pred"], sensitive_features=two["group"])
    smallest = table.loc[table["impact_ratio"].idxmin()]
    found = result.ratio().loc["selection_rate"]
    assert found["value"] == pytest.approx(smallest["impact_ratio"])
    assert found["lower"] == pytest.approx(smallest["lower"])


@pytest.mark.slow
def test_intervals_cover():
    generator = np.random.default_rng(0)
    n_samples, covered = 200, []
    rates = np.repeat([0.2, 0.4, 0.5], [60, 80, 100])
    group = np.repeat(["a", "b", "c"], [60, 80, 100])
    everyone = rates.mean()
    truth = {
        ("difference", "pairwise"): 0.3,
        ("difference", "pooled"): everyone - 0.2,
        ("ratio", "pairwise"): 0.4,
        ("ratio", "pooled"): 0.2 / everyone,
    }
    for _ in range(n_samples):
        y_pred = (generator.random(len(rates)) < rates).astype(int)
        result = group_metrics("selection_rate", None, y_pred, sensitive_features=group)
        table = result.disparities.xs("selection_rate", level="metric")
        rate = [
            table.loc[key, "lower"] <= value <= table.loc[key, "upper"]
            for key, value in truth.items()
        ]
        covered.append(rate)
    assert np.mean(covered, axis=0).min() >= 0.93


@pytest.mark.slow
def test_bootstrap_intervals_hold_the_value_and_are_reproduced(rows):
    first, again = (
        of(rows, "f1", confidence_level=0.9, n_resamples=9, random_state=3)
        for _ in range(2)
    )
    pd.testing.assert_frame_equal(first.groups, again.groups)
    for table in (first.groups, first.overall_table, first.difference(), first.ratio()):
        assert (table["lower"] <= table["upper"]).all()
    assert (first.groups["lower"] < first.groups["value"]).all()
    assert (first.groups["value"] < first.groups["upper"]).all()


@pytest.mark.slow
def test_scores_and_labels_side_by_side(rows):
    part = rows[rows.group == "a"]
    result = of(rows, ["roc_auc", "log_loss", "recall"], y_score=rows["y_score"])
    found = result.by_group.loc["a"]
    assert found["roc_auc"] == roc_auc_score(part["y_true"], part["y_score"])
    assert found["log_loss"] == log_loss(part["y_true"], part["y_score"])
    assert found["recall"] == recall_score(part["y_true"], part["y_pred"])
    of_scores = group_metrics(
        average_precision_score,
        rows["y_true"],
        rows["y_score"],
        sensitive_features=rows["group"],
        confidence_level=None,
    )
    assert of_scores.by_group.loc["a", "average_precision_score"] == (
        average_precision_score(part["y_true"], part["y_score"])
    )


@pytest.mark.slow
def test_scores_of_three_classes(rows):
    generator = np.random.default_rng(1)
    y_true = generator.integers(0, 3, 300)
    y_score = generator.dirichlet([1, 1, 1], 300)
    result = group_metrics(
        {"auc": "roc_auc_ovr", "loss": "neg_log_loss"},
        y_true,
        None,
        y_score=y_score,
        sensitive_features=rows["group"],
        confidence_level=None,
    )
    assert result.overall["loss"] == pytest.approx(-log_loss(y_true, y_score))
    expected = roc_auc_score(y_true, y_score, multi_class="ovr")
    assert result.overall["auc"] == pytest.approx(expected)


@pytest.mark.slow
def test_labels_of_text(rows):
    names = np.array(["<=50K", ">50K"])
    y_true, y_pred = names[rows["y_true"]], names[rows["y_pred"]]
    metrics = ["recall", "f1", "roc_auc", "accuracy"]
    options = {"sensitive_features": rows["group"], "confidence_level": None}
    text = group_metrics(
        metrics, y_true, y_pred, y_score=rows["y_score"], pos_label=">50K", **options
    )
    numbers = of(rows, metrics, y_score=rows["y_score"])
    pd.testing.assert_frame_equal(text.by_group, numbers.by_group)
    group_metrics("accuracy", y_true, y_pred, **options)
    for metric in ("recall", "f1"):
        with pytest.raises(ValueError, match="pos_label must say which"):
            group_metrics(metric, y_true, y_pred, **options)


def test_metrics_by_name_function_partial_and_scorer(rows):
    result = of(
        rows,
        {
            "name": "recall_score",
            "scorer": make_scorer(recall_score, pos_label=0),
            "partial": partial(recall_score, pos_label=0),
            "macro": partial(recall_score, average="macro"),
            "regression": "neg_mean_absolute_error",
        },
    )
    part = rows[rows.group == "c"]
    found, labels = result.by_group.loc["c"], (part["y_true"], part["y_pred"])
    assert found["name"] == recall_score(*labels)
    assert found["scorer"] == found["partial"] == recall_score(*labels, pos_label=0)
    assert found["macro"] == pytest.approx(recall_score(*labels, average="macro"))
    assert found["regression"] == -mean_absolute_error(*labels)
    assert of(rows, f1_score).by_group.columns.tolist() == ["f1_score"]


@pytest.mark.slow
def test_strata_have_tables_of_their_own(rows):
    result = of(
        rows,
        ["accuracy", "f1"],
        control_features=rows[["region"]],
        confidence_level=0.9,
        n_resamples=5,
        random_state=0,
    )
    assert result.by_group.index.names == ["region", "group"]
    north = rows[rows.region == "N"]
    alone = of(north, ["accuracy", "f1"], confidence_level=0.9, n_resamples=5)
    pd.testing.assert_frame_equal(result.by_group.loc["N"], alone.by_group)
    assert result.overall.loc["N", "f1"] == alone.overall["f1"]
    assert (
        result.difference().loc[("accuracy", "N"), "upper"]
        == (alone.difference().loc["accuracy", "upper"])
    )
    assert result.to_frame().index.names == ["metric", "region", "group"]


def test_intersections_have_a_level_for_each_column(rows):
    result = of(rows, "accuracy", sensitive_features=rows[["group", "region"]])
    assert result.by_group.index.names == ["group", "region"]
    part = rows[(rows.group == "a") & (rows.region == "S")]
    expected = accuracy_score(part["y_true"], part["y_pred"])
    assert result.by_group.loc[("a", "S"), "accuracy"] == pytest.approx(expected)
    unnamed = of(
        rows, "accuracy", sensitive_features=rows[["group", "region"]].to_numpy()
    )
    assert unnamed.by_group.index.names == ["group 1", "group 2"]


def test_containers_and_rows_without_a_group(rows):
    frame = pl.from_pandas(rows)
    ours = group_metrics(
        "recall", frame["y_true"], frame["y_pred"], sensitive_features=frame["group"]
    )
    pd.testing.assert_frame_equal(ours.by_group, of(rows, "recall").by_group)
    groups = encode_groups(rows["group"].replace("c", None), missing="drop")
    dropped = of(rows, "recall", sensitive_features=groups)
    kept = of(rows[rows.group != "c"], "recall")
    pd.testing.assert_frame_equal(dropped.by_group, kept.by_group)
    assert dropped.overall["recall"] == kept.overall["recall"]


def test_table_of_the_result(rows):
    result = of(rows, "accuracy")
    frame = result.to_frame()
    assert " ".join(frame.columns) == "n n_counted value lower upper overall"
    assert (frame["overall"] == result.overall["accuracy"]).all()


def test_undefined_is_nan_with_a_warning_that_names_the_group():
    y_true, y_pred = [1, 0, 0, 0], [1, 0, 0, 0]
    group = ["a", "a", "b", "b"]
    for metric in ("recall", "f1", "roc_auc"):
        with pytest.warns(UndefinedMetricWarning, match="'b'"):
            result = group_metrics(
                metric,
                y_true,
                y_pred,
                y_score=[0.9, 0.1, 0.2, 0.3],
                sensitive_features=group,
                confidence_level=None,
            )
        assert np.isnan(result.by_group.loc["b", metric])
        assert result.difference()["value"].isna().all()
        assert result.by_group.loc["a", metric] == 1


@pytest.mark.slow
@pytest.mark.parametrize("confidence_level", [None, 0.9])
def test_a_part_that_scikit_learn_sets_to_0_is_said(confidence_level):
    """Nobody in a is truly 2: the mean over classes has a 0 there."""
    y_true, y_pred = [0, 1, 0, 1] * 5 + [0, 1, 2, 2] * 5, [0, 1, 2, 1] * 10
    group, metric = ["a"] * 20 + ["b"] * 20, partial(recall_score, average="macro")
    with pytest.warns(UndefinedMetricWarning, match="^recall_score of 'a': .* to 0.0"):
        result = group_metrics(
            metric,
            y_true,
            y_pred,
            sensitive_features=group,
            confidence_level=confidence_level,
            n_resamples=9,
        )
    assert result.by_group.loc["a", "recall_score"] == 0.5


@pytest.mark.slow
def test_jaccard_score_of_two_classes():
    y_true, y_pred, group = np.array(
        [[1, 0, 1, 0, 0], [1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    )
    given = {"sensitive_features": group, "confidence_level": None}
    with pytest.warns(UndefinedMetricWarning, match="no finite value for 1"):
        result = group_metrics("jaccard_score", y_true, y_pred, **given)
    expected = jaccard_score(y_true[:3], y_pred[:3])
    assert result.by_group["jaccard_score"].tolist()[0] == expected
    assert np.isnan(result.by_group["jaccard_score"].tolist()[1])
    metric = {"jaccard": partial(jaccard_score, zero_division=1)}
    found = group_metrics(metric, y_true, y_pred, **given).by_group["jaccard"]
    assert found.tolist() == [expected, 1]
    weights = np.arange(1, 6)
    given["sensitive_features"] = ["a"] * 5
    with pytest.warns(UndefinedMetricWarning, match="two groups"):
        result = group_metrics(
            "jaccard", y_true, y_pred, pos_label=0, sample_weight=weights, **given
        )
    expected = jaccard_score(y_true, y_pred, pos_label=0, sample_weight=weights)
    assert result.overall["jaccard"] == expected


def test_infinite_values_are_undefined():
    def odds(y_true, y_pred):
        right = np.mean(np.asarray(y_true) == y_pred)
        return right / (1 - right) if right < 1 else np.inf

    with pytest.warns(UndefinedMetricWarning, match="no finite value for 'a' and 'b'"):
        found = group_metrics(
            odds,
            [0, 1, 0, 1, 0, 1],
            [0, 1, 0, 1, 0, 0],
            sensitive_features=list("aabbcc"),
            confidence_level=None,
        )
    assert found.by_group["odds"].isna().tolist() == [True, True, False]
    assert found.difference()["value"].isna().all()


def test_small_groups_are_undefined(rows):
    groups = encode_groups(["x"] * 3 + ["y"] * 297, min_group_size=5)
    for metric in ("accuracy", "f1"):
        with pytest.warns(UndefinedMetricWarning, match="'x' has 3 rows"):
            result = of(rows, metric, sensitive_features=groups)
        assert result.by_group[metric].isna().tolist() == [True, False]


@pytest.mark.parametrize(
    ("metric", "encoded"),
    [
        pytest.param("f1_score", False, marks=pytest.mark.slow),
        ("mean_absolute_error", True),
        pytest.param("roc_auc", False, marks=pytest.mark.slow),
    ],
)
def test_a_group_without_rows_is_nan_and_leaves_the_others(rows, metric, encoded):
    asked = {"confidence_level": 0.9, "n_resamples": 2, "random_state": 0}
    asked["y_score"] = rows["y_score"]
    groups = pd.Categorical(rows["group"], ["0", "a", "b", "c", "d"])
    groups = encode_groups(groups) if encoded else groups
    with pytest.warns(UndefinedMetricWarning, match="'0' has 0 rows"):
        found = of(rows, metric, sensitive_features=groups, **asked)
    assert found.by_group[metric].isna().tolist() == [True, *[False] * 3, True]
    assert found.difference()["value"].isna().all()
    frame = found.to_frame().droplevel("metric")
    expected = of(rows, metric, **asked).to_frame().droplevel("metric")
    three = frame.loc[["a", "b", "c"]]
    pd.testing.assert_frame_equal(three, expected, check_index_type=False)
    assert frame.loc["d", ["value", "lower", "upper"]].isna().all()


@pytest.mark.slow
def test_a_bootstrap_of_few_rows_is_not_made(rows):
    groups = ["x"] * 9 + ["y"] * 291
    with pytest.warns(UndefinedMetricWarning, match="no interval for 'x'"):
        result = of(
            rows, "f1", sensitive_features=groups, confidence_level=0.9, n_resamples=20
        )
    assert result.groups["lower"].isna().tolist() == [True, False]
    assert result.difference()["upper"].isna().all()


@pytest.mark.parametrize(
    ("metrics", "options", "expected"),
    [
        ("roc_auc", {}, "pass y_score="),
        ("acuracy", {}, "got 'acuracy'"),
        ([], {}, "at least one"),
        ([accuracy_score, "accuracy_score"], {}, "dictionary of name"),
        (3, {}, "name of a metric"),
        ("accuracy", {"confidence_level": 95}, "confidence_level must be None or a"),
        ("f1", {"n_resamples": 0}, "n_resamples"),
        (
            median_absolute_error,
            {"sample_weight": np.ones(300)},
            None,
        ),
        ("max_error", {"sample_weight": np.ones(300)}, "max_error takes no sample_"),
        (
            "accuracy",
            {"sensitive_features": ["a", "b"] * 150, "sample_weight": [0, 1] * 150},
            r"zero for every row of the groups \['a'\]",
        ),
        (
            "accuracy",
            {"control_features": encode_groups([None] * 300, missing="drop")},
            "control_features has no row with a stratum",
        ),
    ],
)
def test_messages(rows, metrics, options, expected):
    if expected is None:
        of(rows, metrics, **options)
        return
    with pytest.raises((TypeError, ValueError), match=expected):
        of(rows, metrics, **options)


@pytest.mark.slow
def test_drawn_numbers_of_rows_are_as_good_as_drawn_rows(rows):
    """A function of the user draws rows, those of scikit-learn count them."""

    def other(y_true, y_pred, sample_weight=None):
        return f1_score(y_true, y_pred, average="macro", sample_weight=sample_weight)

    macro = partial(f1_score, average="macro")
    counted, drawn = (
        of(
            rows.assign(y_pred=rows["y_pred"] * (1 + rows["y_true"])),
            {"f1": metric},
            confidence_level=0.9,
            n_resamples=200,
            random_state=0,
        )
        for metric in (macro, other)
    )
    pd.testing.assert_frame_equal(counted.by_group, drawn.by_group)
    for ends in ("lower", "upper"):
        np.testing.assert_allclose(counted.groups[ends], drawn.groups[ends], atol=0.03)
        np.testing.assert_allclose(
            counted.difference()[ends], drawn.difference()[ends], atol=0.04
        )


def coverage(y_true, y_pred):
    return np.mean((y_pred[:, 0] <= y_true) & (y_true <= y_pred[:, 1]))


def share_of_sets(y_true, y_pred):
    return y_pred[np.arange(len(y_true)), y_true].mean()


@pytest.mark.parametrize(
    "weighted", [False, pytest.param(True, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("metric", "y_true", "columns"),
    [
        (coverage, "y_score", ["low", "high"]),
        (share_of_sets, "y_true", ["no", "yes"]),
        (mean_absolute_error, ["y_score", "weight"], ["low", "high"]),
        *(
            pytest.param(
                metric, ["y_true", "y_pred"], ["no", "yes"], marks=pytest.mark.slow
            )
            for metric in (accuracy_score, partial(f1_score, average="macro"))
        ),
        pytest.param(log_loss, "y_true", ["lower", "upper"], marks=pytest.mark.slow),
    ],
)
def test_several_columns_of_predictions(rows, metric, y_true, columns, weighted):
    rng = np.random.default_rng(0)
    low, high = rows["y_score"] - rng.random(300) / 4, rows["y_score"] + 0.1
    yes = (rng.random(300) < 0.7).astype(int)
    more = {"low": low, "high": high, "no": 1 - yes, "yes": yes}
    shares = {"lower": rows["y_score"], "upper": 1 - rows["y_score"]}
    table = rows.assign(**more, **shares)
    own = metric in (coverage, share_of_sets)
    if weighted and own:
        with pytest.raises(TypeError, match="takes no sample_weight"):
            by_group(table, metric, y_true, columns, "weight")
        return
    values = by_group(table, metric, y_true, columns, "weight" if weighted else None)
    for group, part in table.groupby("group"):
        options = {"sample_weight": part["weight"]} if weighted else {}
        expected = metric(part[y_true].to_numpy(), part[columns].to_numpy(), **options)
        assert values[group] == pytest.approx(expected)


def by_group(table, metric, y_true, columns, weights):
    result = group_metrics(
        {"metric": metric},
        table[y_true],
        table[columns],
        sensitive_features=table["group"],
        sample_weight=None if weights is None else table[weights],
        n_resamples=5,
        random_state=0,
    )
    assert (result.groups["lower"] <= result.groups["upper"]).all()
    return result.by_group["metric"]


def test_metrics_that_do_not_take_several_columns(rows):
    columns = rows[["y_pred", "y_true"]]
    with pytest.raises(ValueError, match=r"shape \(n_samples,\) for accuracy, got"):
        group_metrics("accuracy", columns, columns, sensitive_features=rows["group"])
    with pytest.raises(ValueError, match=r"must return a number, got .* shape \(2,\)"):
        group_metrics(
            lambda y_true, y_pred: y_pred[:2],
            rows["y_true"],
            rows["y_pred"],
            sensitive_features=rows["group"],
        )


def test_counts_in_another_order_are_warned_of():
    counts = pd.Series([1, 2, 3, 4], index=[3, 2, 1, 0])
    decisions = pd.Series([1, 0, 1, 0])
    with pytest.warns(UserWarning, match="same index labels in different orders"):
        group_metrics(
            "selection_rate",
            None,
            decisions,
            sensitive_features=list("aabb"),
            counts=counts,
            confidence_level=None,
        )


@pytest.mark.slow
@pytest.mark.parametrize("shifts", [(0, 0.1), (0, 0.2), (0, 0.1, 0.2)])
def test_bootstrap_intervals_of_disparities_cover_small_ones(shifts):
    """Resamples of the largest gap itself cover small gaps in three samples of four."""
    rng = np.random.default_rng(0)
    sizes = (40, 100, 200)[: len(shifts)]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    means, n_samples = np.array(shifts) + 1.0, 200

    def mean_prediction(y_true, y_pred):
        return y_pred.mean()

    covered = np.zeros(2)
    for seed in range(n_samples):
        y_pred = rng.normal(means[groups], 0.5)
        result = group_metrics(
            mean_prediction,
            y_pred,
            y_pred,
            sensitive_features=groups,
            n_resamples=99,
            random_state=seed,
        )
        for i, (table, true) in enumerate(
            [
                (result.difference(), means.max() - means.min()),
                (result.ratio(), means.min() / means.max()),
            ]
        ):
            row = table.iloc[0]
            covered[i] += row["lower"] <= true <= row["upper"]
    assert (covered >= 0.9 * n_samples).all()


def test_small_groups_are_told_once_a_call_with_advice():
    rng = np.random.default_rng(0)
    y_true, y_pred = rng.integers(0, 2, (2, 100))
    groups = encode_groups(np.repeat(["a", "b"], [90, 10]), min_group_size=20)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = group_metrics(
            ["accuracy", "selection_rate", "f1_score"],
            y_true,
            y_pred,
            sensitive_features=groups,
            n_resamples=2,
        )
    assert result.difference()["value"].isna().all()
    (warning,) = caught
    text = str(warning.message)
    assert text.startswith("accuracy, selection_rate and f1_score of some groups")
    assert "at least 20 rows, but 'b' has 10 rows. skfair.groups" in text
    assert "rare='merge'" in text
    assert "rare='drop'" in text


@pytest.mark.parametrize("metric", ["auc", auc])
def test_the_area_under_any_points_is_no_metric(metric):
    with pytest.raises(ValueError, match=r"got 'auc'.* Is 'roc_auc' meant\?"):
        group_metrics(
            [metric], [0, 1] * 10, [0.3, 0.6] * 10, sensitive_features=[*"aabb"] * 5
        )
