import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, kolmogi, ndtri
from scipy.stats import ks_2samp
from sklearn.metrics import average_precision_score

from skfair._comparison import (
    Noise,
    _largest_gap,
    average_precision,
    compare_with_plain,
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


def compare(y, plain, fair, groups, sample_weight=None, **options):
    weights = None if sample_weight is None else np.asarray(sample_weight)
    rows = Rows(groups, y_true=np.asarray(y, dtype=int), weight=weights)
    return compare_with_plain(rows, plain, fair, **options)


def warned(comparison):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison.warn(object(), "Do something")
    return caught


# --- the numbers


@pytest.mark.slow
@pytest.mark.parametrize("true_gap", [0.1, 0.3])
def test_noise_of_the_rows_is_taken_out(true_gap):
    gaps, measured = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        codes = np.arange(200) % 2
        y, scores = rng.integers(0, 2, 200), rng.normal(size=200)
        shifted = expit(scores + 2 * ndtri((1 + true_gap) / 2) * codes)
        groups = Groups(codes, ("a", "b"))
        found = compare(y, shifted, shifted, groups, noise=Noise.TAKEN_OUT)
        raw = compare(y, shifted, shifted, groups)
        gaps.append((found.mcdp, raw.mcdp))
        measured.append(found.beyond_noise == raw.beyond_noise)
    corrected, raw = np.mean(gaps, axis=0)
    assert corrected == pytest.approx(true_gap, abs=0.03)
    assert raw > true_gap + 0.04
    assert all(measured)


def test_noise_of_a_map_is_added():
    y, plain, fair, groups = draw(300)
    sizes = groups.sizes()
    noise = np.pi / 2 * np.log(2) ** 2 * (1 / sizes).sum()
    raw = compare(y, plain, fair, groups)
    found = compare(y, plain, fair, groups, noise=Noise.ADDED)
    assert found.mcdp == pytest.approx(np.sqrt(raw.mcdp**2 + noise))
    assert found.plain_mcdp == pytest.approx(np.sqrt(raw.plain_mcdp**2 - noise))
    same = compare(y, plain, plain, groups, noise=Noise.ADDED)
    assert same.mcdp == same.plain_mcdp == found.plain_mcdp
    assert not warned(same)


@pytest.mark.parametrize("decimals", [1, 12])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.promise("`comparison_` has the metrics of held-out rows")
def test_values_are_those_of_the_metrics(decimals, weighted):
    y, plain, fair, groups = draw(300, n_groups=3)
    plain, fair = plain.round(decimals), fair.round(decimals)
    weights = np.arange(300) % 4 if weighted else None
    found = compare(y, plain, fair, groups, sample_weight=weights)
    for prefix, scores in (("plain_", plain), ("", fair)):
        assert_allclose(
            getattr(found, prefix + "average_precision"),
            average_precision_score(y, scores, sample_weight=weights),
        )
        kept = slice(None) if weights is None else weights > 0
        assert_allclose(
            getattr(found, prefix + "mcdp"),
            mcdp(
                None,
                scores[kept],
                sensitive_features=groups[kept],
                sample_weight=None if weights is None else weights[kept],
            ),
        )
    assert found.n_samples == (225 if weighted else 300)
    assert sum(found.group_sizes.values()) == found.n_samples


@pytest.mark.parametrize("decimals", [1, 12])
def test_derivatives_are_finite_differences(decimals):
    y, scores, _, groups = draw(60)
    scores, weights = scores.round(decimals), np.random.default_rng(1).random(60)
    rows = Rows(groups, y_pred=scores)

    def largest_gap(weights):
        gap = _largest_gap(replace(rows, weight=weights))
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
        differences = [getattr(c, name) - getattr(c, "plain_" + name) for c in samples]
        errors = [getattr(c, name + "_error") for c in samples]
        assert 0.9 < np.mean(errors) / np.std(differences) < 1.3


def test_noise_is_what_shuffled_groups_read():
    y, plain, fair, groups = draw(400, n_groups=2)
    noise = compare(y, plain, fair, groups).noise
    rng = np.random.default_rng(0)
    read = [
        mcdp(None, fair, sensitive_features=rng.permutation(groups.codes))
        for _ in range(400)
    ]
    assert 0.93 < np.mean(np.array(read) <= noise) < 0.99
    y, plain, fair, groups = draw(400, n_groups=5)
    assert compare(y, plain, fair, groups).noise > 1.5 * noise


def test_a_row_without_weight_or_group():
    y, plain, fair, groups = draw(200)
    expected = compare(y, plain, fair, groups)
    y = np.append(y, [1, 0])
    plain, fair = (np.append(v, [0.1, 0.9]) for v in (plain, fair))
    codes = np.append(groups.codes, [0, -1])
    weights = np.append(np.ones(200), [0, 1])
    found = compare(y, plain, fair, Groups(codes, (0, 1, 2)), sample_weight=weights)
    assert found.n_samples == 201
    assert found.group_sizes == expected.group_sizes
    assert found.mcdp == pytest.approx(expected.mcdp)
    assert found.average_precision != expected.average_precision


def test_undefined_is_nan():
    y, plain, fair, groups = draw(50)
    alone = compare(y, plain, fair, Groups(groups.codes * 0, ("a", "b")))
    assert np.isnan([alone.mcdp, alone.mcdp_error, alone.noise]).all()
    assert np.isfinite(alone.average_precision_error)
    negative = compare(y * 0, plain, fair, groups, max_mcdp=0.9)
    assert np.isnan([negative.average_precision, negative.plain_average_precision])[0]
    none = compare([], [], [], groups[:0], max_mcdp=0.1)
    assert np.isnan([none.average_precision, none.mcdp, none.noise]).all()
    for comparison in (alone, negative, none):
        assert not comparison.problems


# --- the warning


def test_worse_in_both():
    y, plain, _, groups = draw(2000)
    rng = np.random.default_rng(0)
    worse = expit(rng.normal(size=2000) + 3 * groups.codes)
    (caught,) = warned(compare(y, plain, worse, groups))
    assert caught.category is MitigationWarning
    assert caught.filename == __file__
    text = str(caught.message)
    assert text.startswith("object, on 2000 held-out rows: MCDP(0) is 0.8")
    assert "the plain classifier's is 0." in text
    assert "average precision is" in text
    assert text.endswith("Do something.")


def test_less_fair_only_and_less_precise_only():
    y, plain, _, groups = draw(2000)
    less_fair = expit(2 * y - 1 + 2 * groups.codes)
    assert len(compare(y, plain, less_fair, groups).problems) == 1
    # Half of the rows exchange their scores within their group.
    noisy = plain.copy()
    for code in (0, 1):
        chosen = np.flatnonzero(groups.codes == code)[::2]
        noisy[chosen] = np.random.default_rng(0).permutation(plain[chosen])
    found = compare(y, plain, noisy, groups)
    assert found.mcdp == found.plain_mcdp
    assert found.average_precision < found.plain_average_precision - 0.1
    assert len(found.problems) == 1
    fairer = expit(np.random.default_rng(0).normal(size=2000))
    found = compare(y, plain, fairer, groups)
    assert found.average_precision < found.plain_average_precision - 0.1
    assert not found.problems  # the price of a gap that did fall


def test_the_gap_asked_for():
    y, plain, fair, groups = draw(2000)
    found = compare(y, plain, fair, groups, max_mcdp=0.1)
    (problem,) = found.problems
    assert "above the largest gap asked for, 0.1, by more than sampling" in problem
    inside = found.mcdp - found.noise / 2  # missed by less than noise
    assert not compare(y, plain, fair, groups, max_mcdp=inside).problems


@pytest.mark.slow
@pytest.mark.parametrize("n_samples", [2, 5, 12, 40])
def test_a_handful_of_rows_is_noise(n_samples):
    found = [compare(*draw(n_samples, 1.0, seed)) for seed in range(100)]
    assert sum(bool(comparison.problems) for comparison in found) <= 3


def test_a_group_of_one_row_is_noise():
    y, plain, fair, groups = draw(500)
    codes = groups.codes.copy()
    codes[0] = 2
    fair[0] = 0.0
    found = compare(y, plain, fair, Groups(codes, (0, 1, 2)))
    assert found.mcdp > 2 * found.adjusted_mcdp
    assert found.mcdp_error < 0.1
    assert not found.problems
    alone = compare(y, plain, fair, Groups((np.arange(500) == 0) + 0, (0, 1)))
    assert alone.mcdp == alone.adjusted_mcdp
    assert alone.mcdp_error >= 0.5
    assert not alone.problems


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [2, 5])
@pytest.mark.parametrize("rate", [0.5, 0.05])
@pytest.mark.parametrize("n_samples", [30, 300, 2000])
@pytest.mark.promise("Equally good models are rarely called worse")
def test_equally_good_models_are_rarely_called_worse(n_samples, rate, n_groups):
    found = [
        compare(*draw(n_samples, 1.0, seed, rate, n_groups)) for seed in range(300)
    ]
    assert np.mean([bool(comparison.problems) for comparison in found]) < 0.06


