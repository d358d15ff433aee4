"""The comparison with the baseline that all mitigators state, and their one warning."""

import pickle
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, kolmogi, ndtri
from scipy.stats import ks_2samp
from sklearn.metrics import average_precision_score

from skfair._comparison import (
    average_precision,
    compare_classifiers,
    exceeds_noise,
    limit_missed,
    mean_mcdp,
    warn_of_comparison,
)
from skfair._rows import Rows
from skfair.exceptions import MitigationWarning
from skfair.groups import Groups, encode_groups
from skfair.metrics import mcdp


def draw(n_samples, shift=1.0, seed=0, rate=0.3, n_groups=2):
    """Labels, what two models know of them, and groups that have other rates."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_groups, n_samples)
    truth = rng.normal(size=n_samples) + shift * (codes == 1)
    y = truth + rng.normal(size=n_samples) > np.quantile(truth, 1 - rate)
    logits = truth[:, None] + 0.4 * rng.normal(size=(n_samples, 2))
    return y.astype(int), *expit(logits.T), Groups(codes, tuple(range(n_groups)))


def rows_of(y, groups, sample_weight=None):
    weights = None if sample_weight is None else np.asarray(sample_weight)
    return Rows(groups, y_true=np.asarray(y, dtype=int), weight=weights)


def compare(y, plain, fair, groups, sample_weight=None, **options):
    return compare_classifiers(
        rows_of(y, groups, sample_weight), plain, fair, **options
    )


def noise_of(sizes):
    """Square of the mean gap of two groups of one distribution."""
    return np.pi / 2 * np.log(2) ** 2 * (1 / np.asarray(sizes)).sum()


def warned(comparison, problem=""):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_comparison(object(), comparison, "Do something", problem)
    return caught


# --- the numbers


@pytest.mark.slow
@pytest.mark.parametrize("true_gap", [0.1, 0.3])
def test_noise_of_the_rows_is_taken_out(true_gap):
    gaps = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        codes = np.arange(200) % 2
        y, scores = rng.integers(0, 2, 200), rng.normal(size=200)
        shifted = expit(scores + 2 * ndtri((1 + true_gap) / 2) * codes)
        found = compare(y, shifted, shifted, Groups(codes, ("a", "b")))
        gaps.append(found.mitigated["mcdp"])
    assert np.mean(gaps) == pytest.approx(true_gap, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("n_scores", [2, 1, 6])
def test_few_scores_have_less_noise(n_scores):
    """The average noise is that of shuffled groups."""
    rng = np.random.default_rng(0)
    scores = np.repeat(np.arange(n_scores) / 6, 240 // n_scores)
    gaps = [mean_mcdp(shuffled_rows(scores, rng)).value for _ in range(200)]
    noise = mean_mcdp(shuffled_rows(scores, rng)).mean_noise
    assert noise == pytest.approx(np.mean(gaps), rel=0.1, abs=1e-9)
    assert noise**2 < noise_of((120, 120)) * (0.4 if n_scores < 3 else 0.8)


def shuffled_rows(scores, rng):
    codes = rng.permutation(np.arange(len(scores)) % 2)
    return Rows(Groups(codes, ("a", "b")), y_pred=scores)


def test_noise_of_a_map_is_added():
    y, plain, fair, groups = draw(300)
    noise = noise_of(groups.sizes())
    before, after = (
        mcdp(None, scores, sensitive_features=groups) for scores in (plain, fair)
    )
    found = compare(y, plain, fair, groups, cross_fitted=True)
    assert found.mitigated["mcdp"] == pytest.approx(np.sqrt(after**2 + noise))
    assert found.baseline["mcdp"] == pytest.approx(np.sqrt(before**2 - noise))
    same = compare(y, plain, plain, groups, cross_fitted=True)
    assert same.mitigated == same.baseline
    assert same.baseline["mcdp"] == found.baseline["mcdp"]


@pytest.mark.parametrize("decimals", [1, 12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.promise("`comparison_` has the metrics of held-out rows")
def test_values_are_those_of_the_metrics(decimals, weighted):
    y, plain, fair, groups = draw(300)
    plain, fair = plain.round(decimals), fair.round(decimals)
    weights = np.arange(300) % 4 if weighted else None
    found = compare(y, plain, fair, groups, sample_weight=weights)
    kept = np.arange(300) >= 0 if weights is None else weights > 0
    own = np.ones(300) if weights is None else weights
    totals, squares = (np.bincount(groups.codes, values) for values in (own, own**2))
    for stated, scores in ((found.baseline, plain), (found.mitigated, fair)):
        assert_allclose(
            stated["average_precision"],
            average_precision_score(y, scores, sample_weight=weights),
        )
        gap = mcdp(
            None,
            scores[kept],
            sensitive_features=groups[kept],
            sample_weight=None if weights is None else weights[kept],
        )
        noise = noise_of(totals**2 / squares)
        if decimals == 1:  # rows share scores
            rows = Rows(groups, y_pred=scores, weight=weights)[kept]
            noise = mean_mcdp(rows).mean_noise ** 2
        expected = max(0.0, gap**2 - noise)
        assert_allclose(stated["mcdp"], np.sqrt(expected))
    assert found.n_samples == (225 if weighted else 300)
    assert sum(found.group_sizes.values()) == found.n_samples


@pytest.mark.parametrize("decimals", [1, 12])
def test_derivatives_are_finite_differences(decimals):
    y, scores, _, groups = draw(60)
    scores, weights = scores.round(decimals), np.random.default_rng(1).random(60)

    def largest_gap(weights):
        gap = mean_mcdp(Rows(groups, y_pred=scores, weight=weights))
        return gap.value, gap.slopes

    for estimate in (lambda w: average_precision(y * 1.0, scores, w), largest_gap):
        value, slopes = estimate(weights)
        for row in range(0, 60, 7):
            step = 1e-6 * (np.arange(60) == row)
            slope = (estimate(weights + step)[0] - value) / 1e-6
            assert_allclose(slopes()[row], slope, atol=1e-6)


@pytest.mark.slow
def test_standard_errors_are_those_of_new_samples():
    samples = [compare(*draw(1500, seed=seed)) for seed in range(400)]
    for name in ("average_precision", "mcdp"):
        differences = [found.difference[name] for found in samples]
        errors = [found.standard_error[name] for found in samples]
        assert 0.9 < np.mean(errors) / np.std(differences) < 1.3


@pytest.mark.slow
def test_noise_is_what_shuffled_groups_read():
    _, _, fair, groups = draw(400, n_groups=2)
    noise = mean_mcdp(Rows(groups, y_pred=fair)).noise
    rng = np.random.default_rng(0)
    shuffled = (Groups(rng.permutation(groups.codes), (0, 1)) for _ in range(400))
    exceeded = [exceeds_noise(Rows(each, y_pred=fair)) for each in shuffled]
    assert 0.01 < np.mean(exceeded) < 0.07
    _, _, fair, groups = draw(400, n_groups=5)
    assert mean_mcdp(Rows(groups, y_pred=fair)).noise > 1.5 * noise


def test_a_row_without_weight_or_group():
    y, plain, fair, groups = draw(200)
    expected = compare(y, plain, fair, groups)
    y = np.append(y, [1, 0])
    plain, fair = (np.append(v, [0.1, 0.9]) for v in (plain, fair))
    codes = np.append(groups.codes, [0, -1])
    weights = np.append(np.ones(200), [0, 1])
    found = compare(y, plain, fair, Groups(codes, (0, 1)), sample_weight=weights)
    assert found.n_samples == 201
    assert found.group_sizes == expected.group_sizes
    assert found.mitigated["mcdp"] == pytest.approx(expected.mitigated["mcdp"])
    before, after = (each.mitigated["average_precision"] for each in (expected, found))
    assert before != after


def test_undefined_is_nan():
    y, plain, fair, groups = draw(50)
    alone = compare(y, plain, fair, Groups(groups.codes * 0, ("a", "b")))
    gaps = alone.baseline, alone.mitigated, alone.standard_error
    assert np.isnan([column["mcdp"] for column in gaps]).all()
    assert np.isfinite(alone.standard_error["average_precision"])
    negative = compare(y * 0, plain, fair, groups)
    assert np.isnan(negative.baseline["average_precision"])
    none = compare([], [], [], groups[:0])
    assert np.isnan(none.to_frame().to_numpy(dtype=float)).all()
    for found in (alone, none):
        assert warned(found)


def test_gaps_are_adjusted_for_the_sizes_of_groups():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [600, 400, 10])
    scores = rng.random(1010) + 0.1 * (codes == 1)
    scores[codes == 2] = 2.0
    rows = Rows(Groups(codes, (0, 1, 2)), y_pred=scores)
    sizes = np.array([600, 400, 10])
    critical = kolmogi(0.05 / 3)
    found = mean_mcdp(rows, adjusts=True)
    assert found.noise == pytest.approx(critical * np.sqrt(1 / 600 + 1 / 400))
    adjusted = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        gap = ks_2samp(scores[codes == first], scores[codes == second]).statistic
        noise = critical * np.sqrt((1 / sizes[[first, second]]).sum())
        adjusted.append(gap - (noise - found.noise))
    assert mean_mcdp(rows).value == 1
    assert found.value == pytest.approx(max(adjusted))
    table = compare(rng.integers(0, 2, 1010), scores, scores, rows.groups).to_frame()
    assert list(table.index) == ["average_precision", "mcdp", "adjusted_mcdp"]
    assert exceeds_noise(rows)


# --- the warning


def test_worse_in_both():
    y, plain, _, groups = draw(2000)
    rng = np.random.default_rng(0)
    worse = expit(rng.normal(size=2000) + 3 * groups.codes)
    (caught,) = warned(compare(y, plain, worse, groups))
    assert caught.category is MitigationWarning
    if sys.version_info >= (3, 12):
        assert caught.filename == __file__
    text = str(caught.message)
    start = "object, on 2000 held-out rows: no gain is shown: MCDP(0) is 0.8"
    assert text.startswith(start)
    assert "the baseline's 0." in text
    assert "average precision is" in text
    assert text.endswith("Do something.")


def test_no_gain_is_said():
    y, plain, fair, groups = draw(2000)
    assert warned(compare(y, plain, fair, groups))  # neither gap is lower
    assert warned(compare(y, plain, plain, groups))
    fairer = compare(y, plain, plain ** (1 + groups.codes), groups)
    assert not fairer.lacks_gain
    assert not warned(fairer)
    (caught,) = warned(fairer, "max_mcdp=0.1 is missed")
    assert "held-out rows: max_mcdp=0.1 is missed: MCDP(0) is" in str(caught.message)


def test_without_a_gap_nothing_can_be_gained():
    y, plain, _, _ = draw(200)
    alike = Groups(np.argsort(np.argsort(plain)) % 2, ("a", "b"))
    found = compare(y, plain, plain, alike)
    assert found.baseline["mcdp"] == 0
    assert not warned(found)


def test_a_limit_that_is_missed_by_more_than_noise():
    y, plain, fair, groups = draw(2000)
    found = compare(y, plain, fair, groups)
    scored = Rows(groups, y_true=y, y_pred=plain)
    gap, noise = found.mitigated["mcdp"], mean_mcdp(scored).noise
    assert "max_mcdp=0.1 is missed by more than" in limit_missed(scored, found, 0.1)
    assert not limit_missed(scored, found, gap - noise / 2)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.promise("A gap that falls is rarely called no gain")
def test_a_gap_that_falls_is_rarely_called_no_gain(n_groups):
    lacking = []
    for seed in range(200):
        y, plain, _, groups = draw(1000, 1.0, seed, n_groups=n_groups)
        rng = np.random.default_rng(seed)
        found = compare(y, plain, rng.random(1000), groups)
        lacking.append(found.lacks_gain)
    assert np.mean(lacking) < 0.05


def test_a_group_of_one_row_is_noise():
    y, plain, _, groups = draw(500)
    codes = groups.codes.copy()
    codes[0] = 2
    fair = plain ** (1 + groups.codes)
    fair[0] = 0.0
    found = compare(y, plain, fair, Groups(codes, (0, 1, 2)))
    assert found.mitigated["mcdp"] > 2 * found.mitigated["adjusted_mcdp"]
    assert found.standard_error["adjusted_mcdp"] < 0.1
    assert not warned(found)
    alone = compare(y, plain, fair, Groups((np.arange(500) == 0) + 0, (0, 1)))
    assert alone.standard_error["mcdp"] >= 0.5


# --- the result


@pytest.mark.slow
def test_a_thousand_groups_of_text_labels():
    y, plain, fair, groups = draw(3000, n_groups=1000)
    labels = np.array([f"group {code}" for code in groups.codes])
    found = compare(y, plain, fair, encode_groups(labels))
    assert len(found.group_sizes) == len(set(labels))


def test_table_and_pickle():
    found = compare(*draw(100))
    table = found.to_frame()
    columns = ["baseline", "mitigated", "difference", "standard_error"]
    assert list(table) == columns
    assert table.loc["mcdp", "baseline"] == found.baseline["mcdp"]
    assert_allclose(table["mitigated"] - table["baseline"], table["difference"])
    assert pickle.loads(pickle.dumps(found)) == found
    text = repr(found)
    assert text.startswith("Comparison(n_samples=100)")
    assert text.splitlines()[1].split() == ["baseline", "mitigated", "difference"]
    assert "group_sizes" not in text