# --- no gain


def test_no_gain_is_said():
    y, plain, fair, groups = draw(2000)
    found = compare(y, plain, fair, groups)  # as good: neither gap is lower
    assert not found.problems
    assert not found.shows_gain
    (caught,) = warned(found)
    assert "held-out rows: no gain is shown: MCDP" in str(caught.message)
    assert str(caught.message).endswith(". Do something.")
    assert not warned(compare(y, plain, plain, groups))
    fairer = compare(y, plain, plain ** (1 + groups.codes), groups)
    assert fairer.shows_gain
    assert not warned(fairer)


def test_few_rows_of_the_rarer_class_show_no_gain():
    found = compare(*draw(900))
    few = replace(
        found,
        plain_average_precision=0.1,
        average_precision=0.05,
        average_precision_error=0.04,
        plain_adjusted_mcdp=0.2,
        adjusted_mcdp=0.17,  # lower by three quarters of a standard error
        mcdp_error=0.04,
        noise=0.09,
        n_rarer=5,
    )
    (problem,) = few.problems
    assert problem.startswith("no gain is shown, and 5 rows of the rarer class are too")
    assert not few.shows_gain
    (caught,) = warned(few)
    assert problem in str(caught.message)
    for enough in (
        {"n_rarer": 10},
        {"adjusted_mcdp": 0.15},
        {"average_precision": 0.1},
    ):
        assert replace(few, **enough).shows_gain


def test_undefined_figures_show_no_gain():
    y, plain, fair, groups = draw(50)
    alone = compare(y, plain, fair, Groups(groups.codes * 0, ("a", "b")))
    with pytest.warns(MitigationWarning, match="no gain is shown"):
        alone.warn(object(), "Do something")


# --- the result


@pytest.mark.slow
def test_a_thousand_groups_of_text_labels():
    y, plain, fair, groups = draw(3000, n_groups=1000)
    labels = np.array([f"group {code}" for code in groups.codes])
    found = compare(y, plain, fair, encode_groups(labels), max_mcdp=0.5)
    assert found.noise == 1
    assert len(found.group_sizes) == len(set(labels))


def test_table_and_pickle():
    found = compare(*draw(100), max_mcdp=0.2)
    table = found.to_frame()
    assert table.shape == (1, 12)
    assert table.loc[0, "plain_mcdp"] == found.plain_mcdp
    assert pickle.loads(pickle.dumps(found)) == found
    assert "group_sizes" not in repr(found)


def test_gaps_are_adjusted_for_the_sizes_of_groups():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [600, 400, 10])
    y, scores = rng.integers(0, 2, 1010), rng.random(1010) + 0.1 * (codes == 1)
    scores[codes == 2] = 2.0
    found = compare(y, scores, scores, Groups(codes, (0, 1, 2)))
    sizes = np.array([600, 400, 10])
    critical = kolmogi(0.05 / 3)
    assert found.noise == pytest.approx(critical * np.sqrt(1 / 600 + 1 / 400))
    adjusted = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        pair = np.isin(codes, (first, second))
        gap = ks_2samp(scores[codes == first], scores[codes == second]).statistic
        value = mcdp(None, scores[pair] / 2, sensitive_features=codes[pair])
        assert gap == pytest.approx(value)  # rounded in another way by some SciPy
        noise = critical * np.sqrt((1 / sizes[[first, second]]).sum())
        adjusted.append(gap - (noise - found.noise))
    assert found.mcdp == 1
    assert found.adjusted_mcdp == pytest.approx(max(adjusted))
    assert found.adjusted_mcdp == found.plain_adjusted_mcdp < 1
    assert found.beyond_noise
